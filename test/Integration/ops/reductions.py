# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contractions, reductions, windows, control flow, random bits."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from Integration.ops.table import BF16, F16, F32, F64, Op, special, values


def _dots() -> list[Op]:
    def general(contract, batch=((), ()), **more):
        return lambda a, b: lax.dot_general(a, b, (contract, batch), **more)
    table = [
        Op("dot_vectors", jnp.dot, (values(F32, 13), values(F32, 13, seed=1)), False),
        Op("dot_matrix_vector", jnp.dot, (values(F32, 7, 13), values(F32, 13, seed=1)), False),
        Op("dot_large", jnp.dot, (values(F32, 67, 131), values(F32, 131, 97, seed=1)), False,
           values(F32, 67, 131).astype(F64) @ values(F32, 131, 97, seed=1).astype(F64)),
        Op("dot_transposed", lambda a, b: a.T @ b.T, (values(F32, 13, 7), values(F32, 5, 13, seed=1)), False),
        Op("dot_two_contracted", general(((1, 2), (2, 0))), (values(F32, 3, 5, 7), values(F32, 7, 2, 5, seed=1)), False),
        Op("dot_batched", general(((3,), (4,)), ((0, 2), (0, 2))), (values(F32, 2, 7, 3, 5), values(F32, 2, 11, 3, 2, 5, seed=1)), False),
        Op("dot_batch_last", general(((0,), (1,)), ((2,), (0,))), (values(F32, 5, 7, 3), values(F32, 3, 5, 2, seed=1)), False),
        Op("dot_outer", general(((), ())), (values(F32, 3), values(F32, 5))),
        Op("dot_empty_contraction", jnp.dot, (np.zeros((3, 0), np.float32), np.zeros((0, 5), np.float32))),
        Op("dot_empty_result", jnp.dot, (np.zeros((0, 3), np.float32), values(F32, 3, 5))),
        Op("dot_bf16_to_f32", general(((1,), (0,)), preferred_element_type=np.float32), (values(BF16, 7, 29), values(BF16, 29, 5, seed=1)), False),
        Op("dot_i8_to_i32", general(((1,), (0,)), preferred_element_type=np.int32), (values(np.int8, 7, 29, low=-128, high=127), values(np.int8, 29, 5, seed=1))),
        Op("dot_i32", jnp.dot, (values(np.int32, 7, 13), values(np.int32, 13, 5, seed=1))),
        Op("dot_mixed_f32_bf16", lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=np.float32),
           (values(F32, 7, 13), values(BF16, 13, 5, seed=1).astype(F32)), False),
        Op("dot_highest", lambda a, b: jnp.dot(a, b, precision="highest"), (values(F32, 7, 13), values(F32, 13, 5, seed=1)), False),
        Op("dot_nan", jnp.dot, (np.array([[1, np.nan], [0, 2]], np.float32), np.array([[0, 1], [1, 0]], np.float32))),
        Op("einsum_gqa", lambda q, k: jnp.einsum("bqkgd,btkd->bkgqt", q, k), (values(F32, 2, 7, 3, 2, 5), values(F32, 2, 11, 3, 5, seed=1)), False),
    ]
    table += [Op(f"dot_{dtype}", jnp.dot, (values(dtype, 7, 13), values(dtype, 13, 5, seed=1)), False) for dtype in (F64, F16, BF16)]
    return table


def _reductions() -> list[Op]:
    x, whole, rough = values(F32, 3, 5, 7), values(np.int32, 3, 17), np.stack([special(F32), np.roll(special(F32), 3)])
    table = [
        Op("sum_middle", lambda x: x.sum(1), (x,), False), Op("sum_first", lambda x: x.sum(0), (x,), False),
        Op("sum_all", lambda x: x.sum(), (x,), False), Op("sum_two", lambda x: x.sum((0, 2)), (x,), False),
        Op("sum_none", lambda x: lax.reduce(x, np.float32(2), lax.add, ()), (x,)),
        Op("sum_long", lambda x: x.sum(1), (values(F32, 3, 1031),), False), Op("sum_bf16", lambda x: x.sum(1), (values(BF16, 3, 67),), False),
        Op("sum_int", lambda x: x.sum(1), (whole,)), Op("sum_empty", lambda x: x.sum(1), (np.zeros((3, 0), np.float32),)),
        Op("max_empty", lambda x: x.max(1, initial=-np.inf), (np.zeros((3, 0), np.float32),)),
        Op("max", lambda x: x.max(2), (x,)), Op("min", lambda x: x.min(0), (x,)), Op("max_nan", lambda x: x.max(1), (rough,)),
        Op("min_nan", lambda x: x.min(0), (rough,)), Op("max_int", lambda x: x.max(1), (whole,)), Op("prod", lambda x: x.prod(1), (x,), False),
        Op("any", lambda x: (x > 1).any(1), (x,)), Op("all", lambda x: (x > -1).all((0, 1)), (x,)),
        Op("xor", lambda x: lax.reduce(x, np.int32(0), lax.bitwise_xor, (1,)), (whole,)),
        Op("argmax", lambda x: jnp.argmax(x, axis=1), (x,)), Op("argmin", lambda x: jnp.argmin(x, axis=2), (x,)),
        Op("argmax_ties", lambda x: jnp.argmax(x, axis=1), (whole,)), Op("argmax_nan", lambda x: jnp.argmax(x, axis=1), (rough,)),
        Op("reduce_two_operands", lambda x, y: lax.reduce((x, y), (np.float32(0), np.int32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)),
           (values(F32, 3, 5), values(np.int32, 3, 5)), False),
        Op("mean_variance", lambda x: (x.mean(-1), x.var(-1)), (x,), False), Op("logsumexp", lambda x: jax.nn.logsumexp(x, axis=-1), (x,), False),
        Op("softmax", lambda x: jax.nn.softmax(x, axis=-1), (x,), False),
    ]
    return table


def _windows() -> list[Op]:
    x = values(F32, 5, 11)
    def window(operator, init, **more):
        return lambda x: lax.reduce_window(x, np.asarray(init, x.dtype), operator, **more)
    return [
        Op("cumsum", lambda x: jnp.cumsum(x, axis=1), (x,), False), Op("cumsum_int", lambda x: jnp.cumsum(x, axis=0), (values(np.int32, 13, 3),)),
        Op("cumsum_reverse", lambda x: lax.cumsum(x, axis=1, reverse=True), (x,), False), Op("cumprod", lambda x: jnp.cumprod(x, axis=1), (x,), False),
        Op("cummax", lambda x: lax.cummax(x, axis=1), (x,)), Op("cumlogsumexp", lambda x: lax.cumlogsumexp(x, axis=1), (x,), False),
        Op("window_max", window(lax.max, -np.inf, window_dimensions=(2, 3), window_strides=(1, 2), padding="VALID"), (x,)),
        Op("window_sum_padded", window(lax.add, 0, window_dimensions=(3, 4), window_strides=(2, 3), padding=((1, 2), (0, 3))), (x,), False),
        Op("window_dilated", window(lax.add, 0, window_dimensions=(2, 3), window_strides=(1, 1), padding=((0, 0), (1, 1)), base_dilation=(2, 1),
                                    window_dilation=(1, 3)), (x,), False),
        Op("window_negative_padding", window(lax.max, -np.inf, window_dimensions=(2, 2), window_strides=(1, 1), padding=((-1, 0), (0, -2))), (x,)),
        Op("window_min_int", window(lax.min, 99, window_dimensions=(3,), window_strides=(1,), padding="SAME"), (values(np.int32, 17),)),
    ]


def _control() -> list[Op]:
    x = values(F32, 3, 5)
    branches = (lambda x: x + 1, lambda x: x * 2, lambda x: -x)
    table = [
        Op("while", lambda n, x: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 1.5), (0, x))[1], (np.int32(5), x)),
        Op("while_never", lambda n, x: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 1.5), (0, x))[1], (np.int32(0), x)),
        Op("while_on_data", lambda x: lax.while_loop(lambda y: y.sum() < 100, lambda y: y * y + 1, x), (x,), False),
        Op("fori_swap", lambda a, b: lax.fori_loop(0, 3, lambda i, c: (c[1], c[0] + i), (a, b)), (x, -x), False),
        Op("nested_loops", lambda x: lax.fori_loop(0, 3, lambda i, y: lax.fori_loop(0, 2, lambda j, z: z + i * j, y), x), (x,)),
        Op("scan", lambda x: lax.scan(lambda c, row: (c + row, c * row), jnp.zeros(5), x), (x,), False),
        Op("scan_reverse", lambda x: lax.scan(lambda c, row: (c + row, c), jnp.zeros(5), x, reverse=True), (x,), False),
        Op("cond", lambda p, x: lax.cond(p, branches[0], branches[2], x), (np.array(False), x)),
        Op("optimization_barrier", lambda x: lax.optimization_barrier((x, x + 1)), (x,)),
        Op("call", jax.jit(lambda x: jax.jit(lambda y: y * 2)(x) + jax.jit(lambda y: y * 2)(x + 1)), (x,)),
    ]
    table += [Op(f"switch_{i}", lambda i, x: lax.switch(i, branches, x), (np.int32(i), x)) for i in (-3, 0, 1, 2, 9)]
    return table


def _random() -> list[Op]:
    key = np.array([1234, 56789], np.uint32)
    algorithms = {"three_fry": lax.RandomAlgorithm.RNG_THREE_FRY, "philox": lax.RandomAlgorithm.RNG_PHILOX}
    table = [
        Op("uniform", lambda key: jax.random.uniform(jax.random.wrap_key_data(key), (3, 5)), (key,)),
        Op("bernoulli", lambda key: jax.random.bernoulli(jax.random.wrap_key_data(key), 0.3, (3, 5)), (key,)),
        Op("normal", lambda key: jax.random.normal(jax.random.wrap_key_data(key), (3, 5)), (key,), False),
    ]
    for name, algorithm in algorithms.items():
        state = np.array([17, 2 ** 63 + 5], np.uint64)
        for dtype in (np.uint8, np.uint32, np.uint64):
            table.append(Op(f"rng_{name}_{np.dtype(dtype)}", lambda s, a=algorithm, d=dtype: lax.rng_bit_generator(s, (3, 5), d, a), (state,)))
    return table


def ops() -> list[Op]:
    """The family's table."""
    return _dots() + _reductions() + _windows() + _control() + _random()
