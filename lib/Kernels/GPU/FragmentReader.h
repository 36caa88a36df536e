//===- FragmentReader.h - from a tile to fragments --------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_FRAGMENTREADER_H
#define TSP_LIB_KERNELS_GPU_FRAGMENTREADER_H

#include "DeviceTile.h"

#include <map>

namespace tsp {

/// Slices of k that one tensor-core product takes: 32 bytes of each side.
int64_t countSlices(int64_t bk, mlir::Type element);

/// Reads the fragments of one side (TensorCore.h) for a slice of k.
class FragmentReader {
public:
  using Values = DeviceEmitter::Values;

  /// `warp`: first row or column of this warp's part of the tile. A fragment of
  /// A is 16 rows of a slice, two fragments of B are 16 columns together.
  FragmentReader(DeviceEmitter &e, bool isA, bool alongK, int64_t extent,
                 int64_t bk, mlir::Type element, mlir::Value warp,
                 int64_t count);

  /// All fragments of a slice, of the tile at `slot` (byte offset).
  Values readAll(mlir::Value shared, mlir::Value slot, int64_t slice);

private:
  /// The i-th fragment.
  Values read(mlir::Value shared, mlir::Value slot, int64_t i, int64_t slice);
  Values readElements(mlir::Value shared, mlir::Value slot, int64_t i,
                      int64_t slice);
  int64_t chunkOf(int64_t i, int64_t slice) const;
  mlir::Value laneOffset(int64_t flip);
  /// Pointer to the lane's place in the chunk that is `chunk` further, in the
  /// line that is `line` further.
  mlir::Value at(mlir::Value shared, mlir::Value slot, int64_t line,
                 int64_t chunk);

  DeviceEmitter &e;
  bool isA, alongK;
  mlir::Type element;
  int64_t bytes;
  bool byElement;
  SwizzledTile tile;
  int64_t count;
  /// Of the lane, and its place in the chunk in bytes (null: the first).
  mlir::Value row, chunk, inChunk;
  std::map<int64_t, mlir::Value> offsets;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_FRAGMENTREADER_H
