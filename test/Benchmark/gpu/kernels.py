# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kernels take of a GPU, known without one: the tables of docs/Benchmarks-GPU-kernels.md.

    PYTHONPATH=python:test:test/Python .venv/bin/python test/Benchmark/gpu/kernels.py [--write]

Registers, spills and shared memory are those of ptxas; bank conflicts and bytes are counted by the emulation's checker on
one block.
"""
from __future__ import annotations

import argparse
import dataclasses
import json
import math
import pathlib
import subprocess
import tempfile

import numpy as np

import cuda_driver
import device_runner
from Benchmark import page_tables
from kernel_runner import DTYPES

ARCHITECTURES = ("sm_80", "sm_86", "sm_90", "sm_90a", "sm_120")
PAGE = "Benchmarks-GPU-kernels.md"
# Operations of one mma.sync m16n8k16.
MMA_FLOPS = 2 * 16 * 8 * 16


@dataclasses.dataclass(frozen=True)
class Board:
    name: str
    processors: int
    tensor_tflops: float  # bf16
    memory_gbs: float


BOARDS = {"sm_80": Board("A100", 108, 312.0, 2039.0), "sm_90a": Board("H100 SXM", 132, 989.0, 3350.0)}


@dataclasses.dataclass(frozen=True)
class Variant:
    """A kernel in tensor form: its values as (shape, dtype), and the work of a product or of attention."""
    title: str
    body: str
    inputs: tuple
    outputs: tuple
    flops: float = 0.0

    @property
    def bytes(self) -> float:
        return sum(math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize for shape, dtype in self.inputs + self.outputs)

    def text(self, name: str) -> str:
        arguments = ", ".join(f"%a{i}: {tensor(*value)}" for i, value in enumerate(self.inputs))
        results = ", ".join(tensor(*value) for value in self.outputs)
        tied = ", ".join("-1" for _ in self.outputs)
        return f"func.func private @{name}({arguments}) -> ({results}) attributes {{tsp.kernel, tsp.tied = array<i64: {tied}>}} {{\n{self.body}}}\n"


def tensor(shape: tuple[int, ...], dtype: str) -> str:
    return f"tensor<{'x'.join([*map(str, shape), dtype])}>"


def product(m: int, n: int, k: int, dtype: str, rows_of_weights: bool = False) -> Variant:
    values = ((m, k), dtype), ((n, k) if rows_of_weights else (k, n), dtype)
    x, w, y = tensor(*values[0]), tensor(*values[1]), tensor((m, n), dtype)
    body = f"  %r = stablehlo.dot_general %a0, %a1, contracting_dims = [1] x [{1 if rows_of_weights else 0}] : ({x}, {w}) -> {y}\n  return %r : {y}\n"
    return Variant(f"product {m} x {n} x {k} {dtype}", body, values, (((m, n), dtype),), 2.0 * m * n * k)


def attention(tokens: int, heads: int, kv_heads: int, width: int, dtype: str) -> Variant:
    q, k, lse = (1, tokens, heads, width), (1, tokens, kv_heads, width), (1, tokens, heads)
    types = tensor(q, dtype), tensor(k, dtype), tensor(lse, "f32")
    body = (f"  %o, %l = tsp.sdpa %a0, %a1, %a2 {{scale = {width ** -0.5}}} : ({types[0]}, {types[1]}, {types[1]}) -> ({types[0]}, {types[2]})\n"
            f"  return %o, %l : {types[0]}, {types[2]}\n")
    return Variant(f"attention {tokens} tokens, {heads}/{kv_heads} heads of {width} {dtype}", body, ((q, dtype), (k, dtype), (k, dtype)),
                   ((q, dtype), (lse, "f32")), 4.0 * tokens * tokens * heads * width)


def elementwise(rows: int, width: int, dtype: str) -> Variant:
    t = tensor((rows, width), dtype)
    body = f"  %0 = stablehlo.logistic %a0 : {t}\n  %1 = stablehlo.multiply %a0, %0 : {t}\n  %2 = stablehlo.multiply %1, %a1 : {t}\n  return %2 : {t}\n"
    value = ((rows, width), dtype)
    return Variant(f"gated activation {rows} x {width} {dtype}", body, (value, value), (value,))


def norm(rows: int, width: int) -> Variant:
    t, r, s = tensor((rows, width), "f32"), tensor((rows,), "f32"), tensor((), "f32")
    body = f"""  %zero = stablehlo.constant dense<0.0> : {s}
  %eps = stablehlo.constant dense<1.0e-05> : {r}
  %0 = stablehlo.multiply %a0, %a0 : {t}
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : ({t}, {s}) -> {r}
  %2 = stablehlo.add %1, %eps : {r}
  %3 = stablehlo.rsqrt %2 : {r}
  %4 = stablehlo.broadcast_in_dim %3, dims = [0] : ({r}) -> {t}
  %5 = stablehlo.multiply %a0, %4 : {t}
  return %5 : {t}
"""
    return Variant(f"norm of rows {rows} x {width} f32", body, (((rows, width), "f32"),), (((rows, width), "f32"),))


def transpose(rows: int, width: int, dtype: str) -> Variant:
    body = f"  %0 = stablehlo.transpose %a0, dims = [1, 0] : ({tensor((rows, width), dtype)}) -> {tensor((width, rows), dtype)}\n  return %0 : {tensor((width, rows), dtype)}\n"
    return Variant(f"transpose {rows} x {width} {dtype}", body, (((rows, width), dtype),), (((width, rows), dtype),))


PRODUCTS = [product(4096, 4096, 4096, "bf16"), product(512, 1536, 576, "bf16"), product(512, 576, 1536, "bf16"),
            product(512, 49152, 576, "bf16", rows_of_weights=True), product(4096, 4096, 4096, "f16"), product(1, 14336, 4096, "bf16"),
            product(2048, 2048, 2048, "f32")]
ATTENTIONS = [attention(4096, 16, 16, 64, "bf16"), attention(4096, 32, 8, 128, "bf16"), attention(2048, 8, 8, 256, "bf16"), attention(512, 9, 3, 64, "f32")]
OTHERS = [elementwise(4096, 4096, "bf16"), norm(4096, 4096), transpose(4096, 4096, "bf16")]


def compile_variants(variants: list[Variant], folder: pathlib.Path, architectures: tuple[str, ...]) -> dict[tuple[str, str], dict]:
    """(name, architecture) -> what the report says of the kernel, or of its variant for the architecture; names are k0, k1, .."""
    source = folder / "kernels.mlir"
    source.write_text("\n".join(variant.text(f"k{i}") for i, variant in enumerate(variants)) + "func.func @main() {\n  return\n}\n")
    report = folder / "report.json"
    found = {}
    for architecture in architectures:
        subprocess.run([device_runner.TSP_COMPILE, source, "--from=mlir-kernels", f"--target=cuda:{architecture}", "--emit=mlir-buffers", "-o",
                        folder / "buffers.mlir", f"--report={report}"], check=True)
        for kernel in json.loads(report.read_text())["device"]["kernels"]:
            found[kernel["name"].removesuffix("_" + architecture), architecture] = kernel
    return found


def count(variants: list[Variant], folder: pathlib.Path, architecture: str = "sm_80") -> list[dict]:
    """The checker's counters of one block, or cluster of blocks, of each kernel; and its `blocks`."""
    ptx, launches = device_runner.compile_ptx("\n".join(variant.text(f"k{i}") for i, variant in enumerate(variants)), folder, architecture)
    module = device_runner.device(architecture).module(ptx, checker=True)
    counters = []
    for i, variant in enumerate(variants):
        how = launches[f"k{i}"]
        inputs = [np.zeros(shape, DTYPES[dtype]) for shape, dtype in variant.inputs]
        before = cuda_driver.counters(how.name)
        module.run(how.name, how.cluster, how.block, inputs, [(shape, DTYPES[dtype]) for shape, dtype in variant.outputs], shared=how.shared,
                   workspace=how.workspace, maps=how.maps)
        counters.append(cuda_driver.counters(how.name, before) | {"blocks": math.prod(how.cluster)})
    return counters


def tiles_of(kernel: dict) -> int:
    """A block has one, if the report does not say how many they share out."""
    return kernel.get("tiles", math.prod(kernel["grid"]))


def roofline(variant: Variant, kernel: dict, board: Board) -> float:
    """Share of the tensor cores' peak at most: memory must deliver every value once, and the last wave of tiles is not full."""
    compute, memory = variant.flops / (board.tensor_tflops * 1e12), variant.bytes / (board.memory_gbs * 1e9)
    tiles, at_once = tiles_of(kernel), board.processors * kernel["blocks_per_processor"]
    full = tiles / (math.ceil(tiles / at_once) * at_once) if tiles > at_once else min(1.0, tiles / board.processors)
    return compute / max(compute / full, memory)


def resources_table(variants: list[Variant], kernels: dict) -> list[str]:
    def cell(kernel: dict) -> str:
        return (f"{kernel['registers']}, {kernel['shared_bytes'] / 1024:.0f} KB, {kernel['blocks_per_processor']} x {math.prod(kernel['block'])}, "
                f"{kernel['occupancy']:.0%}")
    rows = ([variant.title, *(cell(kernels[f"k{i}", architecture]) for architecture in ARCHITECTURES)] for i, variant in enumerate(variants))
    return page_tables.table(["kernel", *ARCHITECTURES], rows)


def tensor_table(variants: list[Variant], kernels: dict, counters: list[dict], architecture: str) -> list[str]:
    rows = []
    for i, (variant, counted) in enumerate(zip(variants, counters)):
        kernel = kernels[f"k{i}", architecture]
        tiles = tiles_of(kernel)
        # The first blocks, which are counted, have one tile more than others.
        each = math.ceil(tiles / math.prod(kernel["grid"]))
        mma = variant.flops / MMA_FLOPS / tiles * each * counted["blocks"]
        passes = counted["shared_passes"] / max(counted["shared_requests"], 1)
        rows.append([variant.title, tiles, f"{mma / (counted['global_sectors'] * 32 / 1024):.1f}", f"{passes:.2f}",
                     f"{counted['global_sectors'] / counted['global_ideal_sectors']:.2f}", f"{roofline(variant, kernel, BOARDS[architecture]):.0%}"])
    return page_tables.table(["kernel", "tiles", "products a KB read", "bank passes a request", "sectors over the least", "share of peak at most"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    page_tables.add_flag(parser, PAGE)
    write = parser.parse_args().write
    tensor_cores = [variant for variant in PRODUCTS + ATTENTIONS if variant.outputs[0][1] != "f32" and variant.inputs[0][0][0] != 1 or variant in ATTENTIONS[:3]]
    variants = PRODUCTS + ATTENTIONS + OTHERS
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        kernels = compile_variants(variants, folder, ARCHITECTURES)
        chosen = [variants.index(variant) for variant in tensor_cores]
        counters = {architecture: count(tensor_cores, folder, architecture) for architecture in BOARDS}
    spills = sum(kernel["spill_bytes"] + kernel["stack_bytes"] for kernel in kernels.values())
    own = {(f"k{j}", architecture): kernels[f"k{i}", architecture] for j, i in enumerate(chosen) for architecture in ARCHITECTURES}
    page_tables.put(PAGE, "resources", [f"Bytes spilled, all kernels together: {spills}.", "", *resources_table(variants, kernels)], write)
    for architecture in BOARDS:
        page_tables.put(PAGE, architecture, tensor_table(tensor_cores, own, counters[architecture], architecture), write)


if __name__ == "__main__":
    main()
