//===- TensorMap.h - what bulk tensor copies read and write -----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_GPU_TENSORMAP_H
#define TSP_KERNELS_GPU_TENSORMAP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace tsp {

/// A list of dictionaries, one a map, with the names of DeviceTensorMap.
inline constexpr llvm::StringLiteral kDeviceMapsAttr = "tsp.device_maps";

/// Tiles of a buffer that bulk tensor copies move, as cuTensorMapEncodeTiled
/// takes them (CUDA driver API, "Tensor Map Object Management"): no interleave,
/// and zeros for what is read outside of `sizes`.
struct DeviceTensorMap {
  unsigned buffer = 0; // number among the inputs, then the outputs
  int64_t offset = 0;  // bytes from the buffer's start; multiple of 16
  mlir::Type element;  // f64, f32, f16, bf16, integers of 8 to 64 bits, f8
                       // (as bytes), tf32 (f32 that the copy rounds)
  llvm::SmallVector<int64_t> sizes;   // elements, innermost first; 1 to 5 dims
  llvm::SmallVector<int64_t> strides; // bytes, of dims 1..; multiples of 16
  llvm::SmallVector<int64_t> box;     // elements of a tile, at most 256 each
  int64_t swizzle = 128; // bytes: 0 (none), 32, 64 or 128, which the
                         // innermost dim of a box must not exceed
};

/// The tensor maps of a kernel in device form, in the order of its parameters.
llvm::SmallVector<DeviceTensorMap> getTensorMaps(mlir::func::FuncOp kernel);
void setTensorMaps(mlir::func::FuncOp kernel,
                   llvm::ArrayRef<DeviceTensorMap> maps);

/// Refuses tensor maps that the driver would refuse, and those that leave their
/// buffer.
mlir::LogicalResult checkTensorMaps(mlir::func::FuncOp kernel);

/// The driver's number for a type of element (CUtensorMapDataType of cuda.h);
/// none: tensor maps cannot have it.
std::optional<int64_t> getTensorMapElement(mlir::Type element);

} // namespace tsp

#endif // TSP_KERNELS_GPU_TENSORMAP_H
