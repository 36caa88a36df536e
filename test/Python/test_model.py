# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tsp.compile: callables that keep parameters and states with the ranks."""
import functools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import tsp
from Integration import harness
from Integration.case import random_ids
from Integration.llama import CONFIG
from tsp.models import smollm2

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")


def affine(params, x):
    return {"y": x @ params["w"] + params["b"]}


PARAMS = {"w": np.arange(15, dtype=np.float32).reshape(3, 5), "b": np.ones(5, np.float32)}
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_a_function_compiles_and_takes_numpy_and_jax_arrays():
    with tsp.compile(affine, PARAMS, X, params=(0,)) as model:
        np.testing.assert_allclose(model(PARAMS, X)["y"], affine(PARAMS, X)["y"], rtol=1e-6)
        np.testing.assert_allclose(model(None, jnp.asarray(2 * X))["y"], affine(PARAMS, 2 * X)["y"], rtol=1e-6)
        other = {"w": PARAMS["w"] + 1, "b": PARAMS["b"]}
        np.testing.assert_allclose(model(other, X)["y"], affine(other, X)["y"], rtol=1e-6)


def test_parameters_from_a_file(tmp_path):
    tsp.save_parameters(tmp_path / "w.safetensors", PARAMS)
    with tsp.compile(affine, PARAMS, X, params=(0,), mesh={"t": 3}, strategy="tsp") as model:
        model.load(tmp_path / "w.safetensors")
        np.testing.assert_allclose(model(None, X)["y"], affine(PARAMS, X)["y"], rtol=1e-6)
        assert len(model.stats()["ranks"]) == 3


def test_bf16_and_names(tmp_path):
    params = {name: value.astype(ml_dtypes.bfloat16) for name, value in PARAMS.items()}
    program = tsp.export(affine, params, X.astype(ml_dtypes.bfloat16), params=(0,), path=tmp_path / "affine.mlir")
    with tsp.compile(tmp_path / "affine.mlir", output=tmp_path / "affine.so") as model:
        y, = model.call(program.signature().named(params, X.astype(ml_dtypes.bfloat16)))
        assert y.dtype == ml_dtypes.bfloat16
        np.testing.assert_allclose(y.astype(np.float32), affine(PARAMS, X)["y"], rtol=1e-2)
        with pytest.raises(ValueError, match="no argument 'z'"):
            model.call({"z": X})


def test_wrong_calls_are_refused(tmp_path):
    with tsp.compile(lambda ids: ids + 1, np.zeros(2, np.int32)) as model:
        np.testing.assert_array_equal(model(np.array([1, 2], np.int64)), [2, 3])
        with pytest.raises(tsp.RuntimeFailure, match="expected i32, found float32"):
            model(np.array([1.5, 2], np.float32))
        with pytest.raises(tsp.RuntimeFailure, match="expected i32, found int64"):
            model(np.array([1, 1 << 40], np.int64))
        with pytest.raises(ValueError, match="no entry 'train'; it has .'main'."):
            model(np.zeros(2, np.int32), entry="train")
        with pytest.raises(tsp.RuntimeFailure, match="no trace was recorded"):
            model.write_trace(tmp_path / "trace.json")
    with pytest.raises(tsp.RuntimeFailure, match="the model is closed"):
        model(np.zeros(2, np.int32))
    with pytest.raises(tsp.RuntimeFailure, match="threads of a rank: expected 1 to 1024, or 0"):
        tsp.compile(lambda ids: ids + 1, np.zeros(2, np.int32), threads=-1)


def test_wrong_structures_are_refused():
    with tsp.compile(affine, PARAMS, X, params=(0,)) as model:
        with pytest.raises(TypeError, match="takes 2 arguments, found 1"):
            model(PARAMS)
        with pytest.raises(TypeError, match="argument 0: expected the structure"):
            model({"w": PARAMS["w"]}, X)
        with pytest.raises(TypeError, match="input x is missing"):
            model(PARAMS, None)
        with pytest.raises(tsp.RuntimeFailure, match="expected 2x3xf32, found 1x3xf32"):
            model(PARAMS, X[:1])


def test_a_portable_artifact_compiles(tmp_path):
    exported = jax.export.export(jax.jit(affine))(PARAMS, X)
    (tmp_path / "affine.mlirbc").write_bytes(exported.mlir_module_serialized)
    with tsp.compile(tmp_path / "affine.mlirbc") as model:
        result, = model.call({"arg0": PARAMS["b"], "arg1": PARAMS["w"], "arg2": X})
        np.testing.assert_allclose(result, affine(PARAMS, X)["y"], rtol=1e-6)


def test_a_refused_program_gives_the_diagnostic():
    with pytest.raises(tsp.CompileError, match="complex"):
        tsp.compile(lambda x: jnp.fft.fft(x).real, X)


@pytest.mark.parametrize("mesh, strategy", [("", "none"), ("t=2", "tsp"), ("t=4", "tsp"), ("t=3", "tp")])
def test_prefill_and_decode_share_parameters_and_states(mesh, strategy):
    params, length = smollm2.random_params(CONFIG), 13
    cache = smollm2.new_cache(CONFIG, 1, length)
    ids, one = random_ids(CONFIG.vocab, (1, 7)), np.zeros(1, np.int32)
    program = tsp.export({
        "prefill": tsp.Entry(functools.partial(smollm2.prefill, CONFIG), (params, ids, np.int32(7), cache), params=(0,), state=(3,)),
        "decode": tsp.Entry(functools.partial(smollm2.decode, CONFIG), (params, one, np.int32(7), cache), params=(0,), state=(3,)),
    })
    expected, known = [], ids
    for _ in range(5):
        expected.append(np.argmax(smollm2.forward(CONFIG, params, known)[:, -1], axis=-1).astype(np.int32))
        known = np.concatenate([known, expected[-1][:, None]], axis=1)
    with tsp.compile(program, mesh=mesh, strategy=strategy) as model:
        model.zero_state("prefill")
        logits, kept = model(params, ids, np.int32(7), None, entry="prefill")
        tokens = [np.argmax(logits, axis=-1).astype(np.int32)]
        for position in range(7, 11):
            logits, kept = model(None, tokens[-1], np.int32(position), kept, entry="decode")
            tokens.append(np.argmax(logits, axis=-1).astype(np.int32))
        np.testing.assert_array_equal(tokens, expected)
        first = np.asarray(kept[0]["k"])
        assert first.shape == (1, length, CONFIG.kv_heads, CONFIG.head_width) and not first[:, 11:].any()
        for rank in model.stats()["ranks"]:
            assert rank["peak_bytes"] <= rank["planned_peak_bytes"]
