# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ranks combine has the same bits wherever they run: threads, processes over MPI, devices over NCCL, one device."""
import subprocess

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec as P

import tsp
from Integration import harness
from test_processes import MPIRUN

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")
ROWS, COLUMNS = 5, 12
TYPES = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2, "bf16": ml_dtypes.bfloat16, "f16": np.float16}


def program(ranks, dtype):
    """Each rank has a part [ROWS, COLUMNS] of x; results: their sum and maximum, and each rank's columns of the sum."""
    def combine(x):
        return lax.psum(x, "t"), lax.pmax(x, "t"), lax.psum_scatter(x, "t", scatter_dimension=1, tiled=True)
    x = np.random.default_rng(ranks).standard_normal((ranks * ROWS, COLUMNS)).astype(dtype)
    mesh = AbstractMesh((ranks,), ("t",))
    return tsp.export(jax.shard_map(combine, mesh=mesh, in_specs=P("t"), out_specs=(P(), P(), P(None, "t")), check_vma=False), x, mesh=f"t={ranks}"), x


def run(command, folder):
    subprocess.run([*map(str, command), f"--args={folder}/x.safetensors", f"--out={folder}/out.safetensors"], check=True, capture_output=True, timeout=60)
    return list(tsp.load_tensors(folder / "out.safetensors").values())


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("name", TYPES)
def test_narrow_floats(tmp_path, name, ranks):
    exported, x = program(ranks, TYPES[name])
    tsp.save_tensors(tmp_path / "x.safetensors", exported.signature().named(x))
    host, cuda = tmp_path / "host", tmp_path / "cuda"
    tsp.compile_program(exported, host, mesh=f"t={ranks}")
    tsp.compile_program(exported, cuda, mesh=f"t={ranks}", options=("--target=cuda:sm_80",))
    # In f32, in the order of the ranks, rounded once.
    parts = x.astype(np.float32).reshape(ranks, ROWS, COLUMNS)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    expected = [total.astype(TYPES[name]), parts.max(0).astype(TYPES[name]), total.astype(TYPES[name])]
    for command in ([host], [*MPIRUN, "-n", ranks, host], [cuda, "--emulate"], [cuda, "--emulate", "--device=0"]):
        results = run(command, tmp_path)
        assert [result.tobytes() for result in results] == [value.tobytes() for value in expected], command


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_pairs(tmp_path, ranks):
    """Argmax and log-sum-exp over a sharded dim, and attention over sharded keys: pairs of the ranks are merged."""
    mesh = AbstractMesh((ranks,), ("t",))

    def sharded(x, dim):
        return lax.with_sharding_constraint(x, NamedSharding(mesh, P(*[None] * dim, "t")))

    def fn(x, q, k, v):
        x, k, v = sharded(x, 1), sharded(k, 1), sharded(v, 1)
        return jnp.argmax(x, 1), jax.nn.logsumexp(x, axis=1), jax.nn.dot_product_attention(q, k, v)
    random = np.random.default_rng(ranks)
    x = random.integers(0, 5, (7, 24)).astype(np.float32)  # with ties
    x[3, 17] = np.nan
    values = x, *(random.standard_normal((1, length, 2, 16)).astype(np.float32) for length in (5, 24, 24))
    exported = tsp.export(fn, *values, mesh=f"t={ranks}")
    tsp.save_tensors(tmp_path / "x.safetensors", exported.signature().named(*values))
    host, cuda = tmp_path / "host", tmp_path / "cuda"
    tsp.compile_program(exported, host, mesh=f"t={ranks}")
    tsp.compile_program(exported, cuda, mesh=f"t={ranks}", options=("--target=cuda:sm_80",))
    expected = jax.jit(lambda x, q, k, v: (jnp.argmax(x, 1), jax.nn.logsumexp(x, axis=1), jax.nn.dot_product_attention(q, k, v)))(*values)
    for commands in (([host], [*MPIRUN, "-n", ranks, host]), ([cuda, "--emulate"], [cuda, "--emulate", "--device=0"])):
        first, second = (run(command, tmp_path) for command in commands)
        assert [value.tobytes() for value in first] == [value.tobytes() for value in second]
        np.testing.assert_array_equal(first[0], expected[0])
        for value, reference in zip(first[1:], expected[1:], strict=True):
            np.testing.assert_allclose(value, reference, rtol=1e-5, atol=1e-5)
