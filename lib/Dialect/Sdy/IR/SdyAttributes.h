//===- SdyAttributes.h - text of shardings ----------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_DIALECT_SDY_IR_SDYATTRIBUTES_H
#define TSP_LIB_DIALECT_SDY_IR_SDYATTRIBUTES_H

#include "tsp/Dialect/Sdy/IR/SdyDialect.h"

namespace tsp::sdy {

/// `[<@mesh, [{"tp"}]>, ..]`.
mlir::ParseResult
parseShardingList(mlir::AsmParser &parser,
                  llvm::SmallVectorImpl<TensorShardingAttr> &shardings);
void printShardingList(mlir::AsmPrinter &printer,
                       llvm::ArrayRef<TensorShardingAttr> shardings);

} // namespace tsp::sdy

#endif // TSP_LIB_DIALECT_SDY_IR_SDYATTRIBUTES_H
