# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products on a (possibly emulated) GPU, beside what test_kernels_gemm.py runs there: each tile, its edges, its code."""
import numpy as np
import pytest

import cuda_driver
import device_code
import device_runner
from test_kernels_gemm import FORMS, LIMITS, dot_text, error, on_device, random

pytestmark = pytest.mark.skipif(not device_runner.available(), reason="needs tsp-opt and the emulation")

# Dims of a that are [m, k] or [k, m], of b that are [n, k] or [k, n].
LAYOUTS = {"tn": (1, 1), "tt": (1, 0), "nt": (0, 0), "nn": (0, 1)}
# (m, n, k) for which a tile is chosen (for 108 processors), and its blocks. The second of a pair has ragged edges.
TILES = {
    "128x256": ((2048, 3072, 192), 192), "128x256_ragged": ((2040, 3080, 136), 208),
    "128x128": ((1280, 1280, 160), 100), "128x128_ragged": ((1272, 1144, 104), 90),
    "64x128": ((512, 1536, 96), 96), "64x128_ragged": ((504, 1528, 40), 96),
    "64x64": ((512, 640, 320), 80), "64x64_ragged": ((504, 616, 136), 80),
    "32x64": ((256, 512, 320), 64), "32x64_ragged": ((248, 488, 136), 64),
    "16x128": ((16, 13824, 192), 108), "16x128_ragged": ((8, 13752, 72), 108),
    "registers": ((131, 67, 37), 6), "registers_short": ((65, 129, 5), 6),
    "four_bytes": ((66, 130, 70), 9), "eight_bytes": ((68, 132, 76), 9),
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
    (m, n, k), blocks = TILES[name]
    kernel = tiles[f"k_{name}_{layout}"]
    assert kernel.how.grid == (blocks, 1, 1)
    rng = np.random.default_rng(0)
    lhs, rhs, *_ = shapes(m, n, k, layout)
    a, b = random(rng, lhs, "bf16"), random(rng, rhs, "bf16")
    found, = kernel([a, b], [((m, n), "bf16")])
    assert error(found, product(a, b, layout)) < LIMITS["bf16"]


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


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_no_spills(tmp_path, architecture):
    if not device_code.find_tool("ptxas"):
        pytest.skip("needs ptxas (./bootstrap)")
    text = long_products() + "".join(dot_text(f"{name}_{layout}", *shapes(*TILES[name][0], layout), "bf16")[0].replace("@", "@r_")
                                     for name in TILES for layout in ("tn", "nt") if "128" not in name)
    text += "".join(dot_text(f"tf32_{name}_{layout}", *shapes(*LONG[name], layout), "f32", extra=TF32)[0] for name in LONG for layout in ("tn", "tt"))
    text += "".join(dot_text(f"{form}_{dtype}", *FORMS[form], dtype)[0]
                    for form in ("matrix", "decode", "decode_rows", "three_rows", "turned_contraction", "aligned") for dtype in ("f32", "f64", "f16"))
    ptx, launches = device_runner.compile_ptx(text, tmp_path, architecture)
    found = device_code.resources(ptx, architecture)
    assert found.keys() == {how.name for how in launches.values()}
    for name, kernel in found.items():
        assert kernel.spills == 0 and kernel.stack == 0, (name, kernel)


SCRIPT = """
import ctypes, hashlib, tempfile
import cuda_driver
from test_gpu_gemm import *
rng = np.random.default_rng(0)
names = {names}
kernels = on_device("".join(dot_text(f"k_{{name}}_{{layout}}", *shapes(*TILES[name][0], layout), "bf16")[0]
                            for name in names for layout in LAYOUTS) + dot_text("k_decode", *FORMS["decode"], "bf16")[0], tempfile.mkdtemp())
for key, kernel in kernels.items():
    name, layout = key.removeprefix("k_").rsplit("_", 1) if key != "k_decode" else ("", "")
    lhs, rhs, *_ = shapes(*TILES[name][0], layout) if name else FORMS["decode"]
    out = TILES[name][0][:2] if name else (1, 101)
    found, = kernel([random(rng, lhs, "bf16"), random(rng, rhs, "bf16")], [(out, "bf16")])
    counters = (ctypes.c_uint64 * 5)()
    cuda_driver.driver().tspEmulationCounters(key.encode(), counters)
    print(key, *counters, hashlib.sha256(found.tobytes()).hexdigest())
"""


def test_checked():
    """No race, no read of what nobody wrote, no conflict of banks; the same bits in each order of warps and blocks."""
    script = SCRIPT.format(names=["64x64", "64x64_ragged", "32x64_ragged", "16x128_ragged", "registers", "four_bytes"])
    runs = [cuda_driver.run_script(script, TSP_EMULATION_CHECK=1, TSP_EMULATION_SEED=seed) for seed in (1, 2)]
    for run in runs:
        assert run.returncode == 0, run.stderr
    assert runs[0].stdout == runs[1].stdout and runs[0].stdout.count("\n") == 25
    for line in runs[0].stdout.splitlines():
        name, requests, passes, _, sectors, ideal, _ = line.split()
        assert int(requests) > 0 and requests == passes, line
        if name.startswith("k_64x64_t"):
            assert sectors == ideal, line
