//===- FaultsTest.cpp - errors, late ranks and simulated links ------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankProgram.h"

#include <algorithm>
#include <sys/wait.h>
#include <thread>

using namespace tsp::runtime;
using namespace tsp::runtime::test;

static void gather(tsp_rank *rank, int32_t dtype, void *dst, const void *src,
                   int64_t total, int64_t innerBytes) {
  tsp_wait(rank, 0,
           tsp_all_gather_start(rank, 0, 1, 0, dtype, dst, src, 1, total,
                                innerBytes, TSP_CONTIGUOUS, 1));
}

static void sleepMs(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

static bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(Mismatch, KindSizeDtypeAndPartner) {
  RankProgram program(lineMesh(3));
  std::vector<char> buffers(3 * 4096);
  auto at = [&](tsp_rank *rank) { return &buffers[rank->index * 4096]; };

  std::string error = program.run([&](tsp_rank *rank, void **, void **) {
    gather(rank, TSP_F32, at(rank) + 512, at(rank), 3, 4);
    if (rank->index == 1)
      tsp_wait(rank, 0,
               tsp_all_reduce_start(rank, 0, 1, 0, TSP_F32, TSP_SUM, at(rank),
                                    at(rank), 3));
    else
      gather(rank, TSP_F32, at(rank) + 512, at(rank), 3, 4);
  });
  EXPECT_TRUE(contains(error, "disagree on transfer number 1 of axis 't'"))
      << error;
  EXPECT_TRUE(contains(error, "rank 1 does all_reduce")) << error;

  error = program.run([&](tsp_rank *rank, void **, void **) {
    gather(rank, TSP_F32, at(rank) + 512, at(rank), rank->index == 2 ? 6 : 3,
           4);
  });
  EXPECT_TRUE(contains(error, "the total: ")) << error;

  error = program.run([&](tsp_rank *rank, void **, void **) {
    gather(rank, rank->index == 0 ? TSP_F32 : TSP_I32, at(rank) + 512, at(rank),
           3, 4);
  });
  EXPECT_TRUE(contains(error, "the dtype: ")) << error;

  error = program.run([&](tsp_rank *rank, void **, void **) {
    tsp_wait(rank, 0,
             tsp_send_recv_start(rank, 0, 1, 0, TSP_F32, at(rank) + 512,
                                 at(rank), 64, rank->index == 0 ? 2 : 1));
  });
  EXPECT_TRUE(contains(error, "who sends to whom")) << error;

  // The context still works.
  EXPECT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
    gather(rank, TSP_F32, at(rank) + 512, at(rank), 3, 4);
  }),
            "");
}

TEST(Faults, WrongNumbers) {
  RankProgram program(lineMesh(2));
  float value = 0;
  std::string error = program.run([&](tsp_rank *rank, void **, void **) {
    tsp_all_reduce_start(rank, 0, 1, 0, TSP_F32, 9, &value, &value, 1);
  });
  EXPECT_TRUE(contains(error, "the combine is not sum, max or min")) << error;
  error = program.run(
      [&](tsp_rank *rank, void **, void **) { tsp_axis_index(rank, 3); });
  EXPECT_TRUE(contains(error, "no axis number 3")) << error;
  error = program.run(
      [&](tsp_rank *rank, void **, void **) { tsp_wait(rank, 0, 12); });
  EXPECT_TRUE(contains(error, "not in flight")) << error;
  error = program.run([&](tsp_rank *rank, void **, void **) {
    if (rank->index == 1)
      tsp_fail(rank, "no such token");
    gather(rank, TSP_F32, &value, &value, 2, 4);
  });
  EXPECT_EQ(error, "rank 1: no such token");
}

/// Threads are not forked.
TEST(Faults, AForkHasNoRanks) {
  RankProgram program(lineMesh(2));
  auto nothing = [](tsp_rank *, void **, void **) {};
  pid_t child = fork();
  if (child == 0) {
    bool isNamed = contains(program.run(nothing), "is a fork of");
    _exit(isNamed && program.session().lost() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(program.run(nothing), "");
}

TEST(Faults, TransferWithoutWait) {
  RankProgram program(lineMesh(1));
  float value = 0, out = 0;
  std::string error = program.run([&](tsp_rank *rank, void **, void **) {
    tsp_send_recv_start(rank, 0, 1, 0, TSP_F32, &out, &value, 4, 1);
  });
  EXPECT_TRUE(contains(error, "1 transfers it did not wait for")) << error;
}

TEST(Faults, RankThatEndsEarly) {
  RankProgram program(lineMesh(2));
  float values[4] = {};
  std::string error = program.run([&](tsp_rank *rank, void **, void **) {
    if (rank->index == 0)
      gather(rank, TSP_F32, values, values + 2, 2, 4);
  });
  EXPECT_TRUE(contains(error, "rank 1 has ended the program but has not joined "
                              "all_gather"))
      << error;
}

TEST(Watchdog, NamesTheLateRank) {
  tsp_options options = RankProgram::defaults();
  options.watchdog_s = 0.3;
  RankProgram program(lineMesh(3), "", options);
  float values[16] = {};
  std::atomic<bool> release{false};
  std::string error = program.run([&](tsp_rank *rank, void **, void **) {
    while (rank->index == 2 && !release && !rank->session.failed())
      sleepMs(5);
    gather(rank, TSP_F32, values + 4 * rank->index, values + 12 + rank->index,
           3, 4);
  });
  EXPECT_TRUE(contains(error, "rank 2 is late")) << error;
  EXPECT_TRUE(contains(error, "has not joined all_gather")) << error;
  EXPECT_TRUE(contains(error, "it computes")) << error;
  EXPECT_FALSE(program.session().lost());
}

TEST(Watchdog, ReturnsThoughARankIsStuck) {
  tsp_options options = RankProgram::defaults();
  options.watchdog_s = 0.2;
  RankProgram program(lineMesh(2), "", options);
  static float values[8];
  std::string error = program.run([](tsp_rank *rank, void **, void **) {
    while (rank->index == 1)
      sleepMs(1000);
    gather(rank, TSP_F32, values, values + 4, 2, 4);
  });
  EXPECT_TRUE(contains(error, "rank 1 is late")) << error;
  EXPECT_TRUE(program.session().lost());
  program.abandon();
}

TEST(Watchdog, SlowRanksThatAdvanceAreNotLate) {
  tsp_options options = RankProgram::defaults();
  options.watchdog_s = 0.5;
  RankProgram program(lineMesh(2), "", options);
  float values[8] = {};
  EXPECT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
    auto kernel = [](void **, int64_t, int64_t, void *) { sleepMs(60); };
    for (int i = 0; rank->index == 1 && i < 12; ++i)
      tsp_launch(rank, 0, "slow", kernel, 1, 0, 0, nullptr);
    gather(rank, TSP_F32, values + 4 * rank->index, values + 2, 2, 4);
  }),
            "");
}

TEST(Watchdog, RanksThatWaitForEachOther) {
  tsp_options options = RankProgram::defaults();
  options.watchdog_s = 0.1;
  RankProgram program(
      "[{\"name\":\"d\",\"size\":1},{\"name\":\"t\",\"size\":2}],"
      "\"groups\":[[\"d\",\"t\"]]",
      "", options);
  float values[8] = {};
  std::string error = program.run([&](tsp_rank *rank, void **, void **) {
    // The same ranks by two numbers, in another order.
    tsp_wait(rank, 0,
             tsp_all_gather_start(rank, 0, 1, rank->index == 0 ? 1 : 2, TSP_F32,
                                  values, values + 4, 1, 2, 4, 0, 1));
  });
  EXPECT_TRUE(contains(error, "it waits in all_gather")) << error;
}

//===----------------------------------------------------------------------===//
// Simulated links
//===----------------------------------------------------------------------===//

/// Milliseconds of a transfer of 100 ms and `computeMs` of work, overlapped.
static double linkMs(int computeMs, int transfers, bool overlap) {
  tsp_options options = RankProgram::defaults();
  options.link_gbps = 0.001; // 1 MB/s: 100 KB take 100 ms
  options.link_us = 100;
  RankProgram program(lineMesh(2), "", options);
  PerRank<char> in(2, std::vector<char>(100000)), out = in;
  EXPECT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
    int64_t r = rank->index, size = 100000 / transfers;
    tsp_event events[8];
    for (int i = 0; i < transfers; ++i)
      events[i] = tsp_send_recv_start(rank, 0, 1, 0, TSP_I8, &out[r][i * size],
                                      &in[r][i * size], size, 1);
    if (overlap)
      sleepMs(computeMs);
    for (int i = 0; i < transfers; ++i)
      tsp_wait(rank, 0, events[i]);
    if (!overlap)
      sleepMs(computeMs);
  }),
            "");
  return program.session().ranks[0]->runSeconds.back() * 1e3;
}

/// The least of a few tries, until one is below `bound`: a busy machine is late
/// now and then, but never early.
static double leastLinkMs(double bound, int computeMs, int transfers) {
  double least = linkMs(computeMs, transfers, true);
  for (int tries = 1; least >= bound && tries < 20; ++tries)
    least = std::min(least, linkMs(computeMs, transfers, true));
  return least;
}

TEST(Link, TransfersRunUnderCompute) {
  double both = leastLinkMs(120, 100, 1);
  EXPECT_GE(both, 99);
  EXPECT_LT(both, 120);
}

TEST(Link, WaitingFirstTakesTheSum) { EXPECT_GE(linkMs(100, 1, false), 199); }

TEST(Link, TransfersShareTheLink) {
  double shared = leastLinkMs(130, 0, 4);
  EXPECT_GE(shared, 99);
  EXPECT_LT(shared, 130);
}
