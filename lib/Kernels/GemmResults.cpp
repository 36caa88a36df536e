//===- GemmResults.cpp - what a kernel does with a product ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmResults.h"
#include "Emit.h"

using namespace mlir;
using namespace tsp;

GemmResults::GemmResults(const GemmKernel &kernel, Block &tensorBody,
                         ValueRange inputs, ValueRange outputs, Block *block)
    : dot(kernel.dot), product(kernel.product),
      emitter(block, block->getParentOp()->getParentOfType<ModuleOp>()) {
  emitter.setLoc(dot.getLoc());
  for (auto [argument, buffer] :
       llvm::zip_equal(tensorBody.getArguments(), inputs))
    emitter.bindBuffer(argument, buffer);
  for (auto [result, buffer] :
       llvm::zip_equal(tensorBody.getTerminator()->getOperands(), outputs))
    targets.push_back({result, emitter.flatten(buffer)});
}

LinearIndex GemmResults::placeOf(const Place &place, int64_t count) {
  LinearIndex result;
  auto add = [&](Value value, int64_t size, int64_t stride) {
    result = result + emitter.makeSymbol(value, 0, size - 1) * stride;
  };
  for (auto [value, size, stride] :
       llvm::zip_equal(place.outer, product.spec.outer, product.outerStrides))
    add(value, size, stride);
  add(place.m, product.spec.m, product.mStride);
  add(place.n, product.spec.n - (count - 1), product.nStride);
  return result;
}

void GemmResults::store(OpBuilder &at, const Place &place, ValueRange sums) {
  Type element = dot.getType().getElementType();
  emitter.emitAt(at, [&] {
    LinearIndex first = placeOf(place, sums.size());
    SmallVector<LinearIndex> places;
    SmallVector<SmallVector<Value>> values;
    for (auto [i, sum] : llvm::enumerate(sums)) {
      places.push_back(first + product.nStride * int64_t(i));
      Value rounded = emitConvert(emitter.getBuilder(), emitter.getLoc(), sum,
                                  product.spec.compute, element);
      emitter.bind(dot, [rounded](ArrayRef<LinearIndex>) { return rounded; });
      SmallVector<Value> &of = values.emplace_back();
      for (auto [result, buffer] : targets)
        of.push_back(emitter.emitFlat(result, places.back()));
    }
    for (auto [place, of] : llvm::zip_equal(places, values))
      for (auto [value, target] : llvm::zip_equal(of, targets))
        emitter.store(value, target.second,
                      getElementTypeOrSelf(target.first.getType()), place);
  });
}
