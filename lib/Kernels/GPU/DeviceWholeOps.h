//===- DeviceWholeOps.h - ops that a GPU computes as a whole ----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lib/Kernels/WholeOps.h is for the host. Each function makes the code of
// all units of its op, and returns their number.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_DEVICEWHOLEOPS_H
#define TSP_LIB_KERNELS_GPU_DEVICEWHOLEOPS_H

#include "../WholeOps.h"
#include "BlockCode.h"

namespace tsp {

/// Writes the results of a scatter, sort, top_k or scan to the flat buffers
/// `outputs`. `inPlace` is an operand whose buffer is the first output, or
/// null.
int64_t emitDeviceWholeOp(BlockCode &code, mlir::Operation *op,
                          llvm::ArrayRef<mlir::Value> outputs,
                          mlir::Value inPlace);

int64_t emitDeviceScatter(BlockCode &code, mlir::Operation *op,
                          llvm::ArrayRef<mlir::Value> outputs,
                          mlir::Value inPlace);
int64_t emitDeviceSort(BlockCode &code, mlir::Operation *op,
                       llvm::ArrayRef<mlir::Value> outputs);
int64_t emitDeviceScan(BlockCode &code, const Scan &scan,
                       llvm::ArrayRef<mlir::Value> outputs);

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_DEVICEWHOLEOPS_H
