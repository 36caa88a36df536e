# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs whose values are placed at random. All values are small whole
numbers in float32, so that sums in any order are exact and results are equal to
the last bit."""
from __future__ import annotations

import itertools
import random
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

import tsp

MESHES = [{"t": 2}, {"t": 3}, {"t": 4}, {"d": 2, "t": 2}, {"d": 2, "t": 4}, {"d": 1, "t": 2}]
SIZES = [4, 5, 6, 7, 8, 9, 12, 16]


def _small(x):
    return jnp.mod(x, 7)


def _positions(x, axis):
    return lax.broadcasted_iota(x.dtype, x.shape, axis)


def _window(r, size):
    start = r.randrange(size)
    return start, r.randint(start + 1, size)


def _slice(r, x, axis):
    start, stop = _window(r, x.shape[axis])
    return lax.slice_in_dim(x, start, stop, r.choice([1, 1, 2]), axis)


def _pad(r, x, axis):
    config = [(0, 0, 0)] * x.ndim
    config[axis] = (r.randint(-1, 2), r.randint(0, 2), r.choice([0, 0, 1]))
    return lax.pad(x, np.float32(3), config)


def _merge(_, x, axis):
    axis = min(axis, x.ndim - 2)
    return x.reshape(*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2:])


def _split(r, x, axis):
    divisors = [n for n in range(1, x.shape[axis] + 1) if x.shape[axis] % n == 0]
    n = r.choice(divisors)
    return x.reshape(*x.shape[:axis], n, x.shape[axis] // n, *x.shape[axis + 1:])


def _lookup(r, x, axis):
    indices = np.array([r.randrange(x.shape[axis]) for _ in range(r.choice(SIZES))])
    return jnp.take(x, indices, axis=axis)


def _add_rows(r, x, axis):
    indices = np.array([r.randrange(x.shape[axis]) for _ in range(3)])
    at = (slice(None),) * axis + (indices,)
    return _small(x.at[at].add(2.0))


def _update(r, x, axis):
    start, stop = _window(r, x.shape[axis])
    part = lax.slice_in_dim(x, 0, stop - start, 1, axis) + 1
    # A start that the compiler cannot see.
    at = start + (x.ravel()[0] * 0).astype(jnp.int32)
    return lax.dynamic_update_slice_in_dim(x, part, at, axis)


def _pick(r, x, axis):
    start, stop = _window(r, x.shape[axis])
    at = start + (x.ravel()[0] * 0).astype(jnp.int32)
    return lax.dynamic_slice_in_dim(x, at, stop - start, axis)


def _product(_, x, axis):
    x = jnp.moveaxis(x, axis, -1)
    flat = x.reshape(-1, x.shape[-1])
    return _small(flat @ flat.T)


def _gram(_, x, axis):
    x = jnp.moveaxis(x, axis, 0)
    flat = x.reshape(x.shape[0], -1)
    return _small(flat.T @ flat)


# Of (random, value of rank 2 or 3, axis).
OPS = [
    lambda r, x, axis: _small(x + _positions(x, axis)),
    lambda r, x, axis: _small(jnp.cumsum(x, axis)),
    lambda r, x, axis: jnp.flip(x, axis),
    lambda r, x, axis: jnp.sort(x, axis),
    lambda r, x, axis: jnp.concatenate([x, x + 1], axis),
    lambda r, x, axis: jnp.roll(x, r.randint(1, 3), axis),
    lambda r, x, axis: jnp.swapaxes(x, axis, 0),
    lambda r, x, axis: _small(x + jnp.sum(x, axis, keepdims=True)),
    lambda r, x, axis: x - jnp.max(x, axis, keepdims=True),
    lambda r, x, axis: jnp.where(_positions(x, axis) >= _positions(x, 0), x, 1.0),
    lambda r, x, axis: x + jnp.argmax(x, axis, keepdims=True),
    lambda r, x, axis: jnp.min(x, axis) if x.ndim == 3 else x,
    lambda r, x, axis: _small(x * x),
    _slice, _pad, _merge, _split, _lookup, _add_rows, _update, _pick, _product, _gram,
]


def _function(seed, constrain):
    def fn(x, y):
        r = random.Random(seed)
        results, values = [], [x, y]
        for _ in range(8):
            value = values[r.randrange(len(values))]
            if value.ndim < 2:
                value = value[:, None] if value.ndim else value[None, None]
            if value.ndim > 3:
                value = value.reshape(*value.shape[:2], -1)
            value = r.choice(OPS)(r, value, r.randrange(value.ndim))
            if value.size > 4000 or 0 in value.shape:
                continue
            if r.random() < 0.4:
                value = constrain(value)
            values.append(value)
        results = values[2:] or [x]
        return tuple(results[-4:])
    return fn


def _placement(r, shape, axes):
    """Text of a random placement of a value on the axes of a mesh."""
    axes = [axis for axis in r.sample(axes, len(axes)) if r.random() < 0.8]
    dims = [[] for _ in shape]
    for axis in axes:
        if shape:
            r.choice(dims).append(axis)

    def text(dim):
        names = ", ".join(f'"{axis}"' for axis in dim)
        layouts = ", ".join(r.choice(["contiguous", "zigzag"]) for _ in dim)
        return f"#tsp.dim<[{names}]" + (f", layout = [{layouts}]" if dim and r.random() < 0.6 else "") + ">"
    return f"<[{', '.join(map(text, dims))}]>"


def _shape(type_text):
    return [int(n) for n in re.findall(r"(\d+)x", type_text)]


def program(seed):
    """(program, its mesh, its arguments, what JAX computes)"""
    r = random.Random(seed)
    mesh = r.choice(MESHES)
    names = list(mesh)
    shapes = [tuple(r.choice(SIZES) for _ in range(r.choice([2, 3]))) for _ in range(2)]
    args = [np.random.default_rng(seed).integers(0, 7, shape).astype(np.float32) for shape in shapes]
    sharding = NamedSharding(AbstractMesh(tuple(mesh.values()), tuple(names)), PartitionSpec())
    exported = tsp.export(_function(seed, lambda value: lax.with_sharding_constraint(value, sharding)), *args, mesh=mesh)

    def place(match):
        return f"tsp.place {match[1]} in {_placement(r, _shape(match[2]), names)} : {match[2]}"
    text = re.sub(r"sdy\.sharding_constraint (%\S+) <@mesh, \[.*?\]> : (tensor<\S+>)", place, exported.text)

    def own(match):
        return f"{match[0]}, tsp.placement = #tsp.placement{_placement(r, _shape(match[1]), names)}"
    text = re.sub(r'(tensor<\S+>) \{tsp\.kind = "input"', own, text)

    def result(match):
        return f"{match[1]} {{tsp.placement = #tsp.placement{_placement(r, _shape(match[1]), names)}, jax.result_info" if r.random() < 0.5 else match[0]
    text = re.sub(r"(tensor<\S+>) \{jax\.result_info", result, text)
    known = jax.jit(_function(seed, lambda value: value))(*args)
    return tsp.Program(text, exported.signatures), mesh, args, [np.asarray(value) for value in itertools.chain(known)]
