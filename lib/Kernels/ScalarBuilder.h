//===- ScalarBuilder.h - formulas on scalars in few words -------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_SCALARBUILDER_H
#define TSP_LIB_KERNELS_SCALARBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace tsp {

/// Makes arith and math ops; named as the ops are.
class ScalarBuilder {
public:
  using Value = mlir::Value;
  using Type = mlir::Type;

  ScalarBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  Type f32() { return builder.getF32Type(); }
  Type f64() { return builder.getF64Type(); }
  Type i8() { return builder.getI8Type(); }
  Type i32() { return builder.getI32Type(); }

  Value constant(Type type, uint64_t bits) {
    unsigned width = type.getIntOrFloatBitWidth();
    mlir::APInt number(width, bits, /*isSigned=*/false, /*implicitTrunc=*/true);
    return mlir::arith::ConstantOp::create(
        builder, loc, mlir::IntegerAttr::get(type, number));
  }
  Value constI32(uint32_t n) { return constant(i32(), n); }
  /// A float constant of this type.
  Value constF(Type type, double x) {
    return mlir::arith::ConstantOp::create(builder, loc,
                                           builder.getFloatAttr(type, x));
  }
  Value constF32(double x) { return constF(f32(), x); }

  template <typename Op>
  Value make(Value a, Value b) {
    return Op::create(builder, loc, a, b);
  }
  Value addi(Value a, Value b) { return make<mlir::arith::AddIOp>(a, b); }
  Value subi(Value a, Value b) { return make<mlir::arith::SubIOp>(a, b); }
  Value muli(Value a, Value b) { return make<mlir::arith::MulIOp>(a, b); }
  Value andi(Value a, Value b) { return make<mlir::arith::AndIOp>(a, b); }
  Value ori(Value a, Value b) { return make<mlir::arith::OrIOp>(a, b); }
  Value xori(Value a, Value b) { return make<mlir::arith::XOrIOp>(a, b); }
  Value shli(Value a, unsigned n) {
    return make<mlir::arith::ShLIOp>(a, constant(a.getType(), n));
  }
  Value shrui(Value a, unsigned n) {
    return make<mlir::arith::ShRUIOp>(a, constant(a.getType(), n));
  }
  Value addf(Value a, Value b) { return make<mlir::arith::AddFOp>(a, b); }
  Value subf(Value a, Value b) { return make<mlir::arith::SubFOp>(a, b); }
  Value mulf(Value a, Value b) { return make<mlir::arith::MulFOp>(a, b); }
  Value divf(Value a, Value b) { return make<mlir::arith::DivFOp>(a, b); }
  /// a * b + c, in one rounding where the machine has an instruction for it.
  Value fma(Value a, Value b, Value c) {
    auto contract = mlir::arith::FastMathFlags::contract;
    Value product = mlir::arith::MulFOp::create(builder, loc, a, b, contract);
    return mlir::arith::AddFOp::create(builder, loc, product, c, contract);
  }
  Value absf(Value a) { return mlir::math::AbsFOp::create(builder, loc, a); }
  Value negf(Value a) { return mlir::arith::NegFOp::create(builder, loc, a); }
  Value copysign(Value a, Value sign) {
    return make<mlir::math::CopySignOp>(a, sign);
  }
  Value cmpi(mlir::arith::CmpIPredicate predicate, Value a, Value b) {
    return mlir::arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value cmpf(mlir::arith::CmpFPredicate predicate, Value a, Value b) {
    return mlir::arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return mlir::arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value bitcast(Value a, Type type) {
    if (a.getType() == type)
      return a;
    return mlir::arith::BitcastOp::create(builder, loc, type, a);
  }

  template <typename Op>
  Value cast(Value a, Type type) {
    return Op::create(builder, loc, type, a);
  }
  Value extui(Value a, Type type) { return cast<mlir::arith::ExtUIOp>(a, type); }
  Value extsi(Value a, Type type) { return cast<mlir::arith::ExtSIOp>(a, type); }
  Value trunci(Value a, Type type) { return cast<mlir::arith::TruncIOp>(a, type); }
  Value extf(Value a, Type type) { return cast<mlir::arith::ExtFOp>(a, type); }
  Value truncf(Value a, Type type) { return cast<mlir::arith::TruncFOp>(a, type); }
  Value uitofp(Value a, Type type) { return cast<mlir::arith::UIToFPOp>(a, type); }
  Value sitofp(Value a, Type type) { return cast<mlir::arith::SIToFPOp>(a, type); }

  /// coefficients[0] + coefficients[1] * x + ..., by Horner's rule.
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients) {
    Value sum = constF(x.getType(), coefficients.back());
    for (double c : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, constF(x.getType(), c));
    return sum;
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_SCALARBUILDER_H
