//===- Warpgroup.h - instructions of sm_90a ---------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On sm_90a four warps, a warpgroup, multiply matrices together, reading them
// from shared memory by themselves while the warps go on; and one thread starts
// copies of boxes of a tensor, whose arrival a barrier in shared memory counts.
// So a block has two kinds of warpgroups: one starts copies, the others
// multiply, and a ring of stages lies between them.
//
// Sections are those of the PTX ISA 9.0. Addresses are pointers to shared
// memory (3), tensor maps generic pointers to the kernel's parameter.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_WARPGROUP_H
#define TSP_LIB_KERNELS_GPU_WARPGROUP_H

#include "DeviceEmitter.h"

namespace tsp {

inline constexpr int64_t kWarpgroup = 128; ///< threads

//===----------------------------------------------------------------------===//
// Barriers in shared memory
//===----------------------------------------------------------------------===//

/// Size of a barrier, to which it is aligned ("mbarrier").
inline constexpr int64_t kBarrierBytes = 8;

/// Its phases end when `arrivals` threads have arrived and all bytes that they
/// said to expect have been copied. Other threads, and copies, may use it
/// behind `fenceBarriers` of the one that made it and a barrier of the block.
void initBarrier(DeviceEmitter &e, mlir::Value barrier, int64_t arrivals);
void fenceBarriers(DeviceEmitter &e);
/// At the barrier of another block of the cluster, a thread that has read
/// there.
void arrive(DeviceEmitter &e, mlir::Value barrier);
/// Arrives, and expects that many bytes more of copies.
void arriveExpecting(DeviceEmitter &e, mlir::Value barrier, int64_t bytes);
/// Waits for the end of the phase of this parity (i32): of the running one, or
/// not at all if it is that of the phase before. A new barrier is in phase 0.
void waitForPhase(DeviceEmitter &e, mlir::Value barrier, mlir::Value parity);

/// A barrier of `threads` threads of the block, with a number from 1 to 15
/// ("bar .sync"); number 0 is the one of the whole block.
void syncThreads(DeviceEmitter &e, int64_t number, int64_t threads);
void syncThreads(DeviceEmitter &e, mlir::Value number, int64_t threads);
/// Arrives there without waiting.
void arriveThreads(DeviceEmitter &e, mlir::Value number, int64_t threads);

/// A barrier of all threads of the cluster that run still ("barrier.cluster"),
/// whole warps of which come here; it publishes nothing written.
void syncCluster(DeviceEmitter &e);
/// The same place in shared memory of another block of the cluster, as a
/// pointer to that of the cluster (7; "mapa").
mlir::Value inBlock(DeviceEmitter &e, mlir::Value shared, mlir::Value block);

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Brings a tensor map to where copies read it.
void prefetchMap(DeviceEmitter &e, mlir::Value map);

/// Starts the copy of the box of a tensor at `coordinates` (elements, innermost
/// first) to shared memory ("cp.async.bulk.tensor"); the barrier gets all bytes
/// of the box, also of parts outside of the tensor, which become zero. By one
/// thread. All of the first `blocks` blocks of the cluster get it, at the same
/// place, and their barriers the bytes.
void copyBox(DeviceEmitter &e, mlir::Value shared, mlir::Value map,
             mlir::ValueRange coordinates, mlir::Value barrier,
             int64_t blocks = 1);

/// Starts the copy of a box from shared memory to a tensor; nothing is written
/// outside of the tensor. By one thread.
void storeBox(DeviceEmitter &e, mlir::Value map, mlir::ValueRange coordinates,
              mlir::Value shared);
/// Ends a group of such copies ("cp.async.bulk.commit_group"); waits until at
/// most `pending` groups of the thread have still to read shared memory.
void commitStores(DeviceEmitter &e);
void waitForStores(DeviceEmitter &e, int64_t pending);

/// Orders what the thread wrote to shared memory before what products and bulk
/// copies read there ("fence.proxy.async").
void fenceShared(DeviceEmitter &e);

/// Four 8 x 8 tiles of 16-bit elements to shared memory, a register each, as
/// loadTiles (TensorCore.h) reads them ("stmatrix").
void storeTiles(DeviceEmitter &e, mlir::Value pointer,
                mlir::ValueRange registers);

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// One side of products in shared memory as boxes with a swizzle of 128 bytes
/// leave it: lines of 128 bytes, eight of which are an atom of 1024 bytes, to
/// which boxes are aligned. Lines run along k (a line for each row of A or
/// column of B), or, for elements of 16 bits, along m or n: then a box has 64
/// of them and a line for each element of k.
struct WarpgroupTile {
  mlir::Type element; ///< f16, bf16, f32 (tf32), f8E4M3FN or f8E5M2
  bool alongK = true;
  int64_t lines = 64; ///< of a box

  int64_t boxBytes() const { return lines * 128; }
  /// Elements of k that lines along k hold.
  int64_t lineDepth() const {
    return 128 * 8 / element.getIntOrFloatBitWidth();
  }
  /// Elements of k that a product takes: 32 bytes.
  int64_t productDepth() const { return lineDepth() / 4; }
  /// Bytes to the next product along k, and to the next 64 rows or columns.
  int64_t stepDepth() const { return alongK ? 32 : productDepth() * 128; }
  int64_t stepFree() const { return alongK ? 64 * 128 : boxBytes(); }
};

/// Where a product finds a side ("Matrix Descriptor Format"). The address is in
/// the low half only, so that it moves by additions of 32 bits.
struct MatrixDescriptor {
  mlir::Value low; ///< i32
  int64_t high = 0;

  MatrixDescriptor moved(DeviceEmitter &e, mlir::Value bytes) const;
  MatrixDescriptor moved(DeviceEmitter &e, int64_t bytes) const;
  mlir::Value value(DeviceEmitter &e) const; ///< i64
};

MatrixDescriptor describeTile(DeviceEmitter &e, const WarpgroupTile &tile,
                              mlir::Value pointer);

/// sums + A B, or without sums A B, for 64 rows, `columns` columns (a multiple
/// of 8, at most 256) and 32 bytes of k ("wgmma.mma_async"): starts it. A
/// thread's sums are f32; with g = lane / 4 and t = lane % 4, warp w of the
/// four holds for j-th eight columns (16 w + g, 8 j + 2 t), (.., 8 j + 2 t +
/// 1), (16 w + g + 8, 8 j + 2 t), (.., + 1), as mma.sync does. A is in shared
/// memory, or, 16 bits each, in four registers as multiplyTiles (TensorCore.h)
/// has them.
DeviceEmitter::Values
startProduct(DeviceEmitter &e, int64_t columns, const WarpgroupTile &tileA,
             const MatrixDescriptor &a, const WarpgroupTile &tileB,
             const MatrixDescriptor &b, mlir::ValueRange sums);
DeviceEmitter::Values startProduct(DeviceEmitter &e, int64_t columns,
                                   mlir::ValueRange a,
                                   const WarpgroupTile &tileB,
                                   const MatrixDescriptor &b,
                                   mlir::ValueRange sums);

/// Stands before the first of some products, and between other code that writes
/// their registers, which are `written`, and them ("wgmma.fence").
DeviceEmitter::Values fenceProducts(DeviceEmitter &e,
                                    mlir::ValueRange written = {});
/// Ends a group of products ("wgmma.commit_group").
void commitProducts(DeviceEmitter &e);
/// Waits until at most `pending` groups are under way ("wgmma.wait_group"), and
/// gives the sums of those that are done, for use behind it.
DeviceEmitter::Values waitForProducts(DeviceEmitter &e, int64_t pending,
                                      mlir::ValueRange done = {});

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// Whether this is the one lane that the lanes of a warp, who are all here,
/// choose ("elect.sync").
mlir::Value electLane(DeviceEmitter &e);

/// Warpgroups that multiply come first in the block, then the one that copies.
struct WarpgroupRoles {
  int64_t consumers = 1;
  bool wholeWarp = false;         ///< a warp produces, not one of its lanes
  int64_t producerRegisters = 40; ///< of a thread; a multiple of 8

  int64_t threads() const { return (consumers + 1) * kWarpgroup; }
};

/// Runs `produce` in one thread, or warp, of the last warpgroup, and `consume`
/// in all threads of the others, with their warpgroup's number (i32, the same
/// register for all lanes). Registers of the former go to the latter
/// ("setmaxnreg").
void emitRoles(DeviceEmitter &e, const WarpgroupRoles &roles,
               llvm::function_ref<void()> produce,
               llvm::function_ref<void(mlir::Value)> consume);

/// Stages that the producer fills and consumers empty, with two barriers each.
/// In a cluster, whose blocks copy to each other, a stage is empty when it is
/// so in all of them.
class StageRing {
public:
  /// A stage, and the parity of the phase in which it is filled (i32).
  struct Place {
    mlir::Value stage, parity;
  };

  /// `barriers`: memory for them. `cluster`: blocks.
  StageRing(DeviceEmitter &e, mlir::Value barriers, int64_t stages,
            int64_t cluster = 1)
      : e(e), barriers(barriers), stages(stages), cluster(cluster) {}

  static int64_t barrierBytes(int64_t stages) {
    return 2 * stages * kBarrierBytes;
  }

  /// By one thread: makes the barriers. A stage is empty when each block of the
  /// cluster has released it so often.
  void init(int64_t releases);

  Place first();
  Place next(const Place &place);
  /// `count` places further.
  Place ahead(const Place &place, int64_t count);

  /// The producer: waits until the stage is empty; then says how much is copied
  /// to it. Copies are counted by the barrier that is returned.
  void awaitEmpty(const Place &place);
  mlir::Value expect(const Place &place, int64_t bytes);
  mlir::Value fill(const Place &place, int64_t bytes) {
    awaitEmpty(place);
    return expect(place, bytes);
  }
  /// The consumers: wait until it is full.
  void acquire(const Place &place);
  /// A thread is done with it, where no other block waits for that.
  void release(mlir::Value stage);
  /// A warp is: lane i tells block i of the cluster, to whose barriers it
  /// points.
  mlir::Value pointToEmpty();
  void release(mlir::Value empties, mlir::Value stage);

private:
  mlir::Value full(mlir::Value stage);
  mlir::Value empty(mlir::Value stage);

  DeviceEmitter &e;
  mlir::Value barriers;
  int64_t stages, cluster;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_WARPGROUP_H
