//===- BufferPlan.h - which values share which buffer -----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_HOST_BUFFERPLAN_H
#define TSP_HOST_BUFFERPLAN_H

#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Host/ArenaLayout.h"
#include "tsp/Host/HostLiveness.h"

#include "llvm/ADT/MapVector.h"

namespace tsp {

/// What a buffer is: part of the arena, the buffer of an argument or a result
/// of the entry, or read-only data.
enum class Place { Arena, Argument, Result, Constant };

struct Buffer {
  Place place = Place::Arena;
  unsigned number = 0; // of the argument or the result
  bool writable = true;
  bool twofold = false; // of two steps of a fold loop, one after the other
  ArenaBuffer memory;   // bytes; life and offset in the arena
  std::string label;    // for reports
  llvm::SmallVector<mlir::Value> values; // roots, in program order
};

/// A value that must be copied into another buffer, at a loop's begin, at the
/// end of a region, or at the return.
struct PlannedCopy {
  mlir::Value from;
  unsigned to = 0;    // buffer
  int temporary = -1; // buffer, when `from` is overwritten by a sibling
};

/// Buffers for streamed parts of a fold, and where its first fetches start.
struct FoldPlan {
  llvm::SmallVector<unsigned>
      slots; // a buffer for each part; none under one rank
  llvm::SmallVector<int64_t>
      slotBytes;             // from one slot to the next, for each part
  int64_t slotCount = 0;     // slots in each
  int64_t firstSlot = 0;     // that of step 0
  int64_t prefetch = 0;      // steps fetched ahead
  bool whole = false;        // one all_gather fetches everything
  FoldLoopOp before;         // fold whose last step starts the first fetches
  bool atBlockStart = false; // else: at the start of the block
};

/// The plan of an entry: every root value gets a buffer. Values are merged into
/// one buffer when their lifetimes allow it and something is gained: results
/// tied to operands, values that a loop carries, values that are returned.
class BufferPlan {
public:
  BufferPlan(mlir::func::FuncOp entry, MeshAttr mesh);

  /// The buffer of any tensor value; null for the part of a fold.
  const Buffer *getBuffer(mlir::Value value) const;
  const Buffer &getBuffer(unsigned number) const { return buffers[number]; }

  /// Where the transfer that a collective starts, or the fetches of a fold, pack
  /// parts; null where they need no memory for it.
  const Buffer *getStaging(mlir::Operation *op) const;

  /// Copies at the begin of a loop or at a terminator.
  llvm::ArrayRef<PlannedCopy> getCopies(mlir::Operation *site) const;
  const FoldPlan &getFold(FoldLoopOp fold) const {
    return folds.find(fold)->second;
  }

  const HostLiveness &getLiveness() const { return liveness; }
  int64_t getArenaBytes() const { return arenaBytes; }

  /// Bytes of the largest staging buffer.
  int64_t getStagingBytes() const;

  /// Bytes alive at the peak, and the buffers that make them, largest first.
  int64_t getPeakBytes() const { return peak.bytes; }
  llvm::SmallVector<const Buffer *> getBuffersAtPeak() const;

private:
  unsigned addBuffer(Place place, unsigned number, int64_t bytes);
  void makeBuffers();
  void planFolds();
  bool shareSlots(FoldLoopOp fold, FoldPlan &plan);
  void mergeAll();
  bool merge(mlir::Value a, mlir::Value b);
  bool mergeBuffers(unsigned a, unsigned b);
  bool interfere(mlir::Value a, mlir::Value b) const;
  void carry(mlir::Operation *loop, llvm::ArrayRef<mlir::Value> sameVariable);
  void planStaging();
  Interval getFlight(mlir::Operation *collective) const;
  void planCopies();
  void addCopies(mlir::Operation *site,
                 llvm::ArrayRef<std::pair<mlir::Value, unsigned>> moves);
  void layOut();

  mlir::func::FuncOp entry;
  MeshAttr mesh;
  HostLiveness liveness;
  llvm::SmallVector<Buffer, 0> buffers;
  llvm::SmallVector<unsigned> resultBuffers;
  llvm::DenseMap<mlir::Value, unsigned> bufferOf;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<PlannedCopy>> copies;
  llvm::DenseMap<mlir::Operation *, FoldPlan> folds;
  llvm::MapVector<mlir::Operation *, unsigned> stagingOf;
  int64_t arenaBytes = 0;
  ArenaPeak peak;
};

/// On the start of a transfer on buffers: {offset, bytes} of the part of the
/// arena in which it packs what is not in one piece.
inline constexpr llvm::StringLiteral kStagingAttr = "tsp.staging";

/// Number of the result that is the new value of entry argument `number`, or
/// -1.
int64_t getAliasedResult(mlir::func::FuncOp entry, unsigned number);

/// The mesh of a module; one rank when it has none.
MeshAttr getRankMesh(mlir::Operation *inModule);

} // namespace tsp

#endif // TSP_HOST_BUFFERPLAN_H
