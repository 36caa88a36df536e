# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The driver API as tests and the runtime use it: memory, copies, modules, launches, faults. Most of it also holds on a GPU."""
import ctypes
import os
import re
import subprocess
import threading

import numpy as np
import pytest

import cuda_driver
import nvcc
from cuda_driver import Buffer, Device, Error, Pinned, Stream, call, run_script

emulated = pytest.mark.skipif(not cuda_driver.is_emulated(), reason="about the emulated machine")
CUDA_BIN = os.path.dirname(nvcc.find())

# scale(float *data, float factor, unsigned count); reads `bias`, a variable of the module.
SCALE = """
.version 8.0
.target sm_80
.address_size 64
.visible .global .f32 bias = 0f40000000;
.visible .entry scale(.param .u64 data, .param .f32 factor, .param .u32 count)
{
  .reg .pred %p<2>; .reg .f32 %f<5>; .reg .b32 %r<6>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [data];
  ld.param.f32 %f1, [factor];
  ld.param.u32 %r1, [count];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4];
  ld.global.f32 %f3, [bias];
  fma.rn.f32 %f4, %f2, %f1, %f3;
  st.global.f32 [%rd4], %f4;
DONE:
  ret;
}
"""


@pytest.fixture(scope="module")
def device():
    return Device(0)


@pytest.fixture(scope="module")
def scale(device):
    """scale(buffer, factor, count, stream=None): data * factor + 2."""
    module = device.module(SCALE)

    def launch(buffer, factor, count=None, stream=None):
        count = buffer.shape[0] if count is None else count
        module.launch("scale", (count + 63) // 64, 64, [buffer, ctypes.c_float(factor), ctypes.c_uint32(count)], stream=stream)
    return launch


def test_upload_and_download(device):
    data = np.random.default_rng(0).random((7, 11), np.float32)
    np.testing.assert_array_equal(device.upload(data).download(), data)


@emulated
def test_new_memory_is_nan(device):
    assert np.isnan(Buffer(device, (100,), np.float32).download()).all()


def test_fills(device):
    buffer = device.upload(np.zeros(16, np.uint32))
    device.call("cuMemsetD8_v2", buffer.pointer, ctypes.c_ubyte(0xAB), ctypes.c_size_t(4))
    device.call("cuMemsetD16_v2", ctypes.c_uint64(buffer.pointer.value + 4), ctypes.c_ushort(0x1234), ctypes.c_size_t(2))
    device.call("cuMemsetD32_v2", ctypes.c_uint64(buffer.pointer.value + 8), ctypes.c_uint(7), ctypes.c_size_t(2))
    device.call("cuMemsetD2D8_v2", ctypes.c_uint64(buffer.pointer.value + 32), ctypes.c_size_t(8), ctypes.c_ubyte(1), ctypes.c_size_t(4),
                ctypes.c_size_t(3))
    assert buffer.download().tolist() == [0xABABABAB, 0x12341234, 7, 7, 0, 0, 0, 0, 0x01010101, 0, 0x01010101, 0, 0x01010101, 0, 0, 0]


class Copy3D(ctypes.Structure):
    """CUDA_MEMCPY3D."""
    _SIDE = [("X", ctypes.c_size_t), ("Y", ctypes.c_size_t), ("Z", ctypes.c_size_t), ("LOD", ctypes.c_size_t),
             ("Type", ctypes.c_int), ("Host", ctypes.c_void_p), ("Device", ctypes.c_uint64), ("Array", ctypes.c_void_p),
             ("Reserved", ctypes.c_void_p), ("Pitch", ctypes.c_size_t), ("Height", ctypes.c_size_t)]
    _fields_ = ([("src" + n, t) for n, t in _SIDE] + [("dst" + n, t) for n, t in _SIDE] +
                [("width", ctypes.c_size_t), ("height", ctypes.c_size_t), ("depth", ctypes.c_size_t)])


class Copy2D(ctypes.Structure):
    """CUDA_MEMCPY2D."""
    _SIDE = [("X", ctypes.c_size_t), ("Y", ctypes.c_size_t), ("Type", ctypes.c_int), ("Host", ctypes.c_void_p),
             ("Device", ctypes.c_uint64), ("Array", ctypes.c_void_p), ("Pitch", ctypes.c_size_t)]
    _fields_ = ([("src" + n, t) for n, t in _SIDE] + [("dst" + n, t) for n, t in _SIDE] +
                [("width", ctypes.c_size_t), ("height", ctypes.c_size_t)])


HOST, DEVICE = 1, 2


def test_copy_of_rows(device):
    """A block of columns comes out of a matrix on the host, and goes into another on the device."""
    matrix = np.arange(5 * 13, dtype=np.int16).reshape(5, 13)
    target = device.upload(np.zeros((4, 9), np.int16))
    copy = Copy2D(srcType=HOST, srcHost=matrix.ctypes.data, srcX=2 * 3, srcY=1, srcPitch=26, dstType=DEVICE,
                  dstDevice=target.pointer.value, dstX=2 * 2, dstY=1, dstPitch=18, width=2 * 6, height=3)
    device.call("cuMemcpy2D_v2", ctypes.byref(copy))
    want = np.zeros((4, 9), np.int16)
    want[1:4, 2:8] = matrix[1:4, 3:9]
    np.testing.assert_array_equal(target.download(), want)


@pytest.mark.parametrize("function", ["cuMemcpy3D_v2", "cuMemcpy3DAsync_v2"])
def test_copy_of_boxes(device, function):
    source = device.upload(np.arange(3 * 4 * 5, dtype=np.int32).reshape(3, 4, 5))
    target = device.upload(np.zeros((2, 3, 7), np.int32))
    copy = Copy3D(srcType=DEVICE, srcDevice=source.pointer.value, srcX=4, srcY=2, srcZ=1, srcPitch=20, srcHeight=4, dstType=DEVICE,
                  dstDevice=target.pointer.value, dstX=8, dstY=1, dstPitch=28, dstHeight=3, width=12, height=2, depth=2)
    device.call(function, ctypes.byref(copy), *([None] if "Async" in function else []))
    want = np.zeros((2, 3, 7), np.int32)
    want[:, 1:3, 2:5] = source.download()[1:3, 2:4, 1:4]
    np.testing.assert_array_equal(target.download(), want)


def test_asynchronous_copies(device, scale):
    stream = Stream(device)
    source, result = Pinned(device, (100,), np.float32), Pinned(device, (100,), np.float32)
    source.array[:] = np.arange(100)
    buffer = device.empty((100,), np.float32)
    device.synchronize()
    size = ctypes.c_size_t(400)
    device.call("cuMemcpyHtoDAsync_v2", buffer.pointer, source.pointer, size, stream.handle)
    scale(buffer, 3, stream=stream)
    device.call("cuMemcpyDtoHAsync_v2", result.pointer, buffer.pointer, size, stream.handle)
    stream.synchronize()
    np.testing.assert_array_equal(result.array, 3 * np.arange(100, dtype=np.float32) + 2)


@emulated
def test_what_is_wrong_with_memory(device):
    buffer = device.empty((8,), np.float32)
    host = np.zeros(9, np.float32)

    def fails(name, function, *args):
        with pytest.raises(Error) as error:
            device.call(function, *args)
        assert error.value.name == name

    host_pointer = ctypes.c_void_p(host.ctypes.data)
    fails("CUDA_ERROR_INVALID_VALUE", "cuMemcpyHtoD_v2", buffer.pointer, host_pointer, ctypes.c_size_t(36))
    fails("CUDA_ERROR_INVALID_VALUE", "cuMemcpyHtoD_v2", ctypes.c_uint64(64), host_pointer, ctypes.c_size_t(4))
    fails("CUDA_ERROR_INVALID_VALUE", "cuMemFree_v2", ctypes.c_uint64(buffer.pointer.value + 4))
    fails("CUDA_ERROR_OUT_OF_MEMORY", "cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(1 << 60))
    device.call("cuMemFree_v2", buffer.pointer)
    fails("CUDA_ERROR_INVALID_VALUE", "cuMemFree_v2", buffer.pointer)
    fails("CUDA_ERROR_INVALID_VALUE", "cuMemsetD8_v2", buffer.pointer, ctypes.c_ubyte(0), ctypes.c_size_t(1))


@emulated
def test_allocations_lie_apart(device):
    """An index that is far off is in no other allocation."""
    buffers = sorted((device.empty((size,), np.uint8) for size in (1, 5000, 3 << 20, 64, 5000, 2 << 20)), key=lambda buffer: buffer.pointer.value)
    for one, other in zip(buffers, buffers[1:]):
        assert other.pointer.value - one.pointer.value - one.nbytes >= max(1 << 20, one.nbytes)
    for buffer in buffers:
        buffer.free()


def test_rows_are_at_most_2_gb_apart(device):
    source, far = device.empty((64,), np.uint8), Buffer(device, ((1 << 31) + 64,), np.uint8)
    copy = Copy3D(srcType=DEVICE, srcDevice=source.pointer.value, srcPitch=32, dstType=DEVICE, dstDevice=far.pointer.value, dstPitch=1 << 31,
                  width=32, height=2, depth=1)
    with pytest.raises(Error, match="CUDA_ERROR_INVALID_VALUE"):
        device.call("cuMemcpy3DAsync_v2", ctypes.byref(copy), None)
    copy.dstPitch -= 16
    device.call("cuMemcpy3DAsync_v2", ctypes.byref(copy), None)
    device.synchronize()
    far.free()


class Held:
    """A stream that does nothing until the end of a `with`."""

    def __init__(self, device):
        self.stream, self.end = Stream(device), threading.Event()
        self.function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: self.end.wait())
        device.call("cuLaunchHostFunc", self.stream.handle, self.function, None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.end.set()
        self.stream.synchronize()

    def check(self, waits, function):
        """Whether a function waits for the stream."""
        thread = threading.Thread(target=function)
        thread.start()
        thread.join(0.1 if waits else 60)
        assert thread.is_alive() == waits
        self.end.set()
        thread.join()


@emulated
@pytest.mark.parametrize("size, waits", [(1000, False), (100_000, True)])
def test_uploads_of_memory_that_is_not_pinned_may_wait(device, size, waits):
    buffer, host = device.empty((size,), np.uint8), np.zeros(size, np.uint8)
    with Held(device) as held:
        held.check(waits, lambda: device.call("cuMemcpyHtoDAsync_v2", buffer.pointer, ctypes.c_void_p(host.ctypes.data), ctypes.c_size_t(size),
                                              held.stream.handle))


@emulated
def test_a_queue_is_full_at_some_time(device):
    buffer = device.empty((16,), np.uint8)

    def fill(count):
        for _ in range(count):
            device.call("cuMemsetD8Async", buffer.pointer, ctypes.c_ubyte(0), ctypes.c_size_t(16), held.stream.handle)

    with Held(device) as held:
        fill(1000)
        held.check(True, lambda: fill(100))


@emulated
def test_kernels_are_loaded_when_they_are_needed(device):
    module, functions, state, mode = device.module(SCALE), (ctypes.c_void_p * 1)(), ctypes.c_int(), ctypes.c_int()
    device.call("cuModuleEnumerateFunctions", functions, 1, module.handle)
    function = ctypes.c_void_p(functions[0])
    device.call("cuFuncIsLoaded", ctypes.byref(state), function)
    device.call("cuModuleGetLoadingMode", ctypes.byref(mode))
    assert (state.value, mode.value) == (0, 2)
    with Held(device) as held:  # loading may wait for all work of the context
        held.check(True, lambda: device.call("cuFuncLoad", function))
    device.call("cuFuncIsLoaded", ctypes.byref(state), function)
    assert state.value == 1
    with Held(device) as held:
        held.check(False, lambda: module.function("scale"))


@emulated
def test_eager_loading():
    process = run_script(f"""
        import ctypes, cuda_driver
        device, functions, state = cuda_driver.Device(0), (ctypes.c_void_p * 1)(), ctypes.c_int()
        device.call("cuModuleEnumerateFunctions", functions, 1, device.module({SCALE!r}).handle)
        device.call("cuFuncIsLoaded", ctypes.byref(state), ctypes.c_void_p(functions[0]))
        print(state.value)""", CUDA_MODULE_LOADING="EAGER")
    assert process.stdout == "1\n", process.stderr


@emulated
def test_host_functions_may_not_call_the_driver(device):
    stream, codes = Stream(device), []

    def ask(_):
        codes.append(cuda_driver.driver().cuStreamQuery(stream.handle))
        codes.append(cuda_driver.driver().cuMemFree_v2(ctypes.c_uint64(0)))

    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ask)
    device.call("cuLaunchHostFunc", stream.handle, function, None)
    stream.synchronize()
    assert codes == [800, 800]  # not permitted


def test_memory_is_counted(device):
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    before = free.value
    buffer = device.empty((1 << 26,), np.uint8)
    call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    assert before - free.value >= 1 << 26
    buffer.free()
    call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    assert free.value == before <= total.value


def test_what_a_pointer_is(device):
    buffer, pinned = device.empty((8,), np.float32), Pinned(device, (4,), np.int8)

    def attribute(number, pointer, kind=ctypes.c_int):
        value = kind()
        device.call("cuPointerGetAttribute", ctypes.byref(value), number, ctypes.c_uint64(pointer))
        return value.value

    assert attribute(2, buffer.pointer.value + 5) == DEVICE and attribute(2, pinned.pointer.value) == HOST
    assert attribute(9, buffer.pointer.value) == 0
    start, size = ctypes.c_uint64(), ctypes.c_size_t()
    device.call("cuMemGetAddressRange_v2", ctypes.byref(start), ctypes.byref(size), ctypes.c_uint64(buffer.pointer.value + 7))
    assert start.value == buffer.pointer.value and size.value >= 32


def test_launch_and_module_variables(device, scale):
    buffer = device.upload(np.arange(1000, dtype=np.float32))
    scale(buffer, 3, count=900)
    want = np.arange(1000, dtype=np.float32)
    want[:900] = want[:900] * 3 + 2
    np.testing.assert_array_equal(buffer.download(), want)

    first, second = device.module(SCALE), device.module(SCALE)
    pointer, size = ctypes.c_uint64(), ctypes.c_size_t()
    device.call("cuModuleGetGlobal_v2", ctypes.byref(pointer), ctypes.byref(size), first.handle, b"bias")
    assert size.value == 4
    device.call("cuMemcpyHtoD_v2", pointer, ctypes.byref(ctypes.c_float(10)), ctypes.c_size_t(4))
    for module, bias in ((first, 10), (second, 2)):
        ones = device.upload(np.ones(4, np.float32))
        module.launch("scale", 1, 4, [ones, ctypes.c_float(1), ctypes.c_uint32(4)])
        assert (ones.download() == 1 + bias).all()


def test_parameters_as_a_block(device):
    """CU_LAUNCH_PARAM_BUFFER_POINTER (1) and _SIZE (2)."""
    buffer = device.upload(np.ones(8, np.float32))
    block = np.zeros(1, np.dtype([("p", np.uint64), ("f", np.float32), ("n", np.uint32)]))
    block[0] = (buffer.pointer.value, 5, 8)
    size = ctypes.c_size_t(block.nbytes)
    extra = (ctypes.c_void_p * 5)(1, block.ctypes.data, 2, ctypes.addressof(size), 0)
    device.call("cuLaunchKernel", device.module(SCALE).function("scale"), 1, 1, 1, 8, 1, 1, 0, None, None, extra)
    assert (buffer.download() == 7).all()


def test_library_is_loaded_by_each_context():
    device = Device(0)
    library, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuLibraryLoadData", ctypes.byref(library), SCALE.encode(), None, None, 0, None, None, 0)
    call("cuLibraryGetKernel", ctypes.byref(kernel), library, b"scale")
    buffer = device.upload(np.ones(4, np.float32))
    arguments = [buffer.pointer, ctypes.c_float(2), ctypes.c_uint32(4)]
    pointers = (ctypes.c_void_p * 3)(*[ctypes.addressof(a) for a in arguments])
    call("cuLaunchKernel", kernel, 1, 1, 1, 4, 1, 1, 0, None, pointers, None)
    assert (buffer.download() == 4).all()
    call("cuLibraryUnload", library)


def test_attributes_and_occupancy(device):
    function = device.module(SCALE).function("scale")
    value = ctypes.c_int()
    device.call("cuFuncGetAttribute", ctypes.byref(value), 0, function)
    assert value.value == 1024
    device.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(value), function, 1024, ctypes.c_size_t(0))
    assert value.value >= 1
    offset, size = ctypes.c_size_t(), ctypes.c_size_t()
    device.call("cuFuncGetParamInfo", function, ctypes.c_size_t(1), ctypes.byref(offset), ctypes.byref(size))
    assert (offset.value, size.value) == (8, 4)
    with pytest.raises(Error, match="CUDA_ERROR_INVALID_VALUE"):
        device.call("cuFuncGetParamInfo", function, ctypes.c_size_t(3), ctypes.byref(offset), ctypes.byref(size))


@pytest.mark.parametrize("grid, block, shared", [((1, 1, 1), (1025, 1, 1), 0), ((0, 1, 1), (1, 1, 1), 0), ((1, 70000, 1), (1, 1, 1), 0),
                                                 ((1, 1, 1), (32, 33, 1), 0), ((1, 1, 1), (1, 1, 65), 0), ((1, 1, 1), (1, 1, 1), 49153)])
def test_launches_beyond_the_limits(device, grid, block, shared):
    buffer = device.empty((1,), np.float32)
    arguments = [buffer.pointer, ctypes.c_float(2), ctypes.c_uint32(0)]
    pointers = (ctypes.c_void_p * 3)(*[ctypes.addressof(a) for a in arguments])
    with pytest.raises(Error, match="CUDA_ERROR_INVALID_VALUE"):
        device.call("cuLaunchKernel", device.module(SCALE).function("scale"), *grid, *block, shared, None, pointers, None)


def test_unknown_names(device):
    module = device.module(SCALE)
    with pytest.raises(Error, match="CUDA_ERROR_NOT_FOUND"):
        module.function("scales")
    with pytest.raises(Error, match="CUDA_ERROR_NOT_FOUND"):
        device.call("cuModuleGetGlobal_v2", ctypes.byref(ctypes.c_uint64()), ctypes.byref(ctypes.c_size_t()), module.handle, b"x")


def run_tool(*command):
    subprocess.run([os.path.join(CUDA_BIN, command[0]), *map(str, command[1:])], check=True, capture_output=True, text=True)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Fatbins of SCALE as fatbinary makes them, by name."""
    path = tmp_path_factory.mktemp("images")
    (path / "k80.ptx").write_text(SCALE)
    (path / "k90.ptx").write_text(SCALE.replace("sm_80", "sm_90").replace("0f40000000", "0f41200000"))
    (path / "k90a.ptx").write_text(SCALE.replace("sm_80", "sm_90a").replace("0f40000000", "0f41A00000"))
    run_tool("ptxas", "-arch=sm_80", path / "k80.ptx", "-o", path / "k80.cubin")
    cubin = f"--image3=kind=elf,sm=80,file={path}/k80.cubin"
    ptx = [f"--image3=kind=ptx,sm={sm},file={path}/k{sm}.ptx" for sm in ("80", "90", "90a")]
    makes = {"plain": ["--compress=false", cubin, ptx[0]], "zstd": [cubin, ptx[0]], "lz4": ["--compress-mode=speed", ptx[0]],
             "both": ["--compress=false", ptx[1], ptx[0]], "later": [ptx[1]], "all": ["--compress=false", ptx[2], ptx[0], ptx[1]], "cubin": [cubin]}
    for name, options in makes.items():
        run_tool("fatbinary", f"--create={path}/{name}.fatbin", "--64", *options)
    return {name: (path / f"{name}.fatbin").read_bytes() for name in makes} | {"elf": (path / "k80.cubin").read_bytes()}


@pytest.mark.parametrize("name", ["plain", "zstd", "lz4", "both"])
def test_fatbins(device, images, name):
    buffer = device.upload(np.ones(4, np.float32))
    device.module(images[name]).launch("scale", 1, 4, [buffer, ctypes.c_float(5), ctypes.c_uint32(4)])
    assert (buffer.download() == 7).all()


@emulated
@pytest.mark.parametrize("name, reason", [("later", "which has PTX of sm_90"), ("cubin", "which has a cubin of sm_80"),
                                          ("elf", "the image is a cubin without PTX")])
def test_images_that_cannot_run(device, images, name, reason, capfd):
    with pytest.raises(Error, match="CUDA_ERROR_NO_BINARY_FOR_GPU"):
        device.module(images[name])
    assert reason in capfd.readouterr().err


@emulated
@pytest.mark.parametrize("name, want", [("both", [7, 15, 15]), ("all", [7, 25, 15])])
def test_newest_ptx_is_taken(images, tmp_path, name, want):
    """And of sm_90 and sm_90a, on a device of 9.0, that of sm_90a, which runs nowhere else. Each device takes its own, from a
    module and from a library."""
    (tmp_path / "image.fatbin").write_bytes(images[name])
    script = f"""
        import ctypes, numpy as np, cuda_driver
        image = open({str(tmp_path / "image.fatbin")!r}, "rb").read()
        devices = [cuda_driver.Device(i) for i in range(3)]
        library, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        cuda_driver.call("cuLibraryLoadData", ctypes.byref(library), image, None, None, 0, None, None, 0)
        for device in devices:
            buffer = device.upload(np.ones(4, np.float32))
            device.module(image).launch("scale", 1, 4, [buffer, ctypes.c_float(5), ctypes.c_uint32(4)])
            print(buffer.download()[0])
        for device in devices:
            buffer = device.upload(np.ones(4, np.float32))
            arguments = [buffer.pointer, ctypes.c_float(5), ctypes.c_uint32(4)]
            pointers = (ctypes.c_void_p * 3)(*[ctypes.addressof(a) for a in arguments])
            device.call("cuLibraryGetKernel", ctypes.byref(kernel), library, b"scale")
            device.call("cuLaunchKernel", kernel, 1, 1, 1, 4, 1, 1, 0, None, pointers, None)
            print(buffer.download()[0])"""
    lines = run_script(script, TSP_EMULATED_CAPABILITY="8.0,9.0,12.0").stdout.split()
    assert [float(line) for line in lines] == want + want


@emulated
def test_ptx_that_does_not_compile(device):
    log = ctypes.create_string_buffer(300)
    options = (ctypes.c_int * 2)(5, 6)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), 300)
    image = ctypes.create_string_buffer(SCALE.replace("fma.rn.f32", "fna.rn.f32").encode())
    with pytest.raises(Error, match="CUDA_ERROR_INVALID_PTX"):
        device.call("cuModuleLoadDataEx", ctypes.byref(ctypes.c_void_p()), image, 2, options, values)
    assert b"fna" in log.value


@emulated
def test_fault_is_named_and_stays():
    process = run_script(f"""
        import ctypes, numpy as np, cuda_driver
        device, other = cuda_driver.Device(0), cuda_driver.Device(1)
        module = device.module({SCALE!r})
        buffer = device.empty((999,), np.float32)
        module.launch("scale", 4, 256, [buffer, ctypes.c_float(2), ctypes.c_uint32(1000)])
        for call in (device.synchronize, buffer.download, lambda: device.empty((1,), np.int8), device.synchronize):
            try:
                call()
            except cuda_driver.Error as error:
                print(error.name)
        print(other.upload(np.ones(1, np.int8)).download())
        device.call("cuDevicePrimaryCtxReset_v2", 0)
        print(device.upload(np.ones(1, np.int8)).download())""")
    assert process.stdout.split("\n")[:-1] == ["CUDA_ERROR_ILLEGAL_ADDRESS"] * 4 + ["[1]", "[1]"], process.stderr
    assert "device 0: kernel 'scale' failed: PTX line 21 (ld.global.f32)" in process.stderr
    assert "block (3,0,0), thread (231,0,0)" in process.stderr


@emulated
def test_counters(device):
    """Two warps: for each a load of 32 floats, one of the same float for all, and a store of 32 floats."""
    before = cuda_driver.counters("scale")
    buffer = device.upload(np.ones(64, np.float32))
    device.module(SCALE, checker=True).launch("scale", 2, 32, [buffer, ctypes.c_float(2), ctypes.c_uint32(64)])
    device.synchronize()
    counted = cuda_driver.counters("scale", before)
    assert counted == {"shared_requests": 0, "shared_passes": 0, "global_requests": 6, "global_sectors": 18, "global_ideal_sectors": 18}


@emulated
def test_exit_while_kernels_run():
    process = run_script(f"""
        import ctypes, numpy as np, cuda_driver, sys
        device = cuda_driver.Device()
        module = device.module({SCALE!r})
        buffer = device.empty((1 << 20,), np.float32)
        for _ in range(200):
            module.launch("scale", 1 << 14, 64, [buffer, ctypes.c_float(2), ctypes.c_uint32(1 << 20)])
        sys.exit(5)""")
    assert process.returncode == 5, process.stderr


@emulated
def test_memory_of_a_peer_needs_access():
    script = f"""
        import ctypes, numpy as np, cuda_driver
        device, peer = cuda_driver.Device(0), cuda_driver.Device(1)
        buffer = peer.upload(np.ones(4, np.float32))
        module = device.module({SCALE!r})
        if ENABLE:
            device.call("cuCtxEnablePeerAccess", peer.context, 0)
        try:
            module.launch("scale", 1, 4, [buffer, ctypes.c_float(2), ctypes.c_uint32(4)])
            device.synchronize()
            print(buffer.download())
        except cuda_driver.Error as error:
            print(error.name)"""
    assert run_script(script.replace("ENABLE", "0")).stdout == "CUDA_ERROR_ILLEGAL_ADDRESS\n"
    assert run_script(script.replace("ENABLE", "1")).stdout == "[4. 4. 4. 4.]\n"


def test_copies_between_devices():
    if not cuda_driver.is_emulated():
        pytest.skip("needs two devices")
    first, second = Device(0), Device(1)
    source, target = first.upload(np.arange(9, dtype=np.int32)), second.empty((9,), np.int32)
    second.synchronize()
    first.call("cuMemcpyPeer", target.pointer, second.context, source.pointer, first.context, ctypes.c_size_t(36))
    first.synchronize()
    assert target.download().tolist() == list(range(9))


@emulated
def test_machine_is_as_the_environment_says():
    script = """
        import ctypes, cuda_driver
        count, value, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(64)
        cuda_driver.call("cuDeviceGetCount", ctypes.byref(count))
        cuda_driver.call("cuDeviceGetName", name, 64, 0)
        answers = []
        for attribute in (75, 76, 16, 97):
            cuda_driver.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, 0)
            answers.append(value.value)
        print(count.value, name.value.decode(), answers)"""
    assert run_script(script).stdout == "8 Emulated GPU 8.0 [8, 0, 108, 166912]\n"
    changed = dict(TSP_EMULATED_DEVICES=2, TSP_EMULATED_CAPABILITY="9.0", TSP_EMULATED_MULTIPROCESSORS=132)
    assert run_script(script, **changed).stdout == "2 Emulated GPU 9.0 [9, 0, 132, 232448]\n"
    assert "CUDA_ERROR_NO_DEVICE" in run_script(script, TSP_EMULATED_DEVICES=0).stderr
    assert run_script(script, CUDA_VISIBLE_DEVICES="5,2,9").stdout.startswith("2 ")
    for text in ("eight", "8.0,nine", "8.0,", "8"):
        wrong = run_script(script, TSP_EMULATED_CAPABILITY=text).stderr
        assert f"TSP_EMULATED_CAPABILITY={text}: expected a compute capability such as 8.0, or a list of them" in wrong


@emulated
def test_devices_may_differ():
    """One capability a device of the machine; the last one repeats."""
    script = """
        import ctypes, cuda_driver
        value = ctypes.c_int()
        cuda_driver.driver()
        for device in range(3):
            for attribute in (75, 76, 97, 39, 106):
                cuda_driver.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
                print(value.value, end=" ")"""
    ampere, hopper, ada = "8 0 166912 2048 32 ", "9 0 232448 2048 32 ", "8 9 101376 1536 24 "
    assert run_script(script, TSP_EMULATED_CAPABILITY="8.0,9.0").stdout == ampere + hopper + hopper
    mixed = dict(TSP_EMULATED_CAPABILITY="8.0,9.0,8.9", CUDA_VISIBLE_DEVICES="2,0,1")
    assert run_script(script, **mixed).stdout == ada + ampere + hopper


@emulated
def test_functions_by_name(device):
    pointer = ctypes.c_void_p()

    def find(name, release=13000):
        device.call("cuGetProcAddress_v2", name, ctypes.byref(pointer), release, ctypes.c_uint64(0), None)
        return pointer.value

    address = lambda name: ctypes.cast(getattr(cuda_driver.driver(), name), ctypes.c_void_p).value
    assert find(b"cuMemAlloc") == address("cuMemAlloc_v2")
    assert find(b"cuCtxCreate") == address("cuCtxCreate_v4") and find(b"cuCtxCreate", 12000) == address("cuCtxCreate_v2")
    assert find(b"cuCtxSynchronize", 12000) == address("cuCtxSynchronize")
    with pytest.raises(Error, match="CUDA_ERROR_NOT_FOUND"):
        find(b"cuNothing")


@emulated
def test_what_is_missing_says_so():
    process = run_script("""
        import ctypes, cuda_driver
        device = cuda_driver.Device()
        for function in ("cuMemAllocManaged", "cuTexObjectCreate", "cuMemCreate"):
            try:
                device.call(function)
            except cuda_driver.Error as error:
                print(error.name)""", TSP_EMULATION_VERBOSE=1)
    assert process.stdout.split() == ["CUDA_ERROR_NOT_SUPPORTED"] * 3
    for function in ("cuMemAllocManaged", "cuTexObjectCreate", "cuMemCreate"):
        assert f"{function} is not supported" in process.stderr


@emulated
def test_every_function_of_the_header_exists():
    """Names in the library are those of cuda.h after preprocessing, and some older versions."""
    header = os.path.join(os.path.dirname(CUDA_BIN), "include", "cuda.h")
    text = subprocess.run(["c++", "-E", "-P", "-x", "c++", header], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"CUresult\s+(cu[A-Z]\w+)\s*\(", text))
    assert len(names) > 350
    assert [n for n in sorted(names) if not hasattr(cuda_driver.driver(), n)] == []


def test_context_stack():
    first, second = Device(0), (Device(1) if cuda_driver.is_emulated() else Device(0))
    first.make_current()
    current = ctypes.c_void_p()
    call("cuCtxPushCurrent_v2", second.context)
    call("cuCtxPopCurrent_v2", ctypes.byref(current))
    assert current.value == second.context.value
    call("cuCtxGetCurrent", ctypes.byref(current))
    assert current.value == first.context.value


@emulated
def test_stale_handles(device):
    stream, event = Stream(device), cuda_driver.Event(device)
    device.call("cuStreamDestroy_v2", stream.handle)
    device.call("cuEventDestroy_v2", event.handle)
    for function, handle in (("cuStreamSynchronize", stream.handle), ("cuEventSynchronize", event.handle)):
        with pytest.raises(Error) as error:
            device.call(function, handle)
        assert error.value.name == "CUDA_ERROR_INVALID_HANDLE"
