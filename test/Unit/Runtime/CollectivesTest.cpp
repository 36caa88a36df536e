//===- CollectivesTest.cpp - collectives against plain loops --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceImage.h"

using namespace tsp::runtime;
using namespace tsp::runtime::test;

namespace {
struct Case {
  int64_t ranks, outer, total, inner; ///< inner: elements
  int32_t layout;
  int64_t unit;
  Where where = Where::Host;
};

std::string caseName(const testing::TestParamInfo<Case> &info) {
  const Case &c = info.param;
  return format("D%lld_%lldx%lldx%lld_%s%lld", (long long)c.ranks,
                (long long)c.outer, (long long)c.total, (long long)c.inner,
                c.layout == TSP_ZIGZAG ? "zigzag" : "contiguous",
                (long long)c.unit);
}

/// Which rank holds a global element, and where in its local dim; by counting.
std::pair<int64_t, int64_t> owner(const Case &c, int64_t element) {
  int64_t parts = c.layout == TSP_ZIGZAG ? 2 * c.ranks : c.ranks;
  int64_t chunk = c.unit;
  while (chunk * parts < c.total)
    chunk += c.unit;
  if (c.total == 0)
    chunk = 0;
  int64_t index = element / chunk, inside = element % chunk;
  if (c.layout == TSP_CONTIGUOUS)
    return {index, inside};
  return index < c.ranks
             ? std::make_pair(index, inside)
             : std::make_pair(2 * c.ranks - 1 - index, chunk + inside);
}

int64_t localOf(const Case &c) {
  return Chunking{c.total, c.ranks, c.layout, c.unit}.local();
}

class CollectivesTest : public testing::TestWithParam<Case> {
protected:
  const Case &c = GetParam();
  const int64_t local = localOf(c);
  const int64_t innerBytes = c.inner * int64_t(sizeof(float));
  RankProgram program = makeProgram(c.where, c.ranks);

  /// Local parts of a random whole value, with NaN as padding.
  PerRank<float> split(const std::vector<float> &whole) {
    PerRank<float> parts(c.ranks,
                         std::vector<float>(c.outer * local * c.inner, NAN));
    for (int64_t o = 0; o < c.outer; ++o)
      for (int64_t e = 0; e < c.total; ++e) {
        auto [rank, at] = owner(c, e);
        for (int64_t i = 0; i < c.inner; ++i)
          parts[rank][(o * local + at) * c.inner + i] =
              whole[(o * c.total + e) * c.inner + i];
      }
    return parts;
  }

  int64_t ownedElements(int64_t rank) {
    int64_t count = 0;
    for (int64_t e = 0; e < c.total; ++e)
      count += owner(c, e).first == rank;
    return count;
  }
};
} // namespace

TEST_P(CollectivesTest, AllGather) {
  int64_t size = c.outer * c.total * c.inner;
  std::vector<float> whole = randomBuffers<float>(1, size, 1)[0];
  Buffers<float> parts(program, split(whole));
  Buffers<float> out(program,
                     PerRank<float>(c.ranks, std::vector<float>(size, NAN)));
  ASSERT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
    tsp_wait(rank, 0,
             tsp_all_gather_start(rank, spaceOf(rank), 1, 0, TSP_F32,
                                  out[rank->index], parts[rank->index], c.outer,
                                  c.total, innerBytes, c.layout, c.unit));
  }),
            "");
  for (int64_t r = 0; r < c.ranks; ++r) {
    EXPECT_EQ(out.values()[r], whole);
    EXPECT_EQ(program.bytes(r, Collective::AllGather),
              c.outer * (c.total - ownedElements(r)) * innerBytes);
  }
}

TEST_P(CollectivesTest, ReduceScatter) {
  int64_t size = c.outer * c.total * c.inner;
  PerRank<float> values = randomBuffers<float>(c.ranks, size, 2);
  Buffers<float> in(program, values);
  Buffers<float> out(
      program, PerRank<float>(c.ranks, std::vector<float>(
                                           c.outer * local * c.inner, NAN)));
  ASSERT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
    tsp_wait(rank, 0,
             tsp_reduce_scatter_start(rank, spaceOf(rank), 1, 0, TSP_F32,
                                      TSP_SUM, out[rank->index],
                                      in[rank->index], c.outer, c.total,
                                      innerBytes, c.layout, c.unit));
  }),
            "");
  std::vector<float> sum = values[0];
  for (int64_t r = 1; r < c.ranks; ++r)
    for (int64_t i = 0; i < size; ++i)
      sum[i] += values[r][i];
  PerRank<float> expected = split(sum);
  for (auto &buffer : expected)
    for (float &value : buffer)
      value = std::isnan(value) ? 0 : value;
  EXPECT_EQ(out.values(), expected);
}

TEST_P(CollectivesTest, Broadcast) {
  std::vector<float> whole =
      randomBuffers<float>(1, c.outer * c.total * c.inner, 3)[0];
  Buffers<float> parts(program, split(whole));
  // Intervals inside a chunk, over several, at the end and past it.
  for (auto [offset, size] : std::vector<std::pair<int64_t, int64_t>>{
           {0, c.total}, {1, 2}, {c.total / 2, c.total}, {-2, 3}}) {
    Buffers<float> out(
        program, PerRank<float>(c.ranks, std::vector<float>(
                                             c.outer * size * c.inner, NAN)));
    int64_t begin = offset, count = size;
    ASSERT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
      tsp_wait(rank, 0,
               tsp_broadcast_start(rank, spaceOf(rank), 1, 0, TSP_F32,
                                   out[rank->index], parts[rank->index],
                                   c.outer, c.total, innerBytes, c.layout,
                                   c.unit, begin, count));
    }),
              "");
    std::vector<float> expected;
    std::vector<int64_t> foreign(c.ranks, 0);
    for (int64_t o = 0; o < c.outer; ++o)
      for (int64_t e = offset; e < offset + size; ++e) {
        bool inside = e >= 0 && e < c.total;
        for (int64_t i = 0; i < c.inner; ++i)
          expected.push_back(inside ? whole[(o * c.total + e) * c.inner + i]
                                    : 0);
        for (int64_t r = 0; r < c.ranks; ++r)
          foreign[r] += inside && owner(c, e).first != r;
      }
    PerRank<float> found = out.values();
    for (int64_t r = 0; r < c.ranks; ++r) {
      EXPECT_EQ(found[r], expected);
      EXPECT_EQ(program.bytes(r, Collective::Broadcast),
                foreign[r] * innerBytes);
    }
  }
}

/// Changes the sharded dim there and back, with another layout in the other
/// dim.
TEST_P(CollectivesTest, AllToAll) {
  const int64_t mid = 2, total1 = 5;
  Case second{c.ranks, 1, total1, 1, TSP_CONTIGUOUS, 1};
  int64_t local1 = localOf(second);
  auto at = [&](int64_t o, int64_t a, int64_t m, int64_t b, int64_t i,
                int64_t size0, int64_t size1) {
    return (((o * size0 + a) * mid + m) * size1 + b) * c.inner + i;
  };
  std::vector<float> whole =
      randomBuffers<float>(1, c.outer * c.total * mid * total1 * c.inner, 4)[0];
  PerRank<float> rows(
      c.ranks, std::vector<float>(c.outer * local * mid * total1 * c.inner));
  PerRank<float> columns(
      c.ranks, std::vector<float>(c.outer * c.total * mid * local1 * c.inner));
  std::vector<int64_t> expectedBytes(c.ranks, 0);
  for (int64_t o = 0; o < c.outer; ++o)
    for (int64_t a = 0; a < c.total; ++a)
      for (int64_t m = 0; m < mid; ++m)
        for (int64_t b = 0; b < total1; ++b)
          for (int64_t i = 0; i < c.inner; ++i) {
            float value = whole[at(o, a, m, b, i, c.total, total1)];
            auto [r0, l0] = owner(c, a);
            auto [r1, l1] = owner(second, b);
            rows[r0][at(o, l0, m, b, i, local, total1)] = value;
            columns[r1][at(o, a, m, l1, i, c.total, local1)] = value;
            expectedBytes[r0] += r0 != r1 ? 4 : 0;
          }
  for (int32_t split : {0, 1}) {
    Buffers<float> in(program, split == 0 ? columns : rows);
    PerRank<float> &expected = split == 0 ? rows : columns;
    PerRank<float> unset = expected;
    for (auto &buffer : unset)
      buffer.assign(buffer.size(), NAN);
    Buffers<float> out(program, unset);
    ASSERT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
      tsp_wait(rank, 0,
               tsp_all_to_all_start(rank, spaceOf(rank), 1, 0, TSP_F32,
                                    out[rank->index], in[rank->index], c.outer,
                                    c.total, mid, total1, innerBytes, split,
                                    c.layout, c.unit, TSP_CONTIGUOUS, 1));
    }),
              "");
    EXPECT_EQ(out.values(), expected);
    if (split == 0)
      for (int64_t r = 0; r < c.ranks; ++r)
        EXPECT_EQ(program.bytes(r, Collective::AllToAll), expectedBytes[r]);
  }
}

TEST_P(CollectivesTest, SendRecv) {
  int64_t size = c.outer * c.total * c.inner;
  PerRank<float> values = randomBuffers<float>(c.ranks, size, 5);
  Buffers<float> in(program, values);
  for (int64_t shift : {int64_t(1), int64_t(-1), int64_t(2), c.ranks}) {
    Buffers<float> out(program,
                       PerRank<float>(c.ranks, std::vector<float>(size, NAN)));
    ASSERT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
      tsp_wait(rank, 0,
               tsp_send_recv_start(rank, spaceOf(rank), 1, 0, TSP_F32,
                                   out[rank->index], in[rank->index], size * 4,
                                   shift));
    }),
              "");
    PerRank<float> found = out.values();
    for (int64_t r = 0; r < c.ranks; ++r) {
      int64_t from = ((r - shift) % c.ranks + c.ranks) % c.ranks;
      EXPECT_EQ(found[r], values[from]);
      EXPECT_EQ(program.bytes(r, Collective::SendRecv),
                from == r ? 0 : size * 4);
    }
  }
}

TEST_P(CollectivesTest, AllReduceInPlaceOrNot) {
  int64_t size = c.outer * c.total * c.inner;
  for (bool inPlace : {false, true}) {
    PerRank<float> values = randomBuffers<float>(c.ranks, size, 6);
    std::vector<float> sum = values[0];
    for (int64_t r = 1; r < c.ranks; ++r)
      for (int64_t i = 0; i < size; ++i)
        sum[i] += values[r][i];
    Buffers<float> in(program, values);
    Buffers<float> out(program,
                       PerRank<float>(c.ranks, std::vector<float>(size, NAN)));
    ASSERT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
      float *src = in[rank->index];
      tsp_wait(rank, 0,
               tsp_all_reduce_start(rank, spaceOf(rank), 1, 0, TSP_F32, TSP_SUM,
                                    inPlace ? src : out[rank->index], src,
                                    size));
    }),
              "");
    PerRank<float> found = (inPlace ? in : out).values();
    for (int64_t r = 0; r < c.ranks; ++r) {
      EXPECT_EQ(found[r], sum);
      EXPECT_EQ(program.bytes(r, Collective::AllReduce),
                2 * (c.ranks - 1) * size * 4 / c.ranks);
    }
  }
}

static std::vector<Case> cases() {
  std::vector<Case> result;
  for (int64_t ranks : {1, 2, 3, 4, 8})
    for (Case shape : {Case{0, 1, 24, 1, 0, 1}, Case{0, 3, 11, 5, 0, 1},
                       Case{0, 2, 3, 7, 0, 1}, Case{0, 1, 50, 3, 0, 4},
                       Case{0, 2, 4099, 3, 0, 1}})
      for (int32_t layout : {TSP_CONTIGUOUS, TSP_ZIGZAG}) {
        shape.ranks = ranks;
        shape.layout = layout;
        result.push_back(shape);
      }
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, CollectivesTest, testing::ValuesIn(cases()),
                         caseName);

/// Fewer on devices, which may be emulated.
static std::vector<Case> deviceCases(Where where,
                                     const std::vector<int64_t> &sizes) {
  std::vector<Case> result;
  for (int64_t ranks : sizes)
    for (Case shape : {Case{0, 1, 24, 1, 0, 1}, Case{0, 3, 11, 5, 0, 1},
                       Case{0, 1, 50, 3, 0, 4}, Case{0, 2, 4099, 3, 0, 1}})
      for (int32_t layout : {TSP_CONTIGUOUS, TSP_ZIGZAG}) {
        shape.ranks = ranks;
        shape.layout = layout;
        shape.where = where;
        result.push_back(shape);
      }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Local, CollectivesTest,
                         testing::ValuesIn(deviceCases(Where::OneDevice,
                                                       {1, 4})),
                         caseName);
INSTANTIATE_TEST_SUITE_P(Nccl, CollectivesTest,
                         testing::ValuesIn(deviceCases(Where::Devices, {1, 3})),
                         caseName);
INSTANTIATE_TEST_SUITE_P(Shared, CollectivesTest,
                         testing::ValuesIn(deviceCases(Where::TwoDevices, {3})),
                         caseName);
