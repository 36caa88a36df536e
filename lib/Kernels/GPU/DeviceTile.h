//===- DeviceTile.h - tiles of a product in shared memory -------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_DEVICETILE_H
#define TSP_LIB_KERNELS_GPU_DEVICETILE_H

#include "DeviceGemm.h"

namespace tsp {

/// A tile as lines of chunks of 16 bytes. The chunks of a line change places by
/// the number of the line, so that eight lines of one chunk, and neighbouring
/// chunks of one line, are in different banks.
struct SwizzledTile {
  int64_t chunks;

  int64_t lineBytes() const { return 16 * chunks; }
  /// Byte offset of chunk `chunk ^ flip` of a line (i32). Lines that are a
  /// multiple of 8 further have the same permutation.
  mlir::Value offset(DeviceEmitter &e, mlir::Value row, mlir::Value chunk,
                     int64_t flip = 0) const;
};

/// Copies tiles of one side from global to shared memory, by all threads of the
/// block.
class TileCopy {
public:
  /// A tile is `extent` of the free dim, from `first` on, by plan.bk.
  TileCopy(DeviceGemm &gemm, const GemmOperand &operand, const DeviceRead &read,
           mlir::Value base, mlir::Value first, int64_t size, int64_t extent,
           mlir::Type stored);

  int64_t bytes() const;
  /// Elements that a thread copies at most.
  size_t count() const { return pieces.size(); }
  /// By cp.async: starts the copy of a tile of k to a pointer.
  void start(mlir::Value tile, mlir::Value to);
  /// Through registers: reads, and later writes.
  DeviceEmitter::Values load(mlir::Value tile);
  void store(mlir::ValueRange values, mlir::Value to);

private:
  /// A part of the tile that a thread copies, as an offset from its first.
  struct Piece {
    int64_t row, column;
    mlir::Value isThere;  ///< of the free dim; null: always
    mlir::Value isNeeded; ///< null: by every thread
    mlir::Value offset;   ///< in shared memory
  };
  mlir::Value sharedOffset(int64_t row, int64_t column);
  mlir::Value swizzledOffset(int64_t row, int64_t column);
  mlir::Value globalPointer(mlir::Value tilePointer, const Piece &piece);
  /// Pointer to the thread's first element of a tile, and how much of k is left
  /// from there on (null: a whole tile).
  std::pair<mlir::Value, mlir::Value> atTile(mlir::Value tile);
  /// Whether to read a piece; null: yes.
  mlir::Value condition(const Piece &piece, mlir::Value left);

  DeviceEmitter &e;
  const GemmSpec &spec;
  const GemmOperand &operand;
  const DeviceRead &read;
  mlir::Type stored;
  bool swizzled;
  int64_t bk, extent, rows, columns;
  int64_t elementBytes;
  mlir::Value row, column; ///< of the thread's first piece
  mlir::Value pointer;     ///< to it in the first tile
  mlir::Value base;
  llvm::SmallVector<Piece> pieces;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_DEVICETILE_H
