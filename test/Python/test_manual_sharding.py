# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that place their values themselves: shard_map, constraints, shardings."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec as P

import tsp
from Integration import harness

RANKS = 4
MESH = AbstractMesh((RANKS,), ("t",))


def _values(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _shard(fn, inputs, outputs):
    return jax.shard_map(fn, mesh=MESH, in_specs=inputs, out_specs=outputs, check_vma=False)


def _ring(x, w):
    """Column block by column block of x @ w, the blocks of w passed on."""
    rank, columns = lax.axis_index("t"), w.shape[1]
    out = jnp.zeros((x.shape[0], columns * RANKS), x.dtype)
    for step in range(RANKS):
        owner = (rank - step) % RANKS
        out = lax.dynamic_update_slice(out, x @ w, (jnp.zeros_like(owner), owner * columns))
        w = lax.ppermute(w, "t", [(i, (i + 1) % RANKS) for i in range(RANKS)])
    return out


# name: (function of per-rank values, specs of arguments, specs of results, the same on whole values, arguments)
MANUAL = {
    "psum": (lambda x, w: lax.psum(x @ w, "t"), (P(None, "t"), P("t")), P(), lambda x, w: x @ w, (_values(5, 8), _values(8, 7, seed=1))),
    "all_gather": (lambda x: lax.all_gather(x, "t", axis=1, tiled=True), (P(None, "t"),), P(), lambda x: x, (_values(5, 8),)),
    "psum_scatter": (lambda x, w: lax.psum_scatter(x @ w, "t", scatter_dimension=0, tiled=True), (P(None, "t"), P("t")), P("t"),
                     lambda x, w: x @ w, (_values(12, 8), _values(8, 7, seed=1))),
    "all_to_all": (lambda x: lax.all_to_all(x, "t", 1, 0, tiled=True), (P("t"),), P(None, "t"), lambda x: x, (_values(8, 12),)),
    "pmax": (lambda x: lax.pmax(x.max(0), "t"), (P("t"),), P(), lambda x: x.max(0), (_values(8, 3),)),
    "axis_index": (lambda x: x + lax.axis_index("t").astype(np.float32), (P("t"),), P("t"), lambda x: x + np.repeat(np.arange(4, dtype=np.float32), 2)[:, None],
                   (_values(8, 3),)),
    "ring": (_ring, (P("t"), P(None, "t")), P("t"), lambda x, w: x @ w, (_values(8, 6), _values(6, 12, seed=1))),
}


def _constraint(x, w1, w2):
    y = lax.with_sharding_constraint(jax.nn.silu(x @ w1), NamedSharding(MESH, P(None, "t")))
    return lax.with_sharding_constraint(y @ w2, NamedSharding(MESH, P("t")))


@pytest.mark.parametrize("name", MANUAL)
def test_manual_programs_export(name):
    fn, inputs, outputs, _, args = MANUAL[name]
    text = tsp.export(_shard(fn, inputs, outputs), *args, mesh="t=4").text
    assert 'sdy.mesh @mesh = <["t"=4]>' in text and "sdy.manual_computation" in text


needs_tools = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")


@needs_tools
@pytest.mark.parametrize("name", MANUAL)
def test_manual_programs_run(name):
    fn, inputs, outputs, whole, args = MANUAL[name]
    program = tsp.export(_shard(fn, inputs, outputs), *args, mesh="t=4")
    with tsp.compile(program, mesh="t=4") as model:
        np.testing.assert_allclose(model(*args), whole(*args), rtol=1e-5, atol=1e-5)


@needs_tools
def test_constraints_are_seeds():
    args = _values(8, 6), _values(6, 12, seed=1), _values(12, 6, seed=2)
    program = tsp.export(_constraint, *args, mesh="t=4")
    with tsp.compile(program, mesh="t=4") as model:
        np.testing.assert_allclose(model(*args), jax.jit(lambda x, a, b: jax.nn.silu(x @ a) @ b)(*args), rtol=1e-4, atol=1e-5)


@needs_tools
def test_a_mesh_that_the_program_contradicts_is_an_error():
    program = tsp.export(_constraint, _values(8, 6), _values(6, 12), _values(12, 6), mesh="t=4")
    with pytest.raises(tsp.CompileError, match="mesh"):
        tsp.compile(program, mesh="t=3")
