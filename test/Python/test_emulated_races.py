# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checker names work that nothing puts in order, whatever the seed, and is silent where something does."""
import re

import pytest

import cuda_driver
from cuda_driver import printed_of_cases, run_script
from test_emulated_driver import SCALE
from test_emulated_order import SITUATIONS

pytestmark = pytest.mark.skipif(not cuda_driver.is_emulated(), reason="about the emulated machine")
SEEDS = (0, 1, 2)

MORE = SITUATIONS + f"""
SCALE = {SCALE!r}
""" + """
import threading
import nccl_library


def columns(ordered):
    # Columns of a matrix are not in each other's way, unless they overlap.
    a, b = Stream(device), Stream(device)
    matrix, part = device.upload(np.zeros((4, 8), np.float32)), device.upload(np.ones((4, 4), np.float32))
    for stream, first in ((a, 0), (b, 4 if ordered else 3)):
        device.call("cuMemsetD2D8Async", ctypes.c_uint64(matrix.pointer.value + 4 * first), ctypes.c_size_t(32), ctypes.c_ubyte(1),
                    ctypes.c_size_t(16), ctypes.c_size_t(4), stream.handle)
    device.synchronize()
    return True


def allocated(ordered):
    # Memory exists from where the stream has come to its allocation.
    a, b, done, pointer = Stream(device), Stream(device), Event(device), ctypes.c_uint64()
    device.call("cuMemAllocAsync", ctypes.byref(pointer), ctypes.c_size_t(16), a.handle)
    a.record(done)
    if ordered:
        b.wait(done)
    device.call("cuMemsetD8Async", pointer, ctypes.c_ubyte(1), ctypes.c_size_t(16), b.handle)
    device.synchronize()
    return True


def queried(ordered):
    # A host that has heard that a stream is done need not wait.
    a, b = Stream(device), Stream(device)
    buffer = device.upload(np.ones(4, np.float32))
    first(buffer, a)
    while ordered and cuda_driver.driver().cuStreamQuery(a.handle):
        pass
    if not ordered:
        cuda_driver.driver().cuStreamQuery(a.handle)
    second(buffer, b)
    device.synchronize()
    return buffer.download()[0] == 7


def default_copy(ordered):
    # The host waits for a copy to its memory, but not for what a stream of its own does meanwhile.
    stream = Stream(device)
    buffer = device.upload(np.ones(4, np.float32))
    first(buffer, stream)
    if ordered:
        stream.synchronize()
    found = buffer.download()[0]
    device.synchronize()
    return found == 5


def launched_graph(ordered):
    # The kernels of a graph come after what was on its stream.
    a, b = Stream(device), Stream(device)
    buffer = device.upload(np.ones(4, np.float32))
    a.begin_capture()
    first(buffer, a)
    second(buffer, a)
    graph = a.end_capture()
    second(buffer, a if ordered else b)
    graph.launch(a)
    graph.launch(a)
    device.synchronize()
    return True


def reused(ordered):
    # Pinned memory may be written again when the host has waited for the copy that reads it.
    stream, pinned, copied = Stream(device), Pinned(device, (4,), np.float32), Event(device)
    buffers = [device.upload(np.zeros(4, np.float32)) for _ in range(2)]
    for i, buffer in enumerate(buffers):
        pinned.array[:] = i + 1
        device.call("cuMemcpyHtoDAsync_v2", buffer.pointer, pinned.pointer, ctypes.c_size_t(16), stream.handle)
        stream.record(copied)
        if ordered:
            copied.synchronize()
    device.synchronize()
    return [buffer.download()[0] for buffer in buffers] == [1, 2]


def registered(ordered):
    # As above, with memory of the program that is registered.
    stream, array, buffer = Stream(device), np.ones(4096, np.float32), device.upload(np.zeros(4096, np.float32))
    device.call("cuMemHostRegister_v2", ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), 0)
    device.call("cuMemcpyHtoDAsync_v2", buffer.pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), stream.handle)
    if ordered:
        stream.synchronize()
    array[7] = 3
    stream.synchronize()
    device.call("cuMemHostUnregister", ctypes.c_void_p(array.ctypes.data))
    return True


def graph_to_host(ordered):
    # What a graph copies to the host.
    stream, buffer, result = Stream(device), device.upload(np.full(4, 2, np.float32)), Pinned(device, (8,), np.float32)
    stream.begin_capture()
    device.call("cuMemcpyDtoHAsync_v2", result.pointer, buffer.pointer, ctypes.c_size_t(16), stream.handle)
    graph = stream.end_capture()
    graph.launch(stream)
    result.array[4:] = 1
    if ordered:
        stream.synchronize()
    found = result.array[3]
    stream.synchronize()
    return found == 2


def there_and_back(ordered):
    # Streams may write pinned memory that they have read, and read what they have written; host functions may use it in between.
    stream, buffer, pinned = Stream(device), device.upload(np.full(4, 2, np.float32)), Pinned(device, (4,), np.float32)
    seen = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: seen.append(pinned.array[0]))
    cuda_driver.kept = function  # a stream may come to it after the fault
    for _ in range(2):
        device.call("cuMemcpyDtoHAsync_v2", pinned.pointer, buffer.pointer, ctypes.c_size_t(16), stream.handle)
        device.call("cuLaunchHostFunc", stream.handle, function, None)
        device.call("cuMemcpyHtoDAsync_v2", buffer.pointer, pinned.pointer, ctypes.c_size_t(16), stream.handle)
        first(buffer, stream)
    device.call("cuMemcpyDtoHAsync_v2", pinned.pointer, buffer.pointer, ctypes.c_size_t(16), stream.handle)
    if ordered:
        stream.synchronize()
    found = pinned.array[0]
    stream.synchronize()
    return seen == [2, 8] and found == 26


class Ranks:
    # Two ranks of this thread, each with two streams.
    def __init__(self):
        self.devices = [device, cuda_driver.Device(1)]
        handles = (ctypes.c_void_p * 2)()
        nccl_library.call("ncclCommInitAll", handles, 2, None)
        self.comms = [nccl_library.Comm(one, 2, rank, ctypes.c_void_p(handles[rank])) for rank, one in enumerate(self.devices)]
        self.streams, self.others = [[Stream(one) for one in self.devices] for _ in range(2)]
        self.modules = [one.module(SCALE) for one in self.devices]

    def upload(self, size):
        return [one.upload(np.ones(size, np.float32)) for one in self.devices]

    def scale(self, rank, buffer, stream):
        self.modules[rank].launch("scale", 1, 4, [buffer, ctypes.c_float(3), ctypes.c_uint32(4)], stream=stream)

    def all_gather(self, send, receive):
        with nccl_library.group():
            for comm, *buffers, stream in zip(self.comms, send, receive, self.streams):
                comm.all_gather(*buffers, stream)

    def synchronize(self):
        for one in self.devices:
            one.synchronize()
        return True


def order(ordered, before, after):
    done = Event(before.device)
    before.record(done)
    if ordered:
        after.wait(done)


def collective(ordered):
    # A collective reads what a kernel of another stream writes.
    ranks = Ranks()
    sent, received = ranks.upload(4), ranks.upload(8)
    ranks.scale(0, sent[0], ranks.others[0])
    order(ordered, ranks.others[0], ranks.streams[0])
    ranks.all_gather(sent, received)
    return ranks.synchronize()


def behind_a_collective(ordered, rank, choose):
    ranks = Ranks()
    sent, received = ranks.upload(4), ranks.upload(8)
    ranks.all_gather(sent, received)
    order(ordered, ranks.streams[rank], ranks.others[rank])
    ranks.scale(rank, choose(sent, received)[rank], ranks.others[rank])
    return ranks.synchronize()


def received(ordered):
    # A kernel uses what is received.
    return behind_a_collective(ordered, 1, lambda sent, received: received)


def sent(ordered):
    # A kernel overwrites what is sent.
    return behind_a_collective(ordered, 0, lambda sent, received: sent)


def through_peers(ordered):
    # What the sender did before a collective comes before what the receiver does behind it, in the sender's memory too.
    ranks = Ranks()
    ranks.devices[1].make_current()
    cuda_driver.call("cuCtxEnablePeerAccess", device.context, 0)
    [shared, copied], token, tokens = ranks.upload(4), ranks.upload(1), ranks.upload(2)
    ranks.scale(0, shared, ranks.streams[0])
    if ordered:
        ranks.all_gather(token, tokens)
    ranks.devices[1].call("cuMemcpyDtoDAsync_v2", copied.pointer, shared.pointer, ctypes.c_size_t(16), ranks.streams[1].handle)
    return ranks.synchronize()
"""
RUN = """
import sys
for name in NAMES:
    for ordered in (True, False):
        print("==", name, ordered, file=sys.stderr, flush=True)
        scope = {}
        exec(MORE, scope)
        driver = scope["cuda_driver"]
        try:
            error = "CUDA_SUCCESS" if scope[name](ordered) or not ordered else "wrong result"
        except driver.Error as failure:
            error = failure.name
        for ordinal in (0, 1):
            driver.call("cuDevicePrimaryCtxReset_v2", ordinal)
        print(name, ordered, error)
"""
KERNEL = r"kernel 'scale' on stream \d+ of device \d writes them \(PTX line 24\)"
READS, WRITES = (r"{} on stream \d+ of device \d " + how + " them" for how in ("reads", "writes"))


def pair(first, second, which="0 to 15 of an allocation of 16"):
    """The report about two tasks, as they describe themselves."""
    names = [re.match(r"(kernel 'scale'|a copy|a fill|\w+( of . float32)?)", text).group() for text in (first, second)]
    return (rf"race on bytes {which} bytes, on device \d: {first}, {second}, and no event, stream order or synchronization puts "
            f"{names[1]} behind {names[0]}\n")


def on_host(how, what, which="0 to 15 of an allocation of 16"):
    return (rf"race on bytes {which} bytes, on the host: a copy on stream \d+ of device 0 {how} them, the host {what}, and no "
            "synchronization lets the host wait for the copy\n")


GATHER = "ncclAllGather of 4 float32"
SITUATION = {
    "event": pair(KERNEL, KERNEL),
    "event_recorded_too_early": pair(KERNEL, KERNEL),
    "overwriting": pair(KERNEL, WRITES.format("a copy")) + "|" + pair(READS.format("a copy"), WRITES.format("a copy")),
    "host": on_host("writes", "uses byte 0"),
    "destroyed_stream": on_host("writes", "uses byte 0"),
    "reused": on_host("reads", "has changed them"),
    "registered": on_host("reads", "has changed them", "0 to 16383 of an allocation of 16384"),
    "graph_to_host": on_host("writes", "uses byte 12", "0 to 15 of an allocation of 32"),
    "there_and_back": on_host("writes", "uses byte 0"),
    "default_stream": pair(KERNEL, KERNEL),
    "freed": "race on .*: a copy on stream .* reads them, cuMemFreeAsync on stream .* writes them, and no event",
    "graph": pair(KERNEL, KERNEL),
    "columns": pair(WRITES.format("a fill"), WRITES.format("a fill"), "12 to 15 of an allocation of 128"),
    "allocated": "cuMemAllocAsync on stream .* writes them, a fill on stream .* writes them, and no event",
    "queried": pair(KERNEL, KERNEL),
    "default_copy": pair(KERNEL, READS.format("a copy")),
    "launched_graph": pair(KERNEL, KERNEL),
    "collective": pair(KERNEL, READS.format(GATHER)),
    "received": pair(WRITES.format(GATHER), KERNEL, "0 to 15 of an allocation of 32"),
    "sent": pair(READS.format(GATHER), KERNEL),
    "through_peers": pair(KERNEL, READS.format("a copy")),
}


@pytest.fixture(scope="module", params=SEEDS)
def outcomes(request):
    """{(situation, whether it is in order): (error, what was printed)}"""
    done = run_script(f"MORE = {MORE!r}\nNAMES = {list(SITUATION)!r}\n" + RUN, TSP_EMULATION_CHECK=1,
                      TSP_EMULATION_SEED=request.param, TSP_EMULATION_TIMEOUT=20)
    assert done.returncode == 0, done.stderr
    printed = printed_of_cases(done)
    return {(name, ordered == "True"): (error, printed[f"{name} {ordered}"]) for name, ordered, error in map(str.split, done.stdout.splitlines())}


@pytest.mark.parametrize("name", SITUATION)
def test_order_is_seen(outcomes, name):
    error, printed = outcomes[name, True]
    assert (error, printed.strip()) == ("CUDA_SUCCESS", "")


@pytest.mark.parametrize("name", SITUATION)
def test_missing_order_is_named(outcomes, name):
    error, printed = outcomes[name, False]
    assert error == "CUDA_ERROR_LAUNCH_FAILED", printed
    assert re.search(SITUATION[name], printed), printed
