# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ptxas says of every kernel: nothing is kept in local memory, blocks fit. No bank conflicts on tensor cores."""
import json

import pytest

import tsp
from Benchmark.gpu import kernels as table
from Integration import harness

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")


@pytest.mark.parametrize("name, dtype, mesh, strategy", [
    ("llama_block", "f32", "", "none"), ("llama", "bf16", "t=4", "tsp"), ("gemma", "bf16", "t=2", "tp"), ("gpt2", "bf16", "", "none"),
    ("moe_dispatch", "f32", "", "none"), ("llama_decode_step", "bf16", "t=2", "tsp"), ("llama_packed_grad", "f32", "", "none")])
def test_no_spills(exported, tmp_path, name, dtype, mesh, strategy):
    """Nor in variants, which are there where the report says so."""
    tsp.compile_program(exported(name, dtype).program, tmp_path / "buffers.mlir", mesh=mesh, strategy=strategy, emit="mlir-buffers",
                        options=("--target=cuda:sm_80,sm_90,sm_90a", f"--report={tmp_path / 'report.json'}"))
    kernels = json.loads((tmp_path / "report.json").read_text())["device"]["kernels"]
    assert {kernel["architecture"] for kernel in kernels} == {"sm_80", "sm_90", "sm_90a"}
    variants = {kernel["variant"] for kernel in kernels if "variant" in kernel}
    assert variants == {kernel["name"] for kernel in kernels if kernel["name"].endswith("_sm_90a")}
    assert variants or (name, dtype) != ("llama", "bf16")
    for kernel in kernels:
        assert kernel["spill_bytes"] == kernel["stack_bytes"] == 0, kernel
        assert kernel["registers"] > 0 and kernel["blocks_per_processor"] >= 1, kernel


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_no_bank_conflicts(tmp_path, architecture):
    variants = [table.product(512, 1536, 576, "bf16"), table.product(512, 2048, 64, "f16", rows_of_weights=True),
                *(table.attention(1024, 4, 2, width, "bf16") for width in (64, 128, 256))]
    for variant, counted in zip(variants, table.count(variants, tmp_path, architecture), strict=True):
        # Bulk copies and products of warpgroups are no requests.
        assert counted["shared_requests"] > (10 if architecture == "sm_90a" else 100), variant.title
        assert counted["shared_passes"] == counted["shared_requests"], variant.title
        assert counted["global_sectors"] <= 1.1 * counted["global_ideal_sectors"], variant.title
