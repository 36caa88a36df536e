//===- FastMath.cpp - functions of f32 that vectorise ---------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FastMath.h"

using namespace mlir;
using namespace tsp;

//===----------------------------------------------------------------------===//
// Exponential and logarithm
//===----------------------------------------------------------------------===//

// x = n ln 2 + r, e^x = 2^n e^r. Adding 1.5 * 2^23 leaves n in the low bits,
// also for NaN, where the conversion to an integer would be undefined.
Value FastMath::exp(Value x) {
  Value magic = constF32(12582912.0);
  Value bounded = clampTo(x, -105.0, 90.0);
  Value shifted = fma(bounded, constF32(1.4426950408889634), magic);
  Value n = subi(bitcast(shifted, i32()), bitcast(magic, i32()));
  Value whole = subf(shifted, magic);
  Value r = fma(whole, constF32(-0.693145751953125), bounded);
  r = fma(whole, constF32(-1.428606765330187e-06), r);
  // (e^r - 1 - r) / r^2 to 6e-8.
  Value q = polynomial(r, {0.50000000269735823, 0.16666576902303987,
                           0.041666374961543642, 0.0083631925093297921,
                           0.0013941139756947301});
  Value power = addf(fma(mulf(r, r), q, r), constF32(1.0));
  // 2^n in two factors, so that subnormal results and overflow come out right.
  Value half = make<arith::ShRSIOp>(n, constI32(1));
  auto powerOfTwo = [&](Value exponent) {
    return bitcast(shli(addi(exponent, constI32(127)), 23), f32());
  };
  return mulf(mulf(power, powerOfTwo(half)), powerOfTwo(subi(n, half)));
}

// x = 2^e m with m in [sqrt(1/2), sqrt(2)).
Value FastMath::log(Value x) {
  Value isSubnormal = lt(x, constF32(0x1p-126));
  Value scaled = select(isSubnormal, mulf(x, constF32(0x1p23)), x);
  Value bits = bitcast(scaled, i32());
  Value e = make<arith::ShRSIOp>(subi(bits, constI32(0x3F3504F3)), constI32(23));
  Value m = bitcast(subi(bits, shli(e, 23)), f32());
  Value exponent = addf(sitofp(e, f32()),
                        select(isSubnormal, constF32(-23.0), constF32(0.0)));
  Value f = subf(m, constF32(1.0));
  // (log(1 + f) - f + f^2 / 2) / f^3; log(1 + f) to 7e-10.
  Value p = polynomial(f, {0.33333310439274144, -0.24999986607999405,
                           0.20002226649622507, -0.16669250391544516,
                           0.14218657125913414, -0.12384355270036103,
                           0.11872989658537458, -0.11789772993100758,
                           0.069152974816906701});
  Value square = mulf(f, f);
  Value tail = fma(exponent, constF32(-2.12194440e-4), mulf(mulf(square, f), p));
  tail = fma(square, constF32(-0.5), tail);
  Value result = fma(exponent, constF32(0.693359375), addf(f, tail));
  // Infinity and NaN as they are, -inf at 0, NaN below.
  Value isOrdinary = lt(x, infinity(f32()));
  result = select(isOrdinary, result, x);
  result = select(eq(x, constF32(0)), constF32(-HUGE_VAL), result);
  return select(lt(x, constF32(0)), nan(f32()), result);
}

Value FastMath::exp64(Value x) {
  Value magic = constF(f64(), 6755399441055744.0);
  Value bounded = clampTo(x, -700.0, 700.0);
  Value shifted = fma(bounded, constF(f64(), 1.4426950408889634), magic);
  Type i64 = builder.getI64Type();
  Value n = subi(bitcast(shifted, i64), bitcast(magic, i64));
  Value whole = subf(shifted, magic);
  Value r = fma(whole, constF(f64(), -0.69314718055994529), bounded);
  // (e^r - 1 - r) / r^2 to 5e-13.
  Value q = polynomial(r, {0.49999999999954969, 0.16666666666633831,
                           0.041666666786495166, 0.0083333333632746309,
                           0.0013888839048378978, 0.0001984119288557024,
                           2.4867911007506036e-05, 2.7632643084873264e-06});
  Value power = addf(fma(mulf(r, r), q, r), constF(f64(), 1.0));
  Value scale = bitcast(shli(addi(n, constant(i64, 1023)), 52), f64());
  return mulf(power, scale);
}

Value FastMath::log64(Value x) {
  Type i64 = builder.getI64Type();
  Value bits = bitcast(x, i64);
  Value e = make<arith::ShRSIOp>(
      subi(bits, constant(i64, 0x3FE6A09E667F3BCDull)), constant(i64, 52));
  Value m = bitcast(subi(bits, shli(e, 52)), f64());
  Value one = constF(f64(), 1.0);
  Value s = divf(subf(m, one), addf(m, one));
  // atanh(s) / s in s^2 to 7e-16.
  Value p = polynomial(mulf(s, s),
                       {1.0000000000000002, 0.33333333333271431,
                        0.20000000032006091, 0.14285707878951182,
                        0.11111725807332863, 0.090606831767448104,
                        0.084225266407073313});
  Value exponent = sitofp(trunci(e, i32()), f64());
  return fma(exponent, constF(f64(), 0.69314718055994529),
             mulf(mulf(s, constF(f64(), 2.0)), p));
}

// Near 0 the series is more exact than f64 after the subtraction of 1.
Value FastMath::expm1(Value x) {
  Value wide = extf(x, f64());
  Value result = truncf(subf(exp64(wide), constF(f64(), 1.0)), f32());
  Value series = fma(mulf(x, x), constF32(0.5), x);
  return select(lt(absf(x), constF32(1e-4)), series, result);
}

Value FastMath::log1p(Value x) {
  Value sum = addf(extf(x, f64()), constF(f64(), 1.0));
  Value result = truncf(log64(sum), f32());
  Value series = fma(mulf(x, x), constF32(-0.5), x);
  result = select(lt(absf(x), constF32(1e-4)), series, result);
  result = select(lt(x, infinity(f32())), result, x);
  result = select(eq(x, constF32(-1.0)), constF32(-HUGE_VAL), result);
  return select(lt(x, constF32(-1.0)), nan(f32()), result);
}

// |x|^y by exp and log in f64, then the special cases of C's pow.
Value FastMath::pow(Value x, Value y) {
  Value zero = constF32(0), one = constF32(1);
  Value base = absf(x), size = absf(y);
  Value wideBase = extf(base, f64());
  Value logarithm = log64(wideBase);
  Value infinite = infinity(f64());
  logarithm = select(lt(wideBase, infinite), logarithm, wideBase);
  logarithm = select(eq(base, zero), constF(f64(), -HUGE_VAL), logarithm);
  Value result = truncf(exp64(mulf(extf(y, f64()), logarithm)), f32());

  Value half = mulf(y, constF32(0.5));
  auto floor = [&](Value v) -> Value {
    return math::FloorOp::create(builder, loc, v);
  };
  Value isInteger = eq(floor(y), y);
  Value isOdd = andi(isInteger, cmpf(arith::CmpFPredicate::ONE, floor(half), half));
  Value isNegative = cmpi(arith::CmpIPredicate::slt, bitcast(x, i32()), constI32(0));
  result = select(andi(isOdd, isNegative), negf(result), result);
  Value isUndefined =
      andi(lt(x, zero), cmpi(arith::CmpIPredicate::eq, isInteger,
                             constant(builder.getI1Type(), 0)));
  Value finiteBase = cmpf(arith::CmpFPredicate::ONE, base, infinity(f32()));
  result = select(andi(isUndefined, finiteBase), nan(f32()), result);
  Value isUnit = andi(eq(base, one), eq(size, infinity(f32())));
  Value isOne = ori(ori(eq(y, zero), eq(x, one)), isUnit);
  return select(isOne, one, result);
}

Value FastMath::cbrt(Value x) {
  Value wide = extf(absf(x), f64());
  Value third = mulf(log64(wide), constF(f64(), 1.0 / 3.0));
  Value result = copysign(truncf(exp64(third), f32()), x);
  // 0, infinity and NaN are their own roots.
  Value isOrdinary = andi(gt(absf(x), constF32(0)), lt(absf(x), infinity(f32())));
  return select(isOrdinary, result, x);
}

//===----------------------------------------------------------------------===//
// Hyperbolic and trigonometric functions
//===----------------------------------------------------------------------===//

Value FastMath::tanh(Value x) {
  Value size = absf(x), square = mulf(x, x);
  // (tanh(x) / x - 1) / x^2 to 4e-8 below 5/8.
  Value p = polynomial(square, {-0.33333329230776643, 0.13332792596466173,
                                -0.053853767332739347, 0.021008626984983313,
                                -0.0061110541062132026});
  Value small = fma(mulf(square, size), p, size);
  Value power = exp(addf(size, size));
  Value large = subf(constF32(1.0),
                     divf(constF32(2.0), addf(power, constF32(1.0))));
  return copysign(select(lt(size, constF32(0.625)), small, large), x);
}

Value FastMath::logistic(Value x) {
  return divf(constF32(1.0), addf(constF32(1.0), exp(negf(x))));
}

// x = n pi/2 + r; the parts of pi/2 have few enough bits that n times the
// first is exact up to |n| < 2^20.
Value FastMath::sinOrCos(Value x, unsigned quadrant) {
  Value wide = extf(x, f64());
  Value magic = constF(f64(), 6755399441055744.0);
  Value shifted = fma(wide, constF(f64(), 0.63661977236758138), magic);
  Type i64 = builder.getI64Type();
  Value n = trunci(subi(bitcast(shifted, i64), bitcast(magic, i64)), i32());
  Value whole = subf(shifted, magic);
  Value r = fma(whole, constF(f64(), -0x1.921fb544p0), wide);
  r = fma(whole, constF(f64(), -0x1.0b4611a626331p-34), r);
  // Beyond 2^51 no digit of the angle is left; the result stays a sine.
  Value angle = clampTo(truncf(r, f32()), -0.8, 0.8);
  Value square = mulf(angle, angle);
  // (sin(r) / r - 1) / r^2 to 3e-11, (cos(r) - 1 + r^2 / 2) / r^4 to 3e-12.
  Value p = polynomial(square, {-0.16666666663747207, 0.0083333318323148536,
                                -0.00019840063762177756, 2.7246945913345601e-06});
  Value q = polynomial(square, {0.041666666664230308, -0.0013888887636432641,
                                2.4800581116949425e-05, -2.7298462824358026e-07});
  Value sine = fma(mulf(square, angle), p, angle);
  Value cosine = fma(mulf(square, square), q,
                     fma(square, constF32(-0.5), constF32(1.0)));
  n = addi(n, constI32(quadrant));
  auto hasBit = [&](uint32_t bit) {
    return cmpi(arith::CmpIPredicate::ne, andi(n, constI32(bit)), constI32(0));
  };
  Value result = select(hasBit(1), cosine, sine);
  return select(hasBit(2), negf(result), result);
}

Value FastMath::tan(Value x) { return divf(sin(x), cos(x)); }

//===----------------------------------------------------------------------===//
// Error function
//===----------------------------------------------------------------------===//

Value FastMath::erf(Value x) {
  Value size = absf(x);
  // erf(x) / x in x^2 to 4e-11 below 1.
  Value small = mulf(
      x, polynomial(mulf(x, x),
                    {1.1283791670631589, -0.37612638483806243,
                     0.11283782747153463, -0.026865445818454282,
                     0.0052210748694466059, -0.00084847113197962683,
                     0.00011270543535233552, -9.6801336327887934e-06}));
  // log(1 - erf(x)) on [1, 4]; beyond, f32 knows only 1.
  Value bounded = select(gt(size, constF32(4.0)), constF32(4.0), size);
  Value exponent = polynomial(
      bounded, {0.00020436073393170773, -1.1296611614326917,
                -0.63303960270056636, -0.10863901020713893,
                0.025373565334194995, -0.0042823872541538988,
                0.00046378938710806423, -2.5315034464430693e-05,
                2.5134259513271843e-07});
  Value large = copysign(subf(constF32(1.0), exp(exponent)), x);
  return select(lt(size, constF32(1.0)), small, large);
}

// e^(-x^2) g(x) / (1 + 2x) for x >= 0, where g is smooth; in f64, as x^2 has
// an error of its own in f32.
Value FastMath::erfc(Value x) {
  Value size = absf(x);
  size = select(gt(size, constF32(10.2)), constF32(10.2), size);
  Value wide = extf(size, f64());
  Value two = constF(f64(), 2.0);
  Value t = divf(subf(wide, two), addf(wide, two));
  // To 1e-8.
  Value g = polynomial(t, {1.2769783924053681, -0.092763894955538273,
                           -0.16603138671572465, 0.16405310255456712,
                           -0.054204861030019244, -0.0080440159730713976,
                           0.0086375556787685187, 0.0012712108297839005,
                           -0.0012530629267003086, -0.00036202077953684074,
                           2.7753628115900898e-05});
  Value result = mulf(exp64(negf(mulf(wide, wide))),
                      divf(g, fma(wide, two, constF(f64(), 1.0))));
  Value reflected = subf(two, result);
  Value isNegative = lt(x, constF32(0.0));
  return truncf(select(isNegative, reflected, result), f32());
}

Value FastMath::erfInvRatio(Value w) {
  // Below w = 5, and in its root above, up to the last f32 before 1; to 1e-7.
  Value central = polynomial(
      subf(w, constF32(2.5)),
      {1.5014094215763234, 0.24664072612116378, -0.0041777077446460698,
       -0.0012537075153477852, 0.00021860219394510117, -4.3967812482363761e-06,
       -3.5288595457384983e-06, 3.4372705924776412e-07, 2.8534789678791841e-08});
  Value root = math::SqrtOp::create(builder, loc, w);
  Value tail = polynomial(
      subf(root, constF32(3.0)),
      {2.832977029066039, 1.0016743348384509, 0.0094340402462072259,
       -0.0076280641692688276, 0.0057718097632831842, -0.0036498044255474375,
       0.0012789800008650141, 7.5940460869038145e-05, -0.00015034847330941447});
  return select(lt(w, constF32(5.0)), central, tail);
}

Value FastMath::erfInv(Value x) {
  Value wide = extf(x, f64()), one = constF(f64(), 1.0);
  Value product = mulf(subf(one, wide), addf(one, wide));
  Value w = truncf(negf(log64(product)), f32());
  Value result = mulf(x, erfInvRatio(w));
  Value size = absf(x);
  Value isInside = lt(size, constF32(1.0));
  Value outside = select(eq(size, constF32(1.0)),
                         copysign(infinity(f32()), x), nan(f32()));
  return select(isInside, result, outside);
}

Value FastMath::erfInv64(Value x) {
  Value one = constF(f64(), 1.0), half = constF(f64(), 0.5);
  Value size = absf(x);
  Value complement = subf(one, size);
  Value logarithm =
      math::LogOp::create(builder, loc, mulf(complement, addf(one, size)));
  Value w = truncf(negf(logarithm), f32());
  Value y = mulf(size, extf(erfInvRatio(w), f64()));
  // Each step: y -= (erf(y) - x) / erf'(y), by erfc where 1 - x is small.
  for (int step = 0; step < 3; ++step) {
    Value below = subf(math::ErfOp::create(builder, loc, y), size);
    Value above = subf(complement, math::ErfcOp::create(builder, loc, y));
    Value error = select(lt(size, half), below, above);
    Value inverseSlope = mulf(constF(f64(), 0.88622692545275801),
                              math::ExpOp::create(builder, loc, mulf(y, y)));
    y = subf(y, mulf(error, inverseSlope));
  }
  Value outside = select(eq(size, one), infinity(f64()), nan(f64()));
  return copysign(select(lt(size, one), y, outside), x);
}
