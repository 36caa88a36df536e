# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ptxas says of every kernel: nothing is kept in local memory, blocks fit. No bank conflicts on tensor cores. What the docs say of both."""
import json

import pytest

import device_code
import tsp
from Benchmark import page_tables
from Benchmark.gpu import kernels as table
from Benchmark.gpu.variants import TENSOR_CORES, all_variants, attention, product
from Integration import harness

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")


USUAL, CONSUMER = ("sm_80", "sm_90", "sm_90a"), ("sm_89", "sm_120")


@pytest.mark.parametrize("name, dtype, mesh, strategy, architectures", [
    ("llama_block", "f32", "", "none", USUAL), ("llama", "bf16", "t=4", "tsp", USUAL), ("gemma", "bf16", "t=2", "tp", USUAL),
    ("gpt2", "bf16", "", "none", USUAL), ("moe_dispatch", "f32", "", "none", USUAL), ("llama_decode_step", "bf16", "t=2", "tsp", USUAL),
    ("llama_packed_grad", "f32", "", "none", USUAL), ("llama", "bf16", "t=4", "tsp", CONSUMER), ("llama_packed_grad", "f32", "", "none", CONSUMER)])
def test_no_spills(exported, tmp_path, name, dtype, mesh, strategy, architectures):
    """Nor in variants, which are there where the report says so."""
    tsp.compile_program(exported(name, dtype).program, tmp_path / "buffers.mlir", mesh=mesh, strategy=strategy, emit="mlir-buffers",
                        options=(f"--target=cuda:{','.join(architectures)}", f"--report={tmp_path / 'report.json'}"))
    kernels = json.loads((tmp_path / "report.json").read_text())["device"]["kernels"]
    assert {kernel["architecture"] for kernel in kernels} == set(architectures)
    variants = {kernel["variant"] for kernel in kernels if "variant" in kernel}
    assert variants == {kernel["name"] for kernel in kernels if kernel["name"].endswith("_sm_90a")}
    assert variants or (name, dtype, architectures) != ("llama", "bf16", USUAL)
    for kernel in kernels:
        assert kernel["spill_bytes"] == kernel["stack_bytes"] == 0, kernel
        assert kernel["registers"] > 0 and kernel["blocks_per_processor"] >= 1, kernel


@pytest.mark.parametrize("architecture", table.BOARDS)
def test_page_is_true(tmp_path, architecture):
    """docs/Benchmarks-GPU-kernels.md, where there is the ptxas that it was written with."""
    if not device_code.find_tool("ptxas") or f"ptxas {device_code.release_of('ptxas')}." not in (page_tables.DOCS / table.PAGE).read_text():
        pytest.skip("needs the ptxas of the page (./bootstrap)")
    kernels = table.compile_variants(all_variants(), tmp_path, (architecture,))
    header, *rows = page_tables.read(table.PAGE, "resources")
    column, again = header.index(architecture), "test/Benchmark/gpu/kernels.py --write"
    assert [[row[0], row[column]] for row in rows] == table.resources_rows(kernels, (architecture,)), again
    counters = table.count(TENSOR_CORES, tmp_path, architecture)
    assert page_tables.read(table.PAGE, architecture) == [list(table.TENSOR_HEADER), *table.tensor_rows(kernels, counters, architecture)], again


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_no_bank_conflicts(tmp_path, architecture):
    variants = [product(512, 1536, 576, "bf16"), product(512, 2048, 64, "f16", rows_of_weights=True),
                *(attention(1024, 4, 2, width, "bf16") for width in (64, 128, 256))]
    for variant, counted in zip(variants, table.count(variants, tmp_path, architecture), strict=True):
        # Bulk copies and products of warpgroups are no requests.
        assert counted["shared_requests"] > (10 if architecture == "sm_90a" else 100), variant.title
        assert counted["shared_passes"] == counted["shared_requests"], variant.title
        assert counted["global_sectors"] <= 1.1 * counted["global_ideal_sectors"], variant.title
