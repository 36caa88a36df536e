# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text that tsp.export writes: names, kinds, aliases, entries, artifacts."""
import re

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec

import tsp


def net(params, state, x):
    return {"y": x @ params["w"][0] + state["b"]}, {"b": state["b"] + 1}


ARGS = ({"w": [np.ones((3, 5), np.float32)]}, {"b": np.ones(5, np.float32)}, np.ones((2, 3), np.float32))


def declarations(text):
    return re.findall(r"func\.func (public|private) @([^ (]+)", text)


def test_names_kinds_and_aliases_are_attributes():
    program = tsp.export(net, *ARGS, params=(0,), state=(1,))
    assert """%arg0: tensor<3x5xf32> {tsp.kind = "parameter", tsp.name = "params['w'][0]"}""" in program.text
    assert """%arg1: tensor<5xf32> {tf.aliasing_output = 1 : i32, tsp.kind = "state", tsp.name = "state['b']"}""" in program.text
    assert """%arg2: tensor<2x3xf32> {tsp.kind = "input", tsp.name = "x"}""" in program.text
    signature = program.signature()
    assert [a.kind for a in signature.arguments] == ["parameter", "state", "input"]
    assert [r.name for r in signature.results] == ["result[0]['y']", "result[1]['b']"]
    assert list(signature.named(*ARGS)) == ["params['w'][0]", "state['b']", "x"]


def test_names_can_be_given():
    program = tsp.export(net, *ARGS, names=("model", "cache", "tokens"))
    assert [a.name for a in program.signature().arguments] == ["model['w'][0]", "cache['b']", "tokens"]


def test_locations_carry_source_lines():
    assert re.search(r'test_export\.py":\d+', tsp.export(net, *ARGS).text)


def test_donated_arguments_become_states():
    fn = jax.jit(lambda cache, x: (x.sum(), cache + x), donate_argnums=(0,), keep_unused=True)
    arguments = tsp.export(fn, np.ones(3, np.float32), np.ones(3, np.float32)).signature().arguments
    assert [(a.name, a.kind, a.alias) for a in arguments] == [("cache", "state", 1), ("x", "input", None)]


def test_state_without_result_is_an_error():
    with pytest.raises(ValueError, match=r"state state \(argument 1\) needs exactly one result .* found 0"):
        tsp.export(lambda params, state: params + state["b"].sum(), np.ones(3, np.float32), {"b": np.ones(5, np.float32)}, state=(1,))


@pytest.mark.parametrize("options, message", [
    (dict(mesh="t"), "mesh 't': expected AXIS=SIZE"), (dict(mesh="t=x"), "mesh 't=x': expected AXIS=SIZE"),
    (dict(params=(3,)), "params names argument 3, but the arguments are numbered 0 to 1"),
    (dict(params=("x",)), "params names argument 'x'"), (dict(state=(2,)), "state names argument 2"),
])
def test_wrong_options_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        tsp.export(lambda params, x: params + x, np.ones(3, np.float32), np.ones(3, np.float32), **options)


def test_other_files_are_no_artifacts(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"anything else")
    with pytest.raises(ValueError, match="expected a serialized jax.export artifact, found b'anything'"):
        tsp.export(tmp_path / "x.bin", np.ones(3, np.float32))


def test_state_with_several_candidates_takes_the_one_given():
    def swap(a, b):
        return b + 1, a + 1
    x = np.ones(3, np.float32)
    with pytest.raises(ValueError, match="found 2; say which with state={0: RESULT}"):
        tsp.export(swap, x, x, state=(0, 1))
    aliases = [a.alias for a in tsp.export(swap, x, x, state={0: 1, 1: 0}).signature().arguments]
    assert aliases == [1, 0]


def test_several_entries_share_a_module():
    def other(params, x):
        return jax.nn.silu(x) @ params["w"][0]
    program = tsp.export({"prefill": tsp.Entry(net, ARGS, params=(0,), state=(1,)), "decode": tsp.Entry(other, (ARGS[0], ARGS[2]), params=(0,)),
                          "score": tsp.Entry(other, (ARGS[0], ARGS[2]), params=(0,))})
    assert declarations(program.text) == [("public", "prefill"), ("public", "decode"), ("private", "decode.silu"), ("public", "score"),
                                          ("private", "score.silu")]
    assert "call @score.silu" in program.text
    assert program.signature("decode").arguments[0].name == "params['w'][0]"
    with pytest.raises(ValueError, match="no entry 'train'"):
        program.signature("train")


def test_symbolic_artifact_becomes_static():
    rows, = jax.export.symbolic_shape("b")
    exported = jax.export.export(jax.jit(lambda p, x: (x @ p["w"]).sum(axis=1) / x.shape[0]))(
        {"w": jax.ShapeDtypeStruct((3, 5), "float32")}, jax.ShapeDtypeStruct((rows, 3), "float32"))
    args = {"w": jax.ShapeDtypeStruct((3, 5), "float32")}, jax.ShapeDtypeStruct((2, 3), "float32")
    program = tsp.export(bytes(exported.serialize()), *args, params=(0,))
    assert "?" not in re.sub(r'"[^"]*"', "", program.text) and "shape_assertion" not in program.text
    assert [a.name for a in program.signature().arguments] == ["p['w']", "x"]


def test_artifact_from_a_file(tmp_path):
    exported = jax.export.export(jax.jit(lambda x: x + 1))(np.ones(3, np.float32))
    (tmp_path / "add.bin").write_bytes(exported.serialize())
    assert tsp.export(tmp_path / "add.bin", np.ones(3, np.float32)).signature().results[0].shape == (3,)


def test_mesh_is_in_scope_while_tracing():
    def place(x):
        return jax.lax.with_sharding_constraint(x, PartitionSpec(None, "t"))
    text = tsp.export(place, np.ones((3, 8), np.float32), mesh={"d": 2, "t": 4}).text
    assert 'sdy.mesh @mesh = <["d"=2, "t"=4]>' in text
    assert 'sdy.sharding_constraint %arg0 <@mesh, [{}, {"t"}]>' in text


@pytest.mark.parametrize("block, operands, attributes", [
    (tsp.attention, [(8, 12), (8, 6), (8, 6), (12, 8)], dict(heads=2, kv_heads=1, rope_theta=1e4, window=2, softcap=5.0)),
    (tsp.gated_mlp, [(8, 11), (8, 11), (11, 8)], dict(activation="gelu_tanh")),
])
def test_blocks_are_composites_and_differentiable(block, operands, attributes):
    random = np.random.default_rng(0)
    x, *weights = [random.standard_normal(shape).astype(np.float32) for shape in [(2, 5, 8), *operands]]
    def call(*args):
        return block(*args, **attributes)
    text = tsp.export(call, x, *weights).text
    assert f'stablehlo.composite "tsp.{block.__name__}"' in text
    step = 1e-2 * random.standard_normal(x.shape).astype(np.float32)
    slope = (jax.grad(lambda x: call(x, *weights).sum())(x) * step).sum()
    np.testing.assert_allclose(slope, (call(x + step, *weights).sum() - call(x - step, *weights).sum()) / 2, rtol=2e-2, atol=1e-4)


def test_blocks_refuse_what_does_not_fit():
    x = jnp.ones((1, 4, 8))
    with pytest.raises(ValueError, match="3 heads over 2 KV heads do not fit"):
        tsp.attention(x, jnp.ones((8, 12)), jnp.ones((8, 8)), jnp.ones((8, 8)), jnp.ones((12, 8)), heads=3, kv_heads=2)
    with pytest.raises(ValueError, match="activation 'swish'"):
        tsp.gated_mlp(x, jnp.ones((8, 8)), jnp.ones((8, 8)), jnp.ones((8, 8)), activation="swish")
