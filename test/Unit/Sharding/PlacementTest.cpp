//===- PlacementTest.cpp - shards over several axes -----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Placement.h"
#include "lib/Sharding/Reshard.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace tsp;

namespace {

class PlacementTest : public testing::Test {
protected:
  PlacementTest() {
    context.loadDialect<TspDialect>();
    SmallVector<StringAttr> names;
    for (StringRef name : {"a", "b", "c"})
      names.push_back(StringAttr::get(&context, name));
    mesh = MeshAttr::get(&context, names, {2, 3, 4});
  }

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }

  /// Some of the axes that are left, in any order.
  SmallVector<AxisSplit> pickAxes(std::vector<int> &left) {
    std::shuffle(left.begin(), left.end(), random);
    SmallVector<AxisSplit> axes;
    for (int64_t n = pick(0, left.size()); n > 0; --n) {
      axes.push_back(
          {left.back(), pick(0, 1) ? Layout::Zigzag : Layout::Contiguous});
      left.pop_back();
    }
    return axes;
  }

  Placement pickPlacement(RankedTensorType type) {
    std::vector<int> left{0, 1, 2};
    Placement placement(type.getRank());
    for (auto [size, dim] : llvm::zip(type.getShape(), placement.dims))
      dim = splitOver(pickAxes(left), size, mesh, pick(1, 3));
    return placement;
  }

  RankedTensorType typeOfShape(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, Float32Type::get(&context));
  }

  MLIRContext context;
  MeshAttr mesh;
  std::mt19937 random{7};
};

/// The runtime's own idea of a placement, as the model's description has it.
runtime::DimPlacement inRuntime(const DimShard &shard, MeshAttr mesh) {
  runtime::DimPlacement levels;
  for (size_t i = 0; i < shard.axes.size(); ++i) {
    const AxisSplit &split = shard.axes[i];
    levels.push_back({split.axis, int32_t(split.layout),
                      prefixOf(shard, i + 1, mesh).chunk / split.chunks()});
  }
  return levels;
}

TEST_F(PlacementTest, EveryElementHasOneOwnerAndPiecesAreConsecutive) {
  const runtime::MeshShape sizes{2, 3, 4};
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<int> left{0, 1, 2};
    int64_t total = pick(1, 60);
    DimShard shard = splitOver(pickAxes(left), total, mesh, pick(1, 4));
    if (!shard.isSharded())
      continue;
    runtime::DimPlacement levels = inRuntime(shard, mesh);
    EXPECT_EQ(runtime::localSize(sizes, levels, total), shard.chunk);
    std::vector<int> owners(total, 0);
    for (int64_t rank = 0; rank < 24; ++rank) {
      std::vector<int64_t> at = runtime::rankCoordinates(sizes, rank);
      // One rank for each coordinate on the axes of the shard.
      if (llvm::any_of(left, [&](int axis) { return at[axis] != 0; }))
        continue;
      int64_t piece = pieceSizeOf(shard, mesh);
      std::vector<int64_t> shifts(shard.chunk / piece, -1);
      for (const runtime::Segment &segment :
           runtime::ownedSegments(sizes, levels, total, at))
        for (int64_t i = 0; i < segment.size; ++i) {
          ++owners[segment.global + i];
          int64_t &shift = shifts[(segment.local + i) / piece];
          int64_t own = segment.global - segment.local + total;
          EXPECT_TRUE(shift == -1 || shift == own);
          shift = own;
        }
    }
    EXPECT_EQ(owners, std::vector<int>(total, 1));
  }
}

TEST_F(PlacementTest, AttributesHoldAllOfIt) {
  for (int trial = 0; trial < 200; ++trial) {
    RankedTensorType type = typeOfShape({pick(1, 40), pick(1, 40)});
    Placement placement = pickPlacement(type);
    PlacementAttr attr = toAttr(placement, type, mesh);
    auto read = fromAttr(attr, type, mesh,
                         [&] { return emitError(UnknownLoc::get(&context)); });
    ASSERT_TRUE(succeeded(read));
    EXPECT_EQ(*read, placement);
    for (auto [dim, shard, size] :
         llvm::zip(attr.getDims(), placement.dims, type.getShape()))
      for (auto [i, chunk] : llvm::enumerate(dim.getChunks(size, mesh)))
        EXPECT_EQ(chunk, prefixOf(shard, i + 1, mesh).chunk);
  }
}

TEST_F(PlacementTest, ReshardingEndsWhereItShould) {
  for (int trial = 0; trial < 500; ++trial) {
    RankedTensorType type = typeOfShape({pick(1, 30), pick(1, 30), pick(1, 9)});
    Placement from = pickPlacement(type), to = pickPlacement(type);
    EXPECT_TRUE(planReshard(type, from, from, mesh).empty());
    Placement now = from;
    for (const ReshardStep &step : planReshard(type, from, to, mesh)) {
      EXPECT_EQ(step.before, now);
      EXPECT_NE(step.after, now);
      now = step.after;
    }
    EXPECT_EQ(now, to);
  }
}

TEST_F(PlacementTest, GatheringNestedAxesReceivesWhatOneAxisWould) {
  RankedTensorType type = typeOfShape({48, 5});
  Placement from(2);
  from.dims[0] = splitOver({{2}, {0, Layout::Zigzag}, {1}}, 48, mesh);
  int64_t bytes = 0;
  for (const ReshardStep &step : planReshard(type, from, Placement(2), mesh)) {
    EXPECT_EQ(step.kind, ReshardStep::Gather);
    bytes += step.bytesReceived(type, mesh);
  }
  EXPECT_EQ(bytes, 48 * 5 * 4 * 23 / 24);
}

TEST_F(PlacementTest, AnAxisThatChangesItsDimIsExchanged) {
  RankedTensorType type = typeOfShape({12, 12});
  Placement from(2), to(2);
  from.dims[0] = splitOver({{0}, {1}}, 12, mesh);
  to.dims[0] = prefixOf(from.dims[0], 1, mesh);
  to.dims[1] = splitOver(AxisSplit{1, Layout::Zigzag}, 12, mesh);
  auto steps = planReshard(type, from, to, mesh);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].kind, ReshardStep::Exchange);
  EXPECT_EQ(steps[0].bytesReceived(type, mesh), 2 * 12 * 4 * 2 / 3);
}

} // namespace
