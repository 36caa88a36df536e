//===- Scan.cpp - cumulative sums, products, maxima -----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// JAX writes cumsum and its kin as a reduce_window whose window is as long as
// the dim: n^2 steps by the letter, n when each result takes over from the one
// before.
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "WholeOps.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

namespace {

/// Elements after the scanned dim that are carried side by side.
constexpr int64_t kBlock = 256;

bool areAll(std::optional<ArrayRef<int64_t>> values, int64_t expected) {
  return !values || llvm::all_of(*values, [&](int64_t value) {
    return value == expected;
  });
}

int64_t getNumBlocks(const Scan &scan) {
  return llvm::divideCeil(scan.inner, kBlock);
}

} // namespace

std::optional<Scan> tsp::getScan(Operation *op) {
  auto window = cast<sh::ReduceWindowOp>(op);
  auto type = cast<RankedTensorType>(window.getInputs().front().getType());
  if (!areAll(window.getWindowStrides(), 1) ||
      !areAll(window.getBaseDilations(), 1) ||
      !areAll(window.getWindowDilations(), 1) || !window.getPadding() ||
      cast<RankedTensorType>(window->getResult(0).getType()).getShape() !=
          type.getShape())
    return std::nullopt;
  Scan scan{op, false, 1, 0, 1, SmallVector<int64_t>(type.getShape())};
  auto padding = window.getPadding()->getValues<int64_t>();
  for (auto [dim, size] : llvm::enumerate(window.getWindowDimensions())) {
    int64_t low = padding[{dim, 0}], high = padding[{dim, 1}];
    if (size == 1 && low == 0 && high == 0) {
      (scan.size ? scan.inner : scan.outer) *= scan.shape[dim];
      continue;
    }
    bool isForward = low == size - 1 && high == 0;
    bool isReverse = high == size - 1 && low == 0;
    if (scan.size || size != scan.shape[dim] || !(isForward || isReverse))
      return std::nullopt;
    scan.size = size;
    scan.isReverse = isReverse;
  }
  if (scan.size < 2)
    return std::nullopt;
  return scan;
}

int64_t tsp::getScanGrid(const Scan &scan) {
  return std::max<int64_t>(scan.outer * getNumBlocks(scan), 1);
}

void tsp::emitScan(ElementEmitter &emitter, ScratchPlan &scratch,
                   const Scan &scan, ArrayRef<Value> outputs, Value begin,
                   Value end) {
  auto op = cast<sh::ReduceWindowOp>(scan.op);
  OpBuilder &builder = emitter.getBuilder();
  SmallVector<Type> types, accumulatorTypes;
  SmallVector<Value> accumulators;
  for (Value input : op.getInputs()) {
    Type type = getElementTypeOrSelf(input);
    types.push_back(type);
    accumulatorTypes.push_back(isa<FloatType>(type) ? getComputeType(type)
                                                    : type);
    accumulators.push_back(
        scratch.allocate(emitter, kBlock, accumulatorTypes.back()));
  }
  int64_t grid = scan.outer * getNumBlocks(scan);
  if (grid == 0)
    return;
  auto storeAll = [&](ValueRange values, const LinearIndex &place) {
    for (auto [value, buffer, type] :
         llvm::zip_equal(values, accumulators, accumulatorTypes))
      emitter.store(value, buffer, type, place);
  };
  auto emitUnit = [&](LinearIndex unit, ValueRange) {
    auto [outer, block] = emitter.divide(unit, getNumBlocks(scan));
    LinearIndex start = block * kBlock;
    Value lower = emitter.constantIndex(0);
    Value upper = arith::MinSIOp::create(
        builder, emitter.getLoc(), emitter.constantIndex(kBlock),
        emitter.materialize(LinearIndex(scan.inner) - start));
    int64_t last = std::min(kBlock, scan.inner) - 1;
    auto overBlock = [&](llvm::function_ref<void(LinearIndex)> body) {
      emitter.emitLoop(lower, upper, 0, last, {},
                       [&](LinearIndex j, ValueRange) {
                         body(j);
                         return SmallVector<Value>();
                       });
    };
    overBlock([&](LinearIndex j) {
      SmallVector<Value> inits;
      for (Value init : op.getInitValues())
        inits.push_back(emitter.emit(init, {}));
      storeAll(inits, j);
    });
    LinearIndex outerPlace = outer * scan.size;
    emitter.emitLoop(0, scan.size, {}, [&](LinearIndex step, ValueRange) {
      LinearIndex i =
          scan.isReverse ? LinearIndex(scan.size - 1) - step : step;
      overBlock([&](LinearIndex j) {
        LinearIndex place = (outerPlace + i) * scan.inner + start + j;
        SmallVector<Value> elements, sums;
        for (Value input : op.getInputs())
          elements.push_back(emitter.emitFlat(input, place));
        for (auto [buffer, type] :
             llvm::zip_equal(accumulators, accumulatorTypes))
          sums.push_back(emitter.load(buffer, type, j));
        sums = emitCombine(emitter, op.getBody(), sums, elements);
        storeAll(sums, j);
        for (auto [sum, output, from, to] :
             llvm::zip_equal(sums, outputs, accumulatorTypes, types))
          emitter.store(isa<FloatType>(to)
                            ? emitConvert(builder, emitter.getLoc(), sum, from, to)
                            : sum,
                        output, to, place);
      });
      return SmallVector<Value>();
    });
    return SmallVector<Value>();
  };
  emitter.emitLoop(begin, end, 0, grid - 1, {}, emitUnit);
}
