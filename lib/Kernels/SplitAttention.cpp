//===- SplitAttention.cpp - attention of few rows over many keys ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With parts of the keys as batch indices, attention needs no other kernel: the
// grid has them, and K and V are read where they are. What the parts give is
// merged by elements of the result alone, which a fused kernel does in one pass
// and in the order of the parts (flash-decoding; arXiv 2205.14135, section 3.1,
// has the formula).
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Kernels/Passes.h"
#include "tsp/Support/TensorTypes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cmath>

namespace tsp {
#define GEN_PASS_DEF_SPLITATTENTION
#include "tsp/Passes/Kernels.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

/// A part's work is to outweigh its merging.
static constexpr int64_t kLeastKeys = 256;
/// More rows fill a tile, and there are more tiles.
static constexpr int64_t kMostRows = 64;

/// Into how many parts of equal size the keys are divided, so that there are
/// about `units` pieces of work; 1: they stay whole.
static int64_t countParts(SdpaOp op, int64_t units) {
  auto q = typeOf(op.getQ()), k = typeOf(op.getK());
  int64_t keys = k.getDimSize(1), heads = k.getDimSize(2);
  int64_t rows = q.getDimSize(1) * q.getDimSize(2) / heads,
          pieces = q.getDimSize(0) * heads;
  if (rows > kMostRows)
    return 1;
  int64_t parts =
      std::min<int64_t>(llvm::divideCeil(units, pieces), keys / kLeastKeys);
  while (parts > 1 && keys % parts != 0)
    --parts;
  return std::max<int64_t>(parts, 1);
}

namespace {
class Splitter {
public:
  Splitter(SdpaOp op, int64_t parts)
      : op(op), b(op.getLoc(), op), parts(parts),
        batch(typeOf(op.getQ()).getDimSize(0)) {}

  void run();

private:
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    return ReshapeOp::create(b, typeOf(value).clone(shape), value);
  }
  Value broadcast(Value value, ArrayRef<int64_t> dims,
                  ArrayRef<int64_t> shape) {
    return BroadcastInDimOp::create(b, typeOf(value).clone(shape), value, dims);
  }
  Value splat(RankedTensorType type, double number) {
    auto value = b.getFloatAttr(type.getElementType(), number);
    return ConstantOp::create(b, DenseElementsAttr::get(type, value));
  }
  /// [B, ...] for each part: [B parts, ...].
  Value repeated(Value value);
  /// [B, keys, ...] to [B parts, keys / parts, ...].
  Value divided(Value value);
  /// Positions or segments: [S] or [B, S].
  Value repeatedSide(Value value);
  Value dividedSide(Value value);
  /// Bias or mask: [B|1, Hq|1, Sq|1, keys].
  Value dividedScores(Value value);

  /// The parts of o and lse, [B, parts, ...].
  std::pair<Value, Value> attend();
  template <typename OpTy> Value reduceParts(Value value, double init);
  /// Merges values of parts, each with the lse of its row.
  std::pair<Value, Value> merge(Value value, Value lse);

  SdpaOp op;
  ImplicitLocOpBuilder b;
  int64_t parts, batch;
};
} // namespace

Value Splitter::repeated(Value value) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  SmallVector<int64_t> dims{0};
  for (int64_t i = 1, e = shape.size(); i < e; ++i)
    dims.push_back(i + 1);
  shape.insert(shape.begin() + 1, parts);
  value = broadcast(value, dims, shape);
  shape.erase(shape.begin());
  shape[0] = batch * parts;
  return reshape(value, shape);
}

Value Splitter::divided(Value value) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  shape[0] *= parts;
  shape[1] /= parts;
  return reshape(value, shape);
}

Value Splitter::repeatedSide(Value value) {
  return !value || typeOf(value).getRank() == 1 ? value : repeated(value);
}

Value Splitter::dividedSide(Value value) {
  if (!value)
    return value;
  if (typeOf(value).getRank() == 1)
    value = broadcast(value, {1}, {batch, typeOf(value).getDimSize(0)});
  return divided(value);
}

Value Splitter::dividedScores(Value value) {
  if (!value)
    return value;
  SmallVector<int64_t> shape(typeOf(value).getShape());
  if (shape[0] != batch) {
    shape[0] = batch;
    value = broadcast(value, {0, 1, 2, 3}, shape);
  }
  int64_t keys = shape[3] / parts;
  value = reshape(value, {batch, shape[1], shape[2], parts, keys});
  auto turned = typeOf(value).clone({batch, parts, shape[1], shape[2], keys});
  value =
      TransposeOp::create(b, turned, value, ArrayRef<int64_t>{0, 3, 1, 2, 4});
  return reshape(value, {batch * parts, shape[1], shape[2], keys});
}

std::pair<Value, Value> Splitter::attend() {
  SmallVector<int64_t> shape(typeOf(op.getO()).getShape());
  shape[0] *= parts;
  auto lse = typeOf(op.getLse());
  // Parts stay as precise as sums are. An empty part counts nothing; where all
  // are empty, the mean of their means is that of all values.
  auto empty =
      op.getEmpty() == EmptyRows::Mean ? EmptyRows::Mean : EmptyRows::Zero;
  auto part = SdpaOp::create(
      b, lse.clone(shape), lse.clone(ArrayRef(shape).drop_back()),
      repeated(op.getQ()), divided(op.getK()), divided(op.getV()),
      dividedScores(op.getBias()), dividedScores(op.getMask()),
      repeatedSide(op.getQPositions()), dividedSide(op.getKvPositions()),
      repeatedSide(op.getQSegments()), dividedSide(op.getKvSegments()),
      op.getScaleAttr(), op.getSoftcapAttr(), op.getCausalAttr(),
      op.getWindowAttr(), EmptyRowsAttr::get(b.getContext(), empty));
  shape[0] = parts;
  shape.insert(shape.begin(), batch);
  return {reshape(part.getO(), shape),
          reshape(part.getLse(), ArrayRef(shape).drop_back())};
}

template <typename OpTy> Value Splitter::reduceParts(Value value, double init) {
  auto scalar = RankedTensorType::get({}, typeOf(value).getElementType());
  auto reduce =
      ReduceOp::create(b, ValueRange{value}, ValueRange{splat(scalar, init)},
                       ArrayRef<int64_t>{1});
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&reduce.getBody(), {}, {scalar, scalar},
                              {b.getLoc(), b.getLoc()});
  Value both = OpTy::create(b, body->getArgument(0), body->getArgument(1));
  stablehlo::ReturnOp::create(b, both);
  return reduce->getResult(0);
}

std::pair<Value, Value> Splitter::merge(Value value, Value lse) {
  auto wide = typeOf(lse);
  SmallVector<int64_t> kept{0};
  for (int64_t i = 2; i < wide.getRank(); ++i)
    kept.push_back(i);
  auto acrossParts = [&](Value rows) {
    return broadcast(rows, kept, wide.getShape());
  };
  Value greatest = reduceParts<MaxOp>(lse, -INFINITY);
  auto rows = typeOf(greatest);
  Value none = CompareOp::create(b, greatest, splat(rows, -INFINITY),
                                 ComparisonDirection::EQ);
  // exp(-inf - (-inf)) would be NaN.
  greatest = SelectOp::create(b, rows, none, splat(rows, 0), greatest);
  Value weights =
      ExpOp::create(b, SubtractOp::create(b, lse, acrossParts(greatest)));
  Value total = reduceParts<AddOp>(weights, 0);
  Value mergedLse = AddOp::create(b, greatest, LogOp::create(b, total));
  if (!value)
    return {Value(), mergedLse};
  if (op.getEmpty() == EmptyRows::Mean) {
    weights =
        SelectOp::create(b, wide, acrossParts(none), splat(wide, 1), weights);
    total = SelectOp::create(b, rows, none, splat(rows, double(parts)), total);
  }
  Value sum = reduceParts<AddOp>(MulOp::create(b, value, weights), 0);
  Value merged = DivOp::create(b, sum, total);
  if (op.getEmpty() == EmptyRows::Zero)
    merged = SelectOp::create(b, rows, none, splat(rows, 0), merged);
  return {merged, mergedLse};
}

void Splitter::run() {
  auto [o, lse] = attend();
  // With the lse of a row at each of its elements all sums over the parts have
  // the loops of the result.
  SmallVector<int64_t> dims(typeOf(lse).getRank());
  std::iota(dims.begin(), dims.end(), 0);
  Value merged = merge(o, broadcast(lse, dims, typeOf(o).getShape())).first;
  auto result = typeOf(op.getO());
  if (merged.getType() != result)
    merged = ConvertOp::create(b, result, merged);
  op.getO().replaceAllUsesWith(merged);
  if (!op.getLse().use_empty())
    op.getLse().replaceAllUsesWith(merge(Value(), lse).second);
  op.erase();
}

namespace {
class SplitAttention : public tsp::impl::SplitAttentionBase<SplitAttention> {
public:
  using SplitAttentionBase::SplitAttentionBase;

  void runOnOperation() override {
    SmallVector<SdpaOp> ops;
    getOperation()->walk([&](SdpaOp op) { ops.push_back(op); });
    for (SdpaOp op : ops) {
      int64_t parts = countParts(op, units);
      if (parts == 1)
        continue;
      Splitter(op, parts).run();
      ++numSplit;
    }
  }
};
} // namespace
