//===- VectorMath.cpp - arithmetic of vector loops ------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/VectorEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using tsp::VectorEmitter;

VectorType VectorEmitter::vectorOf(Type element, int64_t lanes) {
  return VectorType::get({lanes}, element);
}

Value VectorEmitter::splat(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(b, loc, vectorOf(scalar.getType(), lanes),
                                     scalar);
}

Value VectorEmitter::constant(Type type, double value) {
  FloatAttr attr = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b, loc,
                                     DenseElementsAttr::get(vector, attr));
  return arith::ConstantOp::create(b, loc, attr);
}

Value VectorEmitter::fma(Value x, Value y, Value z) {
  if (isa<VectorType>(x.getType()))
    return vector::FMAOp::create(b, loc, x, y, z);
  return math::FmaOp::create(b, loc, x, y, z);
}

/// `type` with another element type.
static Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

/// An integer constant of an integer type, or of a vector of them.
static Value integer(VectorEmitter &e, Type type, int64_t value) {
  auto attr = e.b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(e.b, e.loc,
                                     DenseElementsAttr::get(vector, attr));
  return arith::ConstantOp::create(e.b, e.loc, attr);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {
/// How e^x is computed in one float type: x = n log 2 + r with n whole and
/// |r| <= log(2) / 2, e^r = 1 + r + r^2 q(r), and 2^n by its bits.
struct ExpPlan {
  double lowest;  ///< below it 0 is given
  double magic;   ///< adding it rounds to whole numbers, found in the low bits
  double ln2High; ///< log 2 with few bits, so that n times it is exact
  double ln2Low;  ///< the rest of log 2
  int64_t mantissa, bias;
  ArrayRef<double> q;
};
} // namespace

static ExpPlan expPlan(bool isDouble) {
  // Least maximal relative error on the interval (3e-9), found numerically.
  static const double single[] = {0.4999999403953552, 0.1666652113199234,
                                  0.04166838899254799, 0.008368716575205326,
                                  0.001381459878757596};
  // The series: 1 / (k + 2)!.
  static const double series[] = {
      1. / 2,       1. / 6,         1. / 24,         1. / 120,
      1. / 720,     1. / 5040,      1. / 40320,      1. / 362880,
      1. / 3628800, 1. / 39916800., 1. / 479001600., 1. / 6227020800.};
  if (isDouble)
    return {-708.0, 0x1.8p52, 0x1.62e42fefap-1, 0x1.cf79abc9e3b3ap-40, 52,
            1023,   series};
  return {-87.0, 0x1.8p23, 0x1.62ep-1, 0x1.0bfbe8p-15, 23, 127, single};
}

namespace {
/// e^x = scale (1 + rest), rest without cancellation near 0.
struct SplitExp {
  Value scale, rest;
};
} // namespace

static SplitExp splitExp(VectorEmitter &e, const ExpPlan &plan, Value x) {
  Type type = x.getType();
  bool isDouble = getElementTypeOrSelf(type).isF64();
  auto number = [&](double value) { return e.constant(type, value); };
  Value shifted = e.fma(x, number(1.4426950408889634), number(plan.magic));
  Value n = arith::SubFOp::create(e.b, e.loc, shifted, number(plan.magic));
  Value r = e.fma(n, number(-plan.ln2High), x);
  r = e.fma(n, number(-plan.ln2Low), r);

  Value q = number(plan.q.back());
  for (double coefficient : llvm::reverse(plan.q.drop_back()))
    q = e.fma(q, r, number(coefficient));
  Value square = arith::MulFOp::create(e.b, e.loc, r, r);

  Type bitsType = withElement(type, e.b.getIntegerType(isDouble ? 64 : 32));
  Value bits = arith::BitcastOp::create(e.b, e.loc, bitsType, shifted);
  bits =
      arith::AddIOp::create(e.b, e.loc, bits, integer(e, bitsType, plan.bias));
  bits = arith::ShLIOp::create(e.b, e.loc, bits,
                               integer(e, bitsType, plan.mantissa));
  return {arith::BitcastOp::create(e.b, e.loc, type, bits),
          e.fma(q, square, r)};
}

Value VectorEmitter::exp(Value x) {
  Type type = x.getType();
  ExpPlan plan = expPlan(getElementTypeOrSelf(type).isF64());
  Value lowest = constant(type, plan.lowest);
  // "Less than" is false for NaN, which so passes through.
  Value low =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, lowest);
  SplitExp split = splitExp(*this, plan, select(low, lowest, x));
  return select(low, constant(type, 0),
                fma(split.scale, split.rest, split.scale));
}

Value VectorEmitter::tanh(Value x) {
  // (e^2x - 1) / (e^2x + 1); past 20 it is 1 in both types.
  Type type = x.getType();
  ExpPlan plan = expPlan(getElementTypeOrSelf(type).isF64());
  auto clamp = [&](Value value, arith::CmpFPredicate predicate, double bound) {
    Value limit = constant(type, bound);
    Value past = arith::CmpFOp::create(b, loc, predicate, value, limit);
    return select(past, limit, value);
  };
  Value twice = arith::AddFOp::create(b, loc, x, x);
  twice = clamp(twice, arith::CmpFPredicate::OGT, 40);
  twice = clamp(twice, arith::CmpFPredicate::OLT, -40);
  SplitExp split = splitExp(*this, plan, twice);
  Value less = arith::SubFOp::create(b, loc, split.scale, constant(type, 1));
  Value lessOne = fma(split.scale, split.rest, less);
  Value moreOne = arith::AddFOp::create(b, loc, lessOne, constant(type, 2));
  return arith::DivFOp::create(b, loc, lessOne, moreOne);
}

Value VectorEmitter::log(Value x) { return math::LogOp::create(b, loc, x); }

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

Value VectorEmitter::widen(Value stored, Type element, Type to) {
  Type target = withElement(stored.getType(), to);
  if (stored.getType() == target)
    return stored;
  if (element.isF32() || element.isF16() || element.isBF16())
    return arith::ExtFOp::create(b, loc, target, stored);

  // The byte of an E5M2 is the high byte of the f16.
  Type shorts = withElement(target, b.getI16Type());
  if (isa<Float8E5M2Type>(element)) {
    Value bits = arith::ExtUIOp::create(b, loc, shorts, stored);
    bits = arith::ShLIOp::create(b, loc, bits, integer(*this, shorts, 8));
    Value half = arith::BitcastOp::create(
        b, loc, withElement(target, b.getF16Type()), bits);
    return arith::ExtFOp::create(b, loc, target, half);
  }

  // E4M3FN: exponent and mantissa go where f32 has them, and a product makes
  // up for the other bias (and normalises what is denormal). 0x7f is NaN.
  Type ints = withElement(target, b.getI32Type());
  Value bits = arith::ExtUIOp::create(b, loc, ints, stored);
  Value magnitude =
      arith::AndIOp::create(b, loc, bits, integer(*this, ints, 0x7f));
  Value sign = arith::AndIOp::create(b, loc, bits, integer(*this, ints, 0x80));
  sign = arith::ShLIOp::create(b, loc, sign, integer(*this, ints, 24));
  Value isNan = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                      magnitude, integer(*this, ints, 0x7f));
  Value moved =
      arith::ShLIOp::create(b, loc, magnitude, integer(*this, ints, 20));
  moved = arith::OrIOp::create(b, loc, moved, sign);
  Type single = withElement(target, b.getF32Type());
  Value value = arith::BitcastOp::create(b, loc, single, moved);
  value = arith::MulFOp::create(b, loc, value, constant(single, 0x1p120));
  value = select(isNan, constant(single, NAN), value);
  if (single == target)
    return value;
  return arith::ExtFOp::create(b, loc, target, value);
}

Value VectorEmitter::narrow(Value value, Type element) {
  Type target = withElement(value.getType(), element);
  if (value.getType() == target)
    return value;
  if (!element.isBF16() || !getElementTypeOrSelf(value.getType()).isF32())
    return arith::TruncFOp::create(b, loc, target, value);
  // By hand, as few machines have it, and those that do drop denormals.
  Type ints = withElement(target, b.getI32Type());
  Value bits = arith::BitcastOp::create(b, loc, ints, value);
  Value sixteen = integer(*this, ints, 16);
  Value odd = arith::ShRUIOp::create(b, loc, bits, sixteen);
  odd = arith::AndIOp::create(b, loc, odd, integer(*this, ints, 1));
  Value rounded =
      arith::AddIOp::create(b, loc, bits, integer(*this, ints, 0x7fff));
  rounded = arith::AddIOp::create(b, loc, rounded, odd);
  Value quiet =
      arith::OrIOp::create(b, loc, bits, integer(*this, ints, 0x400000));
  Value isNan =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, value, value);
  Value high =
      arith::ShRUIOp::create(b, loc, select(isNan, quiet, rounded), sixteen);
  high = arith::TruncIOp::create(b, loc, withElement(target, b.getI16Type()),
                                 high);
  return arith::BitcastOp::create(b, loc, target, high);
}

//===----------------------------------------------------------------------===//
// Across lanes
//===----------------------------------------------------------------------===//

/// Of two vectors x and y, one in which lanes without bit `distance` come from
/// x and the others from y, `shift` lanes further up (x) or down (y).
static Value interleave(VectorEmitter &e, Value x, Value y, int64_t distance,
                        bool upper) {
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
  SmallVector<int64_t> pick;
  for (int64_t l = 0; l < lanes; ++l) {
    if (l & distance)
      pick.push_back(lanes + (upper ? l : l - distance));
    else
      pick.push_back(upper ? l + distance : l);
  }
  return vector::ShuffleOp::create(e.b, e.loc, x, y, pick);
}

VectorEmitter::Values VectorEmitter::transpose(ValueRange rows) {
  Values v(rows);
  for (size_t d = 1; d < v.size(); d *= 2)
    for (size_t i = 0; i < v.size(); ++i)
      if (!(i & d)) {
        Value low = interleave(*this, v[i], v[i + d], d, false);
        Value high = interleave(*this, v[i], v[i + d], d, true);
        v[i] = low;
        v[i + d] = high;
      }
  return v;
}

Value VectorEmitter::sumRows(ValueRange rows) {
  Values v(rows);
  for (int64_t d = 1; v.size() > 1; d *= 2) {
    Values half;
    for (size_t i = 0; i < v.size(); i += 2)
      half.push_back(arith::AddFOp::create(
          b, loc, interleave(*this, v[i], v[i + 1], d, false),
          interleave(*this, v[i], v[i + 1], d, true)));
    v = half;
  }
  return v.front();
}
