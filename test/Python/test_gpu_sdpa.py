# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The attention core on a (possibly emulated) GPU against NumPy in f64: the cases of the host's test, and tensor cores' own."""
import functools

import numpy as np
import pytest

import device_code
import device_runner
from test_kernels_sdpa import CASES, LIMITS, Attention, check_masked_keys_have_no_influence, close

pytestmark = pytest.mark.skipif(not device_runner.available(), reason="needs tsp-opt and the emulation")

# Widths that tensor cores take, each way that Q and rows are held; lengths that fill no tile.
WIDE = {
    **{f"width_{width}": Attention(queries=75, keys=83, heads=2, width=width, value_width=width, scale=width**-0.5, causal=True, positions="s",
                                   query_start=8) for width in (16, 32, 80, 96, 128, 192, 256)},
    "widths_differ": Attention(queries=33, keys=66, heads=2, width=64, value_width=128, scale=0.125),
    "queries_in_shared": Attention(batch=9, queries=130, keys=70, heads=24, kv_heads=12, width=96, value_width=128, scale=0.1, causal=True, positions="s"),
    "two_row_tiles": Attention(batch=9, queries=130, keys=70, heads=24, kv_heads=12, width=32, value_width=64, scale=0.2, causal=True, positions="s"),
}
ALL = CASES | WIDE
SETS = {"bf16": ALL, "f16": WIDE, "f32": CASES, "f64": {name: CASES[name] for name in ("plain", "batch", "odd", "everything")}}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The kernels of a type, compiled when first asked for."""
    @functools.cache
    def compiled(dtype):
        text = ""
        for name, case in SETS[dtype].items():
            case.dtype = dtype
            text += case.text(case.make(), name)[0]
        return device_runner.compile_kernels(text, tmp_path_factory.mktemp("sdpa"))
    return compiled


@pytest.mark.parametrize("dtype, name", [(dtype, name) for dtype, cases in SETS.items() for name in cases])
def test_case(kernels, dtype, name):
    case = ALL[name]
    case.dtype = dtype
    made = case.make()
    found = kernels(dtype)[name]([array for array, _ in made.values()], case.text(made)[1])
    expected = case.expected(made)
    close(found[0], expected[0], LIMITS[dtype])
    close(found[1], expected[1], LIMITS["f64" if dtype == "f64" else "f32"])


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_masked_keys_have_no_influence(tmp_path, dtype):
    check_masked_keys_have_no_influence(
        lambda text: device_runner.compile_kernels(text, tmp_path), dtype)


# FlashAttention 2.6's kernels for sm_80 (bf16, 4 warps of 32 rows, no mask in the loop), from the wheel vllm-flash-attn 2.6.2 by nvdisasm: head size -> keys
# of a tile, products (HMMA), ldmatrix, and all instructions of a warp's step.
FLASH_ATTENTION = {64: (128, 256, 72, 1139), 128: (32, 128, 48, 523)}
# Of the kernels for whole tiles, with the block behind the loop that starts the copy of the next keys: LDSM, LDGSTS, integer and other instructions.
FLASH_CATEGORIES = {64: (72, 16, 77, 753), 128: (48, 8, 42, 327)}


def long_attention(width):
    """Enough blocks for the largest tiles of rows, and no mask."""
    case = Attention(queries=4096, keys=4096, heads=32, kv_heads=8, width=width, value_width=width, scale=0.1, dtype="bf16")
    shapes = {"q": (1, 4096, 32, width), "k": (1, 4096, 8, width), "v": (1, 4096, 8, width)}
    made = {name: (np.broadcast_to(np.zeros((), device_runner.DTYPES["bf16"]), shape), "bf16") for name, shape in shapes.items()}
    return case.text(made, f"long_{width}")[0]


def attention_loops(directory, architecture="sm_80"):
    """head size -> Counter of the instructions in a step of the loop over keys; and the PTX."""
    ptx, _ = device_runner.compile_ptx("".join(map(long_attention, FLASH_ATTENTION)), directory)
    found = device_code.product_loops(device_code.disassemble(ptx, architecture))
    return {width: found[f"long_{width}"][-1] for width in FLASH_ATTENTION}, ptx


def test_steady_loop(tmp_path):
    """Per tensor-core product, no more than 1.1 times the instructions of FlashAttention, and no more ldmatrix."""
    if not (device_code.find_tool("nvdisasm") and device_code.find_tool("ptxas")):
        pytest.skip("needs ptxas and nvdisasm (./bootstrap)")
    loops, _ = attention_loops(tmp_path)
    for width, (_, products, matrices, instructions) in FLASH_ATTENTION.items():
        loop = loops[width]
        assert loop["HMMA"] in (products, products // 2), (width, loop)
        assert loop["LDSM"] / loop["HMMA"] <= matrices / products, (width, loop)
        assert loop.total() / loop["HMMA"] <= 1.1 * instructions / products, (width, loop)
        for (category, ours), theirs in zip(device_code.categories(loop).items(), FLASH_CATEGORIES[width]):
            assert ours <= 1.1 * theirs / products, (width, category, loop)
