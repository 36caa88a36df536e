# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wgmma.mma_async on the emulation: every type, layout and form of operands, against the manual's layouts."""
import pickle
import re

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


# Launches of kernels in PTX: numbers are passed as they are, arrays as buffers, whose contents afterwards are the result; or the
# error, and what was printed.
SCRIPT = """
import ctypes, pickle, sys
import numpy as np
import cuda_driver
launches, path = pickle.load(open({path!r}, "rb"))
modules, results = {{}}, []
for ptx, name, grid, block, arguments, shared in launches:
    device = cuda_driver.Device()
    try:
        if ptx not in modules:
            modules[ptx] = device.module(ptx)
        values = [device.upload(a) if isinstance(a, np.ndarray) else ctypes.c_uint64(a) for a in arguments]
        modules[ptx].launch(name, grid, block, values, shared)
        device.synchronize()
        results.append([v.download() for v in values if isinstance(v, cuda_driver.Buffer)])
    except cuda_driver.Error as error:
        results.append(str(error))
        modules = {{}}
        cuda_driver.call("cuDevicePrimaryCtxReset_v2", 0)
    print("==", file=sys.stderr, flush=True)
pickle.dump(results, open(path, "wb"))
"""


def run(launches, folder, **environment):
    """On a device of capability 9.0: the results, and what each launch printed."""
    with open(folder / "launches", "wb") as file:
        pickle.dump((launches, str(folder / "results")), file)
    done = cuda_driver.run_script(SCRIPT.format(path=str(folder / "launches")), TSP_EMULATED_CAPABILITY="9.0", **environment)
    assert done.returncode == 0, done.stderr
    return pickle.load(open(folder / "results", "rb")), done.stderr.split("==\n")


def launch_of(number, ptx, name, threads=128):
    case, (a, b, d) = CASES[number], data(number)
    # Noise everywhere else: an element from a wrong place shows.
    image = np.random.default_rng(1000 + number).integers(0, 256, wgmma_reference.IMAGE, np.uint8)
    case.b.write(image, b)
    if case.a:
        case.a.write(image, a)
    sums = wgmma_reference.sums_to_registers(d)
    return (ptx, name, 1, threads, [image, wgmma_reference.fragments_of(a), sums, np.zeros_like(sums),
                                    case.a.descriptor() if case.a else 0, case.b.descriptor()], wgmma_reference.IMAGE)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    ptx = wgmma_reference.module(CASES)
    results, printed = run([launch_of(i, ptx, f"case{i}") for i in range(len(CASES))], tmp_path_factory.mktemp("wgmma"))
    assert not any(isinstance(result, str) for result in results), printed
    return results


@pytest.mark.parametrize("number", range(len(CASES)), ids=[c.name for c in CASES])
def test_product(results, number):
    check_product(results[number], number)


def check_product(result, number):
    case, (a, b, d) = CASES[number], data(number)
    actual = wgmma_reference.sums_from_registers(result[3], d.dtype, case.n)
    wanted = wgmma_reference.expected(case, a, b, d)
    if case.d_type == "s32":
        np.testing.assert_array_equal(actual, wanted)
        return
    # Of the sum of the terms' sizes.
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)).T + np.abs(d.astype(np.float64))
    unit = {"f32": 2.0 ** -23, "f16": 2.0 ** -11}[case.d_type]
    assert (np.abs(actual - wanted) <= 2 * unit * size).all(), np.abs((actual - wanted) / size).max()


def test_warps_write_tiles_together(tmp_path):
    """A product begins when all four warps have come to it: what each of them has written and fenced needs no barrier."""
    number = next(i for i, c in enumerate(CASES) if c.types == "f32.bf16.bf16" and c.a is not None and c.n == 64)
    text = wgmma_reference.module([CASES[number]])
    assert "bar.sync 0;" in text
    for seed in range(3):
        [result], printed = run([launch_of(number, text.replace("bar.sync 0;", ""), "case0")], tmp_path, TSP_EMULATION_CHECK=1,
                                TSP_EMULATION_SEED=seed)
        assert not isinstance(result, str), printed
        check_product(result, number)


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
    for check in (0, 1):
        results, printed = run(launches, tmp_path, TSP_EMULATION_CHECK=check)
        for launch, product, result in zip(launches, products, results):
            assert not isinstance(result, str), printed
            np.testing.assert_allclose(result[2], product, rtol=1e-5, atol=1e-4, err_msg=launch[1])


def test_one_warp_releases_for_its_warpgroup(tmp_path):
    """Who has waited for a group knows that all warps of the warpgroup are done reading."""
    generator = np.random.default_rng(1)
    a, b = [generator.standard_normal((7, rows, 16)).astype(ml_dtypes.bfloat16) for rows in (64, 8)]
    pieces = [x.reshape(7, -1, 8, 2, 8).transpose(0, 3, 1, 2, 4).reshape(7, -1) for x in (a, b)]
    launch = (nvcc.ptx("wgmma.cu", architecture="sm_90a"), "wgmma_release", 1, 160)
    arguments = [np.concatenate(pieces, 1), np.full((128, 4), np.nan, np.float32), 7]
    expected = np.einsum("tik,tjk->ij", a.astype(np.float64), b.astype(np.float64))
    for seed in range(4):
        [result, early], printed = run([(*launch, [*arguments, fault], 0) for fault in (0, 1)], tmp_path, TSP_EMULATION_CHECK=1,
                                       TSP_EMULATION_SEED=seed)
        assert not isinstance(result, str), printed
        # Row lane / 4 (+ 8) of each warp's 16.
        sums = result[1].reshape(4, 8, 4, 2, 2).transpose(0, 3, 1, 2, 4).reshape(64, 8)
        np.testing.assert_allclose(sums, expected, rtol=1e-5, atol=1e-4)
        assert isinstance(early, str) and re.search("bulk copy that was not waited for|read by a product of", printed[1]), printed


# A fault: changes of the text of a kernel, and what the report says.
WAIT, COMMIT, FENCE = "wgmma.wait_group.sync.aligned 0;", "wgmma.commit_group.sync.aligned;", "wgmma.fence.sync.aligned;"
PRODUCT = "wgmma.mma_async"
FAULTS = {
    "wait removed": ([(WAIT, "")], "a register of the sums is read before wgmma.wait_group"),
    "wait for a group too few": ([(WAIT, WAIT.replace("0;", "1;"))], "a register of the sums is read before wgmma.wait_group"),
    "commit removed": ([(COMMIT, "")], "a register of the sums is read before wgmma.wait_group"),
    "sums written before the wait": ([(WAIT, "mov.b32 %d3, 0;" + WAIT)], "a register of the sums is written before"),
    "A written before the wait": ([(WAIT, "mov.b32 %a3, 0;" + WAIT)], "a register of A is written before wgmma.wait_group"),
    "no fence": ([(FENCE, "")], "no wgmma.fence before the first product"),
    "sums written after the fence": ([(FENCE, FENCE + "add.u32 %d5, %d5, 1;")], "no wgmma.fence after the access to a register of the sums"),
    "A written after the fence": ([(FENCE, FENCE + "add.u32 %a1, %a1, 1;")], "no wgmma.fence after the write to a register of A"),
    "sums of another shape": ([(COMMIT, "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%d0, %d1, %d2, %d3}, "
                                        "{%a0, %a1, %a2, %a3}, %descB, %p, 1, 1, 0;" + COMMIT)], "which has another shape"),
    "sums as A": ([(COMMIT, "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%q0, %q1, %q2, %q3}, "
                            "{%a0, %a1, %d2, %a3}, %descB, %p, 1, 1, 0;" + COMMIT)], "a register of A is one of the sums"),
    "one warp has no product": ([(PRODUCT, "setp.lt.u32 %p, %t, 96; @%p " + PRODUCT)], "of a warpgroup have not run the same products"),
    "warps with different descriptors": ([(FENCE, "and.b32 %i, %t, 64; cvt.u64.u32 %wide, %i; add.u64 %descB, %descB, %wide;" + FENCE)],
                                         "of a warpgroup have not run the same products"),
    "lanes with different descriptors": ([(FENCE, "cvt.u64.u32 %wide, %t; add.u64 %descB, %descB, %wide;" + FENCE)],
                                         "the descriptor of B is not the same in all threads"),
    "lanes with different scale-d": ([(FENCE, "and.b32 %i, %t, 1; setp.eq.u32 %accumulates, %i, 0;" + FENCE)], "scale-d is not the same"),
    "tile beyond shared memory": ([(FENCE, "mov.u64 %descB, 0x4000004000011900;" + FENCE)], "the descriptor of B reaches shared address"),
    "tiles written without a proxy fence": ([("fence.proxy.async.shared::cta;", "")],
                                            "was written by an ordinary store, .* with no fence.proxy.async in between"),
    # Each warp may write and fence its part of the tiles (test_warps_write_tiles_together); what another has fenced is behind a barrier only.
    "tiles written without a barrier": ([("bar.sync 0;", ""), ("fence.proxy.async", "setp.ge.u32 %p, %t, 32; @%p fence.proxy.async")],
                                        "race at shared address|nobody has written|no fence.proxy.async"),
    "tile overwritten before the wait": ([(WAIT, f"mov.u32 %s, tile; st.shared.b32 [%s+{B_AT}], 0;" + WAIT)],
                                         "was written by an ordinary store, .* with no fence.proxy.async in between"),
    "tile nobody wrote": ([("setp.lt.u32 %p, %i, 98304", f"setp.lt.u32 %p, %i, {B_AT}")], "which nobody has written"),
    "half a warpgroup": (64, "its threads are not a multiple of 128"),
}


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    number = next(i for i, c in enumerate(CASES) if c.types == "f32.bf16.bf16" and c.a is None and c.n == 16)
    text, launches = wgmma_reference.module([CASES[number]]), []
    for changes, _ in FAULTS.values():
        changed, threads = text, 128
        for old, new in [] if isinstance(changes, int) else changes:
            assert old in changed
            changed = changed.replace(old, new)
        launches.append(launch_of(number, changed, "case0", changes if isinstance(changes, int) else 128))
    results, printed = run(launches, tmp_path_factory.mktemp("faults"), TSP_EMULATION_CHECK=1)
    return dict(zip(FAULTS, zip(results, printed)))


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_named(faults, name):
    result, printed = faults[name]
    assert isinstance(result, str), "the fault was not noticed"
    assert re.search(r"PTX line \d+ \(\S+\): .*" + FAULTS[name][1] + r".*: block \(0,0,0\), thread \(\d+,0,0\) of kernel 'case0'", printed), printed


def test_products_in_called_functions_are_refused(tmp_path):
    text = """.version 8.4
.target sm_90a
.address_size 64
.func f() {
.reg .b32 %d<4>; .reg .b64 %x; .reg .pred %p;
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%d0, %d1, %d2, %d3}, %x, %x, %p, 1, 1, 0, 0;
ret; }
.visible .entry k() { call f; ret; }
"""
    [result], [printed, _] = run([(text, "k", 1, 128, [], 0)], tmp_path)
    assert isinstance(result, str) and "in a function that is called: it must be inlined into the kernel" in printed
