# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Order of work on emulated streams: what is put in order stays so under every seed, what is not shows under some. Graphs."""
import ctypes

import numpy as np
import pytest

import cuda_driver
from cuda_driver import Device, Error, Event, Stream, run_script
from test_emulated_driver import SCALE

pytestmark = pytest.mark.skipif(not cuda_driver.is_emulated(), reason="about the emulated machine")
SEEDS = range(1, 21)

# Each function puts pieces of work in some order, mostly x * 3 + 2 before x + 2, and returns whether the result is right. Something
# that keeps the order (an event, a synchronization) is left out if `ordered` is false.
SITUATIONS = f"""
import ctypes
import numpy as np
import cuda_driver
from cuda_driver import Event, Pinned, Stream

device = cuda_driver.Device()
module = device.module({SCALE!r})


def first(buffer, stream):
    module.launch("scale", 1, 4, [buffer, ctypes.c_float(3), ctypes.c_uint32(4)], stream=stream)


def second(buffer, stream):
    module.launch("scale", 1, 4, [buffer, ctypes.c_float(1), ctypes.c_uint32(4)], stream=stream)


def event(ordered):
    a, b = Stream(device), Stream(device)
    buffer = device.upload(np.ones(4, np.float32))
    done = Event(device)
    first(buffer, a)
    a.record(done)
    if ordered:
        b.wait(done)
    second(buffer, b)
    device.synchronize()
    return buffer.download()[0] == 7


def event_recorded_too_early(ordered):
    a, b = Stream(device), Stream(device)
    buffer = device.upload(np.ones(4, np.float32))
    done = Event(device)
    if not ordered:
        a.record(done)
    first(buffer, a)
    if ordered:
        a.record(done)
    b.wait(done)
    second(buffer, b)
    device.synchronize()
    return buffer.download()[0] == 7


def overwriting(ordered):
    # A copy into a buffer has to wait for the kernel that reads it.
    a, b = Stream(device), Stream(device)
    buffer, old = device.upload(np.ones(4, np.float32)), device.empty((4,), np.float32)
    new, result = device.upload(np.full(4, 7, np.float32)), Pinned(device, (4,), np.float32)
    read = Event(device)
    device.synchronize()
    first(buffer, a)
    device.call("cuMemcpyDtoDAsync_v2", old.pointer, buffer.pointer, ctypes.c_size_t(16), a.handle)
    a.record(read)
    if ordered:
        b.wait(read)
    device.call("cuMemcpyDtoDAsync_v2", buffer.pointer, new.pointer, ctypes.c_size_t(16), b.handle)
    device.synchronize()
    return old.download()[0] == 5


def host(ordered):
    # The host has to wait for a stream before it reads pinned memory.
    stream = Stream(device)
    buffer, result = device.upload(np.full(4, 2, np.float32)), Pinned(device, (4,), np.float32)
    result.array[:] = 0
    device.synchronize()
    first(buffer, stream)
    device.call("cuMemcpyDtoHAsync_v2", result.pointer, buffer.pointer, ctypes.c_size_t(16), stream.handle)
    if ordered:
        stream.synchronize()
    found = result.array[0]
    device.synchronize()
    return found == 8


def default_stream(ordered):
    # The legacy stream keeps order with streams that are not non-blocking.
    flags = 0 if ordered else Stream.NON_BLOCKING
    buffer = device.upload(np.ones(4, np.float32))
    stream = Stream(device, flags)
    first(buffer, stream)
    second(buffer, None)
    device.synchronize()
    return buffer.download()[0] == 7


def destroyed_stream(ordered):
    # Work of a stream goes on when it is destroyed; the device still waits for it.
    stream = Stream(device)
    buffer, result = device.upload(np.full(4, 2, np.float32)), Pinned(device, (4,), np.float32)
    result.array[:] = 0
    device.synchronize()
    first(buffer, stream)
    device.call("cuMemcpyDtoHAsync_v2", result.pointer, buffer.pointer, ctypes.c_size_t(16), stream.handle)
    device.call("cuStreamDestroy_v2", stream.handle)
    if ordered:
        device.synchronize()
    found = result.array[0]
    device.synchronize()
    return found == 8


def freed(ordered):
    # Memory that a stream frees must not be used by others behind that.
    a, b = Stream(device), Stream(device)
    buffer, result, done = device.upload(np.ones(4, np.float32)), device.empty((4,), np.float32), Event(device)
    device.synchronize()
    device.call("cuMemcpyDtoDAsync_v2", result.pointer, buffer.pointer, ctypes.c_size_t(16), b.handle)
    b.record(done)
    if ordered:
        a.wait(done)
    device.call("cuMemFreeAsync", buffer.pointer, a.handle)
    device.synchronize()
    return result.download()[0] == 1


def graph(ordered):
    # A fork in a captured graph that is joined behind, or before, the second kernel.
    a, b = Stream(device), Stream(device)
    buffer = device.upload(np.ones(4, np.float32))
    fork, join = Event(device), Event(device)
    device.synchronize()
    a.begin_capture()
    a.record(fork)
    b.wait(fork)
    first(buffer, b)
    b.record(join)
    if ordered:
        a.wait(join)
    second(buffer, a)
    a.wait(join)
    a.end_capture().launch(a)
    a.synchronize()
    return buffer.download()[0] == 7
"""
COUNT = """
for name in NAMES:
    print(name, [int(not globals()[name](True)) for _ in range(3)], [int(not globals()[name](False)) for _ in range(6)])
"""
NAMES = ["event", "event_recorded_too_early", "overwriting", "host", "default_stream", "destroyed_stream", "freed", "graph"]


@pytest.fixture(scope="module")
def outcomes():
    """How often each situation went wrong: {name: (ordered, not ordered)} over all seeds."""
    result = {name: [0, 0] for name in NAMES}
    for seed in SEEDS:
        process = run_script(SITUATIONS + COUNT.replace("NAMES", repr(NAMES)), TSP_EMULATION_SEED=seed)
        assert process.returncode == 0, process.stderr
        for line in process.stdout.splitlines():
            name, ordered, unordered = line.replace("] [", "]|[").replace(" ", "|", 1).split("|")
            result[name][0] += ordered.count("1")
            result[name][1] += unordered.count("1")
    return result


@pytest.mark.parametrize("name", NAMES)
def test_order_is_kept_under_every_seed(outcomes, name):
    assert outcomes[name][0] == 0


@pytest.mark.parametrize("name", NAMES)
def test_missing_order_shows(outcomes, name):
    assert outcomes[name][1] > 0


@pytest.fixture(scope="module")
def device():
    return Device(0)


@pytest.fixture(scope="module")
def module(device):
    return device.module(SCALE)


def test_elapsed_time(device):
    """Between two events lies at least what a host function sleeps."""
    import time
    stream, start, end = Stream(device), Event(device), Event(device)
    sleep = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: time.sleep(0.05))
    stream.record(start)
    device.call("cuLaunchHostFunc", stream.handle, sleep, None)
    stream.record(end)
    with pytest.raises(Error, match="CUDA_ERROR_NOT_READY"):
        start.elapsed_ms(end)
    with pytest.raises(Error, match="CUDA_ERROR_NOT_READY"):
        device.call("cuStreamQuery", stream.handle)
    end.synchronize()
    device.call("cuStreamQuery", stream.handle)
    assert 50 <= start.elapsed_ms(end) < 2000


def test_host_functions_and_callbacks_keep_order(device):
    stream, seen = Stream(device), []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: seen.append(data))
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda s, status, data: seen.append((status, data)))
    device.call("cuLaunchHostFunc", stream.handle, function, ctypes.c_void_p(1))
    device.call("cuStreamAddCallback", stream.handle, callback, ctypes.c_void_p(2), 0)
    device.call("cuLaunchHostFunc", stream.handle, function, ctypes.c_void_p(3))
    stream.synchronize()
    assert seen == [1, (0, 2), 3]


def scale(module, buffer, stream, factor=3):
    module.launch("scale", 1, 4, [buffer, ctypes.c_float(factor), ctypes.c_uint32(4)], stream=stream)


def test_graph_runs_at_each_launch(device, module):
    """Copies, fills, kernels and host functions; parameters are those of the capture."""
    stream, seen = Stream(device), []
    buffer, result = device.empty((4,), np.float32), cuda_driver.Pinned(device, (4,), np.float32)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: seen.append(result.array[0]))
    result.array[:] = -1
    device.synchronize()
    stream.begin_capture()
    device.call("cuMemsetD32Async", buffer.pointer, 0x40000000, ctypes.c_size_t(4), stream.handle)
    scale(module, buffer, stream, 3)
    device.call("cuMemcpyDtoHAsync_v2", result.pointer, buffer.pointer, ctypes.c_size_t(16), stream.handle)
    device.call("cuLaunchHostFunc", stream.handle, function, None)
    graph = stream.end_capture()
    stream.synchronize()
    assert result.array[0] == -1 and graph.nodes() == 4
    for _ in range(3):
        graph.launch(stream)
    stream.synchronize()
    assert seen == [8, 8, 8]


def test_graph_keeps_the_fork(device, module):
    a, b, fork, join = Stream(device), Stream(device), Event(device), Event(device)
    buffers = [device.upload(np.ones(4, np.float32)) for _ in range(2)]
    device.synchronize()
    a.begin_capture()
    scale(module, buffers[0], a)
    a.record(fork)
    b.wait(fork)
    scale(module, buffers[0], a)
    scale(module, buffers[1], b)
    b.record(join)
    a.wait(join)
    graph = a.end_capture()
    count = ctypes.c_size_t()
    device.call("cuGraphGetEdges_v2", graph.handle, None, None, None, ctypes.byref(count))
    assert (graph.nodes(), count.value) == (3, 2)
    graph.launch(a)
    a.synchronize()
    assert [buffer.download()[0] for buffer in buffers] == [17, 5]


def test_graph_made_by_hand(device, module):
    class KernelParams(ctypes.Structure):
        _fields_ = [("func", ctypes.c_void_p), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                    ("params", ctypes.c_void_p), ("extra", ctypes.c_void_p), ("kern", ctypes.c_void_p), ("ctx", ctypes.c_void_p)]

    buffer = device.upload(np.ones(4, np.float32))
    graph, nodes = ctypes.c_void_p(), [ctypes.c_void_p() for _ in range(3)]
    device.call("cuGraphCreate", ctypes.byref(graph), 0)
    for node, factor in zip(nodes, (3, 1)):
        arguments = [buffer.pointer, ctypes.c_float(factor), ctypes.c_uint32(4)]
        pointers = (ctypes.c_void_p * 3)(*[ctypes.addressof(a) for a in arguments])
        params = KernelParams(func=module.function("scale"), grid=(1, 1, 1), block=(4, 1, 1), params=ctypes.addressof(pointers))
        device.call("cuGraphAddKernelNode_v2", ctypes.byref(node), graph, None, ctypes.c_size_t(0), ctypes.byref(params))
    device.call("cuGraphAddDependencies_v2", graph, ctypes.byref(nodes[0]), ctypes.byref(nodes[1]), None, ctypes.c_size_t(1))
    stream = Stream(device)
    cuda_driver.Graph(device, graph).launch(stream)
    stream.synchronize()
    assert buffer.download()[0] == 7
    device.call("cuGraphAddDependencies_v2", graph, ctypes.byref(nodes[1]), ctypes.byref(nodes[0]), None, ctypes.c_size_t(1))
    with pytest.raises(Error, match="CUDA_ERROR_INVALID_VALUE"):
        cuda_driver.Graph(device, graph)


def test_what_is_wrong_with_captures(device, module):
    buffer = device.upload(np.ones(4, np.float32))
    device.synchronize()

    def fails(name, function):
        with pytest.raises(Error) as error:
            function()
        assert error.value.name == "CUDA_ERROR_STREAM_CAPTURE_" + name

    # A fork that does not come back.
    a, b, fork, free = Stream(device), Stream(device), Event(device), Event(device)
    a.begin_capture()
    scale(module, buffer, a)
    a.record(fork)
    b.wait(fork)
    scale(module, buffer, b)
    fails("UNJOINED", a.end_capture)
    # Calls that wait, allocate, load code or ask for events spoil a capture.
    for wrong in (a.synchronize, lambda: device.empty((1,), np.int8), lambda: device.module(SCALE), lambda: device.call("cuEventQuery", free.handle)):
        a.begin_capture()
        fails("UNSUPPORTED", wrong)
        fails("INVALIDATED", lambda: scale(module, buffer, a))
        fails("INVALIDATED", a.end_capture)
    # Work on the default stream would have to be captured.
    blocking = Stream(device, flags=0)
    blocking.begin_capture()
    fails("IMPLICIT", lambda: scale(module, buffer, None))
    fails("INVALIDATED", blocking.end_capture)
    # An event of before the capture.
    before = Event(device)
    b.record(before)
    a.begin_capture()
    fails("ISOLATION", lambda: a.wait(before))
    fails("INVALIDATED", a.end_capture)
    # Two captures cannot become one.
    a.begin_capture()
    b.begin_capture()
    a.record(fork)
    fails("MERGE", lambda: b.wait(fork))
    fails("INVALIDATED", a.end_capture)
    b.end_capture()
    assert buffer.download()[0] == 1
