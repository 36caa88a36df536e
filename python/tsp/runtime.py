# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C interface of `tsp_runtime.h`, through ctypes."""
from __future__ import annotations

import ctypes
import json
import os
from typing import Any

import ml_dtypes
import numpy as np

# Type names of a model's description: number in the C interface, NumPy type.
# 4-bit integers lie in memory as one byte an element, as in NumPy.
DTYPES = {
    "f64": (0, np.dtype(np.float64)), "f32": (1, np.dtype(np.float32)), "f16": (2, np.dtype(np.float16)),
    "bf16": (3, np.dtype(ml_dtypes.bfloat16)), "f8E4M3FN": (4, np.dtype(ml_dtypes.float8_e4m3fn)),
    "f8E5M2": (5, np.dtype(ml_dtypes.float8_e5m2)), "i1": (6, np.dtype(np.bool_)), "i4": (7, np.dtype(ml_dtypes.int4)),
    "i8": (8, np.dtype(np.int8)), "i16": (9, np.dtype(np.int16)), "i32": (10, np.dtype(np.int32)), "i64": (11, np.dtype(np.int64)),
    "ui4": (12, np.dtype(ml_dtypes.uint4)), "ui8": (13, np.dtype(np.uint8)), "ui16": (14, np.dtype(np.uint16)),
    "ui32": (15, np.dtype(np.uint32)), "ui64": (16, np.dtype(np.uint64)),
}


class _Options(ctypes.Structure):
    _fields_ = [("threads", ctypes.c_int32), ("trace", ctypes.c_int32), ("link_gbps", ctypes.c_double), ("link_us", ctypes.c_double),
                ("watchdog_s", ctypes.c_double), ("devices", ctypes.c_char_p), ("graphs", ctypes.c_int32),
                ("launched", ctypes.c_int32), ("check", ctypes.c_int32)]


class RuntimeFailure(RuntimeError):
    """The runtime refused a call; the text is its diagnostic."""


class Context:
    """A loaded model with its ranks running. Methods raise RuntimeFailure."""

    def __init__(self, library: str | os.PathLike, *, threads: int = 0, trace: bool = False, link_gbps: float = 0, link_us: float = 0,
                 devices: str | None = None, graphs: bool = False):
        self._handle: int | None = None
        self._library = _declare(ctypes.CDLL(os.fspath(library)))
        options = _Options()
        self._library.tsp_options_init(ctypes.byref(options))
        options.threads, options.trace, options.link_gbps, options.link_us = threads, trace, link_gbps, link_us
        options.devices, options.graphs = devices.encode() if devices else None, graphs
        self._handle = self._library.tsp_context_create(None, ctypes.byref(options))
        message = self._library.tsp_error(self._context)
        if message:
            raise RuntimeFailure(message.decode())
        self.description: dict[str, Any] = json.loads(self._library.tsp_description(self._context))

    def close(self) -> None:
        """Ends the ranks; what is called afterwards is refused."""
        if self._handle:
            self._library.tsp_context_destroy(self._handle)
            self._handle = None

    @property
    def _context(self) -> int:
        if not self._handle:
            raise RuntimeFailure("the model is closed")
        return self._handle

    def add_file(self, path: str | os.PathLike) -> None:
        """A .safetensors, .npz or .npy file from which calls read their arguments."""
        self._check(self._library.tsp_add_file(self._context, os.fspath(path).encode()))

    def set(self, entry: str, argument: dict[str, Any], name: str, value: np.ndarray) -> None:
        """Hands a whole array to the ranks; `argument` is its part of the description.
        Numbers become the argument's type, but not fractions integers."""
        number, dtype = DTYPES[argument["dtype"]]
        if _kind(value.dtype) > _kind(dtype) or not _fits(value, dtype):
            raise RuntimeFailure(f"argument '{name}': expected {argument['dtype']}, found {value.dtype} whose values it cannot hold")
        array = np.asarray(value, dtype=dtype, order="C")  # ascontiguousarray would give scalars a dim
        shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        data = array.ctypes.data_as(ctypes.c_void_p)
        self._check(self._library.tsp_set(self._context, entry.encode(), name.encode(), number, array.ndim, shape, data))

    def set_zero(self, entry: str, name: str) -> None:
        """Fills an argument with zeros."""
        self._check(self._library.tsp_set_zero(self._context, entry.encode(), name.encode()))

    def unload(self, entry: str, name: str | None) -> None:
        """Forgets an argument's value, so that the next call reads it from the files; None: all states."""
        self._check(self._library.tsp_unload(self._context, entry.encode(), None if name is None else name.encode()))

    def call(self, entry: str) -> None:
        """Runs an entry on all ranks."""
        self._check(self._library.tsp_call(self._context, entry.encode()))

    def read_result(self, entry: str, result: dict[str, Any], name: str) -> np.ndarray:
        """The whole value of a result of the last call."""
        return self._read(self._library.tsp_read_result, entry, result, name)

    def read_argument(self, entry: str, argument: dict[str, Any], name: str) -> np.ndarray:
        """The whole present value of an argument."""
        return self._read(self._library.tsp_read_arg, entry, argument, name)

    def stats(self) -> dict[str, Any]:
        """Statistics: times, bytes and peaks of each rank, as in the header."""
        return json.loads(self._library.tsp_stats(self._context))

    def write_trace(self, path: str | os.PathLike) -> None:
        """Writes the trace (Chrome trace JSON) of a context made with trace=True."""
        self._check(self._library.tsp_write_trace(self._context, os.fspath(path).encode()))

    def _read(self, function: Any, entry: str, value: dict[str, Any], name: str) -> np.ndarray:
        array = np.empty(value["shape"], DTYPES[value["dtype"]][1])
        self._check(function(self._context, entry.encode(), name.encode(), array.ctypes.data_as(ctypes.c_void_p), array.nbytes))
        return array

    def _check(self, status: int) -> None:
        if status:
            raise RuntimeFailure(self._library.tsp_error(self._context).decode())


def _kind(dtype: np.dtype) -> int:
    """Numbers of a kind are also numbers of those after it: truth, integer, real."""
    if dtype.kind == "b":
        return 0
    if dtype.kind in "iu" or dtype in (DTYPES["i4"][1], DTYPES["ui4"][1]):
        return 1
    return 2 if dtype.kind == "f" or dtype in (entry[1] for entry in DTYPES.values()) else 3


def _fits(value: np.ndarray, dtype: np.dtype) -> bool:
    """Whether integers keep their values in a type of integers."""
    if _kind(value.dtype) != 1 or _kind(dtype) != 1 or value.dtype == dtype or value.size == 0:
        return True
    limits = ml_dtypes.iinfo(dtype)
    return limits.min <= int(value.min()) and int(value.max()) <= limits.max


def _declare(library: Any) -> Any:
    """Gives the functions their C types."""
    text, handle, number = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64
    functions = {
        "tsp_options_init": (None, [handle]), "tsp_context_create": (handle, [handle, handle]), "tsp_context_destroy": (None, [handle]),
        "tsp_error": (text, [handle]), "tsp_add_file": (ctypes.c_int, [handle, text]),
        "tsp_set": (ctypes.c_int, [handle, text, text, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(number), handle]),
        "tsp_set_zero": (ctypes.c_int, [handle, text, text]), "tsp_unload": (ctypes.c_int, [handle, text, text]),
        "tsp_call": (ctypes.c_int, [handle, text]), "tsp_read_result": (ctypes.c_int, [handle, text, text, handle, number]),
        "tsp_read_arg": (ctypes.c_int, [handle, text, text, handle, number]), "tsp_description": (text, [handle]),
        "tsp_stats": (text, [handle]), "tsp_write_trace": (ctypes.c_int, [handle, text]),
    }
    for name, (result, arguments) in functions.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
