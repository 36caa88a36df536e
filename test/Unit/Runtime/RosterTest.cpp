//===- RosterTest.cpp - reports of several processes ----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Roster.h"

#include <gtest/gtest.h>

using namespace tsp::runtime;

namespace {
/// Four processes of a rank each on a mesh d=2, t=2, whose reports process 0
/// takes.
class RosterTest : public testing::Test {
protected:
  RosterTest() {
    model.mesh = {2, 2};
    model.axisNames = {"d", "t"};
    model.groups = {{"d", {0}}, {"t", {1}}};
    for (int i = 0; i < 4; ++i) {
      processes.push_back(
          std::make_unique<Roster>(model, limit, [this] { return now; }));
      processes.back()->nextCall();
    }
  }

  /// Transfer `number` on axis t; ranks 0, 1 and 2, 3 are the groups.
  TransferKey key(int64_t rank, int64_t number) {
    return {1, 1, rank / 2 * 2, number};
  }
  Transfer gather(int64_t total) {
    Transfer transfer;
    transfer.dim = {total, 2, TSP_CONTIGUOUS, 1};
    return transfer;
  }
  Transfer send(int32_t source, int32_t target) {
    Transfer transfer;
    transfer.kind = Collective::SendRecv;
    transfer.inner = 8;
    transfer.source = source;
    transfer.target = target;
    return transfer;
  }
  /// What process 0 makes of a rank's report.
  std::string take(int64_t rank, const char *activity = "it computes") {
    return processes[0]->take(processes[rank]->report({{rank, activity}}));
  }
  void pass(double seconds) { now += int64_t(seconds * 1e9); }

  static constexpr double limit = 0.05;
  int64_t now = 0;
  ModelDesc model;
  std::vector<std::unique_ptr<Roster>> processes;
};
} // namespace

TEST_F(RosterTest, RanksThatAgree) {
  for (int64_t number = 0; number < 3; ++number)
    for (int64_t rank = 0; rank < 4; ++rank)
      processes[rank]->started(rank, key(rank, number),
                               gather(rank < 2 ? 8 : 9));
  for (int64_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(take(rank), "");
  EXPECT_EQ(processes[0]->lastOf(3), "its last transfer was all_gather of f32 "
                                     "[1][9][1 bytes], number 2 of axis 't'");
}

TEST_F(RosterTest, AnotherCollectiveOrSize) {
  processes[2]->started(2, key(2, 0), gather(8));
  processes[3]->started(3, key(3, 0), gather(9));
  EXPECT_EQ(take(2), "");
  EXPECT_EQ(take(3),
            "ranks 2 and 3 disagree on transfer number 0 of axis 't': rank 2 "
            "does all_gather of f32 [1][8][1 bytes], rank 3 does all_gather of "
            "f32 [1][9][1 bytes]");
}

TEST_F(RosterTest, WhoSendsToWhom) {
  processes[0]->started(0, key(0, 0), send(1, 1));
  processes[1]->started(1, key(1, 0), send(0, -1));
  EXPECT_EQ(take(0), "");
  EXPECT_EQ(take(1), "ranks 0 and 1 disagree on send_recv of 8 bytes, number 0 "
                     "of axis 't': they differ in who sends to whom");
}

TEST_F(RosterTest, ALateRankAndWhatItDoes) {
  processes[0]->started(0, key(0, 0), gather(8));
  processes[0]->waits(0, key(0, 0));
  EXPECT_EQ(take(0), "");
  EXPECT_EQ(take(1, "it computes, last kernel k_7"), "");
  pass(2 * limit);
  processes[0]->waits(0, key(0, 0)); // the same wait goes on
  std::string error = take(0);
  EXPECT_NE(error.find("rank 1 is late: for 0.1 s it has not joined all_gather "
                       "of f32 [1][8][1 bytes], number 0 of axis 't', in which "
                       "rank 0 waits for it; it computes, last kernel k_7"),
            std::string::npos)
      << error;
}

TEST_F(RosterTest, AWaitThatEndsIsNone) {
  processes[0]->started(0, key(0, 0), gather(8));
  processes[0]->waits(0, key(0, 0));
  EXPECT_EQ(take(0), "");
  processes[0]->waitsNoMore(0);
  pass(2 * limit);
  EXPECT_EQ(take(0), "");
  EXPECT_EQ(processes[0]->waiting(1, 2), "");
}

TEST_F(RosterTest, ARankThatHasEnded) {
  processes[1]->started(1, key(1, 0), gather(8));
  processes[1]->finished(1);
  EXPECT_EQ(take(1), "");
  processes[0]->started(0, key(0, 0), gather(8));
  processes[0]->started(0, key(0, 1), gather(8));
  processes[0]->waits(0, key(0, 1));
  EXPECT_EQ(take(0), "rank 1 has ended the program but has not joined "
                     "all_gather of f32 [1][8][1 bytes], number 1 of axis 't', "
                     "in which rank 0 waits for it");
}

TEST_F(RosterTest, TransfersThatAllHaveJoined) {
  for (int64_t rank : {0, 1}) {
    processes[rank]->started(rank, key(rank, 0), gather(8));
    EXPECT_EQ(take(rank), "");
  }
  processes[0]->waits(0, key(0, 0));
  EXPECT_EQ(take(0), "");
  pass(2 * limit + 1.1);
  std::string error = take(0);
  EXPECT_NE(error.find("which all ranks have joined"), std::string::npos)
      << error;
}
