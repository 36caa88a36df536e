# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulated libnccl.so.2: each collective against NumPy, between threads and between processes."""
import ctypes
import textwrap
import time
from multiprocessing.pool import ThreadPool

import ml_dtypes
import numpy as np
import pytest

import cuda_driver
import nccl_library
from nccl_library import AVG, MAX, MIN, PROD, SUM, group, run_processes, run_threads

pytestmark = pytest.mark.skipif(not cuda_driver.is_emulated(), reason="needs a device for each rank")
FLOATS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
INTS = [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64]


def values(rank, count, dtype):
    """Small numbers, different on each rank, some of them not exact in sums of 8 bits."""
    return np.random.default_rng(rank + 1).integers(0, 7, count).astype(dtype)


def reduced(parts, op):
    """In f32 for small floats, rounded once."""
    dtype = parts[0].dtype
    wide = np.float32 if dtype.itemsize < 4 and dtype not in INTS else dtype
    parts = [p.astype(wide) for p in parts]
    result = parts[0]
    for part in parts[1:]:
        result = {SUM: result + part, AVG: result + part, PROD: result * part, MAX: np.maximum(result, part),
                  MIN: np.minimum(result, part)}[op]
    if op == AVG:
        count = np.asarray(len(parts), wide)
        result = result // count if wide in INTS else result / count
    return result.astype(dtype)


def collectives(comm, device, stream, dtype, count, op=SUM):
    """Every collective once; returns their results by name."""
    ranks, rank = comm.ranks, comm.rank
    mine = device.upload(values(rank, count, dtype))
    many = device.upload(values(rank, count * ranks, dtype))
    out = {name: device.empty((size,), dtype) for name, size in {
        "all_gather": count * ranks, "all_to_all": count * ranks, "all_reduce": count, "reduce_scatter": count, "reduce": count,
        "broadcast": count, "gather": count * ranks, "scatter": count}.items()}
    device.synchronize()
    root = ranks - 1
    comm.all_gather(mine, out["all_gather"], stream)
    comm.all_to_all(many, out["all_to_all"], stream)
    comm.all_reduce(mine, out["all_reduce"], stream, op)
    comm.reduce_scatter(many, out["reduce_scatter"], stream, op)
    comm.reduce(mine, out["reduce"], root, stream, op)
    comm.broadcast(mine, out["broadcast"], root, stream)
    comm.gather(mine, out["gather"], root, stream)
    comm.scatter(many, out["scatter"], root, stream)
    stream.synchronize()
    return {name: buffer.download() for name, buffer in out.items()}


def judge(results, dtype, count, op=SUM):
    ranks = len(results)
    root = ranks - 1
    mine = [values(r, count, dtype) for r in range(ranks)]
    many = [values(r, count * ranks, dtype).reshape(ranks, count) for r in range(ranks)]
    for rank, got in enumerate(results):
        want = {"all_gather": np.concatenate(mine), "all_to_all": np.concatenate([m[rank] for m in many]),
                "all_reduce": reduced(mine, op), "reduce_scatter": reduced([m[rank] for m in many], op),
                "broadcast": mine[root], "scatter": many[root][rank]}
        if rank == root:
            want |= {"gather": np.concatenate(mine), "reduce": reduced(mine, op)}
        for name, value in want.items():
            np.testing.assert_array_equal(got[name].view(np.uint8), value.view(np.uint8), f"{name} on rank {rank}")


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=lambda t: np.dtype(t).name)
def test_threads(dtype):
    judge(run_threads(3, lambda *a: collectives(*a, dtype, 37)), dtype, 37)


@pytest.mark.parametrize("op", [PROD, MAX, MIN, AVG])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int32], ids=lambda t: np.dtype(t).name)
def test_reductions(dtype, op):
    judge(run_threads(4, lambda *a: collectives(*a, dtype, 10, op)), dtype, 10, op)


@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_ranks(ranks):
    judge(run_threads(ranks, lambda *a: collectives(*a, np.float32, 1000)), np.float32, 1000)


PROCESS_COLLECTIVES = """
from test_emulated_nccl import collectives
results = collectives(comm, device, stream, np.float32, {count})
comm.destroy()
np.savez({path!r} + f"/{{rank}}.npz", **results)
"""


@pytest.mark.parametrize("ranks, count", [(2, 100), (4, 150_001)])
def test_processes(ranks, count, tmp_path):
    """The larger size goes through the ring in shared memory several times."""
    for process in run_processes(ranks, PROCESS_COLLECTIVES.format(count=count, path=str(tmp_path))):
        assert process.returncode == 0, process.err
    judge([dict(np.load(tmp_path / f"{r}.npz")) for r in range(ranks)], np.float32, count)


def test_in_place():
    def rank(comm, device, stream):
        whole = np.zeros(4 * comm.ranks, np.float32)
        whole[4 * comm.rank:4 * comm.rank + 4] = values(comm.rank, 4, np.float32)
        gathered, summed = device.upload(whole), device.upload(values(comm.rank, 9, np.float32))
        part = cuda_driver.Buffer.__new__(cuda_driver.Buffer)
        part.__dict__.update(gathered.__dict__, shape=(4,), pointer=ctypes.c_uint64(gathered.pointer.value + 16 * comm.rank))
        comm.all_gather(part, gathered, stream)
        comm.all_reduce(summed, summed, stream)
        stream.synchronize()
        return gathered.download(), summed.download()

    for gathered, summed in run_threads(3, rank):
        np.testing.assert_array_equal(gathered, np.concatenate([values(r, 4, np.float32) for r in range(3)]))
        np.testing.assert_array_equal(summed, reduced([values(r, 9, np.float32) for r in range(3)], SUM))


def ring(comm, device, stream):
    """Each rank's part travels once around by grouped sends and receives."""
    parts = [device.upload(values(comm.rank, 5000, np.int32)), device.empty((5000,), np.int32)]
    device.synchronize()
    seen = []
    for step in range(comm.ranks):
        seen.append(parts[step % 2].download())
        with group():
            comm.send(parts[step % 2], (comm.rank + 1) % comm.ranks, stream)
            comm.receive(parts[(step + 1) % 2], (comm.rank - 1) % comm.ranks, stream)
        stream.synchronize()
    return np.stack(seen)


def judge_ring(results):
    ranks = len(results)
    for rank, seen in enumerate(results):
        for step in range(ranks):
            np.testing.assert_array_equal(seen[step], values((rank - step) % ranks, 5000, np.int32))


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_send_receive(ranks):
    judge_ring(run_threads(ranks, ring))


def test_send_receive_processes(tmp_path):
    script = f"from test_emulated_nccl import ring\nnp.save({str(tmp_path)!r} + f'/{{rank}}', ring(comm, device, stream))"
    for process in run_processes(3, script):
        assert process.returncode == 0, process.err
    judge_ring([np.load(tmp_path / f"{r}.npy") for r in range(3)])


def test_split():
    def rank(comm, device, stream):
        part = comm.split(comm.rank % 2, -comm.rank)
        nobody = comm.split(-1 if comm.rank else 0, 0)
        mine = device.upload(np.array([comm.rank], np.int32))
        all_ = device.empty((part.ranks,), np.int32)
        part.all_gather(mine, all_, stream)
        stream.synchronize()
        part.destroy()
        if nobody:
            nobody.destroy()
        return part.rank, part.ranks, all_.download().tolist(), nobody is None

    assert run_threads(5, rank) == [(2, 3, [4, 2, 0], False), (1, 2, [3, 1], True), (1, 3, [4, 2, 0], True),
                                    (0, 2, [3, 1], True), (0, 3, [4, 2, 0], True)]


def test_one_thread_for_all_devices():
    """ncclCommInitAll and groups over communicators of several devices."""
    devices = [cuda_driver.Device(i) for i in range(3)]
    streams = [cuda_driver.Stream(d) for d in devices]
    handles = (ctypes.c_void_p * 3)()
    nccl_library.call("ncclCommInitAll", handles, 3, None)
    comms = [nccl_library.Comm(d, 3, i, ctypes.c_void_p(h)) for i, (d, h) in enumerate(zip(devices, handles))]
    buffers = [d.upload(values(i, 20, np.float32)) for i, d in enumerate(devices)]
    with group():
        for comm, buffer, stream in zip(comms, buffers, streams):
            comm.all_reduce(buffer, buffer, stream)
    for buffer, stream in zip(buffers, streams):
        stream.synchronize()
        np.testing.assert_array_equal(buffer.download(), reduced([values(r, 20, np.float32) for r in range(3)], SUM))
    for comm in comms:
        comm.destroy()


def test_calls_of_two_streams_keep_order():
    """A communicator's calls run in the order they are made, whatever their streams."""
    def rank(comm, device, stream):
        other = cuda_driver.Stream(device)
        first, second = device.upload(values(comm.rank, 8, np.float32)), device.empty((8,), np.float32)
        device.synchronize()
        comm.all_reduce(first, first, stream)
        comm.broadcast(first, second, 1, other)
        other.synchronize()
        return second.download()

    for got in run_threads(2, rank):
        np.testing.assert_array_equal(got, reduced([values(r, 8, np.float32) for r in range(2)], SUM))


COMPUTE_AND_REDUCE = '''
from test_emulated_nccl import *
from test_emulated_driver import SCALE


def rank(comm, device, stream):
    module, compute, done = device.module(SCALE), cuda_driver.Stream(device), cuda_driver.Event(device)
    found = {}
    for ordered in (True, False):
        found[ordered] = []
        for _ in range(3):
            buffer = device.upload(np.ones(4, np.float32))
            device.synchronize()
            module.launch("scale", 1, 4, [buffer, ctypes.c_float(3), ctypes.c_uint32(4)], stream=compute)
            compute.record(done)
            if ordered:
                stream.wait(done)
            comm.all_reduce(buffer, buffer, stream)
            device.synchronize()
            found[ordered].append(buffer.download()[0] == 10)
    return found


results = run_threads(2, rank)
print(all(all(r[True]) for r in results), all(all(r[False]) for r in results))
'''


def test_missing_event_before_a_collective_shows():
    seen = [cuda_driver.run_script(COMPUTE_AND_REDUCE, TSP_EMULATION_SEED=seed).stdout.split() for seed in range(1, 7)]
    assert all(ordered == "True" for ordered, _ in seen)
    assert any(unordered == "False" for _, unordered in seen)


def test_seeds_change_nothing():
    script = "from test_emulated_nccl import *\njudge(run_threads(4, lambda *a: collectives(*a, np.float32, 999)), np.float32, 999)"
    for seed in (1, 2, 3):
        process = cuda_driver.run_script(script, TSP_EMULATION_SEED=seed)
        assert process.returncode == 0, process.stderr


def test_communicator_that_is_not_waited_for():
    class Config(ctypes.Structure):
        _fields_ = [("size", ctypes.c_size_t), ("magic", ctypes.c_uint), ("version", ctypes.c_uint), ("blocking", ctypes.c_int),
                    ("rest", ctypes.c_int * 40)]

    identity = nccl_library.unique_id()
    made = []
    for rank in range(2):
        device, handle = cuda_driver.Device(rank), ctypes.c_void_p()
        code = nccl_library.library().ncclCommInitRankConfig(ctypes.byref(handle), 2, identity, rank, ctypes.byref(Config(blocking=0)))
        assert code == 7  # in progress
        made.append(nccl_library.Comm(device, 2, rank, handle))
    deadline = time.monotonic() + 30
    while any(comm.async_error() for comm in made):
        assert time.monotonic() < deadline and all(comm.async_error() in (0, 7) for comm in made)
    for comm in made:
        comm.destroy()


def test_registered_memory():
    def rank(comm, device, stream):
        memory, handle, window = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        nccl_library.call("ncclMemAlloc", ctypes.byref(memory), ctypes.c_size_t(4000))
        nccl_library.call("ncclCommRegister", comm.handle, memory, ctypes.c_size_t(4000), ctypes.byref(handle))
        nccl_library.call("ncclCommWindowRegister", comm.handle, memory, ctypes.c_size_t(4000), ctypes.byref(window), 1)
        for address, reason in ((memory.value + 4, "a window has to begin at a multiple of 4096"), (4096, "in no allocation")):
            with pytest.raises(nccl_library.Error, match=reason):
                nccl_library.call("ncclCommWindowRegister", comm.handle, ctypes.c_void_p(address), ctypes.c_size_t(4),
                                  ctypes.byref(ctypes.c_void_p()), 1)
        nccl_library.call("ncclCommWindowDeregister", comm.handle, window)
        nccl_library.call("ncclCommDeregister", comm.handle, handle)
        nccl_library.call("ncclMemFree", memory)

    run_threads(2, rank)


def test_graph():
    """Collectives are captured and run at each launch of the graph."""
    def rank(comm, device, stream):
        buffer = device.upload(np.full(6, comm.rank + 1, np.float32))
        device.synchronize()
        stream.begin_capture(mode=2)
        comm.all_reduce(buffer, buffer, stream)
        comm.all_reduce(buffer, buffer, stream)
        graph = stream.end_capture()
        before = buffer.download()
        for _ in range(3):
            graph.launch(stream)
        stream.synchronize()
        graph.destroy()
        return before[0], buffer.download()[0]

    assert run_threads(2, rank) == [(1, 3 * 2 ** 5), (2, 3 * 2 ** 5)]


@pytest.mark.parametrize("end", ["destroy", "abort"])
def test_a_communicator_waits_for_graphs_with_its_calls(end):
    process = cuda_driver.run_script(f"""
        from test_emulated_nccl import *
        def rank(comm, device, stream):
            buffer = device.upload(np.ones(6, np.float32))
            stream.begin_capture(mode=2)
            comm.all_reduce(buffer, buffer, stream)
            graph = stream.end_capture()
            with pytest.raises(nccl_library.Error, match="a CUDA graph holds calls of the communicator"):
                comm.{end}()
            graph.destroy()
            comm.{end}()
        run_threads(2, rank, destroy=False)
        """, TSP_EMULATION_TIMEOUT=1)
    assert process.returncode == 0, process.stderr
    assert process.stderr.count("a CUDA graph holds calls of the communicator: it has to be destroyed first") == 2


def test_wrong_arguments_are_named():
    def rank(comm, device, stream):
        buffer, other = device.empty((8,), np.float32), device.empty((8,), np.float32)
        errors = []

        def failing(function):
            with pytest.raises(nccl_library.Error) as error:
                function()
            errors.append(str(error.value))

        failing(lambda: comm.all_gather(buffer, other, stream))
        failing(lambda: comm.broadcast(buffer, other, 2, stream))
        buffer.shape = (9,)
        failing(lambda: comm.all_reduce(buffer, buffer, stream))
        other.pointer.value += 16
        other.shape = buffer.shape = (4,)
        part = cuda_driver.Buffer.__new__(cuda_driver.Buffer)
        part.__dict__.update(other.__dict__, pointer=ctypes.c_uint64(other.pointer.value - 8))
        failing(lambda: comm.all_reduce(other, part, stream))
        other.pointer.value -= 16
        return errors

    for gather, root, size, overlap in run_threads(2, rank):
        assert "ncclAllGather of 8 float32: receive buffer: 64 bytes" in gather and "past an allocation of 32" in gather
        assert "with root 2: there are 2 ranks" in root
        assert "ncclAllReduce of 9 float32 by sum: send buffer: 36 bytes" in size
        assert "the buffers overlap in another way than in place" in overlap


def test_peer_memory_is_not_own():
    """A buffer of another device is refused, as a wrong pointer."""
    def rank(comm, device, stream):
        if comm.rank == 1:
            return
        buffer = cuda_driver.Device(2).empty((8,), np.float32)
        with pytest.raises(nccl_library.Error, match="memory of device 2, to which device 0 has no access"):
            comm.all_reduce(buffer, buffer, stream)

    run_threads(2, rank)


def test_two_ranks_on_one_device():
    script = textwrap.dedent("""
        import cuda_driver, nccl_library, os
        device = cuda_driver.Device(0)
        try:
            comm = nccl_library.Comm(device, 2, int(os.environ["RANK"]), nccl_library.UniqueId.from_buffer_copy(
                bytes.fromhex(os.environ["ID"])))
            print("made", flush=True)
        except nccl_library.Error as error:
            print(error.code, error, flush=True)
        os._exit(0)""")
    for visible, expected in (("0 0", "are on the same device (bus 1)"), ("0 3", "made")):
        identity = nccl_library.id_bytes(nccl_library.unique_id()).hex()
        with ThreadPool(2) as pool:
            runs = pool.map(lambda rank: cuda_driver.run_script(script, RANK=rank, ID=identity,
                                                                CUDA_VISIBLE_DEVICES=visible.split()[rank]), range(2))
        for run in runs:
            assert expected in run.stdout, (run.returncode, run.stderr)


MISMATCHES = {
    "kind": ("comm.all_reduce(b, b, stream) if rank else comm.broadcast(b, b, 0, stream)",
             "ncclBroadcast of 8 float32 with root 0", "ncclAllReduce of 8 float32 by sum"),
    "count": ("b.shape = (8 - rank,); comm.all_reduce(b, b, stream)", "of 8 float32", "of 7 float32"),
    "dtype": ("b.dtype = np.dtype(np.int32 if rank else np.float32); comm.all_reduce(b, b, stream)", "8 float32", "8 int32"),
    "root": ("comm.broadcast(b, b, rank, stream)", "with root 0", "with root 1"),
    "reduction": ("comm.all_reduce(b, b, stream, MAX if rank else MIN)", "by min", "by max"),
}


@pytest.mark.parametrize("mismatch", MISMATCHES)
def test_mismatched_collective_is_named(mismatch):
    call, first, second = MISMATCHES[mismatch]
    script = f"""
b = device.upload(np.ones(8, np.float32))
comm.all_reduce(b, b, stream)
stream.synchronize()
{call}
import time
while not comm.async_error():
    time.sleep(0.01)
print(comm.async_error(), comm.last_error())
comm.abort()
"""
    for rank, process in enumerate(run_processes(2, script)):
        assert process.returncode == 0, process.err
        assert process.out.startswith(f"{nccl_library.INVALID_USAGE} collective 2 differs: rank "), process.out
        assert first in process.out and second in process.out
        assert f"rank {rank} of 2: collective 2 differs" in process.err


def test_swapped_order_is_named():
    """Who only waits for the stream gets a fault instead of hanging."""
    script = ("from test_emulated_nccl import *\nimport test_emulated_nccl\n"
              "print(*sum(run_threads(2, test_emulated_nccl.swapped_order, destroy=False), []), sep='\\n')")
    process = cuda_driver.run_script(script)
    lines = process.stdout.splitlines()
    assert len(lines) >= 2, process.stderr
    for line in lines:
        assert "collective 1 differs" in line and "ncclAllReduce" in line and "ncclBroadcast" in line


def swapped_order(comm, device, stream):
    """What the communicator says; and its refusal of the second call, if the fault is known by then."""
    a, b = (device.upload(np.ones(8, np.float32)) for _ in range(2))
    calls = [lambda: comm.all_reduce(a, a, stream), lambda: comm.broadcast(b, b, 0, stream)]
    first, second = calls if comm.rank == 0 else reversed(calls)
    first()
    said = []
    try:
        second()
    except nccl_library.Error as error:
        said.append(str(error))
    with pytest.raises(cuda_driver.Error, match="CUDA_ERROR_LAUNCH_FAILED"):
        stream.synchronize()
    return [*said, comm.last_error()]


REFUSED = """
import time
b = device.upload(np.ones(8, np.float32))
comm.all_reduce(b, b, stream) if rank else comm.broadcast(b, b, 0, stream)
while not comm.async_error():
    time.sleep(0.01)
reason = comm.last_error()
print(reason)


def refused(function, *args):
    try:
        function(*args)
    except Error as error:
        print(error)
    assert comm.last_error() == reason


def grouped():
    with group():
        comm.reduce(b, b, 0, stream)


refused(comm.all_reduce, b, b, stream)
refused(comm.send, b, 0, stream)
refused(grouped)
refused(comm.split, 0, 0)
refused(call, "ncclCommFinalize", comm.handle)
refused(call, "ncclCommWindowRegister", comm.handle, ctypes.c_void_p(1), ctypes.c_size_t(4), ctypes.byref(ctypes.c_void_p()), 1)
comm.abort()
"""


def test_calls_after_a_failure_are_refused_with_its_reason():
    for process in run_processes(2, REFUSED):
        assert process.returncode == 0, process.err
        reason, *refusals = process.out.splitlines()
        assert reason.startswith("collective 1 differs: ") and "ncclAllReduce of 8 float32" in reason and "ncclBroadcast of 8 float32" in reason
        said = "the communicator has failed: " + reason
        assert refusals == [f"ncclAllReduce: ncclAllReduce of 8 float32 by sum: {said}", f"ncclSend: ncclSend of 8 float32 to 0: {said}",
                            f"ncclGroupEnd: ncclReduce of 8 float32 by sum with root 0: {said}", f"ncclCommSplit: ncclCommSplit: {said}",
                            f"ncclCommFinalize: {reason}", "ncclCommWindowRegister: a window has to begin at a multiple of 4096 bytes"]


def test_results_need_a_place():
    for name in ("ncclGetVersion", "ncclGetUniqueId", "ncclMemAlloc"):
        with pytest.raises(nccl_library.Error, match=f"{name}: no place for the result"):
            nccl_library.call(name, None, ctypes.c_size_t(4))


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), 9)", "comm.abort(); import time; time.sleep(2)"])
def test_lost_rank_ends_the_others(end):
    script = f"""
b = device.upload(np.ones(8, np.float32))
comm.all_reduce(b, b, stream)
stream.synchronize()
if rank == 1:
    {end}
    sys.exit(0)
comm.all_gather(b, device.empty((24,), np.float32), stream)
import time
while not comm.async_error():
    time.sleep(0.01)
print(comm.async_error(), comm.last_error())
comm.abort()
"""
    processes = run_processes(3, script)
    reason = "rank 1 has aborted" if "abort" in end else "rank 1 has died"
    for rank in (0, 2):
        assert processes[rank].returncode == 0, processes[rank].err
        assert processes[rank].out.startswith(f"{nccl_library.REMOTE_ERROR} {reason}"), processes[rank].out
        assert "waits in collective 2, ncclAllGather of 8 float32, for rank 1" in processes[rank].out


def test_missing_call_is_named_after_the_timeout():
    # Threads come together even on a busy machine; processes would be late for the communicator.
    script = ("from test_emulated_nccl import *\nimport test_emulated_nccl\n"
              "print(run_threads(2, test_emulated_nccl.missing_call, destroy=False)[0])")
    process = cuda_driver.run_script(script, TSP_EMULATION_TIMEOUT=2)
    assert ("rank 0 (device 0) waits in collective 2, ncclAllReduce of 8 float32 by sum, for rank 1, whose last collective is 1"
            in process.stdout), process.stderr


def missing_call(comm, device, stream):
    b = device.upload(np.ones(8, np.float32))
    comm.all_reduce(b, b, stream)
    stream.synchronize()
    if comm.rank == 0:
        comm.all_reduce(b, b, stream)
    while not comm.async_error():
        time.sleep(0.01)
    said = comm.last_error()
    comm.abort()
    return said


def test_rank_that_never_comes():
    script = textwrap.dedent("""
        import cuda_driver, nccl_library
        device = cuda_driver.Device(0)
        try:
            nccl_library.Comm(device, 2, 0, nccl_library.unique_id())
        except nccl_library.Error as error:
            print(error.code, error)""")
    process = cuda_driver.run_script(script, TSP_EMULATION_TIMEOUT=0.3)
    assert "6 ncclCommInitRank: ncclCommInitRank: rank 1 of 2 did not come within 0.3" in process.stdout, process.stderr
    process = cuda_driver.run_script(script, TSP_EMULATION_TIMEOUT="soon")
    assert "4 ncclCommInitRank: TSP_EMULATION_TIMEOUT: expected seconds, more than 0" in process.stdout, process.stderr


def test_link_is_simulated():
    """10 MB at 0.1 GB/s take 0.1 s by the events of the receiver's stream; two ranks at a time share nothing."""
    script = """
data = device.upload(np.ones(2_500_000, np.float32))
start, end = cuda_driver.Event(device), cuda_driver.Event(device)
warm = device.upload(np.ones(1, np.float32))
for _ in range(5):
    comm.broadcast(warm, warm, 0, stream)
    stream.record(start)
    comm.broadcast(data, data, 0, stream)
    stream.record(end)
    stream.synchronize()
    print(start.elapsed_ms(end))
comm.destroy()
"""
    for process in run_processes(3, script, TSP_EMULATED_LINK="0.1,1000"):
        assert process.returncode == 0, process.err
        # A busy machine may be late, but never early.
        assert 100 < min(map(float, process.out.split())) < 250, process.out
