//===- Verification.h - checks that many verifiers share --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_DIALECT_STABLEHLO_IR_VERIFICATION_H
#define TSP_LIB_DIALECT_STABLEHLO_IR_VERIFICATION_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OpDefinition.h"

namespace tsp::stablehlo {

/// Sizes of user programs are multiplied and added in a type that cannot
/// overflow for the ranks that occur.
using Wide = __int128;

/// Error unless `found` is a tensor of this shape and element type. A size that
/// is unknown at compile time fits every size.
mlir::LogicalResult expectTensor(mlir::Operation *op, const llvm::Twine &what,
                                 llvm::ArrayRef<int64_t> shape,
                                 mlir::Type elementType, mlir::Type found);

/// Error unless both types are equal, up to sizes that are unknown.
mlir::LogicalResult expectType(mlir::Operation *op, const llvm::Twine &what,
                               mlir::Type expected, mlir::Type found);

/// Error unless the numbers are equal: "expected 2 init values, found 3".
mlir::LogicalResult expectCount(mlir::Operation *op, int64_t expected,
                                llvm::StringRef what, int64_t found);

/// Error unless dims are different numbers in [0, rank), in order if asked.
mlir::LogicalResult verifyDims(mlir::Operation *op, llvm::StringRef name,
                               llvm::ArrayRef<int64_t> dims, int64_t rank,
                               bool sorted = false);
mlir::LogicalResult verifyDim(mlir::Operation *op, llvm::StringRef name,
                              int64_t dim, int64_t rank);

/// Error unless two sizes are equal or one is unknown.
mlir::LogicalResult expectSameSize(mlir::Operation *op, const llvm::Twine &lhs,
                                   int64_t lhsSize, const llvm::Twine &rhs,
                                   int64_t rhsSize);

/// Error unless `body` takes and returns tensors of rank 0 of these elements.
mlir::LogicalResult verifyBody(mlir::Operation *op, mlir::Region &body,
                               llvm::ArrayRef<mlir::Type> arguments,
                               llvm::ArrayRef<mlir::Type> results);

/// Error unless `region` takes and returns values of these types.
mlir::LogicalResult verifyRegionTypes(mlir::Operation *op,
                                      const llvm::Twine &name,
                                      mlir::Region &region,
                                      mlir::TypeRange arguments,
                                      mlir::TypeRange results);

} // namespace tsp::stablehlo

#endif // TSP_LIB_DIALECT_STABLEHLO_IR_VERIFICATION_H
