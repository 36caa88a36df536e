//===- DevicePrologue.h - computed operands on a GPU ------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_DEVICEPROLOGUE_H
#define TSP_LIB_KERNELS_GPU_DEVICEPROLOGUE_H

#include "../GemmPrologue.h"
#include "DeviceEmitter.h"

namespace tsp {

/// Elements of a computed operand, in runs that follow each other. Memory is
/// read first, neighbours together as far as indices tell that they are aligned;
/// what is computed from that comes later, when the elements are needed.
class DevicePrologue {
public:
  using Value = mlir::Value;
  using Values = DeviceEmitter::Values;

  /// Arguments as for GemmPrologue.
  DevicePrologue(const GemmKernel &kernel, const GemmOperand &operand,
                 mlir::Block &tensorBody, mlir::ValueRange inputs,
                 mlir::Block *block);

  struct Run {
    GemmPlace place;
    bool alongK;
    int64_t count;
    Values loaded;
  };

  /// Reads what `count` elements are computed from. The indices are i32; the
  /// first of the run is a multiple of `count`, and so is the size of the dim.
  Run load(DeviceEmitter &e, mlir::ValueRange outer, Value free,
           mlir::ValueRange k, bool alongK, int64_t count);
  /// The elements, of the type of the product's computation.
  Values compute(DeviceEmitter &e, const Run &run);
  bool failed() const { return prologue.failed(); }

private:
  /// Emits a run whose reads `read` makes, or takes from those made before.
  Values emit(DeviceEmitter &e, const Run &run,
              llvm::function_ref<Value(Value flat, mlir::VectorType type,
                                       const LinearIndex &first)>
                  read);

  GemmPrologue prologue;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_DEVICEPROLOGUE_H
