//===- StridedView.h - tensors as strides over a buffer ---------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_STRIDEDVIEW_H
#define TSP_KERNELS_STRIDEDVIEW_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace tsp {

/// Element [i..] of a tensor is element offset + sum i * strides of `base`, the
/// row-major buffer of another tensor, up to an exact conversion.
struct StridedView {
  mlir::Value base;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
};

llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Sees through ops that only move elements (transpose, broadcast, slice,
/// reshape) and, where `throughWidening`, conversions that lose nothing; as far
/// up as strides can say it.
StridedView viewThrough(mlir::Value tensor, bool throughWidening);

/// Strides of a tensor of shape `to` over the elements of one of shape `from`
/// with the strides given, both in row-major order of elements.
std::optional<llvm::SmallVector<int64_t>>
reshapeStrides(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> strides,
               llvm::ArrayRef<int64_t> to);

/// A dim that lies in memory as parts, outermost first; the index of the dim is
/// the row-major index of the parts.
struct StridedPart {
  int64_t size, stride;
};
using StridedDim = llvm::SmallVector<StridedPart, 2>;

/// The dims of a row-major buffer of this shape.
llvm::SmallVector<StridedDim> rowMajorDims(llvm::ArrayRef<int64_t> shape);

/// The dims of a tensor of shape `to` with the same elements, in row-major
/// order, as one with dims `from`; where a part would have to be cut unevenly,
/// there is no answer.
std::optional<llvm::SmallVector<StridedDim>>
reshapeDims(llvm::ArrayRef<StridedDim> from, llvm::ArrayRef<int64_t> to);

} // namespace tsp

#endif // TSP_KERNELS_STRIDEDVIEW_H
