//===- TraceTest.cpp - what of a transfer no kernel hides -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Trace.h"

#include <gtest/gtest.h>

using namespace tsp::runtime;

TEST(Trace, ExposedIsWhatNoKernelCovers) {
  // Two workers, whose kernels overlap, with a gap from 30 to 40; waiting and
  // the starts of transfers are no work.
  TraceTrack first{"main",
                   {{"a", 0, 10, -1},
                    {traceStart, 11, 11, -1},
                    {"b", 5, 30, -1},
                    {traceWait, 30, 40, -1},
                    {"c", 40, 50, -1}}};
  TraceTrack second{"worker 1", {{"b", 8, 25, -1}}};
  TraceTrack transfers{"transfers",
                       {{"later", 45, 70, 7},
                        {"hidden", 2, 28, 5},
                        {"half", 20, 45, 6},
                        {"free", 60, 80, 0}}};
  std::vector<TracedTransfer> found =
      findTransfers({&first, &second, &transfers});
  const std::pair<const char *, int64_t> expected[] = {
      {"hidden", 0}, {"half", 10}, {"later", 20}, {"free", 20}};
  ASSERT_EQ(found.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_STREQ(found[i].event->name, expected[i].first);
    EXPECT_EQ(found[i].exposed, expected[i].second) << expected[i].first;
  }
}
