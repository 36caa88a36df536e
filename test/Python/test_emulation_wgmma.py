# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wgmma.mma_async on the emulation: every type, layout and form of operands, against the manual's layouts."""
import pickle

import ml_dtypes
import numpy as np
import pytest

import cuda_driver
import nvcc
import wgmma_reference
from wgmma_reference import Case, Layout

EIGHT_BIT = [f"f32.{a}.{b}" for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
B_AT = 48 * 1024


def along_k(swizzle, start=0, step=0, pattern=0):
    """Rows of the swizzle's width, eight after eight; `step`: the instruction's place along a line, in 32 bytes."""
    if swizzle == 0:
        return Layout(0, False, start, leading=128, stride=256 + 128)
    return Layout(swizzle, False, start + 32 * step, leading=16, stride=8 * swizzle, pattern=pattern)


def transposed(swizzle, start=0, outer=64):
    """Lines of one k; eight of them a pattern. The patterns of one group of k follow each other, except without a swizzle."""
    if swizzle == 0:
        return Layout(0, True, start, leading=128 * (outer // 8) + 128, stride=128)
    patterns = -(-outer * 2 // swizzle)
    return Layout(swizzle, True, start, leading=8 * swizzle, stride=8 * swizzle * patterns)


def cases():
    for n in (8, 16, 24, 40, 64, 128, 136, 200, 256):
        yield Case(n, "f32.bf16.bf16", along_k(128, B_AT), along_k(128))
    for swizzle in (0, 32, 64, 128):
        yield Case(64, "f32.f16.f16", along_k(swizzle, B_AT), along_k(swizzle))
        yield Case(96, "f32.bf16.bf16", transposed(swizzle, B_AT, 96), transposed(swizzle))
        yield Case(32, "f32.bf16.bf16", transposed(swizzle, B_AT, 32), along_k(128))
        yield Case(32, "f32.f16.f16", along_k(swizzle, B_AT), transposed(swizzle))
        yield Case(32, "f32.e4m3.e4m3", along_k(swizzle, B_AT), along_k(swizzle))
    for step in (1, 2, 3):
        yield Case(64, "f32.bf16.bf16", along_k(128, B_AT, step), along_k(128, 0, step))
    # Patterns that begin anywhere.
    for pattern in (128, 512, 896):
        yield Case(64, "f32.bf16.bf16", along_k(128, B_AT + pattern, 1, pattern), along_k(128, pattern, 2, pattern))
    yield Case(16, "f32.bf16.bf16", along_k(64, B_AT + 128, 1, 128), along_k(32, 128, 0, 128))
    for types in ("f32.bf16.bf16", "f32.f16.f16", "f16.f16.f16", "f32.tf32.tf32", *EIGHT_BIT, "f16.e4m3.e5m2", "f16.e5m2.e5m2",
                  "s32.s8.s8", "s32.s8.u8", "s32.u8.s8", "s32.u8.u8"):
        yield Case(48, types, along_k(128, B_AT), along_k(128))
        yield Case(16, types, along_k(32, B_AT), None)
        yield Case(8, types, along_k(64, B_AT), along_k(64), accumulates=False)
        if not types.startswith("s32"):
            yield Case(24, types, along_k(0, B_AT), None, scales=(-1, 1))
            yield Case(24, types, along_k(64, B_AT), along_k(0), accumulates=False, scales=(-1, -1))
            yield Case(24, types, along_k(128, B_AT), along_k(128), scales=(1, -1))
    yield Case(64, "f16.f16.f16", transposed(128, B_AT), None)
    yield Case(16, "s32.s8.s8", along_k(128, B_AT), along_k(128), saturates=True)
    yield Case(16, "s32.u8.s8", along_k(128, B_AT), None, saturates=True)


CASES = list(cases())


def data(number):
    """a [64, depth], b [n, depth], d [64, n] of a case."""
    case = CASES[number]
    generator = np.random.default_rng(number)

    def values(shape, dtype):
        if np.dtype(dtype).kind in "iu":
            return generator.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
        return generator.standard_normal(shape).astype(dtype)
    kinds = wgmma_reference.ELEMENTS
    return (values((64, case.depth), kinds[case.a_type]), values((case.n, case.depth), kinds[case.b_type]),
            values((64, case.n), wgmma_reference.SUMS[case.d_type]))


# Launches of kernels in PTX: numbers are passed as they are, arrays as buffers, whose contents afterwards are the result.
SCRIPT = """
import ctypes, pickle
import numpy as np
import cuda_driver
launches, path = pickle.load(open({path!r}, "rb"))
device, modules, results = cuda_driver.Device(), {{}}, []
for ptx, name, grid, block, arguments, shared in launches:
    if ptx not in modules:
        modules[ptx] = device.module(ptx)
    values = [device.upload(a) if isinstance(a, np.ndarray) else ctypes.c_uint64(a) for a in arguments]
    modules[ptx].launch(name, grid, block, values, shared)
    device.synchronize()
    results.append([v.download() for v in values if isinstance(v, cuda_driver.Buffer)])
pickle.dump(results, open(path, "wb"))
"""


def run(launches, folder):
    """On a device of capability 9.0."""
    with open(folder / "launches", "wb") as file:
        pickle.dump((launches, str(folder / "results")), file)
    done = cuda_driver.run_script(SCRIPT.format(path=str(folder / "launches")), TSP_EMULATED_CAPABILITY="9.0")
    assert done.returncode == 0, done.stderr
    return pickle.load(open(folder / "results", "rb"))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    ptx, launches = wgmma_reference.module(CASES), []
    for number, case in enumerate(CASES):
        a, b, d = data(number)
        # Noise everywhere else: an element from a wrong place shows.
        image = np.random.default_rng(1000 + number).integers(0, 256, wgmma_reference.IMAGE, np.uint8)
        case.b.write(image, b)
        if case.a:
            case.a.write(image, a)
        sums = wgmma_reference.sums_to_registers(d)
        launches.append((ptx, f"case{number}", 1, 128,
                         [image, wgmma_reference.fragments_of(a), sums, np.zeros_like(sums),
                          case.a.descriptor() if case.a else 0, case.b.descriptor()], wgmma_reference.IMAGE))
    return run(launches, tmp_path_factory.mktemp("wgmma"))


@pytest.mark.parametrize("number", range(len(CASES)), ids=[c.name for c in CASES])
def test_product(results, number):
    case, (a, b, d) = CASES[number], data(number)
    actual = wgmma_reference.sums_from_registers(results[number][3], d.dtype, case.n)
    wanted = wgmma_reference.expected(case, a, b, d)
    if case.d_type == "s32":
        np.testing.assert_array_equal(actual, wanted)
        return
    # Of the sum of the terms' sizes.
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)).T + np.abs(d.astype(np.float64))
    unit = {"f32": 2.0 ** -23, "f16": 2.0 ** -11}[case.d_type]
    assert (np.abs(actual - wanted) <= 2 * unit * size).all(), np.abs((actual - wanted) / size).max()


GEMM_SHARED = 3 * 2 * 128 * 64 * 2


def test_gemm_by_nvcc(tmp_path):
    """B along k, B along n, A from registers; also fewer steps than stages."""
    ptx, launches, products = nvcc.ptx("wgmma.cu", architecture="sm_90a"), [], []
    generator = np.random.default_rng(0)
    for name in ("wgmma_kk", "wgmma_kn", "wgmma_registers"):
        for depth in (64, 320):
            a, b = [generator.standard_normal((256, depth)).astype(ml_dtypes.bfloat16) for _ in range(2)]
            products.append(a.astype(np.float64) @ b.astype(np.float64).T)
            launches.append((ptx, name, (2, 2), 256, [a, np.ascontiguousarray(b.T) if name == "wgmma_kn" else b,
                                                      np.full((256, 256), np.nan, np.float32), 256, 256, depth], GEMM_SHARED))
    for launch, product, result in zip(launches, products, run(launches, tmp_path)):
        np.testing.assert_allclose(result[2], product, rtol=1e-5, atol=1e-4, err_msg=launch[1])
