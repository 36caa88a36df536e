//===- CombineTest.cpp - combines, groups and faults of collectives -------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankProgram.h"

#include <cmath>
#include <thread>

using namespace tsp::runtime;
using namespace tsp::runtime::test;

static const char *const squareMesh =
    "[{\"name\":\"d\",\"size\":2},{\"name\":\"t\",\"size\":2}],"
    "\"groups\":[[\"d\",\"t\"],[\"t\",\"d\"]]";

TEST(Groups, AxesOfA2x2Mesh) {
  RankProgram program(squareMesh);
  // Axis numbers: d, t, (d,t), (t,d). Each rank gathers its own number.
  int32_t out[4][4][4] = {};
  ASSERT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
    int32_t mine = int32_t(rank->index);
    for (int axis = 0; axis < 4; ++axis)
      tsp_wait(rank, 0,
               tsp_all_gather_start(rank, 0, 1, axis, TSP_I32,
                                    out[rank->index][axis], &mine, 1,
                                    axis < 2 ? 2 : 4, 4, TSP_CONTIGUOUS, 1));
  }),
            "");
  for (int rank = 0; rank < 4; ++rank) {
    int d = rank / 2, t = rank % 2;
    EXPECT_EQ(out[rank][0][0], t);
    EXPECT_EQ(out[rank][0][1], 2 + t);
    EXPECT_EQ(out[rank][1][0], 2 * d);
    EXPECT_EQ(out[rank][1][1], 2 * d + 1);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(out[rank][2][i], i);
      EXPECT_EQ(out[rank][3][i], i / 2 + 2 * (i % 2));
    }
    EXPECT_EQ(program.bytes(rank, Collective::AllGather, 0), 4);
    EXPECT_EQ(program.bytes(rank, Collective::AllGather, 2), 12);
  }
}

/// All reduced values of one column of inputs, one a rank.
template <typename T>
static std::vector<T> reduce(int dtype, int combine, std::vector<T> in,
                             int64_t repeat = 1) {
  int64_t ranks = int64_t(in.size());
  RankProgram program(lineMesh(ranks));
  PerRank<T> buffers, out(ranks, std::vector<T>(repeat));
  for (T value : in)
    buffers.push_back(std::vector<T>(repeat, value));
  EXPECT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
    tsp_wait(rank, 0,
             tsp_all_reduce_start(rank, 0, 1, 0, dtype, combine,
                                  out[rank->index].data(),
                                  buffers[rank->index].data(), repeat));
  }),
            "");
  for (int64_t r = 0; r < ranks; ++r)
    EXPECT_EQ(0, memcmp(out[r].data(), out[0].data(), repeat * sizeof(T)));
  return out[0];
}

TEST(Combine, SmallFloatsSumInF32) {
  // 256 + 1 + 1 is 256 when each step rounds to bf16, 258 when the end does.
  uint16_t big = floatToBfloat(256), one = floatToBfloat(1);
  for (int64_t repeat : {1, 5000})
    EXPECT_EQ(bfloatToFloat(
                  reduce<uint16_t>(TSP_BF16, TSP_SUM, {big, one, one}, repeat)
                      .back()),
              258);
  EXPECT_EQ(halfToFloat(reduce<uint16_t>(
                TSP_F16, TSP_SUM,
                {floatToHalf(2048), floatToHalf(1), floatToHalf(1)})[0]),
            2050);
  EXPECT_EQ(f8E4M3ToFloat(reduce<uint8_t>(
                TSP_F8E4M3FN, TSP_SUM,
                {floatToF8E4M3(16), floatToF8E4M3(1), floatToF8E4M3(1)})[0]),
            18);
}

TEST(Combine, SumsHaveTheOrderOfTheRanks) {
  EXPECT_EQ(reduce<float>(TSP_F32, TSP_SUM, {1e8f, -1e8f, 3, 4})[0], 7);
  EXPECT_EQ(reduce<float>(TSP_F32, TSP_SUM, {3, 1e8f, -1e8f, 4})[0], 4);
  EXPECT_EQ(reduce<float>(TSP_F32, TSP_SUM, {3, 1e8f, -1e8f, 4}, 9000)[8999],
            4);
}

TEST(Combine, NanWins) {
  EXPECT_TRUE(std::isnan(reduce<float>(TSP_F32, TSP_MAX, {1, NAN, 3})[0]));
  EXPECT_TRUE(std::isnan(reduce<float>(TSP_F32, TSP_MIN, {1, 2, NAN})[0]));
  EXPECT_EQ(reduce<float>(TSP_F32, TSP_MAX, {-INFINITY, -5, -7})[0], -5);
  EXPECT_FALSE(std::signbit(reduce<double>(TSP_F64, TSP_MAX, {-0.0, 0.0})[0]));
  EXPECT_TRUE(std::signbit(reduce<double>(TSP_F64, TSP_MIN, {0.0, -0.0})[0]));
}

TEST(Combine, Integers) {
  EXPECT_EQ(reduce<int32_t>(TSP_I32, TSP_SUM, {INT32_MAX, 1})[0], INT32_MIN);
  EXPECT_EQ(reduce<int8_t>(TSP_I4, TSP_SUM, {7, 1})[0], -8);
  EXPECT_EQ(reduce<uint8_t>(TSP_UI4, TSP_SUM, {15, 2})[0], 1);
  EXPECT_EQ(reduce<uint8_t>(TSP_I1, TSP_SUM, {1, 1, 0})[0], 1);
  EXPECT_EQ(reduce<uint8_t>(TSP_I1, TSP_MIN, {1, 1, 0})[0], 0);
  EXPECT_EQ(reduce<uint64_t>(TSP_UI64, TSP_MAX, {1, UINT64_MAX})[0],
            UINT64_MAX);
}

TEST(Combine, Lse) {
  // Rows: two parts; one of them empty with NaN inside; all empty.
  const int64_t rows = 3, inner = 2;
  const float o[2][rows * inner] = {{1, 2, 5, 6, NAN, 1},
                                    {3, 4, NAN, NAN, 1, NAN}};
  const float lse[2][rows] = {{0, 2, -INFINITY},
                              {std::log(3.0f), -INFINITY, -INFINITY}};
  float out[2][rows * inner], outLse[2][rows];
  RankProgram program(lineMesh(2));
  ASSERT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
    int64_t r = rank->index;
    tsp_wait(rank, 0,
             tsp_all_reduce_pair_start(rank, 0, 1, 0, TSP_F32, TSP_F32, TSP_LSE,
                                       out[r], outLse[r], o[r], lse[r], rows,
                                       inner));
  }),
            "");
  for (int r = 0; r < 2; ++r) {
    const float expected[] = {2.5f, 3.5f, 5, 6, 0, 0};
    for (int i = 0; i < 6; ++i)
      EXPECT_NEAR(out[r][i], expected[i], 1e-6);
    EXPECT_NEAR(outLse[r][0], std::log(4.0f), 1e-6);
    EXPECT_EQ(outLse[r][1], 2);
    EXPECT_EQ(outLse[r][2], -INFINITY);
  }
  EXPECT_EQ(program.bytes(0, Collective::AllReduce), (6 + 3) * 4);
}

TEST(Combine, Argmax) {
  const int64_t rows = 3000; // many: with phases
  std::vector<float> value[3], outValue[3];
  std::vector<int32_t> index[3], outIndex[3];
  for (int r = 0; r < 3; ++r) {
    outValue[r].resize(rows);
    outIndex[r].resize(rows);
    for (int64_t i = 0; i < rows; ++i) {
      // Ties between all (i % 3 == 0), rank 2 wins, NaN on rank 1.
      value[r].push_back(i % 3 == 0 ? 7 : i % 3 == 1 ? r : r == 1 ? NAN : 9);
      index[r].push_back(i % 3 == 0 ? 30 - r : r);
    }
  }
  RankProgram program(lineMesh(3));
  ASSERT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
    int64_t r = rank->index;
    tsp_wait(rank, 0,
             tsp_all_reduce_pair_start(rank, 0, 1, 0, TSP_F32, TSP_I32,
                                       TSP_ARGMAX, outValue[r].data(),
                                       outIndex[r].data(), value[r].data(),
                                       index[r].data(), rows, 1));
  }),
            "");
  for (int r = 0; r < 3; ++r)
    for (int64_t i = 0; i < rows; ++i)
      EXPECT_EQ(outIndex[r][i], i % 3 == 0 ? 28 : i % 3 == 1 ? 2 : 1);
}

TEST(Permute, ZerosWhereNothingComes) {
  RankProgram program(lineMesh(3));
  const int32_t sources[] = {2, -1, 1};
  int32_t out[3] = {9, 9, 9};
  ASSERT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
    int32_t mine = 100 + int32_t(rank->index);
    tsp_wait(rank, 0,
             tsp_permute_start(rank, 0, 1, 0, TSP_I32, &out[rank->index], &mine,
                               4, sources));
  }),
            "");
  EXPECT_EQ(out[0], 102);
  EXPECT_EQ(out[1], 0);
  EXPECT_EQ(out[2], 101);
}

TEST(Flight, ManyTransfersOutOfOrder) {
  RankProgram program(lineMesh(4));
  int32_t sums[4] = {};
  ASSERT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
    for (int round = 0; round < 40; ++round) {
      int32_t in[20], out[20];
      tsp_event events[20];
      for (int i = 0; i < 20; ++i) {
        in[i] = int32_t(rank->index) * 100 + i;
        events[i] = tsp_send_recv_start(rank, 0, 1, 0, TSP_I32, &out[i], &in[i],
                                        4, 1 + i % 3);
      }
      for (int i = 0; i < 20; ++i)
        tsp_wait(rank, 0, events[(i * 7) % 20]);
      for (int i = 0; i < 20; ++i)
        sums[rank->index] +=
            out[i] - int32_t((rank->index + 3 - i % 3) % 4) * 100 - i;
    }
  }),
            "");
  for (int32_t sum : sums)
    EXPECT_EQ(sum, 0);
}
