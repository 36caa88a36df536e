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
  /// The axes whose groups these are, major to minor: the ranks of a group in
  /// row-major order of their coordinates on these axes.
  FailureOr<SmallVector<int>> axesOfGroups(DenseIntElementsAttr groups) const {
    auto values = llvm::to_vector(groups.getValues<int64_t>());
    int64_t size = cast<ShapedType>(groups.getType()).getDimSize(1);
    if (size == 0 || (int64_t)values.size() != mesh.getNumRanks())
      return failure();
    // The axes along which the first group differs.
    SmallVector<int> axes;
    for (int axis = 0; axis < (int)strides.size(); ++axis)
      if (coordinate(values[size - 1], axis) != coordinate(values[0], axis))
        axes.push_back(axis);
    for (auto [i, rank] : llvm::enumerate(values)) {
      int64_t rest = i % size, expected = values[i - rest];
      for (int axis : llvm::reverse(axes)) {
        if (coordinate(values[i - i % size], axis) != 0)
          return failure();
        expected += rest % mesh.getSizes()[axis] * strides[axis];
        rest /= mesh.getSizes()[axis];
      }
      if (rest != 0 || rank != expected)
        return failure();
    }
    return axes;
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
    FailureOr<SmallVector<int>> found = failure();
    if (groups)
      found = ranks.axesOfGroups(groups);
    if (failed(found))
      return op->emitOpError("expected groups along axes of ")
             << ranks.mesh << ", found " << groups
             << "; write one collective an axis, or give the mesh one axis of "
                "that size";
    ArrayRef<int> axes = *found;
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
    auto exchange = dyn_cast<stablehlo::AllToAllOp>(op);
    if (exchange && axes.size() > 1)
      return op->emitOpError("expected groups of one axis of ")
             << ranks.mesh << " for an exchange, found groups along "
             << axes.size() << " axes; write one exchange an axis";
    auto nameOf = [&](int axis) { return ranks.mesh.getAxes()[axis]; };
    auto resized = [](Value value, int64_t dim, int64_t size) {
      SmallVector<int64_t> shape(typeOf(value).getShape());
      shape[dim] = size;
      return typeOf(value).clone(shape);
    };
    for (auto [operand, result] :
         llvm::zip(op->getOperands(), op->getResults())) {
      RankedTensorType in = typeOf(operand), out = typeOf(result);
      Value value = operand;
      auto reduce = [&](CombineKind kind) {
        for (int axis : axes)
          value = tsp::AllReduceOp::create(b, loc, value.getType(), value,
                                           nameOf(axis), kind, CodecAttr());
      };
      if (isa<stablehlo::AllReduceOp>(op)) {
        reduce(*combine);
      } else if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op)) {
        // The minor axis first, so that the order is that of the ranks.
        int64_t dim = gather.getAllGatherDim();
        for (int axis : llvm::reverse(axes)) {
          int64_t size =
              typeOf(value).getDimSize(dim) * ranks.mesh.getSizes()[axis];
          value = tsp::AllGatherOp::create(b, loc, resized(value, dim, size),
                                           value, nameOf(axis), dim, size, 1,
                                           Layout::Contiguous, CodecAttr());
        }
      } else if (auto scatter = dyn_cast<stablehlo::ReduceScatterOp>(op)) {
        int64_t dim = scatter.getScatterDimension();
        for (int axis : axes) {
          int64_t total = typeOf(value).getDimSize(dim),
                  size = total / ranks.mesh.getSizes()[axis];
          value = tsp::ReduceScatterOp::create(
              b, loc, resized(value, dim, size), value, nameOf(axis), dim,
              total, 1, Layout::Contiguous, *combine, CodecAttr());
        }
      } else if (exchange && !axes.empty()) {
        int64_t split = exchange.getSplitDimension(),
                concat = exchange.getConcatDimension();
        if (split == concat)
          return op->emitOpError(
                     "expected split_dimension and concat_dimension to differ, "
                     "found both ")
                 << split << "; add a dim of size "
                 << ranks.mesh.getSizes()[axes[0]] << " to exchange along";
        value = tsp::AllToAllOp::create(
            b, loc, out, value, nameOf(axes[0]), split, in.getDimSize(split), 1,
            concat, out.getDimSize(concat), 1, Layout::Contiguous,
            Layout::Contiguous, CodecAttr());
      } else {
        for (int axis : axes)
          value = select(b, loc,
                         broadcastScalar(b, loc, isAt(b, loc, nameOf(axis), 0),
                                         in.getShape()),
                         value, splat(b, loc, in, 0));
        reduce(CombineKind::Sum);
      }
      results.push_back(value);
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
        moved = tsp::SendRecvOp::create(b, loc, op.getType(), moved, axis,
                                        *shift, CodecAttr());
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
