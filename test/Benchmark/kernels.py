# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speed of single kernels: matrix products beside NumPy's, and the attention core.

    OPENBLAS_NUM_THREADS=1 .venv/bin/python test/Benchmark/kernels.py [--write]

One thread each, in turns, best of several runs; the clock is the thread's own CPU time,
so that other work on the machine disturbs little. Needs clang-22 and build/bin/tsp-opt.
"""
import argparse
import ctypes
import os
import pathlib
import sys
import tempfile
import time

import numpy as np

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "Python")]
from Benchmark import page_tables  # noqa: E402
from kernel_runner import DTYPES, aligned, compile_kernels  # noqa: E402
from test_kernels_gemm import dot_text  # noqa: E402
from test_kernels_sdpa import Attention  # noqa: E402

PAGE = "Benchmarks-kernels.md"
# m, n, k, weight stored as [n, k]
PRODUCTS = [(512, 1536, 576, False), (512, 576, 1536, False), (2048, 2816, 1024, False), (2048, 2048, 2048, False),
            (512, 49152, 576, True), (32, 1536, 576, False), (1, 1536, 576, False), (1, 49152, 576, True)]
# queries, keys, heads, key/value heads, width, dtype
CORES = [(2048, 2048, 9, 3, 64, "f32"), (512, 512, 9, 3, 64, "f32"), (2048, 2048, 9, 3, 64, "bf16"), (1, 2048, 9, 3, 64, "f32")]


def best(function, seconds=1.0):
    """The least CPU time of a call, over about `seconds` of calls and at least three."""
    least, spent, calls = float("inf"), 0.0, 0
    while spent < seconds or calls < 3:
        start = time.thread_time()
        function()
        took = time.thread_time() - start
        least, spent, calls = min(least, took), spent + took, calls + 1
    return least


def caller(kernel, arrays):
    pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
    scratch = aligned(kernel.scratch + 64)
    return lambda: kernel.call(pointers, 0, kernel.grid, scratch)


def product(directory, m, n, k, rows):
    lhs, rhs = (m, k), (n, k) if rows else (k, n)
    text, *_ = dot_text("k", lhs, rhs, ((), ()), ((1,), (1 if rows else 0,)), "f32")
    kernel = compile_kernels(text, ["--tsp-lower-gemm-kernels"], directory)["k"]
    rng = np.random.default_rng(0)
    a, b = (aligned(rng.standard_normal(s, dtype=np.float32)) for s in (lhs, rhs))
    c = aligned(np.zeros((m, n), np.float32))
    work = 2e-9 * m * n * k
    ours = work / best(caller(kernel, [a, b, c]))
    numpy = work / best(lambda: np.matmul(a, b.T if rows else b, out=c))
    return f"({m}, {n}, {k})", "[n, k]" if rows else "[k, n]", f"{ours:.1f}", f"{numpy:.1f}", f"{ours / numpy:.2f}"


def core(directory, queries, keys, heads, kv_heads, width, dtype):
    case = Attention(queries=queries, keys=keys, heads=heads, kv_heads=kv_heads, width=width, value_width=width, scale=width ** -0.5,
                     causal=True, positions="s", dtype=dtype, query_start=keys - queries)
    made = case.make()
    text, outputs = case.text(made)
    kernel = compile_kernels(text, ["--tsp-lower-sdpa-kernels"], directory)["k"]
    arrays = [aligned(a) for a, _ in made.values()] + [aligned(np.zeros(s, DTYPES[d])) for s, d in outputs]
    seconds = best(caller(kernel, arrays))
    seen = keys - (queries - 1) / 2
    return (f"({queries}, {keys})", f"{heads}/{kv_heads} x {width}", dtype, f"{seconds * 1e3:.2f}",
            f"{4e-9 * queries * seen * heads * width / seconds:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    page_tables.add_flag(parser, PAGE)
    write = parser.parse_args().write
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        sys.exit("set OPENBLAS_NUM_THREADS=1: the clock sees the calling thread only")
    with tempfile.TemporaryDirectory() as directory:
        rows = [product(directory, *case) for case in PRODUCTS]
        page_tables.put(PAGE, "products", page_tables.table(["(m, n, k), f32", "weight", "GFLOP/s", "NumPy", "ratio"], rows), write)
        rows = [core(directory, *case) for case in CORES]
        page_tables.put(PAGE, "attention", page_tables.table(["(queries, keys), causal", "heads", "type", "ms", "GFLOP/s"], rows), write)


if __name__ == "__main__":
    main()
