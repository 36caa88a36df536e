# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of few rows over many keys, whose keys are divided into parts that are merged."""
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tsp
from Integration import harness
from Integration.case import Case, error
from test_kernels_sdpa import LIMITS

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")

KEYS, WIDTH = 1536, 32
_rng = np.random.default_rng(0)


def array(*shape):
    return _rng.standard_normal(shape).astype(np.float32)


def core(q, k, v, mask=None, bias=None, fill=-jnp.inf):
    """[B,S,H,E] with groups of heads."""
    batch, queries, heads, width = q.shape
    q = q.reshape(batch, queries, k.shape[2], -1, width)
    s = jnp.einsum("bskgd,btkd->bkgst", q, k) * width ** -0.5
    if bias is not None:
        s = s + bias
    if mask is not None:
        s = jnp.where(mask, s, fill)
    return jnp.einsum("bkgst,btkd->bskgd", jax.nn.softmax(s, axis=-1), v).reshape(batch, queries, heads, width)


def qkv(batch=1, queries=1, heads=6, kv_heads=2):
    return array(batch, queries, heads, WIDTH), array(batch, KEYS, kv_heads, WIDTH), array(batch, KEYS, kv_heads, WIDTH)


def at_position(q, k, v, position):
    """A cache that is filled up to a position: most parts see no key."""
    return core(q, k, v, jnp.arange(KEYS) <= position)


def causal(q, k, v, position):
    return core(q, k, v, jnp.arange(KEYS)[None, :] <= position + jnp.arange(q.shape[1])[:, None])


def padded(fill):
    """Keys of each batch index that are none; the last has none that is one."""
    return lambda q, k, v, valid: core(q, k, v, valid[:, None, None, None, :], fill=fill)


def slopes(q, k, v, slope):
    distance = jnp.arange(KEYS, dtype=jnp.float32) - KEYS + 1
    return core(q, k, v, bias=slope.reshape(1, 2, 3, 1, 1).astype(q.dtype) * distance.astype(q.dtype))


def valid(batch):
    made = _rng.random((batch, KEYS)) < 0.5
    made[-1] = False
    return made


# Function, values, parts on the host (16 pieces) and on an A100 (108).
CASES = {
    "all_keys": (core, qkv(), 6, 6),
    "position": (at_position, (*qkv(), np.int32(100)), 6, 6),
    "queries": (causal, (*qkv(batch=2, queries=5), np.int32(1000)), 4, 6),
    "bias": (slopes, (*qkv(), array(6) * 0.001), 6, 6),
    "mask_nan": (padded(-jnp.inf), (*qkv(batch=2), valid(2)), 4, 6),
    "mask_mean": (padded(-1e30), (*qkv(batch=2), valid(2)), 4, 6),
}


def parts(program, folder, batch, *options):
    """Into how many parts the compiler divides the keys."""
    tsp.compile_program(program, folder / "kernels.mlir", emit="mlir-kernels", options=options)
    [shape] = re.findall(r"tsp\.sdpa .*-> \(tensor<(\d+)x", (folder / "kernels.mlir").read_text())
    return int(shape) // batch


@pytest.mark.parametrize("name", CASES)
def test_host(exported, executable, tmp_path, name):
    fn, args, expected, _ = CASES[name]
    program = exported(_case(name))
    assert parts(program.program, tmp_path, args[0].shape[0]) == expected
    model = executable(program, "", "none")
    first, second = (harness.run(program, model, f"--threads={threads}").results for threads in (1, 3))
    harness.judge(program, first, "f32")
    assert [x.tobytes() for x in first] == [x.tobytes() for x in second]


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", CASES)
def test_device(exported, executable, tmp_path, name, dtype):
    fn, args, _, expected = CASES[name]
    program = exported(_case(name), dtype)
    assert parts(program.program, tmp_path, args[0].shape[0], "--target=cuda:sm_80") == expected
    [found] = harness.run(program, executable(program, "", "none", "--target=cuda:sm_80"), "--emulate").results
    # As attention kernels alone.
    assert error(found, program.reference[0]) < LIMITS[dtype]


_made = {}


def _case(name):
    """The same object for each use, as fixtures keep what they made of it."""
    return _made.setdefault(name, Case(*CASES[name][:2], params=()))
