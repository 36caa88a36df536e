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
GRID = AbstractMesh((2, 2), ("d", "t"))


def _values(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def shard_map(fn, inputs, outputs):
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
    text = tsp.export(shard_map(fn, inputs, outputs), *args, mesh="t=4").text
    assert 'sdy.mesh @mesh = <["t"=4]>' in text and "sdy.manual_computation" in text


needs_tools = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")


@needs_tools
@pytest.mark.parametrize("name", MANUAL)
def test_manual_programs_run(name):
    fn, inputs, outputs, whole, args = MANUAL[name]
    program = tsp.export(shard_map(fn, inputs, outputs), *args, mesh="t=4")
    with tsp.compile(program, mesh="t=4") as model:
        np.testing.assert_allclose(model(*args), whole(*args), rtol=1e-5, atol=1e-5)


BOTH = ("d", "t")
# The same over two axes, which nest in this order.
ON_GRID = {
    "psum": (lambda x, w: lax.psum(x @ w, BOTH), (P(None, BOTH), P(BOTH)), P(), lambda x, w: x @ w, (_values(5, 8), _values(8, 7, seed=1))),
    "all_gather": (lambda x: lax.all_gather(x, BOTH, axis=1, tiled=True), (P(None, BOTH),), P(), lambda x: x, (_values(5, 8),)),
    "psum_scatter": (lambda x, w: lax.psum_scatter(x @ w, BOTH, scatter_dimension=0, tiled=True), (P(None, BOTH), P(BOTH)), P(BOTH),
                     lambda x, w: x @ w, (_values(12, 8), _values(8, 7, seed=1))),
    "other_order": (lambda x: x, (P(BOTH),), P(("t", "d")), lambda x: x.reshape(2, 2, 2, 3).swapaxes(0, 1).reshape(8, 3), (_values(8, 3),)),
}


@needs_tools
@pytest.mark.parametrize("name", ON_GRID)
def test_manual_programs_on_a_grid(name):
    fn, inputs, outputs, whole, args = ON_GRID[name]
    program = tsp.export(jax.shard_map(fn, mesh=GRID, in_specs=inputs, out_specs=outputs, check_vma=False), *args, mesh="d=2,t=2")
    with tsp.compile(program, mesh="d=2,t=2") as model:
        np.testing.assert_allclose(model(*args), whole(*args), rtol=1e-5, atol=1e-5)


@needs_tools
@pytest.mark.parametrize("sharding", ['[{"d", "t"}, {}]', '[{"t", "d"}, {}]', '[{}, {"d", "t"}]', '[{"t":(1)2}, {"d", "t":(2)2}]', '[{"t":(2)2, "d"}, {"t":(1)2}]'])
def test_axes_that_nest_and_parts_of_axes(sharding):
    """The same matrix product, its first operand and result placed by Shardy's text."""
    text = f"""
sdy.mesh @mesh = <["d"=2, "t"=4]>
func.func public @main(%x: tensor<16x24xf32> {{sdy.sharding = #sdy.sharding<@mesh, {sharding}>}}, %w: tensor<24x8xf32>)
    -> (tensor<16x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, {sharding}>}}) {{
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x24xf32>, tensor<24x8xf32>) -> tensor<16x8xf32>
  return %y : tensor<16x8xf32>
}}
"""
    x, w = _values(16, 24), _values(24, 8, seed=1)
    program = tsp.Program(text, tsp.export(lambda x, w: x @ w, x, w).signatures)
    with tsp.compile(program, mesh="d=2,t=4") as model:
        np.testing.assert_allclose(model(x, w), x @ w, rtol=1e-4, atol=1e-5)


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
