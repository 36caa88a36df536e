# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run and compile time of the binary beside JAX's, on this machine, in one run.

    PYTHONPATH=python:test .venv/bin/python test/Benchmark/cpu.py [--repeat N] [--only NAME | --write]

JAX and the executable take turns, so that both see the same machine; the figures are
minima. JAX's compile time is that of XLA (lowering excluded), ours that of tsp-compile.
"""
from __future__ import annotations

import argparse
import functools
import json
import os
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import tsp
from Benchmark import page_tables
from tsp.models import smollm2

PAGE = "Benchmarks.md"
HEADER = ("workload", "JAX run s", "tsp run s", "tsp / JAX", "JAX compile s", "tsp compile s", "rel L2 tsp - JAX")


def _model(dtype: str, length: int) -> tuple[Callable, tuple[Any, ...]]:
    config, params = smollm2.load(dtype)
    ids = np.random.default_rng(0).integers(0, config.vocab, (1, length)).astype(np.int32)
    return functools.partial(smollm2.forward, config), (params, ids)


def _block(dtype: str, length: int, width: int = 1024) -> tuple[Callable, tuple[Any, ...]]:
    config = smollm2.Config(layers=1, width=width, heads=16, kv_heads=8, ffn=2816, vocab=1)
    x = np.random.default_rng(0).standard_normal((1, length, width)).astype(smollm2.DTYPES[dtype])
    return lambda params, x: smollm2.block(config, params, x, 0, None)[0], (smollm2.random_params(config, dtype)["layers"][0], x)


def _decode(dtype: str, length: int) -> tuple[Callable, tuple[Any, ...]]:
    config, params = smollm2.load(dtype)
    cache = jax.tree_util.tree_map(np.asarray, smollm2.new_cache(config, 1, length, smollm2.DTYPES[dtype]))
    return functools.partial(smollm2.decode, config), (params, np.array([17], np.int32), np.int32(length - 1), cache)


def _quantised(rows: int, width: int, columns: int) -> tuple[Callable, tuple[Any, ...]]:
    """A product with int8 weights and a scale for each column, as programs write it."""
    random = np.random.default_rng(0)
    weight = {"q": random.integers(-127, 128, (width, columns)).astype(np.int8), "scale": random.uniform(0.01, 0.03, columns).astype(np.float32)}
    x = random.standard_normal((rows, width)).astype(np.float32)
    return lambda weight, x: x @ (weight["q"].astype(x.dtype) * weight["scale"]), (weight, x)


WORKLOADS: dict[str, Callable[[], tuple[Callable, tuple[Any, ...]]]] = {
    "SmolLM2-135M forward S=512 f32": lambda: _model("f32", 512),
    "SmolLM2-135M forward S=512 bf16": lambda: _model("bf16", 512),
    "SmolLM2-135M decode at 512 f32": lambda: _decode("f32", 512),
    "block h=1024 S=2048 f32": lambda: _block("f32", 2048),
    "block h=1024 S=2048 bf16": lambda: _block("bf16", 2048),
    "int8 weights, 1 x 4096 @ 4096 x 11008": lambda: _quantised(1, 4096, 11008),
    "int8 weights, 512 x 2048 @ 2048 x 2048": lambda: _quantised(512, 2048, 2048),
}


def measure(fn: Callable, args: tuple[Any, ...], repeat: int, folder: pathlib.Path) -> dict[str, float]:
    """Seconds of both, and the relative L2 distance of their first results."""
    lowered = jax.jit(fn).lower(*args)
    begin = time.perf_counter()
    compiled = lowered.compile()
    seconds = {"jax_compile": time.perf_counter() - begin}
    program = tsp.export(fn, *args, params=(0,))
    files = [folder / "values.safetensors", folder / "out.safetensors", folder / "stats.json"]
    tsp.save_tensors(files[0], program.signature().named(*args))
    begin = time.perf_counter()
    tsp.compile_program(program, folder / "model", options=["--target-cpu=native"])
    seconds["tsp_compile"] = time.perf_counter() - begin
    on_device = jax.device_put(args)
    jax_runs, tsp_runs = [], []
    for _ in range(repeat):
        for _ in range(2):
            begin = time.perf_counter()
            expected = jax.block_until_ready(compiled(*on_device))
            jax_runs.append(time.perf_counter() - begin)
        subprocess.run([folder / "model", f"--args={files[0]}", f"--out={files[1]}", f"--stats={files[2]}", "--repeat=3"], check=True)
        tsp_runs += json.loads(files[2].read_text())["ranks"][0]["run_seconds"]
    first = np.asarray(jax.tree_util.tree_leaves(expected)[0], np.float64)
    result = np.asarray(next(iter(tsp.load_tensors(files[1]).values())), np.float64)
    return seconds | {"jax_run": min(jax_runs), "tsp_run": min(tsp_runs), "distance": float(np.linalg.norm(result - first) / np.linalg.norm(first))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="turns of each (default 3)")
    parser.add_argument("--only", default="", help="workloads whose name holds this text")
    page_tables.add_flag(parser, PAGE)
    options = parser.parse_args()
    if options.only and options.write:
        parser.error("--write takes all workloads, --only some")
    rows = []
    for name, make in WORKLOADS.items():
        if options.only not in name:
            continue
        fn, args = make()
        with tempfile.TemporaryDirectory() as folder:
            m = measure(fn, args, options.repeat, pathlib.Path(folder))
        rows.append([name, f"{m['jax_run']:.3f}", f"{m['tsp_run']:.3f}", f"{m['tsp_run'] / m['jax_run']:.2f}", f"{m['jax_compile']:.1f}",
                     f"{m['tsp_compile']:.1f}", f"{m['distance']:.1e}"])
        print(*rows[-1], sep=", ", flush=True)
    how = f"{os.cpu_count()} cores, JAX {jax.__version__}, minimum of {2 * options.repeat} (JAX) and {3 * options.repeat} (tsp) runs."
    page_tables.put(PAGE, "one rank beside JAX", [how, "", *page_tables.table(HEADER, rows)], options.write)


if __name__ == "__main__":
    main()
