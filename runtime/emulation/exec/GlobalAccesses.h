//===- GlobalAccesses.h - what a launch does to global memory ---*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the blocks of a checked launch did to global memory so far: of each
// place the last write, and the reads since. Places are as small as accesses
// ask for, from 16 bytes to one, and only pages that were touched have any.
//
// What a block does between two releases is a section. Releases are numbered
// in the order of the run, and who acquires knows all sections that have been
// released by then: which address the blocks met at does not matter, so blocks
// that synchronize somehow are not reported.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_GLOBALACCESSES_H
#define TSP_EMULATION_EXEC_GLOBALACCESSES_H

#include "Engine.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace tsp::emulation {

struct Site;

/// An access as another block sees it.
struct GlobalMark {
  /// 0: there was none.
  uint32_t section = 0;
  uint32_t site : 31;
  /// An atomic operation other than a swap.
  uint32_t isReduction : 1;

  GlobalMark() : site(0), isReduction(0) {}
};

/// The accesses to one place.
struct GlobalPlace {
  /// The section of a writer where threads may wait for each other, by volatile
  /// accesses or atomic swaps: this is no data.
  static constexpr uint32_t synchronizes = ~uint32_t(0);

  GlobalMark writer;
  /// Readers since then: the last one, and the last of another section.
  GlobalMark reader, other;
};

struct GlobalPage {
  static constexpr unsigned addressBits = 12;

  GlobalPage() : places(size_t(1) << (addressBits - shift)) {}

  /// Makes places of at most 1 << `shift` bytes.
  void refine(unsigned shift);

  std::mutex mutex;
  unsigned shift = 4;
  std::vector<GlobalPlace> places;
};

class GlobalAccesses {
public:
  /// A new section of a block, by its number in the grid.
  uint32_t openSection(uint64_t block);
  void release(uint32_t section);
  /// Releases so far.
  uint64_t numReleases() const { return releases; }
  uint64_t blockOf(uint32_t section);
  /// Whether a block that knows of so many releases, or is itself the
  /// section's, comes after a section.
  bool isKnown(uint32_t section, uint64_t block, uint64_t acquired);

  /// The page of this number; it stays where it is.
  GlobalPage &page(uint64_t number);

  /// What all blocks together did, in the order of addresses.
  std::vector<GlobalUse> uses(const std::vector<Site> &sites);

private:
  struct Section {
    uint64_t block;
    /// The number of its release; 0: not released.
    uint64_t release;
  };
  struct Shard {
    std::mutex mutex;
    std::unordered_map<uint64_t, std::unique_ptr<GlobalPage>> pages;
  };
  static constexpr unsigned numShards = 16;

  std::mutex mutex;
  std::deque<Section> sections;
  std::atomic<uint64_t> releases{0};
  Shard shards[numShards];
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_GLOBALACCESSES_H
