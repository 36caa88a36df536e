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
import device_code
import device_runner
from Benchmark import page_tables
from Benchmark.gpu.variants import TENSOR_CORES, Variant, all_variants
from kernel_runner import DTYPES

ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120")
PAGE = "Benchmarks-GPU-kernels.md"
TENSOR_HEADER = ("kernel", "tiles", "products a KB read", "bank passes a request", "sectors over the least", "share of peak at most")
# Operations of one mma.sync m16n8k16.
MMA_FLOPS = 2 * 16 * 8 * 16


@dataclasses.dataclass(frozen=True)
class Board:
    name: str
    processors: int
    tensor_tflops: float  # bf16
    memory_gbs: float


BOARDS = {"sm_80": Board("A100", 108, 312.0, 2039.0), "sm_90a": Board("H100 SXM", 132, 989.0, 3350.0)}


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


def resources_of(kernel: dict) -> str:
    """The cell of a kernel."""
    return (f"{kernel['registers']}, {kernel['shared_bytes'] / 1024:.0f} KB, {kernel['blocks_per_processor']} x {math.prod(kernel['block'])}, "
            f"{kernel['occupancy']:.0%}")


def resources_rows(kernels: dict, architectures: tuple[str, ...]) -> list[list[str]]:
    return [[variant.title, *(resources_of(kernels[f"k{i}", architecture]) for architecture in architectures)] for i, variant in enumerate(all_variants())]


def tensor_rows(kernels: dict, counters: list[dict], architecture: str) -> list[list[str]]:
    rows = []
    for variant, counted in zip(TENSOR_CORES, counters, strict=True):
        kernel = kernels[f"k{all_variants().index(variant)}", architecture]
        tiles = tiles_of(kernel)
        # The first blocks, which are counted, have one tile more than others.
        each = math.ceil(tiles / math.prod(kernel["grid"]))
        mma = variant.flops / MMA_FLOPS / tiles * each * counted["blocks"]
        passes = counted["shared_passes"] / max(counted["shared_requests"], 1)
        rows.append([variant.title, str(tiles), f"{mma / (counted['global_sectors'] * 32 / 1024):.1f}", f"{passes:.2f}",
                     f"{counted['global_sectors'] / counted['global_ideal_sectors']:.2f}", f"{roofline(variant, kernel, BOARDS[architecture]):.0%}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    page_tables.add_flag(parser, PAGE)
    write = parser.parse_args().write
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        kernels = compile_variants(all_variants(), folder, ARCHITECTURES)
        counters = {architecture: count(TENSOR_CORES, folder, architecture) for architecture in BOARDS}
    spills = sum(kernel["spill_bytes"] + kernel["stack_bytes"] for kernel in kernels.values())
    page_tables.put(PAGE, "resources", [f"ptxas {device_code.release_of('ptxas')}. Bytes spilled, all kernels together: {spills}.", "",
                                        *page_tables.table(["kernel", *ARCHITECTURES], resources_rows(kernels, ARCHITECTURES))], write)
    for architecture in BOARDS:
        page_tables.put(PAGE, architecture, page_tables.table(TENSOR_HEADER, tensor_rows(kernels, counters[architecture], architecture)), write)


if __name__ == "__main__":
    main()
