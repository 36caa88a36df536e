# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the executables that build.py made beside the libraries of this machine, and writes a table.

    PYTHONPATH=python python3 test/Benchmark/gpu/run.py DIR [--repeat N] [--only NAME] [--out FILE.md] [--emulate]

Needs Python with NumPy and ml_dtypes. Peers are what is installed: torch (its products go to cuBLASLt, its attention to
cuDNN or FlashAttention), and JAX for the function that was compiled. All take turns in one run, times are minima of the
calls, from the start of a call to its end on the device. `--emulate` checks the script without a GPU; its times mean nothing.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy bfloat16)
import numpy as np

from tsp.tensors import load_tensors, save_tensors


def make_arguments(work: dict[str, Any]) -> dict[str, np.ndarray]:
    """Random values; weights are scaled so that sums stay near 1."""
    rng = np.random.default_rng(0)
    made = {}
    for name, argument in work["arguments"].items():
        shape = argument["shape"]
        scale = shape[0] ** -0.5 if len(shape) == 2 and work["kind"] != "attention" else 1
        made[name] = (rng.standard_normal(shape, dtype=np.float32) * scale).astype(argument["dtype"])
    return made


def torch_call(work: dict[str, Any], arguments: dict[str, np.ndarray]) -> Callable[[], Any] | None:
    """The same in torch, or None without torch, a GPU, or a form of it."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available() or work["kind"] == "block":
        return None
    types = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
    values = [torch.from_numpy(a.astype(np.float32)).to("cuda", types[a.dtype.name]) for a in arguments.values()]
    if work["kind"] == "gemm":
        call = lambda: values[0] @ values[1]  # noqa: E731
    else:
        q, k, v = (value.transpose(1, 2) for value in values)
        call = lambda: torch.nn.functional.scaled_dot_product_attention(  # noqa: E731
            q, k, v, is_causal=work["causal"], enable_gqa=q.shape[1] != k.shape[1]).transpose(1, 2)

    def run() -> Any:
        with torch.no_grad():
            result = call()
        torch.cuda.synchronize()
        return lambda: result.float().cpu().numpy()
    return run


def jax_call(work: dict[str, Any], arguments: dict[str, np.ndarray]) -> Callable[[], Any] | None:
    """The compiled function by XLA on the first GPU, or None without one."""
    try:
        import jax
        device = jax.devices("gpu")[0]
    except (ImportError, RuntimeError):
        return None
    import build
    made = build.workloads()[work["name"]]
    tree = jax.tree_util.tree_structure(made["args"])
    values = jax.device_put(jax.tree_util.tree_unflatten(tree, list(arguments.values())), device)
    function = jax.jit(made["fn"])

    def run() -> Any:
        result = jax.block_until_ready(function(*values))
        return lambda: np.asarray(result, np.float32)
    return run


def best(call: Callable[[], Any] | None, repeat: int) -> tuple[float | None, np.ndarray | None]:
    """Least seconds of a call, which gives a function that fetches its result; and that result."""
    if call is None:
        return None, None
    times = []
    for _ in range(repeat + 2):
        begin = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - begin)
    return min(times[2:]), result()


def measure(folder: pathlib.Path, work: dict[str, Any], repeat: int, flags: list[str]) -> dict[str, Any]:
    arguments = make_arguments(work)
    with tempfile.TemporaryDirectory() as place:
        values, result, stats = (str(pathlib.Path(place) / name) for name in ("values.safetensors", "out.safetensors", "stats.json"))
        save_tensors(values, arguments)
        command = [str(folder / work["file"]), f"--args={values}", f"--out={result}", f"--stats={stats}", f"--repeat={repeat + 2}", *flags]
        subprocess.run(command, check=True)
        ours = min(json.loads(pathlib.Path(stats).read_text())["ranks"][0]["run_seconds"][2:])
        found = next(iter(load_tensors(result).values())).astype(np.float32)
    torch_time, torch_result = best(torch_call(work, arguments), repeat)
    jax_time, jax_result = best(jax_call(work, arguments), repeat)
    expected = torch_result if torch_result is not None else jax_result
    distance = None if expected is None else float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
    return {"tsp": ours, "torch": torch_time, "jax": jax_time, "distance": distance}


def row(work: dict[str, Any], m: dict[str, Any]) -> str:
    def cell(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)
    peers = [t for t in (m["torch"], m["jax"]) if t is not None]
    return (f"| {work['name']} | {m['tsp'] * 1e3:.3f} | {work['flops'] / m['tsp'] / 1e12:.1f} | {work['bytes'] / m['tsp'] / 1e9:.0f} | "
            f"{cell(m['torch'] and m['torch'] * 1e3, '.3f')} | {cell(m['jax'] and m['jax'] * 1e3, '.3f')} | "
            f"{cell(min(peers) / m['tsp'] if peers else None, '.2f')} | {cell(m['distance'], '.1e')} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=20, help="measured calls of each (default 20)")
    parser.add_argument("--only", default="", help="workloads whose name holds this text")
    parser.add_argument("--out", type=pathlib.Path, help="also write the table there")
    parser.add_argument("--emulate", action="store_true", help="run our side on the CPU, to check the script")
    options = parser.parse_args()
    described = json.loads((options.folder / "workloads.json").read_text())
    lines = [f"Compiled for {described['target']}; minimum of {options.repeat} calls.", "",
             "| workload | tsp ms | TFLOP/s | GB/s | torch ms | JAX ms | best peer / tsp | rel L2 to a peer |", "|---|---|---|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    for work in described["workloads"]:
        if options.only not in work["name"]:
            continue
        lines.append(row(work, measure(options.folder, work, options.repeat, ["--emulate"] if options.emulate else [])))
        print(lines[-1], flush=True)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
