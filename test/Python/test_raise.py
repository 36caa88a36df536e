# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Raising: every variant of attention is found, and means what it meant.

The program of JAX and the one that was raised and decomposed again run on XLA;
both are compared with the program in f64.
"""
import os
import pathlib
import re
import subprocess

import jax
import numpy as np
import pytest
from attention_variants import NEAR_MISSES, VARIANTS
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir

TSP_OPT = pathlib.Path(os.environ.get("TSP_OPT", pathlib.Path(__file__).resolve().parents[2] / "build" / "bin" / "tsp-opt"))
pytestmark = pytest.mark.skipif(not TSP_OPT.exists(), reason="tsp-opt is not built")


def tsp_opt(text, *flags):
    result = subprocess.run([str(TSP_OPT), *flags], input=text, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout, re.findall(r"remark: (attention .*)", result.stderr)


def raised(text):
    return tsp_opt(text, "--tsp-import", "--tsp-raise-attention=remarks=true", "--canonicalize", "--cse")


def run(text, arguments):
    """The public function of a module, on XLA."""
    text = re.sub(r"tsp\.[a-z]+ = (\"[^\"]*\"|[0-9]+ : i64)(, )?", "", text)
    with jax_mlir.make_ir_context() as context, ir.Location.unknown(context):
        module = ir.Module.parse(text)
        client = jax.devices()[0].client
        devices = client.devices()[:1]
        from jaxlib import xla_client
        executable = client.compile_and_load(
            jax_mlir.module_to_bytecode(module), xla_client.DeviceList(tuple(devices)), xla_client.CompileOptions())
    results = executable.execute_sharded([jax.device_put(a, devices[0]) for a in arguments])
    return [np.asarray(shards[0]) for shards in results.disassemble_into_single_device_arrays()]


def error(got, want):
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert np.array_equal(np.isnan(got), np.isnan(want))
    got, want = np.nan_to_num(got), np.nan_to_num(want)
    return np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-30)


def in_f64(fn, arguments):
    with jax.enable_x64(True):
        wide = [a if a.dtype.kind in "ib" and a.ndim else np.asarray(a, np.int64 if a.dtype.kind == "i" else np.float64)
                for a in map(np.asarray, arguments)]
        return jax.tree.leaves(jax.jit(fn)(*wide))


@pytest.mark.parametrize("name", VARIANTS)
def test_variant_is_raised_and_means_the_same(name):
    fn, arguments, says = VARIANTS[name]
    text = jax.jit(fn, keep_unused=True).lower(*arguments).as_text()
    program, remarks = raised(text)
    assert len(remarks) == 1 and remarks[0].startswith("attention raised to tsp.sdpa"), remarks
    assert remarks[0].endswith(says) or f", {says}" in remarks[0], remarks[0]
    assert program.count("tsp.sdpa") == 1 and "exponential" not in program
    plain, _ = tsp_opt(program, "--tsp-decompose-sdpa", "--canonicalize", "--cse")
    assert "tsp.sdpa" not in plain
    leaves = jax.tree.leaves(arguments)
    got, want = run(plain, leaves), jax.tree.leaves(jax.jit(fn)(*arguments))
    is_bf16 = any(str(a.dtype) == "bfloat16" for a in leaves)
    for g, w, exact in zip(got, want, in_f64(fn, arguments), strict=True):
        assert g.shape == w.shape and g.dtype == w.dtype
        assert error(g, exact) <= 1.5 * error(w, exact) + (4e-3 if is_bf16 else 1e-6)


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_miss_stays_and_says_why(name):
    fn, arguments, says = NEAR_MISSES[name]
    program, remarks = raised(jax.jit(fn).lower(*arguments).as_text())
    assert "tsp.sdpa" not in program
    assert remarks == [f"attention not raised: {says}"]
