//===- InsideTest.cpp - whether an element lies in an operand -------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InsideTest.h"

using namespace mlir;
using namespace tsp;

void InsideTest::require(arith::CmpIPredicate predicate,
                         const LinearIndex &index, int64_t bound) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  Value test =
      arith::CmpIOp::create(builder, loc, predicate, emitter.materialize(index),
                            emitter.constantIndex(bound));
  condition =
      condition ? arith::AndIOp::create(builder, loc, condition, test) : test;
}

LinearIndex InsideTest::requireElement(const LinearIndex &index, int64_t size,
                                       int64_t dilation) {
  int64_t end = size == 0 ? 0 : (size - 1) * dilation + 1;
  std::optional<bool> before = emitter.isBelow(index, 0);
  std::optional<bool> inside = emitter.isBelow(index, end);
  outside |= before == true || inside == false;
  if (outside)
    return index;
  if (!before)
    require(arith::CmpIPredicate::sge, index, 0);
  if (!inside)
    require(arith::CmpIPredicate::slt, index, end);
  if (dilation == 1)
    return index;
  auto [quotient, remainder] = emitter.divide(index, dilation);
  if (!remainder.isConstant())
    require(arith::CmpIPredicate::eq, remainder, 0);
  outside |= remainder.isConstant() && remainder.getConstant() != 0;
  return quotient;
}
