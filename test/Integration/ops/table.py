# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a table of ops is made of, and its results by XLA."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import ml_dtypes
import numpy as np

BF16, F16, F32, F64 = (np.dtype(d) for d in (ml_dtypes.bfloat16, np.float16, np.float32, np.float64))
E4M3, E5M2 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)
FLOATS = (F64, F32, F16, BF16)
INTS = tuple(np.dtype(d) for d in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64))
# Relative tolerance of functions that are not exactly defined, and of sums.
TOLERANCE = {F64: 1e-12, F32: 4e-6, F16: 2e-3, BF16: 1.6e-2, E4M3: 0.13, E5M2: 0.26}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, np.inf, -np.inf, np.nan]


@dataclasses.dataclass(frozen=True)
class Op:
    """fn(*args) beside XLA. `exact`: the bits must agree (NaNs with any NaN). `reference`:
    the result in float64, for long sums whose terms cancel: the relative L2 error may be
    twice XLA's."""
    name: str
    fn: Callable[..., Any]
    args: tuple[np.ndarray, ...]
    exact: bool = True
    reference: np.ndarray | None = None

    def by_xla(self) -> list[np.ndarray]:
        """Flat results of XLA on one device."""
        return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(jax.jit(self.fn)(*self.args))]

    def judge(self, results: list[np.ndarray], expected: list[np.ndarray]) -> None:
        """Asserts that results agree with those expected."""
        for i, (result, wanted) in enumerate(zip(results, expected, strict=True)):
            assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype), f"result {i}"
            if self.reference is not None:
                error, allowed = (np.linalg.norm(array.astype(np.float64) - self.reference) for array in (result, wanted))
                assert error <= 2 * allowed, f"result {i}: error {error:.2e} against float64, XLA has {allowed:.2e}"
            elif wanted.dtype not in TOLERANCE:
                np.testing.assert_array_equal(result, wanted, err_msg=f"result {i}")
            elif self.exact:
                np.testing.assert_array_equal(result.astype(np.float64), wanted.astype(np.float64), err_msg=f"result {i}")
            else:
                tolerance = TOLERANCE[wanted.dtype]
                np.testing.assert_allclose(result.astype(np.float64), wanted.astype(np.float64), rtol=tolerance, atol=tolerance / 8, err_msg=f"result {i}")


def values(dtype: Any, *shape: int, seed: int = 0, low: int = -9, high: int = 10) -> np.ndarray:
    """Random values: floats normal around zero, integers in [low, high), unsigned from 0, booleans even."""
    random, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu" or dtype in (np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4)):
        return random.integers(0 if dtype.kind == "u" or dtype == np.dtype(ml_dtypes.uint4) else low, high, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def special(dtype: Any) -> np.ndarray:
    """Zeros, infinities, NaN and some plain numbers."""
    return np.array(SPECIAL, np.float64).astype(dtype)
