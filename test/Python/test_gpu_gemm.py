# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products on a (possibly emulated) GPU, beside what test_kernels_gemm.py runs there: each tile, its edges, its code."""
import numpy as np
import pytest

import cuda_driver
import device_code
import device_runner
import kernel_faults
from test_kernels_gemm import FORMS, LIMITS, dot_text, error, on_device, random

pytestmark = pytest.mark.skipif(not device_runner.available(), reason="needs tsp-opt and the emulation")

# Dims of a that are [m, k] or [k, m], of b that are [n, k] or [k, n].
LAYOUTS = {"tn": (1, 1), "tt": (1, 0), "nt": (0, 0), "nn": (0, 1)}
# (m, n, k) for which a tile is chosen (for 108 processors), its blocks, threads and KB of shared memory. The second of a pair has ragged edges. Tiles turned
# round take as much, so m and n are such that there would be another number of those.
TILES = {
    "128x256": ((2176, 3072, 192), 204, 256, 144), "128x256_ragged": ((2168, 3064, 136), 204, 256, 144),
    "256x128_ragged": ((27640, 128, 72), 108, 256, 144),
    "128x128": ((1280, 1280, 160), 100, 128, 64), "128x128_ragged": ((1272, 1144, 104), 90, 128, 64),
    "64x128": ((576, 1536, 96), 108, 128, 48), "64x128_ragged": ((568, 1528, 40), 108, 128, 48),
    "128x64_ragged": ((13816, 64, 72), 108, 128, 48),
    "64x64": ((512, 640, 320), 80, 128, 64), "64x64_ragged": ((504, 616, 136), 80, 128, 64),
    "32x64": ((256, 512, 320), 64, 128, 48), "32x64_ragged": ((248, 488, 136), 64, 128, 48),
    "16x128": ((16, 13824, 192), 108, 128, 72), "16x128_ragged": ((8, 13752, 72), 108, 128, 72),
    "registers": ((131, 67, 37), 6, 128, 24), "registers_short": ((65, 129, 5), 6, 128, 24),
    "four_bytes": ((66, 130, 70), 9, 128, 48), "eight_bytes": ((68, 132, 76), 9, 128, 48),
}


def shapes(m, n, k, layout):
    a, b = LAYOUTS[layout]
    return ((m, k) if a else (k, m), (n, k) if b else (k, n), ((), ()), ((a,), (b,)))


def product(a, b, layout):
    """In f32 or better: far nearer than what bf16 can tell."""
    a, b = (x.astype(np.promote_types(x.dtype, np.float32)) for x in (a, b))
    return (a if LAYOUTS[layout][0] else a.T) @ (b.T if LAYOUTS[layout][1] else b)


@pytest.fixture(scope="module")
def tiles(tmp_path_factory):
    text = "".join(dot_text(f"{name}_{layout}", *shapes(*TILES[name][0], layout), "bf16")[0].replace("@", "@k_")
                   for name in TILES for layout in LAYOUTS)
    return on_device(text, tmp_path_factory.mktemp("tiles"))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", TILES)
def test_tile(tiles, name, layout):
    (m, n, k), blocks, threads, kilobytes = TILES[name]
    kernel = tiles[f"k_{name}_{layout}"]
    assert (kernel.how.grid, kernel.how.block, kernel.how.shared) == ((blocks, 1, 1), (threads, 1, 1), kilobytes * 1024)
    rng = np.random.default_rng(0)
    lhs, rhs, *_ = shapes(m, n, k, layout)
    a, b = random(rng, lhs, "bf16"), random(rng, rhs, "bf16")
    found, = kernel([a, b], [((m, n), "bf16")])
    assert error(found, product(a, b, layout)) < LIMITS["bf16"]


# The same in the 99 KB of sm_120 (for 188 processors).
SMALLER = {"128x256": ((1912, 3000, 72), 180), "256x128": ((1016, 6000, 72), 188)}


def test_largest_tiles_in_less_shared_memory(tmp_path):
    script = f"""
        from test_gpu_gemm import *
        kernels = device_runner.compile_kernels("".join(dot_text(f"k_{{name}}", *shapes(*SMALLER[name][0], "tn"), "bf16")[0] for name in SMALLER),
                                                {str(tmp_path)!r}, "sm_120")
        rng = np.random.default_rng(0)
        for name, ((m, n, k), blocks) in SMALLER.items():
            kernel = kernels[f"k_{{name}}"]
            assert (kernel.how.grid, kernel.how.block, kernel.how.shared) == ((blocks, 1, 1), (256, 1, 1), 96 * 1024), kernel.how
            a, b = random(rng, (m, k), "bf16"), random(rng, (n, k), "bf16")
            found, = kernel([a, b], [((m, n), "bf16")])
            assert error(found, product(a, b, "tn")) < LIMITS["bf16"], name
        """
    run = cuda_driver.run_script(script, TSP_EMULATED_CAPABILITY="12.0")
    assert run.returncode == 0, run.stderr


TF32 = (", algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, "
        "rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>")


@pytest.mark.parametrize("m, n, k", [(1280, 1280, 96), (504, 616, 68), (131, 67, 37)])
def test_tf32(tmp_path, m, n, k):
    """Where the program allows it, f32 operands are rounded to 10 bits of mantissa, to nearest."""
    text = "".join(dot_text(f"k_{layout}", *shapes(m, n, k, layout), "f32", extra=TF32)[0] for layout in LAYOUTS)
    kernels = on_device(text, tmp_path)
    rng = np.random.default_rng(0)
    for layout in LAYOUTS:
        lhs, rhs, *_ = shapes(m, n, k, layout)
        a, b = random(rng, lhs, "f32"), random(rng, rhs, "f32")
        found, = kernels[f"k_{layout}"]([a, b], [((m, n), "f32")])
        rounded = [((x.view(np.uint32) + 0x1000) & 0xFFFFE000).view(np.float32).astype(np.float64) for x in (a, b)]
        assert error(found, product(*rounded, layout)) < 1e-6
        assert error(found, product(a, b, layout)) > 1e-4


@pytest.mark.parametrize("m, n, k", [(512, 640, 64), (504, 616, 68), (131, 67, 37), (8, 2048, 96)])
def test_f64(tmp_path, m, n, k):
    """On tensor cores, which round each product and sum as the vector units do."""
    text = "".join(dot_text(f"k_{layout}", *shapes(m, n, k, layout), "f64")[0] for layout in LAYOUTS)
    assert device_runner.compile_ptx(text, tmp_path)[0].count("mma.sync.aligned.m8n8k4.row.col.f64") > 4
    kernels = on_device(text, tmp_path)
    rng = np.random.default_rng(0)
    for layout in LAYOUTS:
        lhs, rhs, *_ = shapes(m, n, k, layout)
        a, b = random(rng, lhs, "f64"), random(rng, rhs, "f64")
        found, = kernels[f"k_{layout}"]([a, b], [((m, n), "f64")])
        assert error(found, product(a, b, layout)) < LIMITS["f64"]


def test_bytes(tmp_path):
    """8-bit integers: exact, and on tensor cores where both sides lie along k."""
    sizes = [(96, 160, 192), (65, 70, 68), (3, 40, 32)]
    tail = ("%f = stablehlo.convert %r : (tensor<65x70xi32>) -> tensor<65x70xf32>\n  %s = stablehlo.negate %f : tensor<65x70xf32>", (65, 70), "f32")
    text = "".join(dot_text(f"k_{m}_{layout}", *shapes(m, n, k, layout), "i8", "i32")[0] for m, n, k in sizes for layout in ("tn", "tt"))
    text += dot_text("k_tail", *shapes(*sizes[1], "tn"), "i8", "i32", tail=tail)[0]
    ptx, launches = device_runner.compile_ptx(text, tmp_path)
    of = {name: part for part in ptx.split(".entry")[1:] for name in launches if part.split("(")[0].strip() == name}
    assert {name for name, part in of.items() if "m16n8k32.row.col.s32.s8.s8.s32" in part} == {"k_96_tn", "k_65_tn", "k_3_tn", "k_tail"}
    kernels = on_device(text, tmp_path)
    rng = np.random.default_rng(0)
    for name in of:
        m, n, k = next(size for size in sizes if f"_{size[0]}_" in name or (name == "k_tail" and size[0] == 65))
        layout = name[-2:] if name != "k_tail" else "tn"
        lhs, rhs, *_ = shapes(m, n, k, layout)
        a, b = (rng.integers(-128, 128, shape, np.int8) for shape in (lhs, rhs))
        found, = kernels[name]([a, b], [((m, n), "f32" if name == "k_tail" else "i32")])
        expected = a.astype(np.int32) @ (b.T if layout == "tn" else b).astype(np.int32)
        np.testing.assert_array_equal(found, -expected.astype(np.float32) if name == "k_tail" else expected)


# Products long enough for a steady loop, and what is in that loop in cuBLAS 13.0's kernel of the same tile, stages of k and layout
# on sm_80 (ampere_bf16_s16816gemm_bf16_*_stages_*): registers; products, ldmatrix, copies, integer instructions, all instructions.
LONG = {"128x256": (4096, 4096, 2048), "128x128": (1280, 1280, 2048), "64x128": (512, 1536, 2048), "64x64": (512, 640, 2048)}
CUBLAS = {
    "128x256": {"tn": (238, 128, 32, 12, 38, 214), "tt": (226, 128, 32, 12, 26, 202), "nt": (222, 128, 32, 12, 22, 198)},
    "128x128": {"tn": (226, 64, 16, 8, 29, 121), "tt": (222, 64, 16, 8, 25, 117), "nt": (222, 64, 16, 8, 21, 113)},
    "64x128": {"tn": (142, 32, 12, 6, 25, 79), "tt": (138, 32, 12, 6, 21, 75), "nt": (138, 32, 12, 6, 21, 75)},
    "64x64": {"tn": (102, 32, 16, 8, 29, 89), "tt": (98, 32, 16, 8, 29, 89), "nt": (98, 32, 16, 8, 29, 89)},
}
# Before copies that follow a barrier ptxas 13.0 puts three of `@!PT LDS RZ, [RZ]`, which do nothing: in a step of ours, and 3 or 9
# in a step of the kernels of the same tiles that nvcc makes of CUTLASS 4.2; cuBLAS's kernels, which another assembler made, have none.
DUMMIES = 3


def long_products():
    return "".join(dot_text(f"k_{name}_{layout}", *shapes(*LONG[name], layout), "bf16")[0] for name in LONG for layout in CUBLAS[name])


def test_steady_loop(tmp_path):
    """Per tensor-core product, no more than 1.1 times the instructions of cuBLAS, of each category and together."""
    if not (device_code.find_tool("nvdisasm") and device_code.find_tool("ptxas")):
        pytest.skip("needs ptxas and nvdisasm (./bootstrap)")
    ptx, _ = device_runner.compile_ptx(long_products(), tmp_path)
    loops = device_code.product_loops(device_code.disassemble(ptx, "sm_80"))
    for name in LONG:
        for layout, (_, products, matrices, copies, integers, instructions) in CUBLAS[name].items():
            [loop] = loops[f"k_{name}_{layout}"]
            assert loop["HMMA"] == products
            assert loop["LDSM"] == matrices and loop["LDGSTS"] == copies
            assert loop.total() <= 1.1 * instructions, (name, layout, loop)
            assert loop["integer"] <= 1.1 * integers, (name, layout, loop)
            assert loop["LDS"] == DUMMIES, (name, layout, loop)
            ours = loop.total() - products - matrices - copies - loop["integer"] - DUMMIES
            assert ours <= 1.1 * (instructions - products - matrices - copies - integers), (name, layout, loop)


BIAS = """%c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<{n}xf32>) -> tensor<{m}x{n}xf32>
  %y = stablehlo.add %r, %c : tensor<{m}x{n}xf32>
  %z = stablehlo.convert %y : (tensor<{m}x{n}xf32>) -> tensor<{m}x{n}x{dtype}>"""


def with_bias(name, m, n, k, dtype):
    """A bias in f32 is added before the product is rounded."""
    return f"""
func.func private @{name}(%a: tensor<{m}x{k}x{dtype}>, %w: tensor<{n}x{k}x{dtype}>, %b: tensor<{n}xf32>) -> tensor<{m}x{n}x{dtype}> attributes {{tsp.kernel}} {{
  %r = stablehlo.dot_general %a, %w, contracting_dims = [1] x [1] : (tensor<{m}x{k}x{dtype}>, tensor<{n}x{k}x{dtype}>) -> tensor<{m}x{n}xf32>
  {BIAS.format(m=m, n=n, dtype=dtype)}
  return %z : tensor<{m}x{n}x{dtype}>
}}
"""


def test_results_are_rounded_by_twos(tmp_path):
    """One instruction rounds two sums, and 16 bytes are stored at a time."""
    if not (device_code.find_tool("nvdisasm") and device_code.find_tool("ptxas")):
        pytest.skip("needs ptxas and nvdisasm (./bootstrap)")
    text = ""
    for dtype in ("bf16", "f16"):
        text += "".join(dot_text(f"{dtype}_{name}", *shapes(*LONG[name], "tn"), dtype)[0] for name in LONG)
        text += with_bias(f"{dtype}_bias", *LONG["128x128"], dtype)
    ptx, launches = device_runner.compile_ptx(text, tmp_path)
    for name, counts in device_code.instructions(device_code.disassemble(ptx, "sm_80")).items():
        threads = launches[name].block[0]
        if name.endswith("bias"):
            assert counts["F2FP"] == 4 * counts["STG"] > 0, (name, counts)
            continue
        m, n = map(int, name.split("_")[1].split("x"))
        assert counts["F2FP"] == m * n / threads / 2 and counts["STG"] == m * n / threads / 8, (name, counts)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_no_spills(tmp_path, architecture):
    if not device_code.find_tool("ptxas"):
        pytest.skip("needs ptxas (./bootstrap)")
    text = long_products() + "".join(dot_text(f"{name}_{layout}", *shapes(*TILES[name][0], layout), "bf16")[0].replace("@", "@r_")
                                     for name in TILES for layout in ("tn", "nt") if name.split("_")[0] not in LONG)
    text += "".join(dot_text(f"tf32_{name}_{layout}", *shapes(*LONG[name], layout), "f32", extra=TF32)[0] for name in LONG for layout in ("tn", "nn"))
    ends = "128x256", "64x64"
    text += "".join(dot_text(f"{dtype}_{name}_nn", *shapes(*LONG[name], "nn"), dtype)[0] for dtype in ("f32", "f64") for name in ends)
    text += "".join(dot_text(f"i8_{name}", *shapes(*LONG[name], "tn"), "i8", "i32")[0] for name in ends)
    text += "".join(dot_text(f"{form}_{dtype}", *FORMS[form], dtype)[0]
                    for form in ("matrix", "decode", "decode_rows", "three_rows", "turned_contraction", "aligned") for dtype in ("f32", "f64", "f16"))
    ptx, launches = device_runner.compile_ptx(text, tmp_path, architecture)
    found = device_code.resources(ptx, architecture)
    assert found.keys() == {how.name for how in launches.values()}
    for name, kernel in found.items():
        assert kernel.spills == 0 and kernel.stack == 0, (name, kernel)


@pytest.mark.parametrize("architecture", ["sm_89", "sm_120"])
def test_f8_tensor_cores(tmp_path, architecture):
    """All pairs of f8 types, where both sides lie along k; else f16 does it."""
    if not device_code.find_tool("ptxas"):
        pytest.skip("needs ptxas (./bootstrap)")
    text, types = "", ("f8E4M3FN", "f8E5M2")
    for name, layouts in ("128x256", ["tn"]), ("64x64", ["tn", "tt"]):
        m, n, k = LONG[name]
        for a in types:
            for b in types:
                for layout in layouts:
                    w = f"{n}x{k}" if layout == "tn" else f"{k}x{n}"
                    text += f"""
func.func private @{a}_{b}_{name}_{layout}(%a: tensor<{m}x{k}x{a}>, %b: tensor<{w}x{b}>) -> tensor<{m}x{n}xbf16> attributes {{tsp.kernel}} {{
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [{int(layout == "tn")}] : (tensor<{m}x{k}x{a}>, tensor<{w}x{b}>) -> tensor<{m}x{n}xbf16>
  return %r : tensor<{m}x{n}xbf16>
}}
"""
    ptx, launches = device_runner.compile_ptx(text, tmp_path, architecture)
    of = {name: part for part in ptx.split(".entry")[1:] for name in launches if part.split("(")[0].strip() == name}
    assert len(of) == 12
    short = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}
    for name, part in of.items():
        a, b, _, layout = name.split("_")
        wanted = f"m16n8k32.row.col.f32.{short[a]}.{short[b]}.f32" if layout == "tn" else "m16n8k16.row.col.f32.f16.f16.f32"
        assert f"mma.sync.aligned.{wanted}" in part, name
    for name, kernel in device_code.resources(ptx, architecture).items():
        assert kernel.spills == 0 and kernel.stack == 0, (name, kernel)


def test_f8_numbers(tmp_path):
    types, sizes = ("f8E4M3FN", "f8E5M2"), [(96, 160, 192), (65, 70, 68)]
    text = ""
    for m, n, k in sizes:
        for a in types:
            for b in types:
                text += f"""
func.func private @{a}_{b}_{m}(%a: tensor<{m}x{k}x{a}>, %b: tensor<{n}x{k}x{b}>) -> tensor<{m}x{n}xf32> attributes {{tsp.kernel}} {{
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<{m}x{k}x{a}>, tensor<{n}x{k}x{b}>) -> tensor<{m}x{n}xf32>
  return %r : tensor<{m}x{n}xf32>
}}
"""
    kernels = device_runner.compile_kernels(text, tmp_path, "sm_89")
    rng = np.random.default_rng(0)
    for m, n, k in sizes:
        for a in types:
            for b in types:
                name = f"{a}_{b}_{m}"
                x, y = random(rng, (m, k), a), random(rng, (n, k), b)
                found, = kernels[name]([x, y], [((m, n), "f32")])
                assert error(found, product(x.astype(np.float32), y.astype(np.float32), "tn")) < LIMITS["f32"]


SCRIPT = """
import ctypes, hashlib, tempfile
import cuda_driver
from test_gpu_gemm import *
rng = np.random.default_rng(0)
cases = dict(decode=(FORMS["decode"], (1, 101), "bf16", ""))
for dtype, names in {tiles}.items():
    for name in names:
        for layout in LAYOUTS:
            forms = shapes(*TILES[name][0], layout)
            cases[f"{{dtype}}_{{name}}_{{layout}}"] = forms, TILES[name][0][:2], dtype.replace("tf32", "f32"), TF32 if dtype == "tf32" else ""
kernels = on_device("".join(dot_text(key, *forms, dtype, extra=extra)[0].replace("@", "@k_") for key, (forms, _, dtype, extra) in cases.items()),
                    tempfile.mkdtemp())
for key, ((lhs, rhs, *_), out, dtype, _) in cases.items():
    found, = kernels["k_" + key]([random(rng, lhs, dtype), random(rng, rhs, dtype)], [(out, dtype)])
    counters = (ctypes.c_uint64 * 5)()
    cuda_driver.driver().tspEmulationCounters(b"k_" + key.encode(), counters)
    print(key, *counters, hashlib.sha256(found.tobytes()).hexdigest())
"""


def test_checked():
    """No race, no read of what nobody wrote, no conflict of banks; the same bits in each order of warps and blocks."""
    tiles = {"bf16": ["64x64", "64x64_ragged", "32x64_ragged", "16x128_ragged", "registers", "four_bytes"],
             "f32": ["four_bytes", "registers"], "tf32": ["64x64", "four_bytes"], "f64": ["four_bytes", "registers"]}
    script = SCRIPT.format(tiles=tiles)
    runs = [cuda_driver.run_script(script, TSP_EMULATION_CHECK=1, TSP_EMULATION_SEED=seed) for seed in (1, 2)]
    for run in runs:
        assert run.returncode == 0, run.stderr
    assert runs[0].stdout == runs[1].stdout and runs[0].stdout.count("\n") == 1 + 4 * sum(map(len, tiles.values()))
    for line in runs[0].stdout.splitlines():
        name, requests, passes, _, sectors, ideal, _ = line.split()
        assert int(requests) > 0 and requests == passes, line
        if name.startswith("bf16_64x64_t"):
            assert sectors == ideal, line


def printed_of_faults(m, n, k, faults, directory):
    """Of faults (a function of the PTX) in a product: the faults, and what is printed of each. Without them its numbers are right."""
    ptx, launches = device_runner.compile_ptx(dot_text("k", *shapes(m, n, k, "tn"), "bf16")[0], directory)
    rng, seeded = np.random.default_rng(0), faults(ptx)
    a, b = random(rng, (m, k), "bf16"), random(rng, (n, k), "bf16")
    [found], printed = kernel_faults.run(ptx, launches["k"], [a, b], [((m, n), "bf16")], seeded, directory)
    assert error(found, product(a, b, "tn")) < LIMITS["bf16"]
    return seeded, printed


def test_faults_of_order_are_named(tmp_path):
    """One block, whose ring of four stages is filled four times and a step more: the last step reads where sums are put after the last barrier."""
    def seeded(ptx):
        faults = kernel_faults.of_copies(ptx)
        faults.popitem()  # the last commit, of no copies
        return faults
    faults, printed = printed_of_faults(64, 64, 1088, seeded, tmp_path)
    for name in faults:
        kernel_faults.check_is_named(name, faults, printed)


def test_faults_of_edges_are_named(tmp_path):
    """Edges in each dim: copies of what is beyond them, and by one element beyond; sums stored there, or where other blocks store."""
    outside = r"access of 16 bytes at global address \S+ is out of bounds"
    copies, ends = f"cp.async.*{outside}", f"st.global.*({outside}|race at byte)"

    def seeded(ptx):
        masks = kernel_faults.of_each(ptx, "mask of a copy removed", r"(cp\.async\S+\s+\[\S+\], \[\S+\], 16), %r\d+;", r"\1, 16;", copies)
        return masks | {
            "a row of the left side too many": (r"setp\.lt\.u32\s+%p\d+, %r\d+, 40;", 0, kernel_faults.one_more, copies),
            "a row of the right side too many": (r"setp\.lt\.u32\s+%p\d+, %r\d+, 72;", 0, kernel_faults.one_more, copies),
            "a row of the result too many": (r"setp\.gt\.u32\s+%p\d+, %r\d+, 55;", -1, kernel_faults.one_more, ends),
            "a column of the result too many": (r"setp\.gt\.u32\s+%p\d+, %r\d+, 71;", -1, kernel_faults.one_more, ends),
            "mask of the last stores removed": (r"@%p\d+ bra\s+\S+;", -1, "", ends)}
    faults, printed = printed_of_faults(56, 72, 136, seeded, tmp_path)
    # In the last step the first rows of the left side have others behind them: what is read there is multiplied by zeros of the right side.
    del faults["mask of a copy removed 10"]
    for name in faults:
        kernel_faults.check_is_named(name, faults, printed)
