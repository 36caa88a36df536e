# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the executables that build.py made beside the libraries of this machine, and writes a table.

    PYTHONPATH=python python3 test/Benchmark/gpu/run.py DIR [--repeat N] [--only NAME] [--out FILE.md] [--emulate --peers=cpu]

Needs what the package tsp does: NumPy, ml_dtypes and JAX (that of CPUs will do). Peers are what is installed: torch (products by
cuBLASLt and cuBLAS, attention by cuDNN and FlashAttention, blocks as they are and by torch.compile), and JAX for the function that
was compiled, on several ranks under GSPMD. All take turns in one run, times are minima of the calls, from the start of a call to
its end on the devices. `--emulate` runs our side on the CPU and `--peers=cpu` theirs, to check the scripts without a GPU; times
mean nothing then, distances do.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy bfloat16)
import numpy as np
import peers

from tsp.tensors import load_tensors, save_tensors

WARM_UP = 2  # calls of each that are not counted
TURNS = 2


def make_arguments(work: dict[str, Any]) -> dict[str, np.ndarray]:
    """Random values; weights are scaled so that sums stay near 1."""
    rng = np.random.default_rng(0)
    made = {}
    for name, argument in work["arguments"].items():
        shape = argument["shape"]
        scale = shape[0] ** -0.5 if len(shape) == 2 and work["kind"] != "attention" else 1
        made[name] = (rng.standard_normal(shape, dtype=np.float32) * scale).astype(argument["dtype"])
    return made


def ours(folder: pathlib.Path, work: dict[str, Any], arguments: dict[str, np.ndarray], place: pathlib.Path, repeat: int,
         flags: list[str]) -> tuple[float, np.ndarray]:
    """Least seconds of a call of the executable, of the rank that takes longest; and its result."""
    values, result, stats = (place / name for name in ("values.safetensors", "out.safetensors", "stats.json"))
    if not values.exists():
        save_tensors(values, arguments)
    command = [folder / work["file"], f"--args={values}", f"--out={result}", f"--stats={stats}", f"--repeat={repeat + WARM_UP}", *flags]
    subprocess.run(command, check=True)
    seconds = [rank["run_seconds"][WARM_UP:] for rank in json.loads(stats.read_text())["ranks"]]
    return min(map(max, zip(*seconds))), next(iter(load_tensors(result).values())).astype(np.float32)


def time_call(call: peers.Call, repeat: int) -> float:
    """Least seconds of a call."""
    times = []
    for _ in range(repeat + WARM_UP):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times[WARM_UP:])


def available(work: dict[str, Any], arguments: dict[str, np.ndarray], device: str) -> tuple[dict[str, peers.Call], dict[str, np.ndarray]]:
    """The peers that can do it, and the result of each."""
    calls, results = {}, {}
    for name, peer in peers.peers(work).items():
        try:
            call = peer(work, arguments, device)
            results[name] = call()()
        except (peers.Unavailable, RuntimeError) as error:  # of torch: a backend that does not have this form
            print(f"{work['name']}: no {name}: {str(error).splitlines()[0] if str(error) else error!r}", file=sys.stderr)
        else:
            calls[name] = call
    return calls, results


def measure(folder: pathlib.Path, work: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Least seconds of a call of tsp and of each peer that is there, and the relative distance of tsp's result to each."""
    arguments = make_arguments(work)
    calls, results = available(work, arguments, options.peers)
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        for _ in range(TURNS):
            seconds, found = ours(folder, work, arguments, pathlib.Path(place), options.repeat, ["--emulate"] if options.emulate else [])
            best["tsp"] = min(seconds, best.get("tsp", seconds))
            for name, call in calls.items():
                seconds = time_call(call, options.repeat)
                best[name] = min(seconds, best.get(name, seconds))
    distance = {name: float(np.linalg.norm(found - expected) / np.linalg.norm(expected)) for name, expected in results.items()}
    return {"best": best, "distance": distance}


def row(work: dict[str, Any], measured: dict[str, Any]) -> str:
    best, distance = measured["best"], measured["distance"]
    others = {name: seconds for name, seconds in best.items() if name != "tsp"}
    cells = [work["name"], f"{best['tsp'] * 1e3:.3f}", f"{work['flops'] / best['tsp'] / 1e12:.1f}", f"{work['bytes'] / best['tsp'] / 1e9:.0f}",
             ", ".join(f"{name} {seconds * 1e3:.3f}" for name, seconds in others.items()) or "-",
             f"{min(others.values()) / best['tsp']:.2f}" if others else "-", f"{max(distance.values()):.1e}" if distance else "-"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=20, help="measured calls of each (default 20)")
    parser.add_argument("--only", default="", help="workloads whose name holds this text")
    parser.add_argument("--out", type=pathlib.Path, help="also write the table there")
    parser.add_argument("--emulate", action="store_true", help="run our side on the CPU, to check the scripts")
    parser.add_argument("--peers", choices=("cuda", "cpu"), default="cuda", help="where peers run (default cuda)")
    options = parser.parse_args()
    described = json.loads((options.folder / "workloads.json").read_text())
    lines = [f"Compiled for {described['target']}; minimum of {TURNS * options.repeat} calls.", "",
             "| workload | tsp ms | TFLOP/s | GB/s | peers, ms | best peer / tsp | rel L2 to the farthest peer |", "|---|---|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    for work in described["workloads"]:
        if options.only not in work["name"]:
            continue
        lines.append(row(work, measure(options.folder, work, options)))
        print(lines[-1], flush=True)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
