# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import changes no value: XLA runs a program as JAX prints it and as import leaves it.

The operands hold NaN, infinities, both zeros, subnormal numbers and the ends of integer
ranges, so that a rewrite that is only nearly right shows.
"""
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jaxlib import _jax

import tsp

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -3.5, 1e-40, 88.8, -104.0, 1e30]


def floats(shape, dtype=np.float32):
    values = np.random.RandomState(sum(shape)).randn(*shape).astype(np.float32).ravel()
    count = min(len(values) // 2, len(SPECIAL))
    values[:count] = SPECIAL[:count]
    return jnp.asarray(values.reshape(shape)).astype(dtype)


def ints(shape, dtype=np.int32):
    info = np.iinfo(dtype)
    values = np.random.RandomState(7).randint(max(info.min, -50), 50, size=shape).astype(dtype).ravel()
    values[:4] = [info.min, info.max, 0, 1]
    return jnp.asarray(values.reshape(shape))


def calls(x):
    return jnp.tril(jnp.where(x > 0, x, -1e30)), jax.nn.softmax(x), jax.nn.gelu(x, approximate=False), jax.nn.silu(x), jnp.var(x)


def rounding(x):
    return x.astype(jnp.bfloat16).astype(jnp.float32), x.astype(jnp.float16).astype(jnp.float32), x.astype(jnp.float8_e4m3fn).astype(jnp.float32)


def widening(x):
    return x.astype(jnp.float32).astype(jnp.bfloat16) + 1


def neutral(x):
    return (x + 0.0, x + -0.0, x * 1, x * 0, x / 1, x - 0.0, jnp.maximum(x, -jnp.inf), jnp.minimum(x, jnp.inf), jnp.maximum(x, 0.0), x**2,
            lax.pow(x, jnp.float32(2)), lax.pow(x, jnp.float32(1)), -(-x))


def constants(x):
    return x + jnp.log2(8.0) + jnp.exp(jnp.float32(1)) * jnp.sqrt(jnp.arange(6.0)), x * (jnp.arange(6) % 4 // 2 - 1), x + jnp.float32(7).astype(jnp.bfloat16)


def shapes(x):
    y = jnp.concatenate([x, x[::-1], x[:, ::2].repeat(2, 1)], axis=0)
    return (y[3:9:2, 1:], jnp.transpose(x[None], (2, 0, 1)), jnp.broadcast_to(x[:, None, :], (4, 3, 6))[:, 1], jnp.pad(x, ((1, 2), (0, 1))),
            lax.pad(x, jnp.float32(1), ((-1, 2, 1), (0, -2, 0))), x.reshape(2, 12).reshape(3, 8).T, jnp.roll(x, 2, 1), jnp.stack([x, x], 1)[:, 1],
            lax.dynamic_slice(x, (-3, 9), (2, 3)), x.sum(1, keepdims=True) + jnp.zeros((4, 1)))


def integers(a, b):
    return (a + b, a * b, a // jnp.where(b == 0, 1, b), lax.rem(a, jnp.where(b == 0, 1, b)), a & b, a | b, a ^ b, ~a, a << 3, a >> 40, lax.shift_right_logical(a, b),
            lax.population_count(a), lax.clz(a), jnp.sign(a), abs(a), a.astype(jnp.int8), a.astype(jnp.uint8), a.astype(jnp.float32), a > b, jnp.maximum(a, b))


def regions(x, n):
    loop = lax.fori_loop(0, 4, lambda i, c: (c[0] + x, c[1] * 2), (jnp.zeros_like(x), x))
    scan = lax.scan(lambda c, row: (c * 0.5 + row, c.max()), jnp.zeros(6), x)
    branch = lax.switch(n, [lambda v: v, lambda v: v + 1, jnp.sin], x)
    known = lax.cond(True, lambda v: v * 3, lambda v: v, x)
    return loop, scan, branch, known, jnp.sort(x, 1), jnp.argmax(x, 1), jnp.cumsum(x, 0), lax.top_k(x, 3), jnp.any(x > 1), jnp.prod(x[:, :1], 1)


def composite(x):
    twice = lax.composite(lambda v: lax.optimization_barrier(v) * 2, "test.twice")
    return twice(x), jax.checkpoint(jnp.sin)(x)


def gradient(x):
    return jax.grad(lambda v: jnp.sum(jax.nn.softmax(v @ v.T) ** 2))(x)


X, FINITE = floats((4, 6)), jnp.asarray(np.random.RandomState(0).randn(4, 6).astype(np.float32))
CASES = [(calls, FINITE), (calls, X), (rounding, floats((5, 8))), (widening, floats((5, 8), jnp.bfloat16)), (neutral, floats((5, 8))), (constants, X),
         (shapes, X), (integers, ints((4, 6)), ints((4, 6))[::-1]), (integers, ints((4, 6), np.uint32), ints((4, 6), np.uint32)[::-1]),
         (regions, FINITE, jnp.int32(5)), (composite, X), (gradient, FINITE)]


def run(text: str, arguments) -> list[np.ndarray]:
    device = jax.devices()[0]
    executable = device.client.compile_and_load(text.encode(), _jax.DeviceList((device,)))
    return [np.asarray(result) for result in executable.execute(list(arguments))]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
@pytest.mark.parametrize("debug", [False, True], ids=["text", "locations"])
def test_same_values(case, debug):
    function, *arguments = case
    text = jax.jit(function, keep_unused=True).lower(*arguments).as_text(debug_info=debug)
    done = subprocess.run([tsp.find_tool("tsp-opt"), "--tsp-import"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not any(word in done.stdout for word in (" call @", ".call @", "stablehlo.composite", "optimization_barrier"))
    for found, wanted in zip(run(done.stdout, arguments), run(text, arguments), strict=True):
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        # XLA fuses the two programs differently; a rewrite that is wrong is off by far more.
        np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=2e-6, atol=1e-6 if found.dtype == np.float32 else 0)
        if function is neutral:
            np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
