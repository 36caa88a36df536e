//===- DecomposeSdpa.cpp - tsp.sdpa to plain ops --------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/StableHLO/IR/ReduceOver.h"
#include "tsp/Frontend/Raise.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cmath>

using namespace mlir;
using namespace tsp;

namespace tsp {
#define GEN_PASS_DEF_DECOMPOSESDPA
#include "tsp/Passes/Raise.h.inc"
} // namespace tsp

namespace {
/// Builds the ops of one sdpa on scores [B,Hkv,Sq,G,Skv].
class Decomposer {
public:
  explicit Decomposer(SdpaOp op)
      : op(op), b(op.getLoc(), op), q(type(op.getQ())), k(type(op.getK())),
        sumType(q.getElementType().isF64() ? Type(b.getF64Type())
                                           : b.getF32Type()),
        heads(k.getDimSize(2)),
        groups(q.getDimSize(2) / heads), shape{q.getDimSize(0), heads,
                                               q.getDimSize(1), groups,
                                               k.getDimSize(1)} {}

  void run();

private:
  static RankedTensorType type(Value value) {
    return cast<RankedTensorType>(value.getType());
  }
  RankedTensorType scoresOf(Type element) {
    return RankedTensorType::get(shape, element);
  }
  RankedTensorType rowsOf(Type element) {
    return RankedTensorType::get(ArrayRef(shape).drop_back(), element);
  }

  template <typename OpTy> Value create(Value lhs, Value rhs) {
    return OpTy::create(b, lhs, rhs);
  }
  Value splat(RankedTensorType type, double number) {
    return stablehlo::ConstantOp::create(
        b, DenseElementsAttr::get(
               type, b.getFloatAttr(type.getElementType(), number)));
  }
  Value convert(Value value, Type element) {
    if (type(value).getElementType() == element)
      return value;
    return stablehlo::ConvertOp::create(b, type(value).clone(element), value);
  }
  Value reshape(Value value, ArrayRef<int64_t> to) {
    if (type(value).getShape() == to)
      return value;
    return stablehlo::ReshapeOp::create(b, type(value).clone(to), value);
  }
  Value transpose(Value value, ArrayRef<int64_t> permutation) {
    SmallVector<int64_t> to;
    for (int64_t dim : permutation)
      to.push_back(type(value).getDimSize(dim));
    return stablehlo::TransposeOp::create(b, type(value).clone(to), value,
                                          permutation);
  }
  Value broadcast(Value value, ArrayRef<int64_t> dims, ArrayRef<int64_t> to) {
    return stablehlo::BroadcastInDimOp::create(b, type(value).clone(to), value,
                                               dims);
  }
  /// A value over rows on scores.
  Value acrossKeys(Value rows) { return broadcast(rows, {0, 1, 2, 3}, shape); }
  /// [B|1,Hq|1,Sq|1,Skv] on scores.
  Value onScores(Value value);
  /// [S] or [B,S] on scores, S being dim `dim` of them.
  Value sideOnScores(Value value, int64_t dim);
  template <typename OpTy> Value reduceKeys(Value value, double init);
  Value dot(Value lhs, Value rhs, ArrayRef<int64_t> lhsBatch,
            ArrayRef<int64_t> rhsBatch, int64_t lhsContracting,
            int64_t rhsContracting, ArrayRef<int64_t> to);
  Value scores();
  /// Which keys are let through, or null when all are.
  Value visible();

  SdpaOp op;
  ImplicitLocOpBuilder b;
  RankedTensorType q, k;
  Type sumType;
  int64_t heads, groups;
  SmallVector<int64_t> shape;
};
} // namespace

Value Decomposer::onScores(Value value) {
  ArrayRef<int64_t> from = type(value).getShape();
  bool perHead = from[1] != 1;
  value = reshape(value, {from[0], perHead ? heads : 1, perHead ? groups : 1,
                          from[2], from[3]});
  return broadcast(transpose(value, {0, 1, 3, 2, 4}), {0, 1, 2, 3, 4}, shape);
}

Value Decomposer::sideOnScores(Value value, int64_t dim) {
  if (type(value).getRank() == 1)
    return broadcast(value, {dim}, shape);
  return broadcast(value, {0, dim}, shape);
}

template <typename OpTy>
Value Decomposer::reduceKeys(Value value, double init) {
  Type element = type(value).getElementType();
  auto scalar = RankedTensorType::get({}, element);
  return stablehlo::reduceOver<OpTy>(b, b.getLoc(), value, splat(scalar, init),
                                     {4});
}

Value Decomposer::dot(Value lhs, Value rhs, ArrayRef<int64_t> lhsBatch,
                      ArrayRef<int64_t> rhsBatch, int64_t lhsContracting,
                      int64_t rhsContracting, ArrayRef<int64_t> to) {
  auto numbers = stablehlo::DotDimensionNumbersAttr::get(
      b.getContext(), lhsBatch, rhsBatch, {lhsContracting}, {rhsContracting});
  return stablehlo::DotGeneralOp::create(b, RankedTensorType::get(to, sumType),
                                         lhs, rhs, numbers, ArrayAttr(),
                                         stablehlo::DotAlgorithmAttr());
}

Value Decomposer::scores() {
  Value split =
      reshape(op.getQ(), {shape[0], shape[2], heads, groups, q.getDimSize(3)});
  Value s = dot(split, op.getK(), {0, 2}, {0, 2}, 4, 3, shape);
  RankedTensorType full = scoresOf(sumType);
  s = create<stablehlo::MulOp>(s, splat(full, op.getScale().convertToDouble()));
  if (op.getSoftcap()) {
    Value cap = splat(full, op.getSoftcap()->convertToDouble());
    s = stablehlo::TanhOp::create(b, create<stablehlo::DivOp>(s, cap));
    s = create<stablehlo::MulOp>(s, cap);
  }
  if (op.getBias())
    s = create<stablehlo::AddOp>(s, onScores(convert(op.getBias(), sumType)));
  return s;
}

Value Decomposer::visible() {
  Value all;
  auto require = [&](Value predicate) {
    all = all ? create<stablehlo::AndOp>(all, predicate) : predicate;
  };
  auto compare = [&](Value lhs, Value rhs,
                     stablehlo::ComparisonDirection direction) {
    require(stablehlo::CompareOp::create(b, lhs, rhs, direction));
  };
  // Sides of different integer types meet in i64.
  auto pair = [&](Value query, Value key) {
    if (type(query).getElementType() != type(key).getElementType()) {
      query = convert(query, b.getI64Type());
      key = convert(key, b.getI64Type());
    }
    return std::pair(sideOnScores(query, 2), sideOnScores(key, 4));
  };
  if (op.getQPositions()) {
    auto [query, key] = pair(op.getQPositions(), op.getKvPositions());
    if (op.getCausal())
      compare(key, query, stablehlo::ComparisonDirection::LE);
    if (op.getWindow()) {
      Value distance = create<stablehlo::SubtractOp>(query, key);
      Type element = type(distance).getElementType();
      Value window = stablehlo::ConstantOp::create(
          b, DenseElementsAttr::get(
                 type(distance), b.getIntegerAttr(element, *op.getWindow())));
      compare(distance, window, stablehlo::ComparisonDirection::LT);
    }
  }
  if (op.getQSegments()) {
    auto [query, key] = pair(op.getQSegments(), op.getKvSegments());
    compare(query, key, stablehlo::ComparisonDirection::EQ);
  }
  if (op.getMask())
    require(onScores(op.getMask()));
  return all;
}

void Decomposer::run() {
  RankedTensorType full = scoresOf(sumType), rows = rowsOf(sumType);
  Value s = scores();
  if (Value predicate = visible())
    s = stablehlo::SelectOp::create(b, predicate, s, splat(full, -INFINITY));
  Value max = reduceKeys<stablehlo::MaxOp>(s, -INFINITY);
  // A row without keys has a maximum of -inf, and exp(-inf - 0) = 0 everywhere.
  Value finite =
      stablehlo::IsFiniteOp::create(b, rows.clone(b.getI1Type()), max);
  max = stablehlo::SelectOp::create(b, finite, max, splat(rows, 0));
  Value e = stablehlo::ExpOp::create(
      b, create<stablehlo::SubtractOp>(s, acrossKeys(max)));
  Value sum = reduceKeys<stablehlo::AddOp>(e, 0);
  Value lse = create<stablehlo::AddOp>(max, stablehlo::LogOp::create(b, sum));

  if (op.getEmpty() != EmptyRows::Nan) {
    Value isEmpty = stablehlo::CompareOp::create(
        b, sum, splat(rows, 0), stablehlo::ComparisonDirection::EQ);
    bool isMean = op.getEmpty() == EmptyRows::Mean;
    if (isMean)
      e = stablehlo::SelectOp::create(b, acrossKeys(isEmpty), splat(full, 1),
                                      e);
    sum = stablehlo::SelectOp::create(b, isEmpty,
                                      splat(rows, isMean ? shape[4] : 1), sum);
  }
  Value p = create<stablehlo::DivOp>(e, acrossKeys(sum));
  SmallVector<int64_t> product(shape);
  product.back() = type(op.getV()).getDimSize(3);
  Value o = dot(p, convert(op.getV(), sumType), {0, 1}, {0, 2}, 4, 1, product);
  o = reshape(transpose(o, {0, 2, 1, 3, 4}), type(op.getO()).getShape());
  lse = reshape(transpose(lse, {0, 2, 1, 3}), type(op.getLse()).getShape());
  op.getO().replaceAllUsesWith(convert(o, type(op.getO()).getElementType()));
  op.getLse().replaceAllUsesWith(
      convert(lse, type(op.getLse()).getElementType()));
  op.erase();
}

namespace {
struct DecomposeSdpa : public tsp::impl::DecomposeSdpaBase<DecomposeSdpa> {
  void runOnOperation() override {
    SmallVector<SdpaOp> ops;
    getOperation()->walk([&](SdpaOp op) { ops.push_back(op); });
    for (SdpaOp op : ops)
      Decomposer(op).run();
  }
};
} // namespace
