# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CUDA driver API from Python: loads kernels and runs them on NumPy arrays.

    import cuda_driver
    device = cuda_driver.Device()                  # device 0; build/lib/emulation/libcuda.so.1
    module = device.module(ptx)                    # PTX as str, or a fatbin as bytes
    [c] = module.run("add", grid=4, block=256, inputs=[a, b], outputs=[((1000,), np.float32)])

`run` copies the inputs up, makes the outputs (full of 0xFF bytes, so that an element nobody wrote is NaN), passes one pointer
for each (inputs, then outputs, then `workspace` bytes if there are any), launches, waits and returns the outputs. An output
may also be an array, which is then the buffer's content before the launch, or an int i: the buffer of input i is written.
Parameters of other kinds, or several launches on the same buffers:

    buffer = device.upload(array)                  # Buffer; buffer.download() -> array
    out = device.empty((1000,), np.float32)
    module.launch("scale", (4, 1, 1), (256, 1, 1), [buffer, out, ctypes.c_float(2), ctypes.c_int(1000)], shared=0, stream=None)
    device.synchronize()

`device.module(image, checker=True)` runs kernels under the emulation's checker; `counters(name)` then tells bank conflicts
and sectors of all launches of a kernel.

A fault of a kernel raises Error, whose text ends with what the emulation printed. `device.call("cuXxx", ...)` reaches the
whole API; `Stream`, `Event` and `Graph` wrap what tests of order need.

TSP_CUDA_LIBRARY=libcuda.so.1 runs the same tests on a real device. The emulation reads its environment (TSP_EMULATION_SEED,
TSP_EMULATED_CAPABILITY, ...: docs/Emulation.md) when the first device is made, so tests that change it start a process:
`run_script(text, TSP_EMULATION_SEED=3)`.
"""
import ctypes
import os
import subprocess
import sys
import textwrap

import ml_dtypes  # noqa: F401  (gives NumPy bfloat16 and float8)
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EMULATION = os.environ.get("TSP_EMULATION_DIR", os.path.join(ROOT, "build", "lib", "emulation"))
_driver = None


class Error(Exception):
    def __init__(self, function, code, name):
        super().__init__(f"{function}: {name}")
        self.code, self.name = code, name


def library_path():
    return os.environ.get("TSP_CUDA_LIBRARY", os.path.join(EMULATION, "libcuda.so.1"))


def is_emulated():
    return "TSP_CUDA_LIBRARY" not in os.environ


def driver():
    """The library, initialized. Unless the environment says otherwise, device 0 of the emulation has capability 8.0, the others 9.0."""
    global _driver
    if _driver is None:
        name, before = "TSP_EMULATED_CAPABILITY", os.environ.get("TSP_EMULATED_CAPABILITY")
        os.environ[name] = before or "8.0,9.0"
        try:
            _driver = ctypes.CDLL(library_path())
            call("cuInit", 0)
        finally:
            del os.environ[name]
            if before is not None:
                os.environ[name] = before
    return _driver


def capabilities():
    """Compute capability of each device, as 80."""
    def ask(function, *args):
        call(function, ctypes.byref(value), *args)
        return value.value

    driver()
    value = ctypes.c_int()
    return [10 * ask("cuDeviceGetAttribute", 75, device) + ask("cuDeviceGetAttribute", 76, device) for device in range(ask("cuDeviceGetCount"))]


def call(function, *args):
    """Calls a function of the driver API and raises Error for any result but success."""
    code = getattr(driver(), function)(*args)
    if code:
        name = ctypes.c_char_p()
        driver().cuGetErrorName(code, ctypes.byref(name))
        raise Error(function, code, (name.value or b"?").decode())


def counters(kernel, since=None):
    """What checked launches of kernels of this name have counted so far in this process, or since an earlier answer."""
    names = ("shared_requests", "shared_passes", "global_requests", "global_sectors", "global_ideal_sectors")
    values = (ctypes.c_uint64 * len(names))()
    driver().tspEmulationCounters(kernel.encode(), values)
    return {name: value - (since or {}).get(name, 0) for name, value in zip(names, values)}


def _made(function, *args, kind=ctypes.c_void_p):
    """What a function makes: its first argument is where to put the handle."""
    result = kind()
    call(function, ctypes.byref(result), *args)
    return result


class Buffer:
    """Device memory of one array."""

    def __init__(self, device, shape, dtype):
        self.device, self.shape, self.dtype = device, tuple(shape), np.dtype(dtype)
        self.nbytes = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        device.make_current()
        self.pointer = _made("cuMemAlloc_v2", ctypes.c_size_t(max(1, self.nbytes)), kind=ctypes.c_uint64)

    def upload(self, array):
        array = np.ascontiguousarray(array, self.dtype)
        assert array.shape == self.shape, (array.shape, self.shape)
        self.device.call("cuMemcpyHtoD_v2", self.pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(self.nbytes))
        return self

    def download(self):
        """The content after all work on the default stream and on streams that keep order with it."""
        array = np.empty(self.shape, self.dtype)
        self.device.call("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data), self.pointer, ctypes.c_size_t(self.nbytes))
        return array

    def free(self):
        if self.pointer.value:
            self.device.call("cuMemFree_v2", self.pointer)
            self.pointer = ctypes.c_uint64()


class TensorMap:
    """A descriptor of bulk tensor copies of boxes of a buffer; shape, box and strides (bytes) from the outermost dimension on. Shape and
    dtype are the buffer's unless they are given."""
    DTYPES = {"uint8": 0, "uint16": 1, "uint32": 2, "int32": 3, "uint64": 4, "int64": 5, "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9,
              "tfloat32": 11}

    def __init__(self, buffer, box, swizzle=0, strides=None, address=None, element_strides=None, interleave=0, shape=None, dtype=None):
        rank, width, shape = len(box), buffer.dtype.itemsize, shape or buffer.shape
        strides = strides or [width * int(np.prod(shape[d + 1:])) for d in range(rank - 1)]
        longs = lambda values: (ctypes.c_uint64 * rank)(*values[::-1])
        words = lambda values: (ctypes.c_uint32 * rank)(*values[::-1])
        self.bytes = ctypes.create_string_buffer(128 + 64)
        aligned = -ctypes.addressof(self.bytes) % 64
        self.pointer = (ctypes.c_char * 128).from_buffer(self.bytes, aligned)
        buffer.device.call("cuTensorMapEncodeTiled", self.pointer, self.DTYPES[dtype or buffer.dtype.name], rank,
                           ctypes.c_void_p(address or buffer.pointer.value), longs(shape), longs(strides), words(box),
                           words(element_strides or [1] * rank), interleave, {0: 0, 32: 1, 64: 2, 128: 3}[swizzle], 0, 0)


class Pinned:
    """Pinned host memory: `array` is a view of it."""

    def __init__(self, device, shape, dtype):
        size = max(1, int(np.prod(shape)) * np.dtype(dtype).itemsize)
        device.make_current()
        self.pointer = _made("cuMemHostAlloc", ctypes.c_size_t(size), 0)
        raw = (ctypes.c_char * size).from_address(self.pointer.value)
        self.array = np.frombuffer(raw, np.uint8).view(dtype).reshape(shape)


class Stream:
    NON_BLOCKING = 1

    def __init__(self, device, flags=NON_BLOCKING):
        self.device = device
        device.make_current()
        self.handle = _made("cuStreamCreate", flags)

    def synchronize(self):
        self.device.call("cuStreamSynchronize", self.handle)

    def wait(self, event):
        self.device.call("cuStreamWaitEvent", self.handle, event.handle, 0)

    def record(self, event):
        self.device.call("cuEventRecord", event.handle, self.handle)

    def begin_capture(self, mode=0):
        self.device.call("cuStreamBeginCapture_v2", self.handle, mode)

    def end_capture(self):
        self.device.make_current()
        graph = ctypes.c_void_p()
        call("cuStreamEndCapture", self.handle, ctypes.byref(graph))
        return Graph(self.device, graph)


class Event:
    def __init__(self, device, flags=0):
        self.device = device
        device.make_current()
        self.handle = _made("cuEventCreate", flags)

    def synchronize(self):
        self.device.call("cuEventSynchronize", self.handle)

    def elapsed_ms(self, later):
        result = ctypes.c_float()
        self.device.call("cuEventElapsedTime", ctypes.byref(result), self.handle, later.handle)
        return result.value


class Graph:
    """A captured graph, instantiated."""

    def __init__(self, device, handle):
        self.device, self.handle = device, handle
        self.executable = _made("cuGraphInstantiateWithFlags", handle, ctypes.c_uint64(0))

    def launch(self, stream):
        self.device.call("cuGraphLaunch", self.executable, stream.handle)

    def destroy(self):
        self.device.call("cuGraphExecDestroy", self.executable)
        self.device.call("cuGraphDestroy", self.handle)

    def nodes(self):
        count = ctypes.c_size_t()
        self.device.call("cuGraphGetNodes", self.handle, None, ctypes.byref(count))
        return count.value


class Module:
    def __init__(self, device, image, checker=False):
        self.device = device
        device.make_current()
        if isinstance(image, str):
            image = image.encode()
        self.image = ctypes.create_string_buffer(image)
        before = os.environ.get("TSP_EMULATION_CHECK", "")
        try:
            if checker:
                os.environ["TSP_EMULATION_CHECK"] = "1"
            self.handle = _made("cuModuleLoadData", self.image)
        finally:
            os.environ["TSP_EMULATION_CHECK"] = before

    def function(self, name):
        self.device.make_current()
        return _made("cuModuleGetFunction", self.handle, name.encode())

    def launch(self, name, grid, block, arguments, shared=0, stream=None, cluster=None, cooperative=False):
        """Launches; arguments are Buffers, TensorMaps or ctypes values. `cluster`: blocks of a cluster."""
        function = self.function(name)
        if shared > 48 * 1024:
            self.device.call("cuFuncSetAttribute", function, 8, shared)
        values = [a.pointer if isinstance(a, (Buffer, TensorMap)) else a for a in arguments]
        pointers = (ctypes.c_void_p * max(1, len(values)))(*[ctypes.addressof(v) for v in values])
        handle = stream.handle if stream else None
        if cluster or cooperative:
            config = _launch_config(grid, block, shared, handle, cluster, cooperative)
            self.device.call("cuLaunchKernelEx", ctypes.byref(config), function, pointers, None)
        else:
            self.device.call("cuLaunchKernel", function, *_three(grid), *_three(block), shared, handle, pointers, None)

    def run(self, name, grid, block, inputs, outputs, shared=0, workspace=0, maps=()):
        """`maps`: TensorMaps to be made, as (number of a buffer, offset in bytes, further arguments of TensorMap)."""
        device = self.device
        ins = [device.upload(a) for a in inputs]
        outs = []
        for one in outputs:
            if isinstance(one, int):
                outs.append(ins[one])
            else:
                outs.append(device.upload(one) if isinstance(one, np.ndarray) else device.empty(*one))
        made = ins + [b for b in outs if b not in ins]
        scratch = [device.empty((workspace,), np.uint8)] if workspace else []
        buffers = ins + outs
        arguments = buffers + scratch + [TensorMap(buffers[i], address=buffers[i].pointer.value + offset, **how) for i, offset, how in maps]
        self.launch(name, grid, block, arguments, shared)
        device.synchronize()
        results = [b.download() for b in outs]
        for buffer in made + scratch:
            buffer.free()
        return results


class _LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute."""
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint * 16)]


class _LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(_LaunchAttribute)), ("count", ctypes.c_uint)]


def _launch_config(grid, block, shared, stream, cluster, cooperative):
    attributes = []
    if cluster:
        attributes.append(_LaunchAttribute(4, 0, (ctypes.c_uint * 16)(*_three(cluster))))
    if cooperative:
        attributes.append(_LaunchAttribute(2, 0, (ctypes.c_uint * 16)(1)))
    return _LaunchConfig((ctypes.c_uint * 3)(*_three(grid)), (ctypes.c_uint * 3)(*_three(block)), shared, stream,
                         (_LaunchAttribute * len(attributes))(*attributes), len(attributes))


def _three(size):
    size = (size,) if isinstance(size, int) else tuple(size)
    return size + (1,) * (3 - len(size))


class Device:
    def __init__(self, ordinal=0):
        self.ordinal = ordinal
        driver()
        self.context = _made("cuDevicePrimaryCtxRetain", ordinal)
        self.make_current()

    def make_current(self):
        call("cuCtxSetCurrent", self.context)

    def call(self, function, *args):
        self.make_current()
        call(function, *args)

    def module(self, image, checker=False):
        return Module(self, image, checker)

    def upload(self, array):
        """A buffer with the values of an array, for any stream."""
        array = np.asarray(array)
        return self._filled(Buffer(self, array.shape, array.dtype).upload(array))

    def empty(self, shape, dtype):
        """A buffer full of 0xFF, for any stream."""
        buffer = Buffer(self, shape, dtype)
        self.call("cuMemsetD8_v2", buffer.pointer, ctypes.c_ubyte(0xFF), ctypes.c_size_t(max(1, buffer.nbytes)))
        return self._filled(buffer)

    def _filled(self, buffer):
        # Fills and copies may end after the call, and streams of tests do not wait for the default one.
        self.call("cuStreamSynchronize", None)
        return buffer

    def synchronize(self):
        self.call("cuCtxSynchronize")


def run_script(text, timeout=120, **environment):
    """Runs Python text in a process of its own, in which this module can be imported; returns the finished process."""
    path = os.pathsep.join([os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")])
    return subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, "PYTHONPATH": path, **{k: str(v) for k, v in environment.items()}})


def printed_of_cases(done):
    """{name: what was printed} of a process that prints a line "== NAME" on standard error before each of its cases."""
    return dict((part + "\n").split("\n", 1) for part in ("\n" + done.stderr).split("\n== ")[1:])
