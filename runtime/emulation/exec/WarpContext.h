//===- WarpContext.h - what compiled code knows of its warp -*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_WARPCONTEXT_H
#define TSP_EMULATION_EXEC_WARPCONTEXT_H

#include "exec/ProductForm.h"
#include "ptx/Syntax.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tsp::emulation {

constexpr unsigned warpSize = 32;
/// Barriers of a block.
constexpr unsigned numBarriers = 16;

/// Where an address of shared::cluster has the block's rank, plus one.
constexpr unsigned clusterRankShift = 24;

class BlockRunner;

/// The state of one warp. Compiled code reads the first fields by their
/// offsets.
struct WarpContext {
  /// Lanes that exist and have not left the kernel.
  uint32_t live = 0;
  /// Position in the block.
  uint32_t warp = 0;
  uint32_t blockSize[3] = {};
  uint32_t blockIndex[3] = {};
  uint32_t gridSize[3] = {};
  uint32_t warps = 0;
  uint32_t dynamicShared = 0;
  uint32_t totalShared = 0;
  uint32_t thread[3][warpSize] = {};
  uint8_t *shared = nullptr;
  const uint8_t *parameters = nullptr;
  uint8_t *variables = nullptr;
  /// How often lanes that have parted were sent to their next block.
  uint32_t dispatches = 0;
  /// 1: lanes that have parted and wait in vain let the highest block run.
  uint32_t starved = 0;
  /// Blocks of a cluster, the block's place in it, the cluster's in the grid,
  /// and how many clusters that has.
  uint32_t clusterSize[3] = {1, 1, 1};
  uint32_t clusterBlock[3] = {};
  uint32_t clusterIndex[3] = {};
  uint32_t clusterGrid[3] = {};
  uint32_t clusterRank = 0;
  uint32_t clusterBlocks = 1;
  /// 1: the launch has clusters.
  uint32_t isCluster = 0;
  /// What the threads of a cooperative launch synchronize with; else 0.
  uint64_t gridWorkspace = 0;

  // Not read by compiled code.
  BlockRunner *block = nullptr;
};

/// What an operation does beyond its size, as helpers see it.
enum class AtomicOp : uint8_t {
  Add,
  Min,
  Max,
  And,
  Or,
  Xor,
  Exch,
  Cas,
  Inc,
  Dec
};
enum class ShuffleMode : uint8_t { Up, Down, Bfly, Idx };
enum class BarrierKind : uint8_t { Sync, Arrive, Popc, And, Or };

/// What an access or fence means between blocks.
struct MemoryOrder {
  enum : uint8_t {
    Strong = 1, ///< threads may wait by it: volatile accesses, swaps
    Release = 2,
    Acquire = 4,
  };
};

/// A place in the PTX where something can go wrong: an instruction that calls a
/// helper. The helper reads here what is constant of it.
struct Site {
  uint32_t line = 0;
  std::string spelling;
  ptx::Space space = ptx::Space::Generic;
  /// Bytes of an element, and elements an access.
  uint8_t size = 0;
  uint8_t count = 1;
  /// An AtomicOp, ShuffleMode or BarrierKind.
  uint8_t operation = 0;
  /// ArriveFlags, WaitFlags, FenceFlags or BulkFlags.
  uint8_t flags = 0;
  /// MemoryOrder flags.
  uint8_t order = 0;
  /// Reads what others may write, perhaps again and again.
  bool polls = false;
  ptx::Type type;
  /// Of products of matrices.
  ProductForm product;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_WARPCONTEXT_H
