//===- ArenaLayoutTest.cpp - offsets of buffers in one arena --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Host/ArenaLayout.h"

#include "gtest/gtest.h"
#include <random>

using namespace tsp;

/// Buffers alive at the same time must not overlap, and all lie in the arena.
static void expectSound(llvm::ArrayRef<ArenaBuffer> buffers, int64_t arena) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(buffers[i].offset % bufferAlign, 0);
    EXPECT_LE(buffers[i].offset + buffers[i].bytes, arena);
    for (size_t j = 0; j < i; ++j)
      if (buffers[i].life.meets(buffers[j].life)) {
        bool before = buffers[i].offset + buffers[i].bytes <= buffers[j].offset;
        bool after = buffers[j].offset + buffers[j].bytes <= buffers[i].offset;
        EXPECT_TRUE(before || after) << i << " and " << j;
      }
  }
}

TEST(ArenaLayout, Empty) {
  EXPECT_EQ(layOutArena({}), 0);
  EXPECT_EQ(findArenaPeak({}).bytes, 0);
}

TEST(ArenaLayout, ChainTakesTwoBuffers) {
  // Each buffer lives until the next one is written.
  llvm::SmallVector<ArenaBuffer> buffers;
  for (int64_t i = 0; i < 10; ++i)
    buffers.push_back({100, {i, i + 1}});
  EXPECT_EQ(layOutArena(buffers), 256);
  EXPECT_EQ(findArenaPeak(buffers).bytes, 256);
  expectSound(buffers, 256);
}

TEST(ArenaLayout, SmallFillsTheGap) {
  // Two short-lived buffers fit beside each other into the place of a large one.
  llvm::SmallVector<ArenaBuffer> buffers{{256, {0, 3}}, {128, {4, 6}}, {128, {5, 8}}, {64, {0, 9}}};
  EXPECT_EQ(layOutArena(buffers), 320);
  expectSound(buffers, 320);
}

TEST(ArenaLayout, Random) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    llvm::SmallVector<ArenaBuffer> buffers;
    for (int i = 0; i < 60; ++i) {
      int64_t begin = random() % 40, bytes = random() % 1000;
      buffers.push_back({bytes, {begin, begin + int64_t(random() % 10)}});
    }
    int64_t arena = layOutArena(buffers);
    expectSound(buffers, arena);
    EXPECT_GE(arena, findArenaPeak(buffers).bytes);
    EXPECT_LE(arena, 2 * findArenaPeak(buffers).bytes);
  }
}
