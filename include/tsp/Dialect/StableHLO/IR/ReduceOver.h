//===- ReduceOver.h - reductions by one op ----------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_DIALECT_STABLEHLO_IR_REDUCEOVER_H
#define TSP_DIALECT_STABLEHLO_IR_REDUCEOVER_H

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "mlir/IR/Builders.h"

namespace tsp::stablehlo {

/// `value` reduced by `OpTy` over `dims`, starting from the scalar `init`.
template <typename OpTy>
mlir::Value reduceOver(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value value, mlir::Value init,
                       llvm::ArrayRef<int64_t> dims) {
  auto reduce = ReduceOp::create(builder, loc, mlir::ValueRange{value},
                                 mlir::ValueRange{init}, dims);
  mlir::Type scalar = init.getType();
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block *body =
      builder.createBlock(&reduce.getBody(), {}, {scalar, scalar}, {loc, loc});
  mlir::Value next =
      OpTy::create(builder, loc, body->getArgument(0), body->getArgument(1));
  ReturnOp::create(builder, loc, next);
  return reduce->getResult(0);
}

} // namespace tsp::stablehlo

#endif // TSP_DIALECT_STABLEHLO_IR_REDUCEOVER_H
