# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A case: a function of pytrees with example values, and its numbers by JAX."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

TYPES = {"f32": np.dtype(np.float32), "bf16": np.dtype(ml_dtypes.bfloat16), "f64": np.dtype(np.float64)}


@dataclasses.dataclass(frozen=True)
class Case:
    """fn(*args), of which `params` are parameters and `state` states. Values are
    float32 or integers; `args` of other types are made by `cast`."""
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    params: tuple[int, ...] = (0,)
    state: tuple[int, ...] = ()

    def cast(self, dtype: str) -> tuple[Any, ...]:
        """The arguments with floating leaves of `dtype`. float64 holds the values of `base`."""
        return jax.tree_util.tree_map(lambda leaf: leaf.astype(TYPES[dtype]) if leaf.dtype.kind == "f" else leaf, self.args)

    def by_jax(self, dtype: str) -> list[np.ndarray]:
        """Flat results of JAX on one device in `dtype`."""
        return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(jax.jit(self.fn)(*self.cast(dtype)))]

    def reference(self, dtype: str) -> list[np.ndarray]:
        """Flat results in float64 of the values that `dtype` can hold."""
        args = self.cast(dtype)
        with jax.enable_x64(True):
            args = jax.tree_util.tree_map(lambda leaf: leaf.astype(np.float64) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf, args)
            return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(jax.jit(self.fn)(*args))]


def training(case: Case) -> Case:
    """value_and_grad of the mean square of the first floating result, by the parameters."""
    def loss(params: Any, *rest: Any) -> jax.Array:
        leaves = [leaf for leaf in jax.tree_util.tree_leaves(case.fn(params, *rest)) if jnp.issubdtype(leaf.dtype, jnp.floating)]
        return jnp.mean(jnp.square(leaves[0]))
    return dataclasses.replace(case, fn=jax.value_and_grad(loss), state=())


def rms(value: np.ndarray) -> float:
    """Root mean square of the finite elements."""
    value = np.asarray(value, np.float64)
    finite = value[np.isfinite(value)]
    return float(np.sqrt(np.mean(finite ** 2))) if finite.size else 0.0


def error(value: np.ndarray, reference: np.ndarray, least: float = 0.0) -> float:
    """Relative L2 distance, for references whose root mean square is under `least`
    relative to that; infinite if one has a NaN where the other has none."""
    value, reference = np.asarray(value, np.float64), np.asarray(reference, np.float64)
    if value.shape != reference.shape or not np.array_equal(np.isnan(value), np.isnan(reference)):
        return float("inf")
    same = (value == reference) | np.isnan(reference)
    distance, size = rms(np.where(same, 0, value - reference)), max(rms(reference), least)
    if not np.isfinite(value[~same]).all():
        return float("inf")
    return distance / size if size else distance


def random_tree(shapes: Any, seed: int) -> Any:
    """Random float32 leaves for a pytree of shapes: matrices scaled by fan-in, vectors near one."""
    random = np.random.default_rng(seed)

    def leaf(shape: tuple[int, ...]) -> np.ndarray:
        if len(shape) == 1:
            return (1 + 0.1 * random.standard_normal(shape)).astype(np.float32)
        return (random.standard_normal(shape) / shape[-2] ** 0.5).astype(np.float32)
    return jax.tree_util.tree_map(leaf, shapes, is_leaf=lambda node: isinstance(node, tuple))


def random_ids(high: int, shape: tuple[int, ...], seed: int = 7) -> np.ndarray:
    """Random int32 in [0, high)."""
    return np.random.default_rng(seed).integers(0, high, shape).astype(np.int32)


def random_values(shape: tuple[int, ...], seed: int = 7) -> np.ndarray:
    """Standard normal float32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
