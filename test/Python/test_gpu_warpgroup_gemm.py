# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products by warpgroups (sm_90a) on a (possibly emulated) GPU against NumPy: each tile, its edges, its code, its faults."""
import ml_dtypes
import numpy as np
import pytest

import cuda_driver
import device_code
import device_runner
import kernel_faults
from ptx_snippets import to_tf32
from test_gpu_gemm import LAYOUTS, TF32, product, shapes, with_bias
from test_kernels_gemm import LIMITS, check_epilogue, dot_text, error, random, reference

pytestmark = pytest.mark.skipif(not device_runner.available(), reason="needs tsp-compile and the emulation")
ARCHITECTURE = "sm_90a"
# (m, n, k) for which a tile is chosen (for 132 processors), how many tiles there are, and layouts. The second of a pair has ragged edges in each dim; of
# the third ones blocks have several tiles.
TILES = {
    "128x256": ((256, 8704, 320), 68, ("tn",)), "128x256_ragged": ((232, 8664, 328), 68, ("nn",)), "128x256_rounds": ((488, 12760, 320), 200, ("tn",)),
    "256x128": ((17408, 128, 512), 68, ("nt",)), "256x128_ragged": ((8680, 344, 392), 102, ("tt",)),
    "128x128": ((256, 4352, 192), 68, ("tn",)), "128x128_ragged": ((232, 4312, 200), 68, ("tt", "nn")), "128x128_rounds": ((2048, 3200, 64), 400, ("nt",)),
    "64x256": ((128, 8704, 192), 68, ("tt",)), "64x256_ragged": ((104, 8664, 200), 68, ("tn",)), "64x256_rounds": ((832, 7424, 64), 377, ("tn",)),
    "256x64": ((8704, 192, 384), 102, ("nn",)), "256x64_ragged": ((5864, 280, 200), 115, ("nt",)),
    "128x64": ((8576, 64, 128), 67, ("nt",)), "128x64_ragged": ((8680, 24, 520), 68, ("nn",)), "128x64_rounds": ((8552, 152, 72), 201, ("tt",)),
    "64x128": ((128, 4352, 128), 68, ("tn",)), "64x128_ragged": ((104, 88, 328), 2, ("tt",)), "64x128_rounds": ((4328, 344, 72), 204, ("nn",)),
    "64x64": ((640, 640, 640), 100, ("nn",)), "64x64_ragged": ((616, 600, 264), 100, ("tn", "nn")), "64x64_rounds": ((320, 1728, 64), 135, ("nt",)),
    "64x64_small": ((8, 24, 8), 1, LAYOUTS),
}

def compiled(text, directory):
    """The kernels, all of which are variants."""
    kernels = device_runner.compile_kernels(text, directory, ARCHITECTURE)
    assert all(kernel.how.name == f"{name}_{ARCHITECTURE}" for name, kernel in kernels.items())
    return kernels


def tiles_text(names):
    return "".join(dot_text(f"k_{name}_{layout}", *shapes(*TILES[name][0], layout), "bf16")[0] for name in names for layout in TILES[name][2])


@pytest.fixture(scope="module")
def tiles(tmp_path_factory):
    return compiled(tiles_text(TILES), tmp_path_factory.mktemp("tiles"))


@pytest.mark.parametrize("name", TILES)
def test_tile(tiles, name):
    (m, n, k), tiles_of_c, layouts = TILES[name]
    rng = np.random.default_rng(0)
    for layout in layouts:
        kernel = tiles[f"k_{name}_{layout}"]
        assert kernel.how.grid == (min(tiles_of_c, 132), 1, 1)
        lhs, rhs, *_ = shapes(m, n, k, layout)
        a, b = random(rng, lhs, "bf16"), random(rng, rhs, "bf16")
        found, = kernel([a, b], [((m, n), "bf16")])
        assert error(found, product(a, b, layout)) < LIMITS["bf16"]


# lhs, rhs, batching, contracting: dims of a map besides the two of a matrix.
FORMS = {
    "projection": ((2, 40, 72), (72, 3, 40), ((), ()), ((2,), (0,))),
    "output_projection": ((2, 40, 3, 40), (3, 40, 72), ((), ()), ((2, 3), (0, 1))),
    "turned_contraction": ((2, 40, 3, 72), (72, 3, 40), ((), ()), ((3, 2), (0, 1))),
    "scores": ((2, 24, 3, 72), (2, 40, 3, 72), ((0, 2), (0, 2)), ((3,), (3,))),
    "values": ((2, 3, 24, 40), (2, 40, 3, 72), ((0, 1), (0, 2)), ((3,), (1,))),
    "weight_gradient": ((2, 24, 40), (2, 24, 3, 40), ((), ()), ((0, 1), (0, 1))),
    "five_dims": ((2, 3, 24, 5, 72), (2, 3, 40, 5, 72), ((0, 1), (0, 1)), ((3, 4), (3, 4))),
    "long": ((32, 5000), (5000, 104), ((), ()), ((1,), (0,))),
}


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    text = "".join(dot_text(f"{name}_{dtype}", *FORMS[name], dtype)[0] for name in FORMS for dtype in ("bf16", "f16"))
    return compiled(text, tmp_path_factory.mktemp("forms"))


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("name", FORMS)
def test_form(forms, name, dtype):
    rng = np.random.default_rng(0)
    a, b = random(rng, FORMS[name][0], dtype), random(rng, FORMS[name][1], dtype)
    expected = reference(a, b, *FORMS[name][2:])
    found, = forms[f"{name}_{dtype}"]([a, b], [(expected.shape, dtype)])
    assert error(found, expected) < LIMITS[dtype]


FLOAT8 = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}


@pytest.mark.parametrize("right", FLOAT8)
@pytest.mark.parametrize("left", FLOAT8)
def test_float8(tmp_path, left, right):
    """Each pair of types; the products are exact in f32, and the second shape has ragged edges in each dim."""
    text = ""
    for i, (m, n, k) in enumerate([(256, 128, 384), (200, 88, 176)]):
        text += f"""
func.func private @k{i}(%a: tensor<{m}x{k}x{left}>, %b: tensor<{n}x{k}x{right}>) -> tensor<{m}x{n}xf32> attributes {{tsp.kernel}} {{
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<{m}x{k}x{left}>, tensor<{n}x{k}x{right}>) -> tensor<{m}x{n}xf32>
  return %r : tensor<{m}x{n}xf32>
}}
"""
    kernels = compiled(text, tmp_path)
    rng = np.random.default_rng(0)
    for i, (m, n, k) in enumerate([(256, 128, 384), (200, 88, 176)]):
        a, b = rng.standard_normal((m, k)).astype(FLOAT8[left]), rng.standard_normal((n, k)).astype(FLOAT8[right])
        found, = kernels[f"k{i}"]([a.view(np.uint8), b.view(np.uint8)], [((m, n), "f32")])
        assert error(found, product(a, b, "tn")) < 1e-6


@pytest.mark.parametrize("m, n, k", [(256, 128, 96), (200, 88, 52)])
def test_tf32(tmp_path, m, n, k):
    """f32 that may be rounded to 10 bits of mantissa: the copies round, to the nearest."""
    kernel = compiled(dot_text("k", *shapes(m, n, k, "tn"), "f32", extra=TF32)[0], tmp_path)["k"]
    rng = np.random.default_rng(0)
    a, b = random(rng, (m, k), "f32"), random(rng, (n, k), "f32")
    found, = kernel([a, b], [((m, n), "f32")])
    rounded = [to_tf32(x).astype(np.float64) for x in (a, b)]
    assert error(found, product(*rounded, "tn")) < 1e-6
    assert error(found, product(a.astype(np.float64), b.astype(np.float64), "tn")) > 1e-5


@pytest.mark.parametrize("name", ["accumulate", "silu_times", "bias_tanh", "position"])
def test_epilogue(tmp_path, name):
    check_epilogue(compiled, tmp_path, name, (2, 40, 72), (72, 3, 24), 0, "bf16")


def test_fold(tmp_path):
    """The sums of a fold are added to where they are."""
    text = """
func.func private @k(%a: tensor<80x72xbf16>, %w: tensor<72x56xbf16>, %c: tensor<80x56xf32>) -> tensor<80x56xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: 2>} {
  %r = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<80x72xbf16>, tensor<72x56xbf16>) -> tensor<80x56xf32>
  %y = stablehlo.add %c, %r : tensor<80x56xf32>
  return %y : tensor<80x56xf32>
}
"""
    kernel = compiled(text, tmp_path)["k"]
    rng = np.random.default_rng(0)
    a, w, c = random(rng, (80, 72), "bf16"), random(rng, (72, 56), "bf16"), random(rng, (80, 56), "f32")
    found, = kernel([a, w, c], [2])
    assert error(found, c + reference(a, w, ((), ()), ((1,), (0,)))) < 1e-6


# Products long enough for a steady loop; and one where B lies along n, and clusters are of less use.
LONG = {"128x256": (1536, 2816, 2048), "256x128": (3072, 1408, 2048), "128x128": (1280, 1280, 2048), "64x256": (64, 33792, 2048),
        "256x64": (33792, 64, 2048), "128x64": (1792, 576, 2048), "64x128": (704, 1536, 2048), "64x64": (512, 640, 2048)}
ACROSS = {"256x64": (33408, 64, 2048)}
# What is in the loop of a warpgroup that multiplies, and in those two of the threads that copy one side each, in cuBLAS 13.0's kernel of the same tile and
# layout (sm90_xmma_gemm_bf16bf16_bf16f32_f32_*_tilesize*x64_*_execute_segment_k_off): products, integer instructions, all, and all of the copying loops.
CUBLAS = {
    "128x256": {"tn": (4, 49, 59, 63), "tt": (4, 53, 63, 95), "nt": (4, 53, 63, 101), "nn": (4, 53, 63, 72)},
    "256x128": {"tn": (8, 63, 77, 63), "tt": (8, 63, 77, 74), "nt": (8, 63, 77, 101), "nn": (8, 63, 77, 94)},
    "128x128": {"tn": (8, 59, 73, 63), "tt": (8, 59, 73, 74), "nt": (8, 59, 73, 81), "nn": (8, 59, 73, 72)},
    "64x256": {"tn": (4, 50, 60, 63), "tt": (4, 46, 56, 95), "nt": (4, 46, 56, 95), "nn": (4, 50, 60, 63)},
    "256x64": {"tn": (16, 95, 117, 63), "tt": (16, 95, 117, 63), "nt": (16, 95, 117, 94), "nn": (16, 95, 117, 94)},
    "128x64": {"tn": (8, 58, 72, 63), "tt": (8, 58, 72, 63), "nt": (8, 56, 70, 71), "nn": (8, 56, 70, 71)},
    "64x128": {"tn": (4, 42, 52, 63), "tt": (4, 39, 49, 73), "nt": (4, 39, 49, 73), "nn": (4, 42, 52, 63)},
    "64x64": {"tn": (4, 44, 54, 63), "tt": (4, 44, 54, 63), "nt": (4, 44, 54, 63), "nn": (4, 44, 54, 63)},
}
TESTED = ("tn", "nt")  # lines along k, and not
SYNCS, OTHERS = 2, 4  # in each of the multiplying loops: waits and arrivals; branches, WARPGROUP.ARRIVE and .DEPBAR


def long_shapes(name, layout):
    return shapes(*(LONG | (ACROSS if layout in ("tt", "nt") else {}))[name], layout)


def long_products(layouts=tuple(LAYOUTS)):
    return "".join(dot_text(f"k_{name}_{layout}", *long_shapes(name, layout), "bf16")[0] for name in LONG for layout in layouts)


@pytest.fixture(scope="module")
def long_ptx(tmp_path_factory):
    return device_runner.compile_ptx(long_products(TESTED), tmp_path_factory.mktemp("long"), ARCHITECTURE)[0]


def steady_loops(ptx):
    """Kernel -> the loop that multiplies, and the one that copies, which ptxas may have unrolled, with the steps of k in it."""
    sass = device_code.disassemble(ptx, ARCHITECTURE)
    multiplying, copying = (device_code.product_loops(sass, opcode) for opcode in ("HGMMA", "UTMALDG"))

    def shortest(loops):
        return min((loop for loop in loops if "EXIT" not in loop), key=lambda loop: loop.total())
    return {name: (shortest(multiplying[name]), shortest(copying[name]), shortest(copying[name])["SYNCS"] / 2) for name in multiplying}


@pytest.mark.skipif(not (device_code.find_tool("nvdisasm") and device_code.find_tool("ptxas")), reason="needs ptxas and nvdisasm (./bootstrap)")
def test_steady_loop(long_ptx):
    """Per product no more than 1.1 times the instructions of cuBLAS, in each kind; none to move descriptors to uniform registers."""
    loops = steady_loops(long_ptx)
    for name in LONG:
        for layout in TESTED:
            products, integer, total, copying = CUBLAS[name][layout]
            loop, copies, steps = loops[f"k_{name}_{layout}_{ARCHITECTURE}"]
            assert loop["HGMMA"] == products and loop["R2UR"] == 0, (name, layout, loop)
            assert loop["integer"] <= 1.1 * integer and loop["SYNCS"] <= SYNCS, (name, layout, loop)
            assert loop.total() - loop["integer"] - products - loop["SYNCS"] <= OTHERS and loop.total() <= 1.1 * total, (name, layout, loop)
            assert copies.total() / steps <= 1.1 * copying and copies["R2UR"] == 0, (name, layout, copies)


@pytest.mark.skipif(not (device_code.find_tool("nvdisasm") and device_code.find_tool("ptxas")), reason="needs ptxas and nvdisasm (./bootstrap)")
def test_results_are_rounded_by_twos(long_ptx, tmp_path):
    """One instruction rounds two sums, one leaves eight of a thread for bulk copies, each of which takes 16 x 64 of a warp; 16 bytes where threads store."""
    for name, counts in device_code.instructions(device_code.disassemble(long_ptx, ARCHITECTURE)).items():
        m, n = map(int, name.split("_")[1].split("x"))
        warps = 8 if (m, n) in ((128, 256), (256, 128)) else 4
        assert counts["F2FP"] == m * n / warps / 64 and counts["STSM"] == m * n / warps / 256, (name, counts)
        assert counts["UTMASTG"] == m * n / warps / 1024 and counts["STG"] == counts["STS"] == 0, (name, counts)
    ptx, _ = device_runner.compile_ptx(with_bias("k", *LONG["128x256"], "bf16"), tmp_path, ARCHITECTURE)
    [counts] = device_code.instructions(device_code.disassemble(ptx, ARCHITECTURE)).values()
    assert counts["F2FP"] == 4 * counts["STG"] > 0, counts


@pytest.mark.skipif(not device_code.find_tool("ptxas"), reason="needs ptxas (./bootstrap)")
def test_no_spills(long_ptx):
    """Nor do products wait for each other, which device_code.resources would say."""
    found = device_code.resources(long_ptx, ARCHITECTURE)
    assert len(found) == len(LONG) * len(TESTED)
    for name, kernel in found.items():
        assert kernel.spills == 0 and kernel.stack == 0, (name, kernel)


def test_general_kernel_where_maps_cannot_read(tmp_path):
    """Lines that are no multiples of 16 bytes apart."""
    kernel = device_runner.compile_kernels(dot_text("k", *shapes(131, 67, 37, "tn"), "bf16")[0], tmp_path, ARCHITECTURE)["k"]
    assert kernel.how.name == "k"
    rng = np.random.default_rng(0)
    a, b = random(rng, (131, 37), "bf16"), random(rng, (67, 37), "bf16")
    found, = kernel([a, b], [((131, 67), "bf16")])
    assert error(found, product(a, b, "tn")) < LIMITS["bf16"]


SCRIPT = """
import ctypes, hashlib, json, tempfile
import cuda_driver
from test_gpu_warpgroup_gemm import *
rng = np.random.default_rng(0)
cases = {cases}
kernels = compiled("".join(dot_text(f"k_{{m}}_{{n}}_{{k}}_{{layout}}", *shapes(m, n, k, layout), "bf16")[0] for m, n, k, layout in cases), tempfile.mkdtemp())
for m, n, k, layout in cases:
    kernel = kernels[f"k_{{m}}_{{n}}_{{k}}_{{layout}}"]
    lhs, rhs, *_ = shapes(m, n, k, layout)
    found, = kernel([random(rng, lhs, "bf16"), random(rng, rhs, "bf16")], [((m, n), "bf16")])
    counters = (ctypes.c_uint64 * 5)()
    cuda_driver.driver().tspEmulationCounters(kernel.how.name.encode(), counters)
    print(m, n, k, layout, *counters, hashlib.sha256(found.tobytes()).hexdigest())
"""
# Rings that are filled several times; clusters, tiles in turns, more of them than blocks.
CHECKED = [(64, 64, 1024, "tn"), (72, 136, 1032, "nt"), (128, 4352, 128, "tn"), (4328, 344, 72, "nn"), (320, 1728, 64, "tt"), (232, 8664, 328, "tn")]


def test_checked():
    """No race, no read of what has not arrived, no conflict of banks; the same bits in each order of warps and blocks."""
    runs = [cuda_driver.run_script(SCRIPT.format(cases=CHECKED), timeout=300, TSP_EMULATION_CHECK=1, TSP_EMULATION_SEED=seed) for seed in (1, 2)]
    for run in runs:
        assert run.returncode == 0, run.stderr
    assert runs[0].stdout == runs[1].stdout and runs[0].stdout.count("\n") == len(CHECKED)
    for line in runs[0].stdout.splitlines():
        requests, passes = line.split()[4:6]  # bulk copies are none, stmatrix is one
        assert int(requests) > 0 and requests == passes, line


# A fault in the PTX of a product of one block, 64 x 64, whose ring of 8 stages is filled four times: what is replaced (the how-manieth of its like), by
# what, and what the checker says. The copying loop does two steps at a time.
ARRIVE, EXPECT, TRY = r"mbarrier\.arrive\.shared\.b64.*;", r"mbarrier\.arrive\.expect_tx.*;", r"mbarrier\.try_wait\.parity\S* (%p\d+),.*;"
TRUE = r"setp.eq.u32 \1, 0, 0;"
FAULTS = {
    "full stage not waited for": (TRY, 3, TRUE,
        "is the destination of a bulk copy that was not waited for"),
    "empty stage not waited for": (TRY, 0, TRUE,
        "is the destination of a bulk copy that was not waited for|race at shared address|arrivals are too many"),
    "stage not released": (ARRIVE, 0, "",
        "this wait never ends: phase . of the mbarrier at shared address .* lacks 1 of 1 arrivals"),
    "stage released twice": (ARRIVE, 0, r"\g<0>\n\g<0>",
        "race at shared address .*: read by thread .* at PTX line .*wgmma|is the destination of a bulk copy|arrivals are too many"),
    "bytes not expected": (EXPECT, 0, "",
        "this wait never ends: .* copies have brought 16384 bytes more than it expects"),
    "too many bytes expected": (r"mov\.b32 (\s*%r\d+), 16384;", 0, r"mov.b32 \1, 16400;",
        "this wait never ends: .* lacks 0 of 1 arrivals and 16 bytes that no copy brings"),
    "fence of products removed": (r"wgmma\.fence\.sync\.aligned;", 0, "",
        "no wgmma.fence before the first product"),
    "stage released before its products are done": (r"wgmma\.wait_group\.sync\.aligned\s+1;", 0, "wgmma.wait_group.sync.aligned 2;",
        "is the destination of a bulk copy that was not waited for|race at shared address"),
    "last products not waited for": (r"wgmma\.wait_group\.sync\.aligned\s+0;", 0, "wgmma.wait_group.sync.aligned 1;",
        "a register of the sums is read before wgmma.wait_group has waited for the product"),
    "products not committed": (r"wgmma\.commit_group\.sync\.aligned;", 1, "",
        "is the destination of a bulk copy that was not waited for|race at shared address"),
    "fence of barriers removed": (r"fence\.mbarrier_init\.release\.cluster;", 0, "",
        "was initialised with no fence.mbarrier_init"),
    "barrier after their initialisation removed": (r"bar\.sync\s+0;", 0, "",
        "race at shared address .*: an mbarrier initialised by thread"),
    "fence of results removed": (r"fence\.proxy\.async\.shared::cta;", 0, "",
        "shared address .* was written by an ordinary store, .*, with no fence.proxy.async in between"),
}


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    """The error of the kernel without a fault, and what is printed of each."""
    directory, rng = tmp_path_factory.mktemp("faults"), np.random.default_rng(0)
    ptx, launches = device_runner.compile_ptx(dot_text("k", *shapes(64, 64, 2048, "tn"), "bf16")[0], directory, ARCHITECTURE)
    a, b = random(rng, (64, 2048), "bf16"), random(rng, (64, 2048), "bf16")
    [found], printed = kernel_faults.run(ptx, launches["k"], [a, b], [((64, 64), "bf16")], FAULTS, directory, ARCHITECTURE)
    return error(found, product(a, b, "tn")), printed


def test_kernel_without_fault(faults):
    assert faults[0] < LIMITS["bf16"]


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_named(faults, name):
    kernel_faults.check_is_named(name, FAULTS, faults[1])
