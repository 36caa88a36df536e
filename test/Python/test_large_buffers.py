# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on buffers of more than 2^31 elements, of which only a few pages are ever touched."""
import ctypes
import mmap

import ml_dtypes
import numpy as np
import pytest

import cuda_driver
import device_runner
import kernel_runner

pytestmark = pytest.mark.skipif(not kernel_runner.available(), reason="tsp-opt or clang is not there")

ROWS, COLUMNS = 70000, 40000
BIG = f"tensor<{ROWS}x{COLUMNS}xbf16>"
assert ROWS * COLUMNS > 2 ** 31

# Each reads or writes near the end of the big buffer, its first argument.
KERNELS = {
    "lookup": f"""
func.func private @lookup(%big: {BIG}, %i: tensor<3x1xi32>) -> tensor<3x64xf32> attributes {{tsp.kernel, tsp.tied = array<i64: -1>}} {{
  %0 = stablehlo.slice %big [0:{ROWS}, {COLUMNS - 64}:{COLUMNS}] : ({BIG}) -> tensor<{ROWS}x64xbf16>
  %1 = "stablehlo.gather"(%0, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>}}> : (tensor<{ROWS}x64xbf16>, tensor<3x1xi32>) -> tensor<3x64xbf16>
  %2 = stablehlo.convert %1 : (tensor<3x64xbf16>) -> tensor<3x64xf32>
  return %2 : tensor<3x64xf32>
}}""",
    "update": f"""
func.func private @update(%big: {BIG}, %x: tensor<2x64xbf16>, %i: tensor<i32>, %j: tensor<i32>) -> {BIG} attributes {{tsp.kernel, tsp.tied = array<i64: 0>, tsp.must_tie}} {{
  %0 = stablehlo.dynamic_update_slice %big, %x, %i, %j : ({BIG}, tensor<2x64xbf16>, tensor<i32>, tensor<i32>) -> {BIG}
  return %0 : {BIG}
}}""",
    "product": f"""
func.func private @product(%big: {BIG}, %x: tensor<128x64xbf16>) -> tensor<128x128xf32> attributes {{tsp.kernel, tsp.tied = array<i64: -1>}} {{
  %0 = stablehlo.slice %big [{ROWS - 64}:{ROWS}, {COLUMNS - 128}:{COLUMNS}] : ({BIG}) -> tensor<64x128xbf16>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<128x64xbf16>, tensor<64x128xbf16>) -> tensor<128x128xf32>
  return %1 : tensor<128x128xf32>
}}""",
}
NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # of Linux
RANDOM = np.random.default_rng(0)
CORNER = RANDOM.standard_normal((64, 128)).astype(ml_dtypes.bfloat16)  # the end of the last rows
ARGUMENTS = {
    "lookup": [np.array([[ROWS - 1], [ROWS - 64], [5]], np.int32)],
    "update": [np.full((2, 64), 7, ml_dtypes.bfloat16), np.array([ROWS - 3], np.int32), np.array([COLUMNS - 64], np.int32)],
    "product": [RANDOM.standard_normal((128, 64)).astype(ml_dtypes.bfloat16)],
}


def expected(name):
    """Of `update` the corner afterwards."""
    if name == "lookup":
        return np.stack([CORNER[63, 64:], CORNER[0, 64:], np.zeros(64)]).astype(np.float32)
    if name == "update":
        corner = CORNER.copy()
        corner[61:63, 64:] = 7
        return corner
    return ARGUMENTS[name][0].astype(np.float32) @ CORNER.astype(np.float32)


def check(name, found):
    np.testing.assert_allclose(found.astype(np.float32), expected(name).astype(np.float32), rtol=1e-5, atol=1e-4)


PASSES = {"lookup": "--tsp-lower-fused-kernels", "update": "--tsp-lower-fused-kernels", "product": "--tsp-lower-gemm-kernels"}


@pytest.mark.parametrize("name", KERNELS)
def test_host(name, tmp_path):
    kernel = kernel_runner.compile_kernels("module {" + KERNELS[name] + "}", [PASSES[name]], tmp_path)[name]
    memory = mmap.mmap(-1, ROWS * COLUMNS * 2, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE)
    big = np.frombuffer(memory, ml_dtypes.bfloat16).reshape(ROWS, COLUMNS)
    big[ROWS - 64:, COLUMNS - 128:] = CORNER
    result = big if name == "update" else kernel_runner.aligned(np.zeros_like(expected(name)))
    kernel.run([big, *map(kernel_runner.aligned, ARGUMENTS[name]), result])
    check(name, result[ROWS - 64:, COLUMNS - 128:] if name == "update" else result)


def _row(pointer, row):
    """Where the last 128 elements of a row of the big buffer are."""
    return ctypes.c_void_p(pointer.value + ((row + 1) * COLUMNS - 128) * 2)


@pytest.mark.skipif(not device_runner.available(), reason="the emulation is not built")
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", KERNELS)
def test_device(name, architecture, tmp_path):
    kernel = device_runner.compile_kernels(KERNELS[name], tmp_path, architecture)[name]
    module, how = kernel.module, kernel.how
    device = module.device
    big = cuda_driver.Buffer(device, (ROWS, COLUMNS), ml_dtypes.bfloat16)
    corner = np.ascontiguousarray(CORNER)
    for row in range(64):
        device.call("cuMemcpyHtoD_v2", _row(big.pointer, ROWS - 64 + row), corner[row].ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(256))
    others = [device.upload(one) for one in ARGUMENTS[name]]
    result = big if name == "update" else device.empty(expected(name).shape, expected(name).dtype)
    buffers = [big, *others, result]
    scratch = [device.empty((how.workspace,), np.uint8)] if how.workspace else []
    maps = [cuda_driver.TensorMap(buffers[i], address=buffers[i].pointer.value + offset, **more) for i, offset, more in how.maps]
    module.launch(how.name, how.grid, how.block, [*buffers, *scratch, *maps], how.shared)
    device.synchronize()
    if name == "update":
        found = np.empty_like(corner)
        for row in range(64):
            device.call("cuMemcpyDtoH_v2", found[row].ctypes.data_as(ctypes.c_void_p), _row(big.pointer, ROWS - 64 + row), ctypes.c_size_t(256))
    else:
        found = result.download()
    check(name, found)
    for buffer in {id(one): one for one in [*buffers, *scratch]}.values():
        buffer.free()
