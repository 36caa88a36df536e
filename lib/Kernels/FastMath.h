//===- FastMath.h - functions of f32 that vectorise -------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas without branches, calls or tables, so that LLVM's loop vectoriser
// takes them. What is hot (exp, log, tanh, erf) works in f32; the others gain
// their accuracy by working in f64 inside. Polynomials are least-squares fits
// reweighted towards the least greatest error; each gives its error.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_FASTMATH_H
#define TSP_LIB_KERNELS_FASTMATH_H

#include "ScalarBuilder.h"

namespace tsp {

class FastMath : public ScalarBuilder {
public:
  using ScalarBuilder::ScalarBuilder;

  // f32 to f32; relative error below 2e-7, sin and cos absolute.
  Value exp(Value x);
  Value log(Value x);
  Value tanh(Value x);
  Value logistic(Value x);
  Value erf(Value x);
  Value erfc(Value x);
  Value erfInv(Value x);
  Value expm1(Value x);
  Value log1p(Value x);
  Value cbrt(Value x);
  Value pow(Value x, Value y);
  Value sin(Value x) { return sinOrCos(x, 0); }
  Value cos(Value x) { return sinOrCos(x, 1); }
  Value tan(Value x);

  /// f64 to f64, by Newton steps on libm's erf.
  Value erfInv64(Value x);

private:
  /// f64 to f64 with about 12 digits. exp takes any x; log a positive, finite
  /// x that was an f32 or a product of two.
  Value exp64(Value x);
  Value log64(Value x);
  Value sinOrCos(Value x, unsigned quadrant);
  /// erfInv(x) / x as a function of w = -log(1 - x * x).
  Value erfInvRatio(Value w);

  Value lt(Value a, Value b) { return cmpf(mlir::arith::CmpFPredicate::OLT, a, b); }
  Value gt(Value a, Value b) { return cmpf(mlir::arith::CmpFPredicate::OGT, a, b); }
  Value eq(Value a, Value b) { return cmpf(mlir::arith::CmpFPredicate::OEQ, a, b); }
  Value isNan(Value a) { return cmpf(mlir::arith::CmpFPredicate::UNO, a, a); }
  Value infinity(mlir::Type type) { return constF(type, HUGE_VAL); }
  Value nan(mlir::Type type) { return constF(type, std::nan("")); }
  /// min(max(x, lower), upper), NaN staying NaN.
  Value clampTo(Value x, double lower, double upper) {
    Value low = constF(x.getType(), lower), high = constF(x.getType(), upper);
    x = select(lt(x, low), low, x);
    return select(gt(x, high), high, x);
  }
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_FASTMATH_H
