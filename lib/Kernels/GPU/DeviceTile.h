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
/// the number of the line, so that eight lines of one chunk (four of two), and
/// neighbouring chunks of one line, are in different banks.
struct SwizzledTile {
  int64_t chunks;
  int64_t together = 1; ///< neighbours that stay neighbours, 1 or 2

  int64_t lineBytes() const { return 16 * chunks; }
  /// Byte offset of chunk `chunk ^ flip` of a line (i32). Lines that are a
  /// multiple of 8 further have the same permutation.
  mlir::Value offset(DeviceEmitter &e, mlir::Value row, mlir::Value chunk,
                     int64_t flip = 0) const;
};

/// Whether the lanes of a warp read a tile of tensor-core operands element by
/// element: eight along its free dim times four along k.
bool readsElements(mlir::Type element, bool alongK);

/// A tile of tensor-core operands with lines of `columns` elements.
SwizzledTile tileOf(mlir::Type element, bool alongK, int64_t columns);

/// Copies tiles of one side from global to shared memory, by all threads of the
/// block.
class TileCopy {
public:
  /// Copies the side that `operand`, one of gemm.spec(), is; of type `stored` in
  /// shared memory.
  TileCopy(DeviceGemm &gemm, const GemmOperand &operand, mlir::Type stored);

  int64_t bytes() const;
  /// By cp.async: starts the copy of a tile of k to a pointer.
  void start(mlir::Value tile, mlir::Value to);
  /// Through registers: reads, and later writes what was read last, converted or
  /// computed.
  void load(mlir::Value tile);
  void store(mlir::Value to);

private:
  /// A part of the tile that a thread copies, as an offset from its first.
  struct Piece {
    int64_t row, column;
    mlir::Value isThere;  ///< of the free dim; null: always
    mlir::Value isNeeded; ///< null: by every thread
    /// In shared memory, of each `together` elements.
    DeviceEmitter::Values offsets;
  };
  /// A piece in registers, as it was read.
  struct Loaded {
    mlir::Value vector; ///< of an operand in memory
    DevicePrologue::Run run; ///< of a computed one
    mlir::Value isThere; ///< null: always; else it is zero
  };
  int64_t countTogether() const;
  DevicePrologue::Run loadRun(const Piece &piece, mlir::ValueRange indices);
  /// The elements of a piece, as floats or as they are stored.
  DeviceEmitter::Values elementsOf(const Loaded &piece);
  /// `together` elements as they lie in shared memory.
  mlir::Value pack(mlir::ValueRange elements, mlir::Value isThere);
  /// The indices of k that a tile starts at, of the last dim in tiles.
  DeviceEmitter::Values tileIndices(mlir::Value tile);
  int64_t storedBytes() const { return stored.getIntOrFloatBitWidth() / 8; }
  mlir::Value sharedOffset(int64_t row, int64_t column);
  mlir::Value swizzledOffset(int64_t row, int64_t column);
  mlir::Value globalPointer(mlir::Value tilePointer, const Piece &piece);
  /// Pointer to the thread's first element of the tile at these indices.
  mlir::Value atTile(mlir::ValueRange indices);
  /// How much of k is left from the thread's first element on, in the tile of
  /// this number in the last dim; null: a whole tile.
  mlir::Value countLeft(mlir::Value lastTile);
  /// Whether to read a piece; null: yes.
  mlir::Value condition(const Piece &piece, mlir::Value left);

  DeviceEmitter &e;
  const GemmSpec &spec;
  const GemmOperand &operand;
  bool isA;
  const DeviceRead &read;
  DevicePrologue *prologue; ///< null: the operand is in memory
  DeviceEmitter::Values outer;
  mlir::Type stored;
  bool swizzled;
  int64_t bk, extent, rows, columns;
  int64_t size; ///< of the free dim
  int64_t elementBytes; ///< of what is read
  int64_t together; ///< elements of a piece that are written at a time
  mlir::Value first; ///< index of the free dim
  mlir::Value row, column; ///< of the thread's first piece
  mlir::Value pointer;     ///< to it in the first tile
  mlir::Value base;
  llvm::SmallVector<Piece> pieces;
  std::vector<Loaded> loaded;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_DEVICETILE_H
