# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that move values: reshape, slices, padding, gather, scatter, sort."""
from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from Integration.ops.table import BF16, F32, Op, values

_X = values(F32, 3, 5, 7)


def _pads() -> list[Op]:
    cases = {"plain": [(1, 2, 0), (0, 3, 0)], "interior": [(0, 0, 2), (1, 0, 1)], "negative": [(-1, 0, 0), (-2, -1, 0)],
             "negative_interior": [(-1, 2, 2), (2, -3, 1)], "to_empty": [(-3, 0, 0), (0, 0, 0)]}
    return [Op(f"pad_{name}", lambda x, p=config: lax.pad(x, np.float32(9), p), (values(F32, 3, 5),)) for name, config in cases.items()]


def _dynamic() -> list[Op]:
    table = []
    for name, start in {"inside": (1, 2), "past_the_end": (99, 6), "negative": (-5, -1)}.items():
        starts = tuple(np.int32(s) for s in start)
        table.append(Op(f"dynamic_slice_{name}", lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)), (values(F32, 4, 7), *starts)))
        table.append(Op(f"dynamic_update_slice_{name}", lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
                        (values(F32, 4, 7), values(F32, 2, 3, seed=1), *starts)))
    table.append(Op("dynamic_slice_unsigned", lambda x, i: lax.dynamic_slice(x, (i,), (2,)), (values(F32, 5), np.uint32(2 ** 32 - 1))))
    table.append(Op("dynamic_slice_whole", lambda x, i: lax.dynamic_slice(x, (i,), (5,)), (values(F32, 5), np.int32(3))))
    table.append(Op("dynamic_update_slice_bf16", lambda x, u, i: lax.dynamic_update_slice_in_dim(x, u, i, axis=1),
                    (values(BF16, 3, 5), values(BF16, 3, 2), np.int32(2))))
    return table


def _gathers() -> list[Op]:
    table = values(F32, 11, 5)
    rows = np.array([[3, 0, 10], [7, 7, 2]], np.int32)
    wild = np.array([0, 10, 11, -1, 99, -99], np.int32)
    batched, inner = values(F32, 3, 7, 5), values(np.int32, 3, 4, low=0, high=7)
    numbers = lax.GatherDimensionNumbers
    return [
        Op("gather_rows", lambda t, i: t[i], (table, rows)),
        Op("gather_columns", lambda t, i: t[:, i], (table, np.array([4, 0, 0], np.int32))),
        Op("gather_clip", lambda t, i: t.at[i].get(mode="clip"), (table, wild)),
        Op("gather_fill", lambda t, i: t.at[i].get(mode="fill", fill_value=7), (table, wild)),
        Op("gather_points", lambda t, i, j: t[i, j], (table, rows, np.array([[1, 2, 3], [4, 0, 1]], np.int32))),
        Op("gather_windows", lambda t, i: lax.gather(t, i, numbers((1, 2), (), (0, 1)), (3, 2), mode="clip"),
           (table, np.array([[0, 0], [9, 4], [5, 2]], np.int32))),
        Op("gather_index_vector_first", lambda t, i: lax.gather(t, i.T, numbers((1,), (0,), (0,)), (1, 5), mode="clip"), (table, np.array([[1, 2]], np.int32))),
        Op("take_along_axis", lambda t, i: jnp.take_along_axis(t, i[..., None], axis=1), (batched, inner)),
        Op("gather_batching_dims", lambda t, i: lax.gather(t, i[..., None], numbers((2,), (1,), (1,), (0,), (0,)), (1, 1, 5), mode="clip"), (batched, inner)),
        Op("gather_i64_indices", lambda t, i: t[i.astype(np.int64)], (table, rows)),
        Op("gather_u8_indices", lambda t, i: t.at[i].get(mode="clip"), (table, np.array([1, 200, 3], np.uint8))),
        Op("gather_none", lambda t, i: t[i], (table, np.zeros((0,), np.int32))),
        Op("gather_bf16", lambda t, i: t[i], (table.astype(BF16), rows)),
        Op("gather_bool", lambda t, i: t[i], (table > 0, rows)),
    ]


def _scatters() -> list[Op]:
    target, rows = values(F32, 7, 5), np.array([3, 0, 3, 6], np.int32)
    updates, wild = values(F32, 4, 5, seed=1), np.array([6, 7, -1, 99], np.int32)
    whole = values(np.int32, 7, 5)
    return [
        Op("scatter_set", lambda t, i, u: t.at[i].set(u), (target, np.array([3, 0, 5, 6], np.int32), updates)),
        Op("scatter_set_duplicates", lambda t, i, u: t.at[i].set(u), (target, rows, np.broadcast_to(np.float32(2), (4, 5)).copy())),
        Op("scatter_add", lambda t, i, u: t.at[i].add(u), (target, rows, updates), exact=False),
        Op("scatter_add_int", lambda t, i, u: t.at[i].add(u), (whole, rows, values(np.int32, 4, 5, seed=1))),
        Op("scatter_mul", lambda t, i, u: t.at[i].multiply(u), (target, rows, updates), exact=False),
        Op("scatter_max", lambda t, i, u: t.at[i].max(u), (target, rows, updates)),
        Op("scatter_min", lambda t, i, u: t.at[i].min(u), (target, rows, updates)),
        Op("scatter_drop", lambda t, i, u: t.at[i].add(u, mode="drop"), (target, wild, updates), exact=False),
        Op("scatter_clip", lambda t, i, u: t.at[i].set(u, mode="clip"), (target, np.array([0, 2, 99, 4], np.int32), updates)),
        Op("scatter_points", lambda t, i, j, u: t.at[i, j].add(u), (target, rows, np.array([1, 4, 1, 0], np.int32), values(F32, 4)), False),
        Op("scatter_columns", lambda t, i, u: t.at[:, i].set(u), (target, np.array([4, 1], np.int32), values(F32, 7, 2))),
        Op("scatter_scalar", lambda t, i, u: t.at[i].set(u), (target[:, 0], np.int32(2), np.float32(5))),
        Op("scatter_window", lambda t, i, u: lax.scatter_add(t, i, u, lax.ScatterDimensionNumbers((1, 2), (), (0, 1)), mode="drop"),
           (target, np.array([[0, 0], [5, 3], [6, 4]], np.int32), values(F32, 3, 2, 2)), False),
        Op("scatter_batching_dims", lambda t, i, u: lax.scatter_add(t, i[..., None], u, lax.ScatterDimensionNumbers((), (1,), (1,), (0,), (0,)), mode="drop"),
           (target, values(np.int32, 7, 3, low=0, high=5), values(F32, 7, 3)), False),
        Op("scatter_bf16", lambda t, i, u: t.at[i].set(u), (target.astype(BF16), np.array([3, 0, 5, 6], np.int32), updates.astype(BF16))),
        Op("scatter_none", lambda t, i, u: t.at[i].add(u), (target, np.zeros((0,), np.int32), np.zeros((0, 5), np.float32))),
        Op("scatter_apply", lambda t, i: lax.scatter_apply(t, i[:, None], lambda x: -2 * x, lax.ScatterDimensionNumbers((1,), (0,), (0,)),
                                                           update_shape=(2, 5)), (target, np.array([3, 0], np.int32))),
    ]


def _sorts() -> list[Op]:
    ties = values(np.int32, 4, 13, low=0, high=4)
    rough = np.array([[3, np.nan, -0.0, 0.0, -np.inf, 1], [np.inf, 2, np.nan, -5, 2, 0]], np.float32)
    return [
        Op("sort", lambda x: lax.sort(x, dimension=1), (_X,)),
        Op("sort_first_dim", lambda x: lax.sort(x, dimension=0), (_X,)),
        Op("sort_nan", lambda x: lax.sort(x, dimension=1), (rough,)),
        Op("sort_int", lambda x: lax.sort(x, dimension=1), (ties,)),
        Op("sort_u8", lambda x: lax.sort(x, dimension=0), (values(np.uint8, 29, high=255),)),
        Op("sort_bf16", lambda x: lax.sort(x, dimension=0), (values(BF16, 29),)),
        Op("argsort_is_stable", lambda x: jnp.argsort(x, axis=1), (ties,)),
        Op("argsort_descending", lambda x: jnp.argsort(x, axis=1, descending=True), (ties,)),
        Op("sort_two_keys", lambda a, b, c: lax.sort((a, b, c), dimension=1, num_keys=2), (ties, values(np.int32, 4, 13, low=0, high=3, seed=1), values(F32, 4, 13))),
        Op("top_k", lambda x: lax.top_k(x, 3), (values(F32, 4, 13),)),
        Op("top_k_ties", lambda x: lax.top_k(x, 5), (ties,)),
        Op("top_k_nan", lambda x: lax.top_k(x, 3), (rough,)),
        Op("top_k_all", lambda x: lax.top_k(x, 13), (values(BF16, 4, 13),)),
        Op("sort_empty", lambda x: lax.sort(x, dimension=1), (np.zeros((3, 0), np.float32),)),
        Op("sort_one", lambda x: lax.sort(x, dimension=1), (np.ones((3, 1), np.float32),)),
    ]


def ops() -> list[Op]:
    """The family's table."""
    plain = [
        Op("reshape", lambda x: x.reshape(7, 15), (_X,)), Op("reshape_scalar", lambda x: x.reshape(()), (values(F32, 1, 1),)),
        Op("reshape_empty", lambda x: x.reshape(0, 7), (np.zeros((3, 0), np.float32),)),
        Op("transpose", lambda x: x.transpose(2, 0, 1), (_X,)), Op("transpose_bool", lambda x: x.T, (values(bool, 3, 5),)),
        Op("transpose_4d", lambda x: x.transpose(0, 2, 1, 3), (values(F32, 2, 3, 5, 7),)),
        Op("broadcast_scalar", lambda x: jnp.broadcast_to(x, (3, 5)), (np.float32(2),)),
        Op("broadcast_middle", lambda x: lax.broadcast_in_dim(x, (3, 4, 5), (0, 2)), (values(F32, 3, 5),)),
        Op("broadcast_unit", lambda x: lax.broadcast_in_dim(x, (3, 4, 5), (0, 1, 2)), (values(F32, 3, 1, 5),)),
        Op("concatenate", lambda a, b, c: lax.concatenate((a, b, c), 1), (values(F32, 3, 2), values(F32, 3, 5), values(F32, 3, 0))),
        # Its rows are parts of one row each, and a reduction keeps the dim that they divide.
        Op("concatenate_of_rows", lambda x: (lambda z: z - z.max(2, keepdims=True))(lax.concatenate((x[:, 1:2], x[:, 3:4]), 1)), (values(F32, 16, 4, 16),)),
        Op("concatenate_first", lambda a, b: lax.concatenate((a, b), 0), (values(BF16, 3, 2), values(BF16, 1, 2))),
        Op("slice", lambda x: x[1:3, 2:5, 0:7], (_X,)), Op("slice_strided", lambda x: x[::2, 1::3, ::-1], (_X,)),
        Op("slice_to_empty", lambda x: x[1:1], (_X,)), Op("reverse", lambda x: lax.rev(x, (0, 2)), (_X,)),
        Op("tile", lambda x: jnp.tile(x, (2, 3)), (values(F32, 3, 5),)), Op("repeat", lambda x: jnp.repeat(x, 3, axis=1), (values(F32, 3, 5),)),
        Op("roll", lambda x: jnp.roll(x, 2, axis=1), (values(F32, 3, 5),)), Op("tril", jnp.tril, (values(F32, 5, 7),)),
        Op("one_hot", lambda i: (i[:, None] == jnp.arange(7)).astype(np.float32), (np.array([1, 6, 3], np.int32),)),
    ]
    return plain + _pads() + _dynamic() + _gathers() + _scatters() + _sorts()
