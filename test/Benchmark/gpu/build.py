# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the GPU benchmarks into a folder that can be carried to a machine with GPUs.

    PYTHONPATH=python .venv/bin/python test/Benchmark/gpu/build.py DIR [--target=cuda:sm_80,sm_90a] [--ranks=1,8] [--only NAME]

DIR then holds an executable a workload, and workloads.json, which says what each computes and what its arguments are.
`run.py` measures there; it needs no compiler. Blocks are compiled for each number of ranks, under tp and tsp where it is not one.
"""
from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import math
import pathlib
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tsp
from tsp.models import smollm2

DTYPES = {"bf16": jnp.bfloat16, "f16": jnp.float16, "f32": jnp.float32}
GEMMS = [(8192, 8192, 8192, "bf16"), (4096, 4096, 4096, "bf16"), (4096, 14336, 4096, "bf16"), (16384, 4096, 11008, "bf16"), (512, 49152, 576, "bf16"),
         (4096, 4096, 4096, "f16"), (4096, 4096, 4096, "f32"), (1, 14336, 4096, "bf16")]
# batch, tokens, heads, key/value heads, head size, causal
ATTENTION = [(1, 16384, 16, 16, 64, True), (1, 16384, 16, 16, 128, True), (1, 32768, 32, 8, 128, True), (2, 4096, 32, 32, 128, False), (1, 8192, 8, 8, 256, True)]
BLOCKS = [("block 7B S=4096", smollm2.Config(layers=1, width=4096, heads=32, kv_heads=8, ffn=14336, vocab=1), 4096),
          ("block SmolLM2 S=8192", smollm2.Config(layers=1, width=576, heads=9, kv_heads=3, ffn=1536, vocab=1), 8192)]
# For one to see that both scripts work, also without a GPU: `--only tiny`.
TINY = smollm2.Config(layers=1, width=128, heads=2, kv_heads=1, ffn=256, vocab=1)


def _shape(dims: tuple[int, ...], dtype: str) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(dims, DTYPES[dtype])


def _product(x: Any, w: Any) -> Any:
    return x @ w


def _attention(causal: bool, q: Any, k: Any, v: Any) -> Any:
    return jax.nn.dot_product_attention(q, k, v, is_causal=causal)


def _block(config: smollm2.Config, layer: Any, x: Any) -> Any:
    return smollm2.block(config, layer, x, 0, None)[0]


def workloads(ranks: Sequence[int] = (1,)) -> dict[str, dict[str, Any]]:
    """name -> kind, fn, args (shapes), params, ranks, options of tsp-compile, flops and bytes of a call, rank of the result, and what
    peers need to know."""
    found: dict[str, dict[str, Any]] = {}
    for m, n, k, dtype in [*GEMMS, (64, 128, 96, "bf16")]:
        name = "gemm tiny" if m == 64 else f"gemm {m} x {n} x {k} {dtype}"
        found[name] = {"kind": "gemm", "fn": _product, "args": (_shape((m, k), dtype), _shape((k, n), dtype)), "params": (1,), "out_rank": 2,
                       "flops": 2 * m * n * k, "bytes": (m * k + k * n + m * n) * (4 if dtype == "f32" else 2)}
    for b, s, h, kv, e, causal in [*ATTENTION, (1, 64, 2, 1, 64, True)]:
        name = "attention tiny" if s == 64 else f"attention {b} x {s}, {h}/{kv} heads of {e}{', causal' if causal else ''}"
        q, k = _shape((b, s, h, e), "bf16"), _shape((b, s, kv, e), "bf16")
        found[name] = {"kind": "attention", "fn": functools.partial(_attention, causal), "args": (q, k, k), "params": (), "causal": causal, "out_rank": 4,
                       "flops": 4 * b * s * s * h * e / (2 if causal else 1), "bytes": 2 * b * s * e * 2 * (h + kv)}
    for name, config, length in [*BLOCKS, ("block tiny", TINY, 64)]:
        layer = {name: _shape(dims, "bf16") for name, dims in smollm2.layer_shapes(config).items()}
        size = sum(math.prod(leaf.shape) for leaf in layer.values())
        work = {"kind": "block", "fn": functools.partial(_block, config), "args": (layer, _shape((1, length, config.width), "bf16")), "params": (0,),
                "config": dataclasses.asdict(config), "out_rank": 3,
                "flops": 2 * length * size + 2 * length * length * config.width, "bytes": 2 * (size + 2 * length * config.width)}
        for count in ranks:
            for strategy in ("tp", "tsp") if count > 1 else ("none",):
                sharded = f", {strategy} on {count}" if count > 1 else ""
                found[name + sharded] = {**work, "ranks": count, "options": [f"--mesh=t={count}", f"--strategy={strategy}"]}
    return {name: {"ranks": 1, "options": [], **work} for name, work in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--target", default="cuda:sm_80,sm_90a")
    parser.add_argument("--ranks", default="1", help="numbers of ranks that blocks are compiled for (default 1)")
    parser.add_argument("--only", default="", help="workloads whose name holds this text")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    described = []
    for number, (name, work) in enumerate(workloads([int(count) for count in options.ranks.split(",")]).items()):
        if options.only not in name:
            continue
        program = tsp.export(work["fn"], *work["args"], params=work["params"])
        file = f"model{number}"
        tsp.compile_program(program, options.folder / file, options=[f"--target={options.target}", *work["options"]])
        empty = jax.tree_util.tree_map(lambda leaf: np.broadcast_to(np.zeros((), leaf.dtype), leaf.shape), work["args"])  # takes no memory
        arguments = {argument: {"shape": list(leaf.shape), "dtype": np.dtype(leaf.dtype).name}
                     for argument, leaf in program.signature().named(*empty).items()}
        described.append({"name": name, "file": file, "arguments": arguments, "input": list(arguments)[-1],
                          **{key: work[key] for key in ("kind", "ranks", "flops", "bytes", "causal", "config") if key in work}})
        print(name, flush=True)
    (options.folder / "workloads.json").write_text(json.dumps({"target": options.target, "workloads": described}, default=float, indent=1))


if __name__ == "__main__":
    main()
