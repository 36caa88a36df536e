//===- MathOps.cpp - transcendental functions -----------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f32 and narrower go by FastMath, f64 by libm. Functions that no transformer
// has in its inner loops go by libm in either type.
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "FastMath.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

namespace {

template <typename Op>
Value viaLibm(ScalarBuilder &b, ValueRange operands) {
  if constexpr (Op::template hasTrait<OpTrait::OneOperand>())
    return Op::create(b.builder, b.loc, operands[0]);
  else
    return Op::create(b.builder, b.loc, operands[0], operands[1]);
}

Value emitF32(FastMath &m, Operation *op, ValueRange operands) {
  Value x = operands[0];
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](sh::ExpOp) { return m.exp(x); })
      .Case([&](sh::LogOp) { return m.log(x); })
      .Case([&](sh::TanhOp) { return m.tanh(x); })
      .Case([&](sh::LogisticOp) { return m.logistic(x); })
      .Case([&](sh::SineOp) { return m.sin(x); })
      .Case([&](sh::CosineOp) { return m.cos(x); })
      .Case([&](sh::TanOp) { return m.tan(x); })
      .Case([&](chlo::TanOp) { return m.tan(x); })
      .Case([&](sh::PowOp) { return m.pow(x, operands[1]); })
      .Case([&](sh::Expm1Op) { return m.expm1(x); })
      .Case([&](sh::Log1pOp) { return m.log1p(x); })
      .Case([&](sh::CbrtOp) { return m.cbrt(x); })
      .Case([&](chlo::ErfOp) { return m.erf(x); })
      .Case([&](chlo::ErfcOp) { return m.erfc(x); })
      .Case([&](chlo::ErfInvOp) { return m.erfInv(x); })
      .Default([](Operation *) { return Value(); });
}

Value emitF64(FastMath &m, Operation *op, ValueRange operands) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](sh::ExpOp) { return viaLibm<math::ExpOp>(m, operands); })
      .Case([&](sh::LogOp) { return viaLibm<math::LogOp>(m, operands); })
      .Case([&](sh::TanhOp) { return viaLibm<math::TanhOp>(m, operands); })
      .Case([&](sh::LogisticOp) {
        Value one = m.constF(m.f64(), 1.0);
        Value power =
            math::ExpOp::create(m.builder, m.loc, m.negf(operands[0]));
        return m.divf(one, m.addf(one, power));
      })
      .Case([&](sh::SineOp) { return viaLibm<math::SinOp>(m, operands); })
      .Case([&](sh::CosineOp) { return viaLibm<math::CosOp>(m, operands); })
      .Case([&](sh::TanOp) { return viaLibm<math::TanOp>(m, operands); })
      .Case([&](chlo::TanOp) { return viaLibm<math::TanOp>(m, operands); })
      .Case([&](sh::PowOp) { return viaLibm<math::PowFOp>(m, operands); })
      .Case([&](sh::Expm1Op) { return viaLibm<math::ExpM1Op>(m, operands); })
      .Case([&](sh::Log1pOp) { return viaLibm<math::Log1pOp>(m, operands); })
      .Case([&](sh::CbrtOp) { return viaLibm<math::CbrtOp>(m, operands); })
      .Case([&](chlo::ErfOp) { return viaLibm<math::ErfOp>(m, operands); })
      .Case([&](chlo::ErfcOp) { return viaLibm<math::ErfcOp>(m, operands); })
      .Case([&](chlo::ErfInvOp) { return m.erfInv64(operands[0]); })
      .Default([](Operation *) { return Value(); });
}

} // namespace

Value tsp::emitMathOp(OpBuilder &builder, Location loc, Operation *op,
                      ValueRange operands) {
  FastMath m(builder, loc);
  bool isF64 = operands[0].getType().isF64();
  if (Value value = isF64 ? emitF64(m, op, operands) : emitF32(m, op, operands))
    return value;
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](sh::Atan2Op) { return viaLibm<math::Atan2Op>(m, operands); })
      .Case([&](chlo::AcosOp) { return viaLibm<math::AcosOp>(m, operands); })
      .Case([&](chlo::AcoshOp) { return viaLibm<math::AcoshOp>(m, operands); })
      .Case([&](chlo::AsinOp) { return viaLibm<math::AsinOp>(m, operands); })
      .Case([&](chlo::AsinhOp) { return viaLibm<math::AsinhOp>(m, operands); })
      .Case([&](chlo::AtanOp) { return viaLibm<math::AtanOp>(m, operands); })
      .Case([&](chlo::AtanhOp) { return viaLibm<math::AtanhOp>(m, operands); })
      .Case([&](chlo::CoshOp) { return viaLibm<math::CoshOp>(m, operands); })
      .Case([&](chlo::SinhOp) { return viaLibm<math::SinhOp>(m, operands); })
      .Default([](Operation *) { return Value(); });
}
