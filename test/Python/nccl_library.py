# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NCCL from Python, on devices of cuda_driver: what tests of collectives need.

    def rank(comm, device, stream): ...
    nccl_library.run_threads(4, rank)              # each rank a thread of this process
    nccl_library.run_processes(4, script)          # each rank a process; the script finds comm, device, stream, rank, ranks
"""
import ctypes
import os
import subprocess
import sys
import textwrap
import threading

import ml_dtypes
import numpy as np

import cuda_driver

TYPES = {np.dtype(t): i for i, t in enumerate([
    np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32, np.float64,
    ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])}
SUM, PROD, MAX, MIN, AVG = range(5)
INVALID_ARGUMENT, INVALID_USAGE, REMOTE_ERROR = 4, 5, 6
_library = None


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


class Error(Exception):
    def __init__(self, function, code, text):
        super().__init__(f"{function}: {text}")
        self.code = code


def library():
    global _library
    if _library is None:
        cuda_driver.driver()
        path = os.environ.get("TSP_NCCL_LIBRARY", os.path.join(cuda_driver.EMULATION, "libnccl.so.2"))
        _library = ctypes.CDLL(path)
        for name in ("ncclGetLastError", "ncclGetErrorString"):
            getattr(_library, name).restype = ctypes.c_char_p
    return _library


def call(function, *args):
    code = getattr(library(), function)(*args)
    if code:
        raise Error(function, code, library().ncclGetLastError(None).decode())


def unique_id():
    result = UniqueId()
    call("ncclGetUniqueId", ctypes.byref(result))
    return result


def id_bytes(one):
    return ctypes.string_at(ctypes.byref(one), 128)


def pointer(buffer):
    return ctypes.c_void_p(buffer.pointer.value if buffer else None)


class Comm:
    def __init__(self, device, ranks, rank, id_or_handle):
        self.device, self.ranks, self.rank = device, ranks, rank
        self.handle = id_or_handle
        if isinstance(id_or_handle, UniqueId):
            self.handle = ctypes.c_void_p()
            device.make_current()
            call("ncclCommInitRank", ctypes.byref(self.handle), ranks, id_or_handle, rank)

    def _call(self, name, send, receive, count, dtype, *rest, stream):
        call(name, pointer(send), pointer(receive), ctypes.c_size_t(count), TYPES[np.dtype(dtype)], *rest, self.handle,
             stream.handle)

    def all_gather(self, send, receive, stream):
        self._call("ncclAllGather", send, receive, send.shape[0], send.dtype, stream=stream)

    def all_to_all(self, send, receive, stream):
        self._call("ncclAlltoAll", send, receive, send.shape[0] // self.ranks, send.dtype, stream=stream)

    def all_reduce(self, send, receive, stream, op=SUM):
        self._call("ncclAllReduce", send, receive, send.shape[0], send.dtype, op, stream=stream)

    def reduce_scatter(self, send, receive, stream, op=SUM):
        self._call("ncclReduceScatter", send, receive, receive.shape[0], send.dtype, op, stream=stream)

    def reduce(self, send, receive, root, stream, op=SUM):
        self._call("ncclReduce", send, receive, send.shape[0], send.dtype, op, root, stream=stream)

    def broadcast(self, send, receive, root, stream):
        self._call("ncclBroadcast", send, receive, receive.shape[0], receive.dtype, root, stream=stream)

    def gather(self, send, receive, root, stream):
        self._call("ncclGather", send, receive, send.shape[0], send.dtype, root, stream=stream)

    def scatter(self, send, receive, root, stream):
        self._call("ncclScatter", send, receive, receive.shape[0], receive.dtype, root, stream=stream)

    def send(self, buffer, peer, stream):
        call("ncclSend", pointer(buffer), ctypes.c_size_t(buffer.shape[0]), TYPES[buffer.dtype], peer, self.handle, stream.handle)

    def receive(self, buffer, peer, stream):
        call("ncclRecv", pointer(buffer), ctypes.c_size_t(buffer.shape[0]), TYPES[buffer.dtype], peer, self.handle, stream.handle)

    def split(self, color, key):
        """The part, or None for color -1."""
        result = ctypes.c_void_p()
        call("ncclCommSplit", self.handle, color, key, ctypes.byref(result), None)
        if not result.value:
            return None
        ranks, rank = ctypes.c_int(), ctypes.c_int()
        call("ncclCommCount", result, ctypes.byref(ranks))
        call("ncclCommUserRank", result, ctypes.byref(rank))
        return Comm(self.device, ranks.value, rank.value, result)

    def async_error(self):
        result = ctypes.c_int()
        call("ncclCommGetAsyncError", self.handle, ctypes.byref(result))
        return result.value

    def last_error(self):
        return library().ncclGetLastError(self.handle).decode()

    def destroy(self):
        call("ncclCommDestroy", self.handle)

    def abort(self):
        call("ncclCommAbort", self.handle)


class group:
    """`with group():` around calls that are one group."""

    def __enter__(self):
        call("ncclGroupStart")

    def __exit__(self, *exception):
        call("ncclGroupEnd")


def run_threads(ranks, function, destroy=True):
    """Runs function(comm, device, stream) for each rank, on a device of its own; returns what they return, or raises the first
    exception."""
    identity, results, errors = unique_id(), [None] * ranks, []

    def body(rank):
        try:
            device = cuda_driver.Device(rank)
            stream = cuda_driver.Stream(device)
            comm = Comm(device, ranks, rank, identity)
            results[rank] = function(comm, device, stream)
            if destroy:
                stream.synchronize()
                comm.destroy()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(rank,)) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive(), "a rank hangs"
    if errors:
        raise errors[0]
    return results


_PROCESS = """
import os, sys
import numpy as np, ml_dtypes
import cuda_driver, nccl_library
from nccl_library import *
rank, ranks = int(os.environ["RANK"]), int(os.environ["RANKS"])
device = cuda_driver.Device(rank)
stream = cuda_driver.Stream(device)
comm = Comm(device, ranks, rank, UniqueId.from_buffer_copy(bytes.fromhex(os.environ["ID"])))
"""


def run_processes(ranks, script, timeout=60, **environment):
    """Runs the script in one process a rank; returns the finished processes, with .out and .err."""
    identity = id_bytes(unique_id()).hex()
    path = os.pathsep.join([os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")])
    base = {**os.environ, "PYTHONPATH": path, "RANKS": str(ranks), "ID": identity, **environment}
    processes = [subprocess.Popen([sys.executable, "-c", _PROCESS + textwrap.dedent(script)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env={**base, "RANK": str(rank)}) for rank in range(ranks)]
    try:
        for process in processes:
            process.out, process.err = process.communicate(timeout=timeout)
    finally:
        for process in processes:
            process.kill()
    return processes
