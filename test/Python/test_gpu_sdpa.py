# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The attention core on a (possibly emulated) GPU against NumPy in f64: the cases of the host's test, and tensor cores' own."""
import dataclasses
import functools
import re

import numpy as np
import pytest

import device_code
import device_runner
import kernel_faults
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
# Wide heads, and blocks enough: 128 rows in eight warps.
EIGHT_WARPS = {f"eight_warps_{width}": dataclasses.replace(WIDE["queries_in_shared"], width=width, value_width=width, dtype="bf16") for width in (192, 256)}
# More in the batch than a grid has blocks in its third dim.
MANY = {"many": Attention(batch=65537, queries=3, keys=5, heads=2, kv_heads=2, width=16, value_width=16, scale=0.25)}
# Cases with a variant for sm_90a: one, two and three warpgroups with rows.
WARPGROUPS = {name: case for name, case in (CASES | WIDE).items() if name not in ("one_key", "one_of_each", "odd")}
ALL = CASES | WIDE
SETS = {("sm_80", "bf16"): ALL | EIGHT_WARPS | MANY, ("sm_80", "f16"): WIDE, ("sm_80", "f32"): CASES,
        ("sm_80", "f64"): {name: CASES[name] for name in ("plain", "batch", "odd", "everything")},
        ("sm_90a", "bf16"): WARPGROUPS, ("sm_90a", "f16"): WIDE}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The kernels of an architecture and a type, compiled when first asked for."""
    @functools.cache
    def compiled(architecture, dtype):
        text = ""
        for name, case in SETS[architecture, dtype].items():
            case.dtype = dtype
            text += case.text(case.make(), name)[0]
        return device_runner.compile_kernels(text, tmp_path_factory.mktemp("sdpa"), architecture)
    return compiled


@pytest.mark.parametrize("architecture, dtype, name", [(*key, name) for key, cases in SETS.items() for name in cases])
def test_case(kernels, architecture, dtype, name):
    case = SETS[architecture, dtype][name]
    case.dtype = dtype
    made = case.make()
    kernel = kernels(architecture, dtype)[name]
    assert kernel.how.name.endswith("_sm_90a") == (architecture == "sm_90a")
    assert name not in EIGHT_WARPS or kernel.how.block == (256, 1, 1)
    found = kernel([array for array, _ in made.values()], case.text(made)[1])
    expected = case.expected(made)
    close(found[0], expected[0], LIMITS[dtype])
    close(found[1], expected[1], LIMITS["f64" if dtype == "f64" else "f32"])


@pytest.mark.parametrize("architecture, dtype", [("sm_80", "bf16"), ("sm_80", "f32"), ("sm_90a", "bf16")])
def test_masked_keys_have_no_influence(tmp_path, architecture, dtype):
    check_masked_keys_have_no_influence(lambda text: device_runner.compile_kernels(text, tmp_path, architecture), dtype)


# A block with two warpgroups, more tiles of keys than stages, some skipped, a ragged end.
CHECKED = Attention(batch=9, queries=130, keys=400, heads=24, kv_heads=12, width=96, value_width=96, scale=0.1, causal=True, positions="s", query_start=180,
                    dtype="bf16")


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_checker_finds_nothing(tmp_path, architecture):
    """Order of copies, products, registers and barriers."""
    made = CHECKED.make()
    text, outputs = CHECKED.text(made)
    ptx, launches = device_runner.compile_ptx(text, tmp_path, architecture)
    module = device_runner.device(architecture).module(ptx, checker=True)
    found = device_runner.DeviceKernel(module, launches["k"])([a for a, _ in made.values()], outputs)
    close(found[0], CHECKED.expected(made)[0], LIMITS["bf16"])


# Masks of scores: what is kept, or minus infinity.
MASK = r"selp\.f32\s+(%r\d+), (?:0fFF800000, (%r\d+)|(%r\d+), 0fFF800000), %p\d+;"


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_numbers_without_masks_are_wrong(tmp_path, architecture):
    made = CHECKED.make()
    text, outputs = CHECKED.text(made)
    ptx, launches = device_runner.compile_ptx(text, tmp_path, architecture)
    unmasked, count = re.subn(MASK, r"mov.b32 \1, \2\3;", ptx)
    found = device_runner.DeviceKernel(device_runner.device(architecture).module(unmasked), launches["k"])([a for a, _ in made.values()], outputs)
    with pytest.raises(AssertionError):
        close(found[0], CHECKED.expected(made)[0], LIMITS["bf16"])
    assert count > 0


# What a faulty generator would leave out of the kernel for sm_90a.
FAULTS = {
    "wait_for_products": (r"wgmma\.wait_group\.sync\.aligned\s+1;", None, "", "wgmma"),
    "fence_of_barriers": (r"fence\.mbarrier_init\.release\.cluster;", None, "", "no fence.mbarrier_init"),
    "release": (r"mbarrier\.arrive\.shared\.b64\s+%rd\d+, \[.*?\];", None, "", "never"),
    "acquire": (r"mbarrier\.try_wait\.parity\.shared\.b64\s+(%p\d+), .*?;", None, r"setp.eq.u32 \1, 0, 0;", "mbarrier"),
}


def test_faults_are_found(tmp_path):
    made = CHECKED.make()
    text, outputs = CHECKED.text(made)
    ptx, launches = device_runner.compile_ptx(text, tmp_path, "sm_90a")
    first = dataclasses.replace(launches["k"], grid=(1, 1, 1))
    _, printed = kernel_faults.run(ptx, first, [a for a, _ in made.values()], outputs, FAULTS, tmp_path, "sm_90a")
    for name in FAULTS:
        kernel_faults.check_is_named(name, FAULTS, printed)


def test_faults_on_tensor_cores_are_named(tmp_path):
    """The kernel for sm_80: its order; copies and positions of keys beyond the last one."""
    case = Attention(queries=130, keys=130, heads=2, width=64, value_width=64, scale=0.125, causal=True, positions="s", dtype="bf16")
    made = case.make()
    text, outputs = case.text(made)
    ptx, launches = device_runner.compile_ptx(text, tmp_path)
    outside = r"access of \d+ bytes at global address \S+ is out of bounds"
    copies, positions = f"cp.async.*{outside}", f"ld.global.*{outside}"
    faults = kernel_faults.of_copies(ptx)
    # The first tile has all its keys. Each other copies four parts of K and of V.
    masked = r"(cp\.async\S+\s+\[\S+\], \[\S+\], 16), %r\d+;"
    faults |= {f"mask of a copy removed {number}": (masked, number, r"\1, 16;", copies) for number in range(-8, 0)}
    faults |= {"a key too many": (r"setp\.lt\.s32\s+%p\d+, %r\d+, 130;(?=\s*selp\.b32)", 0, kernel_faults.one_more, copies),
               "position of a key too many": (r"min\.s32\s+%r\d+, %r\d+, 129;", None, kernel_faults.one_more, positions),
               "bound of positions removed": (r"min\.s32\s+(%r\d+), (%r\d+), 129;", None, r"mov.b32 \1, \2;", positions)}
    found, printed = kernel_faults.run(ptx, launches["k"], [a for a, _ in made.values()], outputs, faults, tmp_path)
    for result, expected, limit in zip(found, case.expected(made), (LIMITS["bf16"], LIMITS["f32"])):
        close(result, expected, limit)
    for name in faults:
        kernel_faults.check_is_named(name, faults, printed)


def test_no_spills_in_eight_warps(tmp_path):
    if not device_code.find_tool("ptxas"):
        pytest.skip("needs ptxas (./bootstrap)")
    text = "".join(case.text(case.make(), name)[0] for name, case in EIGHT_WARPS.items())
    ptx, launches = device_runner.compile_ptx(text, tmp_path)
    assert all(how.block == (256, 1, 1) for how in launches.values())
    for name, kernel in device_code.resources(ptx, "sm_80").items():
        assert kernel.spills == kernel.stack == 0, (name, kernel)


# FlashAttention 2.6's kernels for sm_80 (bf16, 4 warps of 32 rows, no mask in the loop), from the wheel vllm-flash-attn 2.6.2 by nvdisasm: head size -> keys
# of a tile, products (HMMA), ldmatrix, and all instructions of a warp's step.
FLASH_ATTENTION = {64: (128, 256, 72, 1139), 128: (32, 128, 48, 523)}
# Of the kernels for whole tiles, with the block behind the loop that starts the copy of the next keys: LDSM, LDGSTS, integer and other instructions.
FLASH_CATEGORIES = {64: (72, 16, 77, 753), 128: (48, 8, 42, 327)}


def long_attention(width, keys=4096, queries=4096):
    """Enough blocks for the largest tiles of rows, and no mask."""
    case = Attention(queries=queries, keys=keys, heads=32, kv_heads=8, width=width, value_width=width, scale=0.1, dtype="bf16")
    shapes = {"q": (1, queries, 32, width), "k": (1, keys, 8, width), "v": (1, keys, 8, width)}
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


# FlashAttention-3's kernels for sm_90a (bf16, loops without a mask), by nvdisasm: head size -> keys of a tile, products (HGMMA) and instructions of a
# warp's step: all; integer; f32, conversions and exponentials; barriers of any kind, waits and shuffles. 128: from the wheel flash-attn3-jax 0.2.3; the
# others: sgl-kernel 0.3.8, whose products of Q and K' have 16 columns for heads of 96 and more, so that there are five to nine times as many. 64: of the
# kernel for sliding windows, which keeps weights in registers as ours does. Rows come in three warpgroups for heads of 64 and 96, else in two.
FLASH_ATTENTION_3 = {64: (128, 12, 433, 65, 332, 16), 96: (144, 63, 767, 279, 384, 16), 128: (176, 19, 598, 83, 472, 16),
                     192: (112, 91, 837, 362, 360, 14), 256: (80, 85, 758, 333, 320, 14)}
# Ours, where it differs: for heads of 64 as many queries as give blocks of three warpgroups, for those of 96 two of them and wider tiles of keys.
QUERIES, KEYS = {64: 6336}, {96: 176}


def categories(loop):
    groups = ("integer",), ("FADD", "FMUL", "FFMA", "FMNMX", "FMNMX3", "F2FP", "MUFU"), ("SYNCS", "BAR", "WARPGROUP", "SHFL")
    return [loop.total(), *(sum(loop[kind] for kind in kinds) for kinds in groups)]


def test_warpgroup_loop(tmp_path):
    """For sm_90a: in no category more than 1.1 times the instructions of FlashAttention-3 for a key, nothing spilled, products not serialized; one instruction
    rounds two results, and of heads in multiples of 32 lanes store 16 bytes of them at a time."""
    if not (device_code.find_tool("nvdisasm") and device_code.find_tool("ptxas")):
        pytest.skip("needs ptxas and nvdisasm (./bootstrap)")
    text = "".join(long_attention(width, 24 * KEYS.get(width, keys), QUERIES.get(width, 4096)) for width, (keys, *_) in FLASH_ATTENTION_3.items())
    ptx, launches = device_runner.compile_ptx(text, tmp_path, "sm_90a")
    sass = device_code.disassemble(ptx, "sm_90a")
    loops, counts = device_code.product_loops(sass, "HGMMA"), device_code.instructions(sass)
    for name, found in device_code.resources(ptx, "sm_90a").items():
        assert found.spills == found.stack == 0, name
    for width, (keys, products, *theirs) in FLASH_ATTENTION_3.items():
        how = launches[f"long_{width}"]
        tile = KEYS.get(width, keys)
        assert {box["box"][-2] for _, _, box in how.maps} == {tile} and how.block == (512 if width == 64 else 384, 1, 1), how
        ours = width // 16 + tile // 16
        loop = min((loop for loop in loops[how.name] if loop["HGMMA"] == ours), key=lambda loop: loop.total())
        for mine, other in zip(categories(loop), theirs):
            assert mine / tile <= 1.1 * other / keys, (width, loop)
        # Weights of two tiles, and of two rows of O a quarter of the columns; two rows of LSE.
        assert counts[how.name]["F2FP"] == 2 * tile // 4 + width // 4 and counts[how.name]["STG"] == 2 * width // 32 + 2, (width, counts[how.name])
