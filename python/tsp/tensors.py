# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor files: .safetensors of every type that a program may hold, and .npz."""
from __future__ import annotations

import json
import os
from typing import Any

import ml_dtypes
import numpy as np

from tsp.names import leaf_names

# Names of types in a .safetensors header. 4-bit integers have none there: they
# are written as one byte an element.
_TYPES = {
    "F64": np.dtype(np.float64), "F32": np.dtype(np.float32), "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16), "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn), "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "BOOL": np.dtype(np.bool_), "I8": np.dtype(np.int8), "I16": np.dtype(np.int16), "I32": np.dtype(np.int32), "I64": np.dtype(np.int64),
    "U8": np.dtype(np.uint8), "U16": np.dtype(np.uint16), "U32": np.dtype(np.uint32), "U64": np.dtype(np.uint64),
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}
_WIDENED = {np.dtype(ml_dtypes.int4): np.int8, np.dtype(ml_dtypes.uint4): np.uint8}
# What .npz cannot name is stored by its bits.
_BITS = {np.dtype(ml_dtypes.bfloat16): np.uint16, np.dtype(ml_dtypes.float8_e4m3fn): np.uint8, np.dtype(ml_dtypes.float8_e5m2): np.uint8}


def save_tensors(path: str | os.PathLike, tensors: dict[str, Any]) -> None:
    """Writes arrays by name; the ending of `path` (.safetensors or .npz) says how.

    A .npz holds bfloat16 and 8-bit floats as raw bits (uint16, uint8). ValueError
    for a type that the format does not know and for any other ending.
    """
    arrays = {name: np.asarray(value) for name, value in tensors.items()}
    arrays = {name: a.astype(_WIDENED[a.dtype]) if a.dtype in _WIDENED else a for name, a in arrays.items()}
    ending = os.path.splitext(os.fspath(path))[1]
    if ending == ".npz":
        with open(path, "wb") as file:
            np.savez(file, **{name: a.view(_BITS[a.dtype]) if a.dtype in _BITS else a for name, a in arrays.items()})
        return
    if ending != ".safetensors":
        raise ValueError(f"{path}: expected a .safetensors or .npz file")
    header, offset = {}, 0
    for name, a in arrays.items():
        if a.dtype not in _NAMES:
            raise ValueError(f"{name}: .safetensors has no type for {a.dtype}")
        header[name] = {"dtype": _NAMES[a.dtype], "shape": list(a.shape), "data_offsets": [offset, offset + a.nbytes]}
        offset += a.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the data is aligned
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for a in arrays.values():
            file.write(np.ascontiguousarray(a).tobytes())


def load_tensors(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Reads the arrays of a .safetensors or .npz file by name. ValueError for any
    other ending."""
    ending = os.path.splitext(os.fspath(path))[1]
    if ending == ".npz":
        with np.load(path) as file:
            return dict(file)
    if ending != ".safetensors":
        raise ValueError(f"{path}: expected a .safetensors or .npz file")
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[begin:end], dtype=_TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def save_parameters(path: str | os.PathLike, tree: Any, root: str = "params") -> None:
    """Writes the leaves of a pytree of weights under the names that `tsp.export`
    gives to the arguments, when `root` is the name of the function's argument."""
    import jax
    save_tensors(path, dict(zip(leaf_names(tree, root), jax.tree_util.tree_leaves(tree))))
