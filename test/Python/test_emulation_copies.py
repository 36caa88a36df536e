# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulation's mbarriers and bulk copies, on kernels that nvcc compiled for sm_90a."""
import ctypes

import ml_dtypes
import numpy as np
import pytest

import cuda_driver
import device_runner
import nvcc


@pytest.fixture(scope="module")
def device():
    return device_runner.device("sm_90a")


@pytest.fixture(scope="module")
def kernels(device):
    return device.module(nvcc.ptx("copies.cu", "-diag-suppress", "20054", architecture="sm_90a"))


def box_of(array, box, start, swizzle):
    """What a box holds, row after row of its innermost dimension, its chunks of 16 bytes where the swizzle puts them."""
    tile = np.zeros(box, array.dtype)
    for index in np.ndindex(*box):
        place = tuple(i + s for i, s in zip(index, start))
        if all(0 <= p < n for p, n in zip(place, array.shape)):
            tile[index] = array[place]
    chunks = np.frombuffer(tile.tobytes(), np.uint8).reshape(-1, 16)
    result = np.empty_like(chunks)
    for i, chunk in enumerate(chunks):
        # In rows of 128 bytes: the chunk's number is xored with the row's, as far as the swizzle's span goes.
        row, column = i // 8, i % 8
        result[row * 8 + (column ^ row % max(1, swizzle // 16))] = chunk
    return result


@pytest.mark.parametrize("shape, box, start, dtype, swizzle", [
    ((100,), (64,), (16,), np.float32, 0),
    ((100,), (64,), (60,), np.uint8, 0),
    ((40, 64), (16, 64), (8, 0), ml_dtypes.bfloat16, 128),
    ((40, 64), (16, 64), (30, 0), np.float16, 128),
    ((40, 96), (32, 32), (-5, 64), np.float32, 128),
    ((40, 72), (16, 32), (3, 56), ml_dtypes.bfloat16, 64),
    ((40, 72), (16, 8), (3, -4), np.float32, 32),
    ((33, 24), (256, 8), (-100, 20), np.int32, 0),
    ((5, 12, 16), (2, 4, 8), (4, 10, 4), np.float64, 0),
    ((3, 5, 12, 64), (1, 2, 4, 64), (2, 4, -2, 0), np.uint16, 128),
    ((2, 3, 4, 5, 32), (2, 2, 1, 3, 16), (-1, 1, 3, 4, 24), np.float16, 32),
])
def test_boxes(kernels, device, shape, box, start, dtype, swizzle):
    """Tiles in every rank, swizzle and element size, inside of the tensor and over its edges."""
    array = np.arange(1, np.prod(shape) + 1).reshape(shape).astype(dtype)
    tensor, size = device.upload(array), int(np.prod(box)) * array.dtype.itemsize
    result = device.empty((size // 16, 16), np.uint8)
    tensor_map = cuda_driver.TensorMap(tensor, box, swizzle=swizzle)
    coordinates = [ctypes.c_int(c) for c in (*start[::-1], *[0] * (5 - len(start)))]
    kernels.launch(f"load_box_{len(shape)}", 1, 64, [tensor_map, result, ctypes.c_int(size), *coordinates], shared=size)
    np.testing.assert_array_equal(result.download(), box_of(array, box, start, swizzle))


@pytest.mark.parametrize("warps", [2, 5])
@pytest.mark.parametrize("tiles", [1, 3, 11])
def test_ring(kernels, device, tiles, warps):
    """A producer of one elected thread and several consumers, with full and empty barriers."""
    x = np.random.default_rng(tiles).integers(-9, 9, (16 * tiles, 64)).astype(np.float32)
    sums = device.upload(np.zeros(64, np.float32))
    kernels.launch("ring", 2, 32 * warps, [cuda_driver.TensorMap(device.upload(x), (16, 32)), sums, ctypes.c_int(tiles)])
    np.testing.assert_array_equal(sums.download(), x.sum(0))


def test_library_barrier(kernels, device):
    x = np.random.default_rng(1).integers(-99, 99, 200).astype(np.int32)
    y = device.empty((64,), np.int32)
    kernels.launch("library_barrier", 1, 64, [device.upload(x), y, ctypes.c_int(200)])
    sums = np.array([(x * (np.arange(200) + t)).sum() for t in range(64)])
    expected = [sums[t] + sums[t - 1] if t % 2 else sums[t] - sums[t + 1] for t in range(64)]
    np.testing.assert_array_equal(y.download(), expected)


@pytest.mark.parametrize("y", [0, 5, -3])
def test_tile_stores(kernels, device, y):
    """A store and a reduction of tiles that reach over the tensor's edge."""
    out = device.upload(np.zeros((10, 80), np.float32))
    kernels.launch("tile_store", 3, 64, [cuda_driver.TensorMap(out, (8, 32)), ctypes.c_int(y), ctypes.c_int(0)])
    expected = np.zeros((10, 80), np.float32)
    for row in range(max(0, y), min(10, y + 8)):
        for column in range(80):
            expected[row, column] = 3 * (column // 32 * 32 + (row - y) * 32 + column % 32)
    np.testing.assert_array_equal(out.download(), expected)


@pytest.mark.parametrize("check", [False, True])
def test_replaced_map(device, kernels, check):
    """A kernel makes a map of every third row from the second on, of which the box reaches beyond the last."""
    x = np.random.default_rng(3).standard_normal((20, 32)).astype(np.float32)
    tensor, made, result = device.upload(x), device.empty((128,), np.uint8), device.empty((8, 32), np.float32)
    module = device.module(kernels.image.value.decode(), checker=True) if check else kernels
    module.launch("replaced_map", 1, 32, [cuda_driver.TensorMap(tensor, (8, 32)), made, ctypes.c_uint64(tensor.pointer.value + 128), ctypes.c_int(6),
                                          ctypes.c_uint64(3 * 128), result])
    np.testing.assert_array_equal(result.download(), np.concatenate([x[1::3][:6], np.zeros((2, 32), np.float32)]))


def test_printf(capfd, device, kernels):
    name = device.upload(np.frombuffer(b"lane\0", np.uint8))
    kernels.launch("print", 1, 4, [name])
    device.synchronize()
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == "lane 1:  0.25 -2 b% 00000abd|\nlane 3:  0.75 -4 d% 00000abf|\n"


def test_bulk_stores_and_reductions(kernels, device):
    x = np.random.default_rng(2).integers(0, 50, (4, 64)).astype(np.int32)
    copy, sums = device.empty((4, 64), np.int32), device.upload(np.ones(64, np.int32))
    largest, reals, halves = [device.upload(np.zeros(64, t)) for t in (np.uint64, np.float32, ml_dtypes.bfloat16)]
    kernels.launch("bulk_sums", 4, 64, [device.upload(x), copy, sums, largest, reals, halves])
    np.testing.assert_array_equal(copy.download(), x)
    np.testing.assert_array_equal(sums.download(), x.sum(0) + 1)
    np.testing.assert_array_equal(largest.download(), x.max(0).astype(np.uint64) << np.uint64(32))
    np.testing.assert_array_equal(reals.download(), x.sum(0) * 0.5)
    np.testing.assert_array_equal(halves.download().astype(np.float32), x.sum(0))


def test_arrivals_of_copies(kernels, device):
    x = np.arange(100, 228, dtype=np.int32)
    y = device.empty((128,), np.int32)
    kernels.launch("async_arrive", 1, 64, [device.upload(x), y])
    np.testing.assert_array_equal(y.download(), np.concatenate([x[63::-1], x[127:63:-1]]))


def test_flags_between_warps(kernels, device):
    y = device.empty((20,), np.int32)
    kernels.launch("flags", 1, 64, [y, ctypes.c_int(20)])
    np.testing.assert_array_equal(y.download(), [(2 * i + 1) * 10 for i in range(20)])


def test_tensor_maps_are_checked(device):
    x = device.upload(np.zeros((8, 8, 64), np.float16))

    def error(**changed):
        with pytest.raises(cuda_driver.Error) as raised:
            cuda_driver.TensorMap(x, **{"box": (1, 8, 64), "swizzle": 128, **changed})
        return raised.value.name

    cuda_driver.TensorMap(x, (1, 8, 64), swizzle=128)
    invalid, missing = "CUDA_ERROR_INVALID_VALUE", "CUDA_ERROR_NOT_SUPPORTED"
    assert error(box=(1, 257, 64)) == invalid
    assert error(box=(1, 8, 60), swizzle=0) == invalid  # 120 bytes a row
    assert error(swizzle=64) == invalid  # rows are wider
    assert error(box=(1, 8, 16)) == missing  # rows are narrower than the swizzle
    assert error(strides=(1024, 136)) == invalid
    assert error(strides=(1 << 40, 128)) == invalid
    assert error(address=x.pointer.value + 8) == invalid
    assert error(element_strides=(1, 9, 1)) == invalid
    assert error(element_strides=(1, 2, 1)) == missing
    assert error(interleave=1) == missing


# Each line gives a number; the barrier takes 4 arrivals.
PHASES = [
    ("mbarrier.arrive.shared::cta.b64 %s0, [bar]; mbarrier.pending_count.b64 %r0, %s0;", 4),
    ("mbarrier.arrive.noComplete.shared.b64 %s1, [bar], 2; mbarrier.pending_count.b64 %r0, %s1;", 3),
    # A generic address.
    ("mbarrier.test_wait.b64 %p, [%a], %s1; selp.u32 %r0, 1, 0, %p;", 0),
    ("mbarrier.test_wait.parity.shared.b64 %p, [bar], 1; selp.u32 %r0, 1, 0, %p;", 1),
    # The phase lacks one arrival; bytes keep it open after that.
    ("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 48; mbarrier.arrive.relaxed.cta.shared::cta.b64 %s2, [bar]; "
     "mbarrier.test_wait.shared.b64 %p, [bar], %s0; selp.u32 %r0, 1, 0, %p;", 0),
    ("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 48; mbarrier.try_wait.shared.b64 %p, [bar], %s0; selp.u32 %r0, 1, 0, %p;", 1),
    ("mbarrier.test_wait.parity.shared.b64 %p, [bar], 0; selp.u32 %r0, 1, 0, %p;", 1),
    ("mbarrier.test_wait.parity.shared.b64 %p, [bar], 1; selp.u32 %r0, 1, 0, %p;", 0),
    # One drops out: this phase still takes its arrival, later ones take three.
    ("mbarrier.arrive_drop.shared.b64 %s3, [bar]; mbarrier.arrive.shared.b64 %s4, [bar], 3; mbarrier.arrive.shared.b64 %s4, [bar]; "
     "mbarrier.pending_count.b64 %r0, %s4;", 3),
    ("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p, [bar], 1; selp.u32 %r0, 1, 0, %p;", 1),
    ("mbarrier.inval.shared.b64 [bar]; mbarrier.init.shared.b64 [bar], 7; mbarrier.arrive.shared.b64 %s5, [bar]; "
     "mbarrier.pending_count.b64 %r0, %s5;", 7),
]


def test_phases(device):
    """Tokens, counts and bytes of mbarriers, as the manual says."""
    body = "\n".join(f"{text} st.global.u32 [%out+{4 * i}], %r0;" for i, (text, _) in enumerate(PHASES))
    module = device.module(""".version 8.0
.target sm_90
.address_size 64
.visible .entry phases(.param .u64 out) {
.reg .pred %p; .reg .b32 %r<2>; .reg .b64 %out, %s<6>, %a;
.shared .align 8 .b64 bar;
ld.param.u64 %out, [out];
mov.u64 %a, bar;
cvta.shared.u64 %a, %a;
mbarrier.init.shared::cta.b64 [bar], 4;
""" + body + "\nret;\n}\n")
    out = device.empty((len(PHASES),), np.uint32)
    module.launch("phases", 1, 1, [out])
    assert list(out.download()) == [expected for _, expected in PHASES]
