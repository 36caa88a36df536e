//===- Transfer.h - one collective as one rank sees it ----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_TRANSFER_H
#define TSP_RUNTIME_CORE_TRANSFER_H

#include "core/Placement.h"

namespace tsp::runtime {

enum class Collective {
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
  Broadcast,
  SendRecv
};
constexpr int numCollectives = 6;

/// "all_gather" and so on, as in the statistics.
const char *collectiveName(Collective kind);

/// "sum" and so on.
const char *combineName(int combine);

/// A collective with its buffers, as documented in tsp_runtime.h. Plain data:
/// backends keep copies. Sizes named `inner` are bytes.
struct Transfer {
  Collective kind = Collective::AllGather;
  int32_t axis = 0; ///< number of the group
  int32_t dtype = TSP_F32, dtype2 = -1;
  int32_t combine = -1;
  void *dst = nullptr, *dst2 = nullptr;
  const void *src = nullptr, *src2 = nullptr;
  int64_t outer = 1, inner = 1;
  Chunking dim;                     ///< the dim that the collective works on
  int64_t mid = 1;                  ///< all_to_all: between the dims
  Chunking dim1;                    ///< all_to_all: the second dim
  int32_t split = 0;                ///< all_to_all: which dim becomes local
  int64_t offset = 0, size = 0;     ///< broadcast
  int32_t source = -1, target = -1; ///< send_recv: coordinates, -1 for none
  char *staging = nullptr;          ///< where parts are packed
  int64_t stagingBytes = 0;

  int64_t ranks() const { return dim.ranks; }

  /// Bytes that the rank with this coordinate receives, by definition.
  int64_t bytesReceived(int64_t coordinate) const;

  /// Whether rank `to` reads what rank `from` sends. For send_recv only the
  /// rank itself knows: see source and target.
  bool reads(int64_t to, int64_t from) const;

  /// What must be equal on all ranks, as "kind: a != b" of the first difference
  /// with another rank's; "" if there is none.
  std::string difference(const Transfer &other) const;

  /// "all_gather of 10x64xf32 .." for messages.
  std::string text() const;

  /// What must be equal on all ranks, in one line.
  std::string signature() const;

  /// The staging memory; throws an Error when it has less than `bytes`.
  char *stage(int64_t bytes) const;

  /// A part of a rank's memory.
  struct Range {
    const void *begin;
    int64_t bytes;
    bool meets(const Range &other) const;
  };

  /// What the rank with this coordinate reads and writes.
  std::vector<Range> sources() const;
  std::vector<Range> targets() const;

  /// Checks the numbers; "" or what is wrong.
  std::string check() const;
};

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_TRANSFER_H
