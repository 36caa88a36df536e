//===- TensorCore.h - fragments of matrices in registers --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions of sm_80 (f8: sm_89) for products of small matrices. With g =
// lane / 4 and t = lane % 4, a lane holds of the tile
//
//   A 16 x 16   (g, 2t..2t+1), (g+8, 2t..), (g, 2t+8..), (g+8, 2t+8..)
//   B 16 x 8    (2t..2t+1, g), (2t+8.., g)
//   C 16 x 8    (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1)
//
// A and B as registers of two elements of 16 bits, C as f32. Other types have
// other depths: a slice of k always is 32 bytes. f8 and i8 have four elements a
// register (4t..4t+3, 16+4t..), tf32 one (t, t+4), and f64 half as many registers
// of one (t). C is f64 or i32 where A and B are f64 or i8. (PTX ISA, "Matrix Fragments for mma.m16n8k16" and others.)
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_TENSORCORE_H
#define TSP_LIB_KERNELS_GPU_TENSORCORE_H

#include "DeviceEmitter.h"

namespace tsp {

/// Four 8 x 8 tiles of 16-bit elements from shared memory, a register each;
/// lane 8 i + j points to row j of tile i (16 bytes). A lane gets elements
/// (g, 2t..2t+1) of each tile, or with `transpose` (2t..2t+1, g).
DeviceEmitter::Values loadTiles(DeviceEmitter &e, mlir::Value pointer,
                                bool transpose);

/// C + A B, elements of A and B being `element` (f16, bf16, f8E4M3FN, f8E5M2, i8
/// or f64; f32: tf32). `elementB`: those of B where both are f8 and differ.
DeviceEmitter::Values multiplyTiles(DeviceEmitter &e, mlir::Type element,
                                    mlir::ValueRange a, mlir::ValueRange b,
                                    mlir::ValueRange c,
                                    mlir::Type elementB = nullptr);

/// An f32 in a register, rounded to what products of tf32 take.
mlir::Value roundToTf32(DeviceEmitter &e, mlir::Value bits);

/// Two f32 rounded to a register of two elements.
mlir::Value packPair(DeviceEmitter &e, mlir::Type element, mlir::Value low,
                     mlir::Value high);

/// Starts a copy of 16 bytes (past the first cache), 8 or 4 from global to
/// shared memory; of which the first `valid` (i32; null: all) are read and the
/// rest are zero.
void copyAsync(DeviceEmitter &e, mlir::Value shared, mlir::Value global,
               mlir::Value valid = nullptr, int64_t bytes = 16);
/// Ends a group of copies; waits until at most `pending` groups are under way.
void commitCopies(DeviceEmitter &e);
void waitForCopies(DeviceEmitter &e, int64_t pending);

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_TENSORCORE_H
