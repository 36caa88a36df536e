# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions of PTX, each with what it must give: snippet(text, inputs, output, reference).

In the text %d is the result and %a, %b, %c are the inputs, of the types of their arrays; %p0, %p1 and %t0 to %t3 (32 bits),
%w0, %w1 (64 bits), %h0, %h1 (16 bits) and %f0 are free to use."""
import ml_dtypes
import numpy as np

from ptx_reference import (BF16, bits_of, by_halves, exact, float_to_int, halves, integers, pack, truncated_division)

SNIPPETS = {}
WIDTHS = {16: (np.int16, np.uint16), 32: (np.int32, np.uint32), 64: (np.int64, np.uint64)}
FLOATS = {"f16": np.float16, "bf16": BF16, "f32": np.float32, "f64": np.float64}


def snippet(text, inputs, output, reference, tolerance=0.0, family=None):
    name = (family + ": " if family else "") + text
    assert name not in SNIPPETS, name
    SNIPPETS[name] = (text, [np.dtype(i) for i in inputs], np.dtype(output), reference, tolerance)


# Integers -------------------------------------------------------------------------------------------------------------------
for bits, (signed, unsigned) in WIDTHS.items():
    for dtype, letter in ((signed, "s"), (unsigned, "u")):
        t = f"{letter}{bits}"
        for op, function in (("add", lambda x, y: x + y), ("sub", lambda x, y: x - y), ("min", min), ("max", max),
                             ("mul.lo", lambda x, y: x * y), ("mul.hi", lambda x, y, bits=bits: x * y >> bits)):
            snippet(f"{op}.{t} %d, %a, %b;", [dtype, dtype], dtype, integers(function, dtype))
        nonzero = "or.b%d %%b, %%b, 1; " % bits
        snippet(f"{nonzero}div.{t} %d, %a, %b;", [dtype, dtype], dtype,
                integers(lambda x, y: truncated_division(x, y | 1), dtype))
        snippet(f"{nonzero}rem.{t} %d, %a, %b;", [dtype, dtype], dtype,
                integers(lambda x, y: x - truncated_division(x, y | 1) * (y | 1), dtype))
        snippet(f"mad.lo.{t} %d, %a, %b, %c;", [dtype] * 3, dtype, integers(lambda x, y, z: x * y + z, dtype))
        snippet(f"and.b32 %t0, %b, 127; shr.{t} %d, %a, %t0;", [dtype, np.uint32], dtype,
                integers(lambda x, y: x >> (y & 127), dtype))
        for relation, function in (("lt", lambda x, y: x < y), ("ge", lambda x, y: x >= y), ("eq", lambda x, y: x == y)):
            snippet(f"setp.{relation}.{t} %p0, %a, %b; selp.u32 %d, 1, 0, %p0;", [dtype, dtype], np.uint32,
                    integers(function, np.uint32))
    b = f"b{bits}"
    for op, function in (("and", lambda x, y: x & y), ("or", lambda x, y: x | y), ("xor", lambda x, y: x ^ y)):
        snippet(f"{op}.{b} %d, %a, %b;", [unsigned, unsigned], unsigned, integers(function, unsigned))
    snippet(f"not.{b} %d, %a;", [unsigned], unsigned, integers(lambda x: ~x, unsigned))
    snippet(f"shl.{b} %d, %a, %b;", [unsigned, np.uint32], unsigned,
            integers(lambda x, y, bits=bits: x << y if y < bits else 0, unsigned))
    snippet(f"neg.s{bits} %d, %a;", [signed], signed, integers(lambda x: -x, signed))
    snippet(f"abs.s{bits} %d, %a;", [signed], signed, integers(abs, signed))
for bits in (16, 32):
    signed, unsigned = WIDTHS[bits]
    for dtype, letter in ((signed, "s"), (unsigned, "u")):
        wide = WIDTHS[bits * 2]["su".index(letter)]
        snippet(f"mul.wide.{letter}{bits} %d, %a, %b;", [dtype, dtype], wide, integers(lambda x, y: x * y, wide))
        snippet(f"mad.wide.{letter}{bits} %d, %a, %b, %c;", [dtype, dtype, wide], wide,
                integers(lambda x, y, z: x * y + z, wide))
for bits in (32, 64):
    signed, unsigned = WIDTHS[bits]
    snippet(f"popc.b{bits} %d, %a;", [unsigned], np.uint32, integers(lambda x: bin(x).count("1"), np.uint32))
    snippet(f"clz.b{bits} %d, %a;", [unsigned], np.uint32, integers(lambda x, n=bits: n - x.bit_length(), np.uint32))
    snippet(f"brev.b{bits} %d, %a;", [unsigned], unsigned,
            integers(lambda x, n=bits: int(format(x, f"0{n}b")[::-1], 2), unsigned))
    snippet(f"bfind.u{bits} %d, %a;", [unsigned], np.uint32, integers(lambda x: x.bit_length() - 1, np.uint32))
    snippet(f"bfind.s{bits} %d, %a;", [signed], np.uint32,
            integers(lambda x: (x if x >= 0 else ~x).bit_length() - 1, np.uint32))
    snippet(f"bfe.u{bits} %d, %a, %b, %c;", [unsigned, np.uint32, np.uint32], unsigned,
            integers(lambda x, start, n: x >> (start & 255) & ((1 << (n & 255)) - 1), unsigned))

    def signed_field(x, start, length, n=bits):
        start, length = start & 255, length & 255
        if length == 0:
            return 0
        field = x >> min(start, n - 1)
        return field if length >= n else (field & ((1 << length) - 1)) - ((field >> (length - 1) & 1) << length)
    snippet(f"bfe.s{bits} %d, %a, %b, %c;", [signed, np.uint32, np.uint32], signed, integers(signed_field, signed))

    def inserted(x, y, position, n=bits):
        start, length = position & 255, position >> 3 & 255
        field = ((1 << min(length, n)) - 1) << start if start < n else 0
        return y & ~field | x << start & field
    snippet(f"shr.u32 %t0, %c, 3; bfi.b{bits} %d, %a, %b, %c, %t0;", [unsigned, unsigned, np.uint32], unsigned,
            integers(inserted, unsigned))
snippet("shf.l.wrap.b32 %d, %a, %b, %c;", [np.uint32] * 3, np.uint32,
        integers(lambda lo, hi, n: ((hi << 32 | lo) << (n & 31)) >> 32, np.uint32))
snippet("shf.r.clamp.b32 %d, %a, %b, %c;", [np.uint32] * 3, np.uint32,
        integers(lambda lo, hi, n: (hi << 32 | lo) >> min(n, 32), np.uint32))


def permuted(x, y, selector):
    pair, result = y << 32 | x, 0
    for i in range(4):
        choice = selector >> 4 * i & 15
        byte = pair >> 8 * (choice & 7) & 255
        result |= ((255 if byte & 128 else 0) if choice & 8 else byte) << 8 * i
    return result


snippet("prmt.b32 %d, %a, %b, %c;", [np.uint32] * 3, np.uint32, integers(permuted, np.uint32))
snippet("lop3.b32 %d, %a, %b, %c, 0xca;", [np.uint32] * 3, np.uint32, integers(lambda x, y, z: x & y | ~x & z, np.uint32))
snippet("lop3.b32 %d, %a, %b, %c, 0x96;", [np.uint32] * 3, np.uint32, integers(lambda x, y, z: x ^ y ^ z, np.uint32))
snippet("sad.s32 %d, %a, %b, %c;", [np.int32, np.int32, np.int32], np.int32, integers(lambda x, y, z: abs(x - y) + z, np.int32))
snippet("sad.u32 %d, %a, %b, %c;", [np.uint32] * 3, np.uint32, integers(lambda x, y, z: abs(x - y) + z, np.uint32))
snippet("add.sat.s32 %d, %a, %b;", [np.int32, np.int32], np.int32,
        integers(lambda x, y: min(max(x + y, -2**31), 2**31 - 1), np.int32))
snippet("mul24.lo.s32 %d, %a, %b;", [np.int32, np.int32], np.int32,
        integers(lambda x, y: ((x + 2**23) % 2**24 - 2**23) * ((y + 2**23) % 2**24 - 2**23), np.int32))


def dot(signed_a, signed_b):
    def byte(word, i, is_signed):
        value = word >> 8 * i & 255
        return value - 256 if is_signed and value > 127 else value
    return lambda x, y, z: z + sum(byte(x, i, signed_a) * byte(y, i, signed_b) for i in range(4))


snippet("dp4a.s32.s32 %d, %a, %b, %c;", [np.int32] * 3, np.int32, integers(dot(True, True), np.int32))
snippet("dp4a.u32.u32 %d, %a, %b, %c;", [np.uint32] * 3, np.uint32, integers(dot(False, False), np.uint32))
# 64-bit sums, differences and products from halves through the carry.
UNPACK = "mov.b64 {%t0, %t1}, %a; mov.b64 {%t2, %t3}, %b; "
snippet(UNPACK + "add.cc.u32 %t0, %t0, %t2; addc.u32 %t1, %t1, %t3; mov.b64 %d, {%t0, %t1};", [np.uint64] * 2, np.uint64,
        integers(lambda x, y: x + y, np.uint64))
snippet(UNPACK + "sub.cc.u32 %t0, %t0, %t2; subc.u32 %t1, %t1, %t3; mov.b64 %d, {%t0, %t1};", [np.uint64] * 2, np.uint64,
        integers(lambda x, y: x - y, np.uint64))
snippet("mov.b64 {%t0, %t1}, %c; mad.lo.cc.u32 %t2, %a, %b, %t0; madc.hi.u32 %t3, %a, %b, %t1; mov.b64 %d, {%t2, %t3};",
        [np.uint32, np.uint32, np.uint64], np.uint64, integers(lambda x, y, z: x * y + z, np.uint64))

# Floats ---------------------------------------------------------------------------------------------------------------------
for name, dtype in FLOATS.items():
    modes = ("rn", "rz", "rm", "rp") if name in ("f32", "f64") else ("rn",)
    for mode in modes:
        snippet(f"fma.{mode}.{name} %d, %a, %b, %c;", [dtype] * 3, dtype, exact(lambda x, y, z: x * y + z, dtype, mode))
        for op, function in (("add", lambda x, y: x + y), ("sub", lambda x, y: x - y), ("mul", lambda x, y: x * y),
                             ("div", lambda x, y: x / y)):
            if op == "div" and name not in ("f32", "f64"):
                continue
            snippet(f"{op}.{mode}.{name} %d, %a, %b;", [dtype] * 2, dtype, exact(function, dtype, mode))
    for op, better in (("min", lambda x, y: x < y), ("max", lambda x, y: x > y)):
        def pick(x, y, better=better):
            with np.errstate(all="ignore"):
                return np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.where(better(x, y), x, y)))
        snippet(f"{op}.{name} %d, %a, %b;", [dtype] * 2, dtype, pick)
        if name != "f64":
            def pick_nan(x, y, pick=pick, dtype=dtype):
                return np.where(np.isnan(x) | np.isnan(y), np.array(np.nan, dtype), pick(x, y))
            snippet(f"{op}.NaN.{name} %d, %a, %b;", [dtype] * 2, dtype, pick_nan)
    snippet(f"neg.{name} %d, %a;", [dtype], dtype, lambda x: -x)
    snippet(f"abs.{name} %d, %a;", [dtype], dtype, np.abs)
    for relation, function in (("lt", np.less), ("ge", np.greater_equal), ("eq", np.equal),
                               ("neu", np.not_equal), ("nan", lambda x, y: np.isnan(x) | np.isnan(y)),
                               ("ltu", lambda x, y: np.isnan(x) | np.isnan(y) | np.less(x, y))):
        snippet(f"setp.{relation}.{name} %p0, %a, %b; selp.u32 %d, 1, 0, %p0;", [dtype] * 2, np.uint32,
                lambda x, y, function=function: function(x, y).astype(np.uint32))
for name, dtype in (("f16", np.float16), ("bf16", BF16)):
    snippet(f"fma.rn.{name}x2 %d, %a, %b, %c;", [np.uint32] * 3, np.uint32,
            by_halves(exact(lambda x, y, z: x * y + z, dtype), dtype), family=name)
    snippet(f"add.rn.{name}x2 %d, %a, %b;", [np.uint32] * 2, np.uint32, by_halves(exact(lambda x, y: x + y, dtype), dtype),
            family=name)
    snippet(f"mul.rn.{name}x2 %d, %a, %b;", [np.uint32] * 2, np.uint32, by_halves(exact(lambda x, y: x * y, dtype), dtype),
            family=name)
    snippet(f"neg.{name}x2 %d, %a;", [np.uint32], np.uint32, by_halves(lambda x: -x, dtype), family=name)
    snippet(f"cvt.rn.{name}x2.f32 %d, %a, %b;", [np.float32] * 2, np.uint32,
            lambda x, y, dtype=dtype: pack(y.astype(dtype), x.astype(dtype)), family=name)
snippet("fma.rn.sat.f32 %d, %a, %b, %c;", [np.float32] * 3, np.float32,
        lambda x, y, z: np.nan_to_num(np.clip(exact(lambda x, y, z: x * y + z, np.float32)(x, y, z), 0, 1)))


def flushed(x):
    return np.where(np.abs(x) < 2.0 ** -126, np.copysign(np.float32(0), x), x)


snippet("mul.rn.ftz.f32 %d, %a, %b;", [np.float32] * 2, np.float32,
        lambda x, y: flushed(exact(lambda x, y: x * y, np.float32)(flushed(x), flushed(y))))
snippet("copysign.f32 %d, %a, %b;", [np.float32] * 2, np.float32, lambda x, y: np.copysign(y, x))
snippet("sqrt.rn.f32 %d, %a;", [np.float32], np.float32, np.sqrt)
snippet("sqrt.rn.f64 %d, %a;", [np.float64], np.float64, np.sqrt)
snippet("rcp.rn.f32 %d, %a;", [np.float32], np.float32, exact(lambda x: 1 / x, np.float32))
snippet("rcp.rn.f64 %d, %a;", [np.float64], np.float64, exact(lambda x: 1 / x, np.float64))
for op, function, tolerance in (
        ("rcp.approx.f32", lambda x: 1 / x, 2 ** -22), ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x), 2 ** -22),
        ("sqrt.approx.f32", np.sqrt, 2 ** -22), ("ex2.approx.f32", np.exp2, 2 ** -21),
        ("lg2.approx.f32", np.log2, 2 ** -21), ("sin.approx.f32", np.sin, 2 ** -20), ("cos.approx.f32", np.cos, 2 ** -20),
        ("tanh.approx.f32", np.tanh, 2 ** -10), ("ex2.approx.ftz.f32", lambda x: flushed(np.exp2(flushed(x))), 2 ** -21)):
    snippet(f"{op} %d, %a;", [np.float32], np.float32,
            lambda x, function=function: np.asarray(function(x.astype(np.float64))).astype(np.float32), tolerance)
snippet("ex2.approx.f16 %d, %a;", [np.float16], np.float16, lambda x: np.exp2(x.astype(np.float64)).astype(np.float16), 2 ** -9)
snippet("tanh.approx.bf16x2 %d, %a;", [np.uint32], np.uint32,
        by_halves(lambda x: np.tanh(x.astype(np.float64)).astype(BF16), BF16), family="bf16")
for test, function in (("finite", np.isfinite), ("infinite", np.isinf), ("notanumber", np.isnan),
                       ("subnormal", lambda x: (x != 0) & (np.abs(x) < 2.0 ** -126))):
    snippet(f"testp.{test}.f32 %p0, %a; selp.u32 %d, 1, 0, %p0;", [np.float32], np.uint32,
            lambda x, function=function: function(x).astype(np.uint32))

# Conversions ----------------------------------------------------------------------------------------------------------------
INTEGERS = {f"{letter}{bits}": WIDTHS[bits]["su".index(letter)] for bits in WIDTHS for letter in "su"}
for to, to_type in INTEGERS.items():
    for source in ("f32", "f64", "f16"):
        for mode in ("rni", "rzi", "rmi", "rpi") if source == "f32" else ("rni", "rzi"):
            snippet(f"cvt.{mode}.{to}.{source} %d, %a;", [FLOATS[source]], to_type,
                    lambda x, to_type=to_type, mode=mode: float_to_int(x, to_type, mode))
    for result in ("f32", "f64", "f16"):
        if result == "f16" and to.endswith("64"):
            continue
        snippet(f"cvt.rn.{result}.{to} %d, %a;", [to_type], FLOATS[result],
                lambda x, dtype=FLOATS[result]: np.array([float_of(int(v), dtype) for v in x], np.float64).astype(dtype))
    for other, other_type in INTEGERS.items():
        if other != to:
            snippet(f"cvt.{other}.{to} %d, %a;", [to_type], other_type, integers(lambda x: x, other_type))
            if other.endswith("16"):
                info = np.iinfo(other_type)
                snippet(f"cvt.sat.{other}.{to} %d, %a;", [to_type], other_type,
                        integers(lambda x, info=info: min(max(x, info.min), info.max), other_type))


def float_of(value, dtype):
    from fractions import Fraction
    from ptx_reference import rounded
    return rounded(Fraction(value), dtype)


for source, to in (("f64", "f32"), ("f64", "f16"), ("f32", "f16"), ("f32", "bf16")):
    for mode in ("rn", "rz", "rm", "rp") if (source, to) == ("f64", "f32") else ("rn",):
        snippet(f"cvt.{mode}.{to}.{source} %d, %a;", [FLOATS[source]], FLOATS[to], exact(lambda x: x, FLOATS[to], mode))
for source, to in (("f32", "f64"), ("f16", "f32"), ("f16", "f64"), ("bf16", "f32")):
    snippet(f"cvt.{to}.{source} %d, %a;", [FLOATS[source]], FLOATS[to], lambda x, to=to: x.astype(FLOATS[to]))
for mode, function in (("rni", np.rint), ("rzi", np.trunc), ("rmi", np.floor), ("rpi", np.ceil)):
    for name in ("f32", "f64"):
        snippet(f"cvt.{mode}.{name}.{name} %d, %a;", [FLOATS[name]], FLOATS[name], function)
snippet("cvt.sat.f32.f32 %d, %a;", [np.float32], np.float32, lambda x: np.clip(np.nan_to_num(x), 0, 1))
snippet("cvt.rn.relu.bf16.f32 %d, %a;", [np.float32], BF16,
        lambda x: np.where(np.isnan(x), x, np.maximum(x, 0)).astype(BF16))


def to_tf32(x):
    word = bits_of(x)
    kept = np.isfinite(x)
    return np.where(kept, (word + np.uint32(0x1000)) & np.uint32(0xffffe000), word).view(np.float32)


snippet("cvt.rna.tf32.f32 %d, %a;", [np.float32], np.float32, to_tf32)

# 8-bit floats: what is too large becomes the largest number, NaN 0x7f.
for name, dtype in (("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2)):
    def to_float8(x, dtype=dtype):
        largest = float(ml_dtypes.finfo(dtype).max)
        return np.where(np.isnan(x), np.uint8(0x7f), np.clip(x.astype(np.float32), -largest, largest).astype(dtype).view(np.uint8))

    def pair(low, high, convert=to_float8):
        return convert(low).astype(np.uint16) | convert(high).astype(np.uint16) << 8

    def clamped(x):
        return np.where(x < 0, np.zeros_like(x), x)

    def widened(x, dtype=dtype):
        return [(x >> shift & 255).astype(np.uint8).view(dtype).astype(np.float16) for shift in (0, 8)]
    snippet(f"cvt.rn.satfinite.{name}x2.f32 %d, %a, %b;", [np.float32] * 2, np.uint16, lambda x, y, pair=pair: pair(y, x))
    snippet(f"cvt.rn.satfinite.relu.{name}x2.f32 %d, %a, %b;", [np.float32] * 2, np.uint16,
            lambda x, y, pair=pair: pair(clamped(y), clamped(x)))
    snippet(f"cvt.rn.satfinite.{name}x2.f16x2 %d, %a;", [np.uint32], np.uint16,
            lambda x, pair=pair: pair(*halves(x, np.float16)), family="f16")
    snippet(f"cvt.rn.satfinite.relu.{name}x2.f16x2 %d, %a;", [np.uint32], np.uint16,
            lambda x, pair=pair: pair(*map(clamped, halves(x, np.float16))), family="f16")
    snippet(f"cvt.rn.f16x2.{name}x2 %d, %a;", [np.uint16], np.uint32, lambda x, widened=widened: pack(*widened(x)), family="f16")
    snippet(f"cvt.rn.relu.f16x2.{name}x2 %d, %a;", [np.uint16], np.uint32,
            lambda x, widened=widened: pack(*map(clamped, widened(x))), family="f16")

# Moves and predicates -------------------------------------------------------------------------------------------------------
snippet("mov.b32 {%h0, %h1}, %a; mov.b32 %d, {%h1, %h0};", [np.uint32], np.uint32,
        lambda x: pack(*reversed(halves(x, np.uint16))))
snippet("cvt.u16.u32 %h0, %a; cvt.s32.s8 %d, %h0;", [np.uint32], np.int32,
        integers(lambda x: (x + 128) % 256 - 128, np.int32))
snippet("setp.lt.s32 %p0|%p1, %a, %b; selp.s32 %t0, %a, %b, %p0; selp.s32 %t1, 3, 4, %p1; add.s32 %d, %t0, %t1;",
        [np.int32] * 2, np.int32, integers(lambda x, y: (x if x < y else y) + (4 if x < y else 3), np.int32))
snippet("setp.gt.s32 %p0, %a, 0; setp.lt.and.s32 %p1, %b, 5, %p0; selp.s32 %d, 1, 0, %p1;", [np.int32] * 2, np.int32,
        integers(lambda x, y: y < 5 and x > 0, np.int32))
snippet("setp.gt.s32 %p0, %a, 0; setp.lt.xor.s32 %p1, %b, 5, !%p0; selp.s32 %d, 1, 0, %p1;", [np.int32] * 2, np.int32,
        integers(lambda x, y: (y < 5) != (not x > 0), np.int32))
snippet("setp.gt.s32 %p0, %a, %b; mov.u32 %d, 7; @%p0 mov.u32 %d, 9; @!%p0 add.u32 %d, %d, 1;", [np.int32] * 2, np.uint32,
        integers(lambda x, y: 9 if x > y else 8, np.uint32))
snippet("slct.s32.f32 %d, %a, %b, %c;", [np.int32, np.int32, np.float32], np.int32,
        lambda x, y, z: np.where(z >= 0, x, y))
snippet("set.lt.u32.s32 %d, %a, %b;", [np.int32] * 2, np.uint32, integers(lambda x, y: -1 if x < y else 0, np.uint32))
snippet("set.ge.f32.f32 %d, %a, %b;", [np.float32] * 2, np.float32, lambda x, y: (x >= y).astype(np.float32))
snippet("setp.ne.s32 %p0, %a, 0; setp.ne.s32 %p1, %b, 0; and.pred %p0, %p0, %p1; not.pred %p0, %p0; selp.u32 %d, 1, 0, %p0;",
        [np.int32] * 2, np.uint32, integers(lambda x, y: not (x and y), np.uint32))
snippet("cnot.b32 %d, %a;", [np.uint32], np.uint32, integers(lambda x: x == 0, np.uint32))
snippet("add.u32 _, %a, 1; add.cc.u32 _, %a, %b; addc.u32 %d, 0, 0;", [np.uint32] * 2, np.uint32, integers(lambda x, y: x + y >> 32, np.uint32))
assert len(SNIPPETS) > 200
