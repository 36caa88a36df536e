# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor files against the safetensors library and NumPy."""
import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

import tsp

TYPES = ["float64", "float32", "float16", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, "bool", "int8", "int16", "int32",
         "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_safetensors_round_trip(tmp_path, dtype):
    written = {"a": np.arange(6).reshape(2, 3).astype(dtype), "scalar": np.ones((), dtype), "empty": np.ones((0, 3), dtype)}
    tsp.save_tensors(tmp_path / "x.safetensors", written)
    read = tsp.load_tensors(tmp_path / "x.safetensors")
    for name, array in written.items():
        assert read[name].dtype == array.dtype
        np.testing.assert_array_equal(read[name], array)


def test_the_library_reads_our_files_and_we_its(tmp_path):
    arrays = {"params['w'][0]": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(5, ml_dtypes.bfloat16)}
    tsp.save_tensors(tmp_path / "ours.safetensors", arrays)
    safetensors.numpy.save_file(arrays, tmp_path / "theirs.safetensors")
    for read in [safetensors.numpy.load_file(tmp_path / "ours.safetensors"), tsp.load_tensors(tmp_path / "theirs.safetensors")]:
        assert read.keys() == arrays.keys()
        for name in arrays:
            np.testing.assert_array_equal(read[name], arrays[name])


def test_npz_holds_bits_of_what_numpy_cannot_name(tmp_path):
    tsp.save_tensors(tmp_path / "x.npz", {"a": np.ones(3, ml_dtypes.bfloat16), "b": np.ones(2, np.float32)})
    read = tsp.load_tensors(tmp_path / "x.npz")
    assert read["a"].dtype == np.uint16 and read["a"][0] == 0x3F80 and read["b"].dtype == np.float32


def test_parameters_are_named_as_exported_arguments(tmp_path):
    params = {"w": [np.ones((3, 5), np.float32)], "b": np.zeros(5, np.float32)}
    tsp.save_parameters(tmp_path / "p.safetensors", params)
    program = tsp.export(lambda params, x: x @ params["w"][0] + params["b"], params, np.ones((2, 3), np.float32), params=(0,))
    names = {a.name for a in program.signature().arguments if a.kind == "parameter"}
    assert set(tsp.load_tensors(tmp_path / "p.safetensors")) == names == {"params['w'][0]", "params['b']"}


def test_unknown_endings_are_refused(tmp_path):
    with pytest.raises(ValueError, match="expected a .safetensors or .npz file"):
        tsp.save_tensors(tmp_path / "x.bin", {})
