//===- GemmFromDot.cpp - dot_general as a matrix product ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Batching dims become outer loops. The free dims of a side become one loop
// when their strides are those of one dim in the operand and in the result;
// else the largest of them is m (or n) and the others are outer loops. The
// sides change places when that makes n the dim with stride 1 in the result.
//
//===----------------------------------------------------------------------===//

#include "GemmFromDot.h"

using namespace mlir;
using namespace tsp;

namespace {
/// Dims of the result, a part of one, or contracted dims.
struct Loop {
  int64_t size = 1;
  int64_t a = 0, b = 0, c = 0; ///< strides
};

using Loops = SmallVector<Loop>;

bool isFree(ArrayRef<int64_t> batching, ArrayRef<int64_t> contracting,
            int64_t dim) {
  return !llvm::is_contained(batching, dim) &&
         !llvm::is_contained(contracting, dim);
}

/// Drops loops of one step and joins neighbours where all strides allow it.
Loops simplify(const Loops &loops) {
  Loops result;
  for (const Loop &loop : loops) {
    if (loop.size == 1)
      continue;
    if (!result.empty()) {
      Loop &outer = result.back();
      if (outer.a == loop.a * loop.size && outer.b == loop.b * loop.size &&
          outer.c == loop.c * loop.size) {
        outer.size *= loop.size;
        outer.a = loop.a;
        outer.b = loop.b;
        outer.c = loop.c;
        continue;
      }
    }
    result.push_back(loop);
  }
  return result;
}

/// Takes out the loop that becomes m or n.
Loop takeMain(Loops &loops, bool preferUnitC) {
  if (loops.empty())
    return Loop();
  auto better = [&](const Loop &x, const Loop &y) {
    if (preferUnitC && (x.c == 1) != (y.c == 1))
      return x.c == 1;
    return x.size > y.size;
  };
  size_t best = 0;
  for (size_t i = 1; i < loops.size(); ++i)
    if (better(loops[i], loops[best]))
      best = i;
  Loop main = loops[best];
  loops.erase(loops.begin() + best);
  return main;
}
} // namespace

Type tsp::dotComputeType(stablehlo::DotGeneralOp dot) {
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
  auto rhs = cast<RankedTensorType>(dot.getRhs().getType());
  auto result = cast<RankedTensorType>(dot.getResult().getType());
  Type elements[] = {lhs.getElementType(), rhs.getElementType(),
                     result.getElementType()};
  bool isDouble = false;
  for (Type element : elements) {
    if (!isa<FloatType>(element))
      return Type();
    isDouble |= element.isF64();
  }
  if (auto algorithm = dot.getAlgorithmAttr()) {
    // Rounding the operands first is not done here, and not needed for tf32.
    for (auto [asked, element] :
         {std::pair(algorithm.getLhsPrecisionType(), elements[0]),
          std::pair(algorithm.getRhsPrecisionType(), elements[1])})
      if (!isa<FloatTF32Type>(asked) && algorithm.getLhsComponentCount() == 1 &&
          cast<FloatType>(asked).getWidth() <
              cast<FloatType>(element).getWidth())
        return Type();
    isDouble |= algorithm.getAccumulationType().isF64();
  }
  Builder builder(dot.getContext());
  return isDouble ? builder.getF64Type() : builder.getF32Type();
}

bool tsp::isProductOfBytes(stablehlo::DotGeneralOp dot) {
  return getElementTypeOrSelf(dot.getLhs()).isSignlessInteger(8) &&
         getElementTypeOrSelf(dot.getRhs()).isSignlessInteger(8) &&
         getElementTypeOrSelf(dot).isSignlessInteger(32);
}

DotProduct tsp::takeApart(stablehlo::DotGeneralOp dot, Type compute,
                          ArrayRef<StridedDim> dims) {
  auto numbers = dot.getDotDimensionNumbers();
  auto lhsBatch = numbers.getLhsBatchingDimensions();
  auto rhsBatch = numbers.getRhsBatchingDimensions();
  auto lhsContract = numbers.getLhsContractingDimensions();
  auto rhsContract = numbers.getRhsContractingDimensions();
  auto lhsType = cast<RankedTensorType>(dot.getLhs().getType());
  auto rhsType = cast<RankedTensorType>(dot.getRhs().getType());
  StridedView lhs = viewThrough(dot.getLhs(), /*throughWidening=*/true);
  StridedView rhs = viewThrough(dot.getRhs(), /*throughWidening=*/true);

  Loops batch, m, n, k;
  const StridedDim *dim = dims.begin();
  auto take = [&](Loops &loops, int64_t strideA, int64_t strideB) {
    size_t first = loops.size();
    for (StridedPart part : llvm::reverse(*dim++)) {
      loops.insert(loops.begin() + first,
                   {part.size, strideA, strideB, part.stride});
      strideA *= part.size;
      strideB *= part.size;
    }
  };
  for (auto [l, r] : llvm::zip_equal(lhsBatch, rhsBatch))
    take(batch, lhs.strides[l], rhs.strides[r]);
  for (int64_t l = 0; l < lhsType.getRank(); ++l)
    if (isFree(lhsBatch, lhsContract, l))
      take(m, lhs.strides[l], 0);
  for (int64_t r = 0; r < rhsType.getRank(); ++r)
    if (isFree(rhsBatch, rhsContract, r))
      take(n, 0, rhs.strides[r]);
  for (auto [l, r] : llvm::zip_equal(lhsContract, rhsContract))
    k.push_back({lhsType.getDimSize(l), lhs.strides[l], rhs.strides[r], 0});
  // The order of contracted dims is free: the one with stride 1 comes last.
  llvm::sort(k, [](const Loop &x, const Loop &y) {
    return std::pair(x.a, x.b) > std::pair(y.a, y.b);
  });

  m = simplify(m);
  n = simplify(n);
  k = simplify(k);
  batch = simplify(batch);

  auto hasUnit = [](const Loops &loops) {
    return llvm::any_of(loops, [](const Loop &l) { return l.c == 1; });
  };
  bool swap = !m.empty() && (n.empty() || (hasUnit(m) && !hasUnit(n)));
  if (swap) {
    std::swap(m, n);
    std::swap(lhs, rhs);
    for (Loops *loops : {&batch, &m, &n, &k})
      for (Loop &loop : *loops)
        std::swap(loop.a, loop.b);
  }

  Loop rows = takeMain(m, /*preferUnitC=*/false);
  Loop columns = takeMain(n, /*preferUnitC=*/true);
  DotProduct product;
  GemmSpec &spec = product.spec;
  spec.compute = compute;
  spec.m = rows.size;
  spec.n = columns.size;
  spec.a.free = rows.a;
  spec.b.free = columns.size == 1 ? 1 : columns.b;
  product.mStride = rows.c;
  product.nStride = columns.size == 1 ? 1 : columns.c;
  for (Loops *loops : {&batch, &m, &n})
    for (Loop &loop : *loops) {
      spec.outer.push_back(loop.size);
      spec.a.outer.push_back(loop.a);
      spec.b.outer.push_back(loop.b);
      product.outerStrides.push_back(loop.c);
    }
  if (k.empty())
    k.push_back({1, 1, 1, 0});
  for (Loop &loop : k) {
    spec.k.push_back(loop.size);
    spec.a.k.push_back(loop.a);
    spec.b.k.push_back(loop.b);
  }
  product.baseA = lhs.base;
  product.baseB = rhs.base;
  product.offsetA = lhs.offset;
  product.offsetB = rhs.offset;
  spec.a.element = getElementTypeOrSelf(lhs.base.getType());
  spec.b.element = getElementTypeOrSelf(rhs.base.getType());
  return product;
}
