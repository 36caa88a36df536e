# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise ops, conversions, comparisons, constants."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from Integration.ops.table import BF16, E4M3, E5M2, F16, F32, F64, FLOATS, INTS, Op, special, values

_EXACT_UNARY = {"abs": lax.abs, "ceil": lax.ceil, "floor": lax.floor, "neg": lax.neg, "sign": lax.sign, "is_finite": lax.is_finite,
                "round_even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
                "round_away": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)}
_UNARY = {"exp": lax.exp, "expm1": lax.expm1, "exp2": lax.exp2, "tanh": lax.tanh, "logistic": lax.logistic, "sin": lax.sin, "cos": lax.cos,
          "tan": lax.tan, "erf": lax.erf, "erfc": lax.erfc, "cbrt": lax.cbrt, "square": lax.square, "atan": lax.atan, "sinh": lax.sinh,
          "cosh": lax.cosh, "asinh": lax.asinh}
_POSITIVE = {"log": lax.log, "log1p": lax.log1p, "sqrt": lax.sqrt, "rsqrt": lax.rsqrt}
_UNIT = {"asin": lax.asin, "acos": lax.acos, "atanh": lax.atanh, "erf_inv": lax.erf_inv}
_EXACT_BINARY = {"add": lax.add, "sub": lax.sub, "mul": lax.mul, "div": lax.div, "max": lax.max, "min": lax.min, "rem": lax.rem}
_INTEGER = {"add": lax.add, "sub": lax.sub, "mul": lax.mul, "max": lax.max, "min": lax.min, "and": lax.bitwise_and, "or": lax.bitwise_or,
            "xor": lax.bitwise_xor}
_COMPARE = {"eq": lax.eq, "ne": lax.ne, "lt": lax.lt, "le": lax.le, "gt": lax.gt, "ge": lax.ge}
_CONVERSIONS = [(F32, BF16), (BF16, F32), (F32, F16), (F16, F32), (F64, F32), (F32, F64), (F32, E4M3), (E4M3, F32), (F32, E5M2), (E5M2, BF16),
                (F64, BF16), (F32, np.int32), (np.int32, F32), (np.int64, F64), (np.uint32, F32), (np.uint64, F64), (bool, F32), (F32, bool),
                (np.int32, np.int8), (np.int8, np.int64), (np.uint8, np.int32), (np.int32, np.uint8), (np.int32, bool), (bool, np.int32),
                (np.int8, ml_dtypes.int4), (ml_dtypes.int4, np.int32), (ml_dtypes.uint4, F32), (BF16, np.int32), (np.int16, F16)]


def _grid(dtype) -> tuple[np.ndarray, np.ndarray]:
    x = special(dtype)
    return np.repeat(x, len(x)), np.tile(x, len(x))


def ops() -> list[Op]:
    """The family's table."""
    table = []
    for dtype in FLOATS:
        plain, some = values(dtype, 3, 7), special(dtype)
        both = np.concatenate([plain.reshape(-1), some])
        table += [Op(f"{name}_{dtype}", fn, (both,)) for name, fn in _EXACT_UNARY.items()]
        table += [Op(f"{name}_{dtype}", fn, (plain,), exact=False) for name, fn in _UNARY.items()]
        table += [Op(f"{name}_{dtype}", fn, (abs(plain) + dtype.type(0.25),), exact=False) for name, fn in _POSITIVE.items()]
        table += [Op(f"{name}_{dtype}", fn, (np.tanh(plain.astype(np.float64)).astype(dtype),), exact=False) for name, fn in _UNIT.items()]
        table += [Op(f"{name}_special_{dtype}", fn, (some,), exact=False) for name, fn in (_UNARY | _POSITIVE).items()
                  if name in ("exp", "tanh", "logistic", "erf", "log", "log1p", "sqrt", "rsqrt")]
        table += [Op(f"{name}_{dtype}", fn, _grid(dtype)) for name, fn in _EXACT_BINARY.items()]
        table += [Op(f"{name}_{dtype}", fn, _grid(dtype)) for name, fn in _COMPARE.items()]
        table.append(Op(f"pow_{dtype}", lax.pow, (abs(plain), values(dtype, 3, 7, seed=1)), exact=False))
        table.append(Op(f"pow_special_{dtype}", lax.pow, _grid(dtype), exact=False))
        table.append(Op(f"atan2_{dtype}", lax.atan2, (plain, values(dtype, 3, 7, seed=1)), exact=False))
        table.append(Op(f"integer_pow_{dtype}", lambda x: lax.integer_pow(x, 3), (plain,), exact=False))
        table.append(Op(f"clamp_{dtype}", lambda x: lax.clamp(x.dtype.type(-0.5), x, x.dtype.type(0.75)), (both,)))
        table.append(Op(f"select_{dtype}", lax.select, (values(bool, 3, 7), plain, values(dtype, 3, 7, seed=1))))
    for dtype in INTS:
        edge = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1, 7], dtype)
        x, y = np.repeat(edge, 5), np.tile(edge, 5)
        table += [Op(f"{name}_{dtype}", fn, (x, y)) for name, fn in (_INTEGER | _COMPARE).items()]
        shift = np.tile(np.array([0, 1, np.iinfo(dtype).bits - 1, np.iinfo(dtype).bits, 3], dtype), 5)
        table += [Op(f"{name}_{dtype}", fn, (x, shift)) for name, fn in
                  {"shl": lax.shift_left, "shr_l": lax.shift_right_logical, "shr_a": lax.shift_right_arithmetic}.items()]
        table += [Op(f"{name}_{dtype}", fn, (edge,)) for name, fn in
                  {"not": lax.bitwise_not, "popcnt": lax.population_count, "clz": lax.clz, "sign": lax.sign, "neg": lax.neg}.items()]
        nonzero = np.where(y == 0, np.array(3, dtype), y)
        table += [Op(f"{name}_{dtype}", fn, (x, nonzero)) for name, fn in {"div": lax.div, "rem": lax.rem}.items()]
        table += [Op(f"{name}_by_zero_{dtype}", fn, (edge, np.zeros_like(edge))) for name, fn in {"div": lax.div, "rem": lax.rem}.items()]
    for source, target in _CONVERSIONS:
        x = values(source, 23, low=-8, high=8)
        if np.dtype(source).kind == "f" or np.dtype(source) in FLOATS:
            x = (x.astype(np.float64) * 5).astype(source)
            if np.dtype(target) in (*FLOATS, E4M3, E5M2):
                x = np.concatenate([x, special(source)])
        table.append(Op(f"convert_{np.dtype(source)}_{np.dtype(target)}", lambda x, target=target: lax.convert_element_type(x, target), (x,)))
    booleans = (values(bool, 4, 5), values(bool, 4, 5, seed=1))
    table += [Op(f"{name}_bool", fn, booleans) for name, fn in
              {"and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor, "eq": lax.eq, "ne": lax.ne}.items()]
    table += [
        Op("not_bool", lax.bitwise_not, booleans[:1]),
        Op("bitcast_f32_i32", lambda x: lax.bitcast_convert_type(x, np.int32), (special(F32),)),
        Op("bitcast_u16_bf16", lambda x: lax.bitcast_convert_type(x, BF16), (np.arange(0x3F80, 0x3F90, dtype=np.uint16),)),
        Op("bitcast_f32_u8", lambda x: lax.bitcast_convert_type(x, np.uint8), (values(F32, 3, 5),)),
        Op("bitcast_u8_f32", lambda x: lax.bitcast_convert_type(x, F32), (values(np.uint8, 3, 5, 4),)),
        Op("reduce_precision", lambda x: lax.reduce_precision(x, 5, 3), (values(F32, 3, 5),)),
        Op("bf16_rounding_stays", lambda x: x.astype(BF16).astype(F32) - x, (values(F32, 29),)),
        Op("where_scalar_predicate", lambda p, x: jnp.where(p, x, -x), (np.array(True), values(F32, 3, 5))),
        Op("nan_to_num", jnp.nan_to_num, (special(F32),)),
        Op("gelu_exact", lambda x: jax.nn.gelu(x, approximate=False), (values(F32, 3, 7),), exact=False),
        Op("softplus", jax.nn.softplus, (values(F32, 3, 7),), exact=False),
        Op("scalar_add", lax.add, (np.float32(2), np.float32(3))),
        Op("empty_add", lax.add, (np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32))),
        Op("empty_exp", lax.exp, (np.zeros((3, 0), np.float32),)),
        Op("large_constant", lambda x: x + np.arange(300, dtype=np.float32).reshape(3, 100), (values(F32, 3, 100),)),
        Op("bf16_constant", lambda x: x * np.arange(1, 12).astype(BF16), (values(BF16, 3, 11),)),
        Op("bool_constant", lambda x: jnp.where(np.arange(11) % 3 == 0, x, 0), (values(F32, 3, 11),)),
        Op("iota_float", lambda x: x + lax.broadcasted_iota(F32, (3, 5), 1), (values(F32, 3, 5),)),
        Op("iota_i8", lambda x: x + lax.broadcasted_iota(np.int8, (3, 5), 0), (values(np.int8, 3, 5),)),
    ]
    return table
