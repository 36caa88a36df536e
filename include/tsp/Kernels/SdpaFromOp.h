//===- SdpaFromOp.h - what an attention kernel computes ---------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_SDPAFROMOP_H
#define TSP_KERNELS_SDPAFROMOP_H

#include "tsp/Kernels/Sdpa.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tsp {

/// The attention core of a kernel in tensor form, null if it has none. It is an
/// error (reported) when operands are neither arguments nor views of them, or
/// when the kernel computes anything else.
mlir::FailureOr<SdpaOp> findSdpa(mlir::func::FuncOp kernel);

/// How a target addresses the buffers of a kernel: the element at `offset` of
/// the buffer of an argument or a result. What it gives becomes
/// SdpaTensor::flat.
struct SdpaBuffers {
  llvm::function_ref<mlir::Value(unsigned argument, int64_t offset)> input;
  llvm::function_ref<mlir::Value(unsigned result)> output;
};

/// Shapes, strides and options of an attention core; `returned` are the results
/// of its kernel.
SdpaSpec describeSdpa(SdpaOp core, mlir::ValueRange returned,
                      const SdpaBuffers &buffers);

} // namespace tsp

#endif // TSP_KERNELS_SDPAFROMOP_H
