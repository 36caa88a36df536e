//===- TensorTypes.h - types of values that are tensors ---------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SUPPORT_TENSORTYPES_H
#define TSP_SUPPORT_TENSORTYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/Support/MathExtras.h"

namespace tsp {

/// Type, shape and size in memory of a ranked tensor; no other value is asked.
inline mlir::RankedTensorType typeOf(mlir::Value tensor) {
  return mlir::cast<mlir::RankedTensorType>(tensor.getType());
}
inline llvm::ArrayRef<int64_t> getShape(mlir::Value tensor) {
  return mlir::cast<mlir::RankedTensorType>(tensor.getType()).getShape();
}
inline int64_t getNumElements(mlir::Value tensor) {
  return typeOf(tensor).getNumElements();
}
inline int64_t getNumBytes(mlir::Value tensor) {
  return getNumElements(tensor) *
         llvm::divideCeil(typeOf(tensor).getElementTypeBitWidth(), 8);
}

} // namespace tsp

#endif // TSP_SUPPORT_TENSORTYPES_H
