//===- StagingTest.cpp - what transfers pack, planned and needed ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler's sizes of staging memory against the runtime's transfers, which
// run here with everything but the bytes.
//
//===----------------------------------------------------------------------===//

#include "tsp/Host/Staging.h"

#include "core/MessageTransfer.h"
#include "gtest/gtest.h"

using namespace tsp;
using namespace tsp::runtime;

namespace {
struct NoTransport : Transport {
  void exchange(const std::vector<Message> &,
                const std::vector<Message> &) override {}
  void allGather(const std::vector<Gather> &) override {}
  void broadcast(const std::vector<Broadcast> &) override {}
};

struct NoOps : BufferOps {
  void move(const Move &, char *, const char *) override {}
  void zero(const Move &, char *) override {}
  void combine(const Transfer &, char *, const Sources &, int64_t) override {}
  void combinePairs(const Transfer &, char *, char *, const Sources &,
                    const Sources &, int64_t) override {}
};
} // namespace

/// The most that a rank packs.
static int64_t neededBytes(Transfer transfer) {
  int64_t most = 0;
  for (int64_t me = 0; me < transfer.ranks(); ++me) {
    NoTransport transport;
    NoOps ops;
    auto fits = [&](int64_t bytes) {
      transfer.stagingBytes = bytes;
      try {
        MessageTransfer(transport, ops, transfer, me).run();
        return true;
      } catch (const Error &) {
        return false;
      }
    };
    int64_t low = 0, high = int64_t(1) << 40; // the least that fits is between
    EXPECT_TRUE(fits(high));
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (fits(middle))
        high = middle;
      else
        low = middle + 1;
    }
    most = std::max(most, low);
  }
  return most;
}

namespace {
struct Shape {
  int64_t ranks, outer, total, inner;
  int32_t layout;
  int64_t unit;
};

class StagingTest : public testing::TestWithParam<Shape> {
protected:
  StagingTest() {
    transfer.outer = s.outer;
    transfer.inner = s.inner;
    transfer.dim = {s.total, s.ranks, s.layout, s.unit};
    part = s.outer * transfer.dim.local() * s.inner;
    whole = s.outer * s.total * s.inner;
  }

  const Shape &s = GetParam();
  Transfer transfer;
  int64_t part, whole;
  bool onePiece = s.outer == 1 && s.layout == TSP_CONTIGUOUS;
};
} // namespace

TEST_P(StagingTest, AllGather) {
  transfer.kind = Collective::AllGather;
  bool direct = onePiece && transfer.dim.local() * s.ranks == s.total;
  EXPECT_EQ(neededBytes(transfer), getAllGatherStaging(s.ranks, part, direct));
}

TEST_P(StagingTest, ReduceScatter) {
  transfer.kind = Collective::ReduceScatter;
  int64_t planned = getReduceScatterStaging(s.ranks, part, whole, onePiece);
  EXPECT_LE(neededBytes(transfer), planned);
  EXPECT_GE(2 * neededBytes(transfer), planned);
}

TEST_P(StagingTest, AllReduce) {
  transfer.kind = Collective::AllReduce;
  transfer.outer = 1;
  for (int32_t second : {-1, int32_t(TSP_F32)}) {
    transfer.dtype2 = second;
    EXPECT_EQ(
        neededBytes(transfer),
        getAllReduceStaging(s.ranks, s.total, s.inner, second < 0 ? 0 : 4));
  }
}

TEST_P(StagingTest, AllToAll) {
  transfer.kind = Collective::AllToAll;
  transfer.mid = 2;
  transfer.dim1 = {6, s.ranks, TSP_CONTIGUOUS, 1};
  int64_t columns = s.outer * s.total * 2 * transfer.dim1.local() * s.inner;
  for (int32_t split : {0, 1}) {
    transfer.split = split;
    int64_t planned = getAllToAllStaging(s.ranks, columns, part * 2 * 6);
    EXPECT_LE(neededBytes(transfer), planned);
    EXPECT_EQ(neededBytes(transfer) == 0, planned == 0);
  }
}

TEST_P(StagingTest, Broadcast) {
  transfer.kind = Collective::Broadcast;
  for (auto [offset, size] : {std::pair(int64_t(0), s.total),
                              std::pair(s.total / 3, s.total / 2 + 1)}) {
    transfer.offset = offset;
    transfer.size = size;
    int64_t planned =
        getBroadcastStaging(s.ranks, s.outer, s.outer * size * s.inner);
    EXPECT_LE(neededBytes(transfer), planned);
    EXPECT_EQ(neededBytes(transfer) == 0, planned == 0);
  }
}

TEST_P(StagingTest, SendRecv) {
  transfer.kind = Collective::SendRecv;
  transfer.source = transfer.target = 0;
  EXPECT_EQ(neededBytes(transfer), 0);
}

static std::vector<Shape> shapes() {
  std::vector<Shape> list;
  for (int64_t ranks : {1, 2, 3, 8})
    for (auto [outer, total, inner] : {std::tuple(1, 24, 4),
                                       {1, 25, 100},
                                       {3, 11, 20},
                                       {2, 30000, 4},
                                       {1, 40001, 2}})
      for (int32_t layout : {TSP_CONTIGUOUS, TSP_ZIGZAG})
        list.push_back({ranks, outer, total, inner, layout, 1});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, StagingTest, testing::ValuesIn(shapes()));
