//===- ConvertCollectives.cpp - collectives over mesh axes ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalOps.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Sharding/Passes.h"
#include "tsp/Sharding/Placement.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tsp {
#define GEN_PASS_DEF_TSPCONVERTCOLLECTIVES
#include "tsp/Passes/Sharding.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

namespace {

/// Ranks by coordinate: rank = sum of coordinate times stride.
struct MeshRanks {
  explicit MeshRanks(MeshAttr mesh)
      : mesh(mesh), strides(mesh.getSizes().size(), 1) {
    for (int i = (int)strides.size() - 2; i >= 0; --i)
      strides[i] = strides[i + 1] * mesh.getSizes()[i + 1];
  }
  int64_t coordinate(int64_t rank, int axis) const {
    return rank / strides[axis] % mesh.getSizes()[axis];
  }
  /// The axis whose groups these are, in order of coordinate; -1 when none.
  int axisOfGroups(DenseIntElementsAttr groups) const {
    auto values = llvm::to_vector(groups.getValues<int64_t>());
    int64_t size = cast<ShapedType>(groups.getType()).getDimSize(1);
    for (int axis = 0; axis < (int)strides.size(); ++axis) {
      if (mesh.getSizes()[axis] != size ||
          (int64_t)values.size() != mesh.getNumRanks())
        continue;
      bool fits = true;
      for (auto [i, rank] : llvm::enumerate(values))
        fits &= coordinate(rank, axis) == (int64_t)i % size &&
                (i % size == 0 || rank == values[i - 1] + strides[axis]);
      if (fits)
        return axis;
    }
    return -1;
  }

  MeshAttr mesh;
  SmallVector<int64_t> strides;
};

struct ConvertCollectivesPass
    : public tsp::impl::TspConvertCollectivesBase<ConvertCollectivesPass> {
  void runOnOperation() override {
    MeshRanks ranks(getMesh(getOperation()));
    WalkResult result = getOperation().walk(
        [&](Operation *op) { return WalkResult(convert(op, ranks)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  static LogicalResult convert(Operation *op, const MeshRanks &ranks) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    if (isa<stablehlo::PartitionIdOp, stablehlo::ReplicaIdOp>(op)) {
      Value rank = constantI32(b, loc, 0);
      if (isa<stablehlo::PartitionIdOp>(op))
        for (auto [axis, stride] :
             llvm::zip(ranks.mesh.getAxes(), ranks.strides))
          rank = add(b, loc, rank,
                     multiplyI32(b, loc,
                                 tsp::AxisIndexOp::create(
                                     b, loc, scalarI32Type(b), axis),
                                 stride));
      rank = stablehlo::ConvertOp::create(b, loc, op->getResult(0).getType(),
                                          rank);
      return replace(op, rank);
    }
    if (auto permute = dyn_cast<stablehlo::CollectivePermuteOp>(op))
      return convertPermute(permute, ranks);
    if (!isa<stablehlo::AllReduceOp, stablehlo::AllGatherOp,
             stablehlo::ReduceScatterOp, stablehlo::AllToAllOp,
             stablehlo::CollectiveBroadcastOp>(op))
      return success();

    auto groups = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
    int number = groups ? ranks.axisOfGroups(groups) : -1;
    if (number < 0)
      return op->emitOpError("expected groups of one mesh axis of ")
             << ranks.mesh << ", found " << groups
             << "; write one collective an axis, or give the mesh one axis of "
                "that size";
    StringAttr axis = ranks.mesh.getAxes()[number];
    int64_t size = ranks.mesh.getSizes()[number];
    SmallVector<Value> results;
    std::optional<CombineKind> combine;
    if (isa<stablehlo::AllReduceOp, stablehlo::ReduceScatterOp>(op)) {
      Operation *reducer = stablehlo::getSimpleReducer(op->getRegion(0));
      if (isa_and_nonnull<stablehlo::AddOp>(reducer))
        combine = CombineKind::Sum;
      else if (isa_and_nonnull<stablehlo::MaxOp>(reducer))
        combine = CombineKind::Max;
      else if (isa_and_nonnull<stablehlo::MinOp>(reducer))
        combine = CombineKind::Min;
      else
        return op->emitOpError(
            "expected a reduction by add, maximum or minimum; gather the "
            "values and reduce them locally instead");
    }
    for (auto [operand, result] :
         llvm::zip(op->getOperands(), op->getResults())) {
      RankedTensorType in = typeOf(operand), out = typeOf(result);
      if (isa<stablehlo::AllReduceOp>(op)) {
        results.push_back(
            tsp::AllReduceOp::create(b, loc, out, operand, axis, *combine));
      } else if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op)) {
        int64_t dim = gather.getAllGatherDim();
        results.push_back(tsp::AllGatherOp::create(b, loc, out, operand, axis,
                                                   dim, out.getDimSize(dim)));
      } else if (auto scatter = dyn_cast<stablehlo::ReduceScatterOp>(op)) {
        int64_t dim = scatter.getScatterDimension();
        results.push_back(tsp::ReduceScatterOp::create(
            b, loc, out, operand, axis, dim, in.getDimSize(dim), 1,
            Layout::Contiguous, *combine));
      } else if (auto exchange = dyn_cast<stablehlo::AllToAllOp>(op)) {
        int64_t split = exchange.getSplitDimension(),
                concat = exchange.getConcatDimension();
        if (split == concat)
          return op->emitOpError(
                     "expected split_dimension and concat_dimension to differ, "
                     "found both ")
                 << split << "; add a dim of size " << size
                 << " to exchange along";
        results.push_back(tsp::AllToAllOp::create(
            b, loc, out, operand, axis, split, in.getDimSize(split), 1, concat,
            out.getDimSize(concat), 1));
      } else {
        Value mine = select(
            b, loc,
            broadcastScalar(b, loc, isAt(b, loc, axis, 0), in.getShape()),
            operand, splat(b, loc, in, 0));
        results.push_back(tsp::AllReduceOp::create(b, loc, out, mine, axis,
                                                   CombineKind::Sum));
      }
    }
    return replace(op, results);
  }

  static LogicalResult convertPermute(stablehlo::CollectivePermuteOp op,
                                      const MeshRanks &ranks) {
    OpBuilder b(op);
    Location loc = op.getLoc();
    auto pairs = llvm::to_vector(
        op->getAttrOfType<DenseIntElementsAttr>("source_target_pairs")
            .getValues<int64_t>());
    for (auto [number, axis] : llvm::enumerate(ranks.mesh.getAxes())) {
      int64_t size = ranks.mesh.getSizes()[number],
              stride = ranks.strides[number];
      // All pairs move by the same shift along this axis; each coordinate gets
      // a value in every group or in none.
      std::optional<int64_t> shift;
      SmallVector<int64_t> receives(size, 0);
      bool fits = !pairs.empty();
      for (size_t i = 0; fits && i < pairs.size(); i += 2) {
        int64_t from = ranks.coordinate(pairs[i], number),
                to = ranks.coordinate(pairs[i + 1], number);
        int64_t step = (to - from + size) % size;
        fits = pairs[i + 1] - pairs[i] == (to - from) * stride &&
               shift.value_or(step) == step;
        shift = step;
        ++receives[to];
      }
      int64_t groups = ranks.mesh.getNumRanks() / size;
      for (int64_t count : receives)
        fits &= count == 0 || count == groups;
      if (!fits)
        continue;
      Value moved = op.getOperand();
      if (*shift != 0)
        moved =
            tsp::SendRecvOp::create(b, loc, op.getType(), moved, axis, *shift);
      for (auto [coordinate, count] : llvm::enumerate(receives))
        if (count == 0)
          moved = select(b, loc,
                         broadcastScalar(b, loc, isAt(b, loc, axis, coordinate),
                                         typeOf(moved).getShape()),
                         splat(b, loc, typeOf(moved), 0), moved);
      return replace(op, moved);
    }
    return op.emitOpError("expected a shift along one axis of ")
           << ranks.mesh << ", found pairs of another form; write it as shifts";
  }

  /// Whether this rank's coordinate on `axis` is `coordinate`, as tensor<i1>.
  static Value isAt(OpBuilder &b, Location loc, StringAttr axis,
                    int64_t coordinate) {
    Value index = tsp::AxisIndexOp::create(b, loc, scalarI32Type(b), axis);
    return stablehlo::CompareOp::create(b, loc, index,
                                        constantI32(b, loc, coordinate),
                                        stablehlo::ComparisonDirection::EQ);
  }

  static LogicalResult replace(Operation *op, ValueRange values) {
    op->replaceAllUsesWith(values);
    op->erase();
    return success();
  }
};

} // namespace
