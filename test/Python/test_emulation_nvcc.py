# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulation on kernels that nvcc compiled: it is judged by code that this project's compiler did not make."""
import ctypes
import math

import ml_dtypes
import numpy as np
import pytest

import cuda_driver
import nvcc

I32 = np.int32


@pytest.fixture(scope="module")
def device():
    return cuda_driver.Device()


@pytest.fixture(scope="module", params=["", "-G"], ids=["optimized", "debug"])
def kernels(device, request):
    """Optimized code, and the plain kind with every variable in memory."""
    return device.module(nvcc.ptx("kernels.cu", *request.param.split()))


def launch(module, name, grid, block, arguments, shared=0):
    """Runs on copies of the arrays among the arguments; gives what they hold afterwards."""
    device = module.device
    values, buffers = [], []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            buffers.append(device.upload(argument))
            values.append(buffers[-1])
        else:
            values.append(ctypes.c_int(argument))
    module.launch(name, grid, block, values, shared)
    device.synchronize()
    results = [b.download() for b in buffers]
    for buffer in buffers:
        buffer.free()
    return results


def test_vector_add(kernels):
    a, b = np.random.default_rng(0).standard_normal((2, 1000)).astype(np.float32)
    # The result ends with the array: a lane too many would be out of bounds.
    *_, c = launch(kernels, "vector_add", 8, 128, [a, b, np.zeros_like(a), 1000])
    np.testing.assert_array_equal(c, a + b)


@pytest.mark.parametrize("block", [32, 256, 1024])
def test_reduction_with_shuffles(kernels, block):
    x = np.random.default_rng(1).standard_normal(12345).astype(np.float32)
    _, sums = launch(kernels, "reduce", 5, block, [x, np.zeros(5, np.float32), len(x)])
    np.testing.assert_allclose(sums.sum(dtype=np.float64), x.sum(dtype=np.float64), atol=1e-3)


def test_reduction_in_dynamic_shared_memory(kernels):
    x = np.random.default_rng(2).standard_normal((3, 512)).astype(np.float32)
    _, sums = launch(kernels, "tree_reduce", 3, 512, [x, np.zeros(3, np.float32)], shared=2048)
    np.testing.assert_allclose(sums, x.sum(1), atol=1e-4)


def test_tiled_matmul(kernels):
    generator = np.random.default_rng(3)
    a = generator.standard_normal((50, 70)).astype(np.float32)
    b = generator.standard_normal((70, 33)).astype(np.float32)
    *_, c = launch(kernels, "tiled_matmul", (3, 4), (16, 16), [a, b, np.zeros((50, 33), np.float32), 50, 33, 70])
    np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-5)


def test_atomics(kernels):
    x = np.random.default_rng(4).integers(0, 1000, 5000).astype(I32)
    _, counts, largest, total = launch(kernels, "histogram", 5, 128,
                                       [x, np.zeros(64, I32), np.zeros(1, I32), np.zeros(1, np.uint64), 5000])
    np.testing.assert_array_equal(counts, np.bincount(x & 63, minlength=64))
    assert largest[0] == x.max() and total[0] == x.sum()


def test_compare_and_swap(kernels):
    threads = 3 * 96
    slots, wrapped, total = launch(kernels, "exchange", 3, 96, [np.zeros(12, np.uint32), np.zeros(1, np.uint32), np.zeros(1, np.float32)])
    expected = []
    for slot in range(7):
        value = 0
        for _ in range(slot, threads, 7):
            value = (value * 3 + 1) & 0xffffffff
        expected.append(value)
    assert list(slots[:7]) == expected and list(slots[8:]) == [42] * 4
    assert wrapped[0] == threads % 13 and total[0] == threads / 2


def nested(v):
    total = 0
    for j in range(10):
        if v >> j & 1:
            continue
        w, skipped = v + j, False
        while True:
            total += w & 3
            if w % 7 == 3:
                break
            if w % 11 == 5:
                total ^= 0x55
                skipped = True
                break
            if w > 4000:
                return -total
            w += 1 + (w & 1)
            while True:
                total += 2
                if total % 5 == 0 or total % 3 == 0:
                    break
        if not skipped:
            total += j
        if total > 300:
            break
    return total


@pytest.mark.parametrize("block", [128, 96, 50])
def test_nested_loops(kernels, block):
    x = np.random.default_rng(5).integers(0, 4100, 5000).astype(I32)
    _, y = launch(kernels, "nested", -(-5000 // block), block, [x, np.zeros_like(x), 5000])
    np.testing.assert_array_equal(y, [nested(int(v)) for v in x])


def chosen(v):
    cases = [v * 3, v ^ 77, v // 5, v // 5, v % 17, -v, v << 3, v >> 2, v | 1024, v & 127, ~v, 4242, 4242]
    return cases[v % 13]


def test_switch(kernels):
    x = np.random.default_rng(6).integers(9, 4100, 5000).astype(I32)
    _, y = launch(kernels, "choose", 40, 128, [x, np.zeros_like(x), 5000])
    np.testing.assert_array_equal(y, [chosen(int(v)) for v in x])


def test_votes(kernels):
    x = np.random.default_rng(7).integers(0, 20, 32).astype(I32)
    _, y = launch(kernels, "votes", 1, 32, [x, np.zeros((32, 8), np.uint32)])
    values, lanes = [int(v) for v in x], range(32)
    ballot = sum(1 << i for i in lanes if values[i] & 1)
    low = sum(1 << i for i in range(12) if values[i] & 2)
    for i in lanes:
        same = sum(1 << j for j in lanes if (values[j] & 3) == (values[i] & 3))
        expected = [ballot, int(7 in values) + 2, same, sum(values), max(values), low + 12 if i < 12 else values[20],
                    values[i - 3] if i % 8 >= 3 else values[i],
                    bin(ballot).count("1") + 100 * int(5 in values) + 1000]
        assert list(y[i]) == expected, i


def test_recursion(kernels):
    x = (np.arange(32) % 15).astype(I32)
    _, y = launch(kernels, "recursive", 1, 32, [x, np.zeros_like(x)])
    numbers = [0, 1]
    while len(numbers) < 15:
        numbers.append(numbers[-1] + numbers[-2])
    np.testing.assert_array_equal(y, np.array(numbers)[x])


def test_local_array(kernels):
    x = np.random.default_rng(8).integers(0, 100, 48).astype(I32)
    _, y = launch(kernels, "local_array", 1, 48, [x, np.zeros_like(x), 37])
    for thread in range(48):
        values = [int(x[thread]) * i for i in range(24)]
        for i in range(37):
            place = (values[i % 24] + i) & 15
            values[place] += values[(place + thread) % 24]
        total = sum(((v + 2**31) % 2**32 - 2**31) ^ i for i, v in enumerate(values))
        assert y[thread] == (total + 2**31) % 2**32 - 2**31


def test_variables(kernels):
    [y] = launch(kernels, "variables", 1, 16, [np.zeros(16, np.float32)])
    weights, table = [1, -2, 3, -4, 5, -6, 7, -8], [0.5, 0.25, 2, 4]
    np.testing.assert_array_equal(y, [weights[i % 8] * table[i % 4] for i in range(16)])


def test_maths(kernels):
    generator = np.random.default_rng(9)
    x, xd = (generator.standard_normal(200) * 2).astype(np.float32), generator.standard_normal(200) * 3
    _, y, _, yd = launch(kernels, "maths", 2, 128, [x, np.zeros((200, 16), np.float32), xd, np.zeros((200, 4)), 200])
    v, size = x.astype(np.float64), np.abs(x.astype(np.float64))
    expected = [np.exp(v), np.log(size), np.sin((x * np.float32(100)).astype(np.float64)), np.cos(v), np.tanh(v),
                np.array([math.erf(e) for e in v]), size ** np.float64(np.float32(1.7)), 1 / np.sqrt(size),
                v / np.float64(np.float32(3.3)), np.sqrt(size), np.fmod(x, np.float32(0.7)), np.rint(x * 10), np.exp(v),
                np.arctan2(v, 2), np.trunc((x * np.float32(1000)).astype(I32) / 7) + np.fmod(np.trunc(x * np.float32(1e6)).astype(np.int64), 1001),
                np.sin((x * np.float32(1e6)).astype(np.float64))]
    for column, wanted in enumerate(expected):
        np.testing.assert_allclose(y[:, column], wanted, rtol=2e-6, atol=4e-7, err_msg=f"column {column}")
    for column, wanted in enumerate([np.exp(xd), np.sin(xd) / xd, np.sqrt(np.abs(xd)), xd * xd + 1 / xd]):
        np.testing.assert_allclose(yd[:, column], wanted, rtol=1e-14)


def test_spin_lock(device):
    # Optimized only: without, the compare-and-swap is in a function that the loop calls, which the emulation does not look into.
    lock, count = launch(device.module(nvcc.ptx("kernels.cu")), "spin_lock", 2, 64, [np.zeros(1, I32), np.zeros(1, I32)])
    assert (lock[0], count[0]) == (0, 128)


SHARED = 3 * 128 * 40 * 2 + 3 * 32 * 136 * 2


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("depth", [32, 64, 224])
def test_tensor_cores(device, dtype, depth):
    """mma.sync, ldmatrix with and without transposition, and a pipeline of cp.async (also shorter than its stages)."""
    generator = np.random.default_rng(10)
    kind = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}[dtype]
    a, b = generator.standard_normal((256, depth)).astype(kind), generator.standard_normal((depth, 128)).astype(kind)
    module = device.module(nvcc.ptx("gemm.cu"))
    *_, c = launch(module, "gemm_" + dtype, (1, 2), 128, [a, b, np.full((256, 128), np.nan, np.float32), 256, 128, depth], SHARED)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-4)
