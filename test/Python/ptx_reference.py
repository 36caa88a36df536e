# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What instructions of PTX give, by exact arithmetic: integers and fractions, one rounding at the end."""
from fractions import Fraction
import math

import ml_dtypes
import numpy as np

BF16 = ml_dtypes.bfloat16
# Bits of the fraction with the leading one, smallest and largest exponent.
FORMATS = {np.dtype(np.float16): (11, -14, 15), np.dtype(BF16): (8, -126, 127), np.dtype(np.float32): (24, -126, 127),
           np.dtype(np.float64): (53, -1022, 1023)}


def rounded(value, dtype, mode="rn"):
    """The Fraction `value` as a number of `dtype`."""
    dtype = np.dtype(dtype)
    digits, smallest, largest = FORMATS[dtype]
    if value == 0:
        return 0.0
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, smallest) - digits + 1)
    count, rest = divmod(size, unit)
    up = {"rz": False, "rm": value < 0, "rp": value > 0}.get(mode)
    if up is None:
        up = rest * 2 > unit or (rest * 2 == unit and count % 2 == 1)
    if up and rest:
        count += 1
    result = count * unit
    if result >= Fraction(2) ** (largest + 1):
        beyond = mode == "rn" or (mode == "rm" and value < 0) or (mode == "rp" and value > 0)
        result = math.inf if beyond else float((Fraction(2) - Fraction(2) ** (1 - digits)) * Fraction(2) ** largest)
    return -float(result) if value < 0 else float(result)


def exact(function, dtype, mode="rn"):
    """Lifts a function of Fractions to arrays; what is not finite is left to NumPy's doubles."""
    def lifted(*arrays):
        results = np.empty(len(arrays[0]), np.float64)
        for i, values in enumerate(zip(*[a.astype(np.float64) for a in arrays])):
            with np.errstate(all="ignore"):
                if all(map(math.isfinite, values)):
                    try:
                        results[i] = rounded(function(*map(Fraction, values)), dtype, mode)
                        continue
                    except ZeroDivisionError:
                        pass
                results[i] = function(*[np.float64(v) for v in values])
        with np.errstate(all="ignore"):
            return results.astype(dtype)
    return lifted


def truncated_division(x, y):
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def integers(function, dtype):
    """Lifts a function of Python integers to arrays, its result cut to `dtype`."""
    bits = np.dtype(dtype).itemsize * 8

    def lifted(*arrays):
        values = [function(*map(int, row)) & ((1 << bits) - 1) for row in zip(*arrays)]
        return np.array(values, f"uint{bits}").view(dtype)
    return lifted


def float_to_int(x, dtype, rounding):
    """cvt from floats: saturating; NaN gives 0, or the top bit when a side has 64 bits."""
    info = np.iinfo(dtype)
    whole = {"rni": lambda v: round(Fraction(v)), "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[rounding]
    results = []
    for v in x.astype(np.float64):
        if math.isnan(v):
            wide = info.bits == 64 or x.dtype == np.float64
            results.append(1 << (info.bits - 1) if wide else 0)
        elif math.isinf(v):
            results.append(info.max if v > 0 else info.min)
        else:
            results.append(min(max(whole(v), info.min), info.max))
    mask = (1 << info.bits) - 1
    return np.array([r & mask for r in results], f"uint{info.bits}").view(dtype)


def pack(low, high):
    """Two arrays of 16 bits a lane as one of 32."""
    return low.view(np.uint16).astype(np.uint32) | high.view(np.uint16).astype(np.uint32) << 16


def halves(words, dtype):
    return ((words & 0xffff).astype(np.uint16).view(dtype), (words >> 16).astype(np.uint16).view(dtype))


def by_halves(function, dtype):
    """A function of arrays of `dtype` on packed words."""
    def lifted(*words):
        parts = [halves(w.view(np.uint32), dtype) for w in words]
        return pack(function(*[p[0] for p in parts]), function(*[p[1] for p in parts]))
    return lifted


def bits_of(values):
    values = np.ascontiguousarray(values)
    return values.view(f"u{values.dtype.itemsize}")


def interesting(dtype, seed, count):
    """Random values of all sizes, and the corners of the type."""
    generator = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        corners = [info.min, info.max, 0, 1, 2, 7, info.max // 2, info.max - 1, info.min + 1]
        values = generator.integers(info.min, info.max, count, dtype, endpoint=True)
        values >>= generator.integers(0, info.bits, count).astype(dtype)
        corners = np.array(corners, dtype)
    else:
        digits, smallest, largest = FORMATS[dtype]
        with np.errstate(all="ignore"):
            values = (generator.standard_normal(count) * 2.0 ** generator.integers(-6, 7, count)).astype(dtype)
            corners = np.array([0.0, -0.0, 1.0, -1.0, 1.5, 2.5, -0.5, math.inf, -math.inf, math.nan, 2.0 ** smallest,
                                2.0 ** (smallest - 2), (2 - 2.0 ** (1 - digits)) * 2.0 ** largest], np.float64).astype(dtype)
    generator.shuffle(corners)
    values[:len(corners)] = corners[:count]
    generator.shuffle(values)
    return values
