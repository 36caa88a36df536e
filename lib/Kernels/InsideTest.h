//===- InsideTest.h - whether an element lies in an operand -----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_INSIDETEST_H
#define TSP_LIB_KERNELS_INSIDETEST_H

#include "tsp/Kernels/ElementEmitter.h"

namespace tsp {

/// Tests of indices, joined by "and". What ranges tell makes no code.
class InsideTest {
public:
  explicit InsideTest(ElementEmitter &emitter) : emitter(emitter) {}

  void require(mlir::arith::CmpIPredicate predicate, const LinearIndex &index,
               int64_t bound);
  /// Requires that `index` is that of an element, in a dim of `size` elements
  /// that lie `dilation` apart. Returns the element's number.
  LinearIndex requireElement(const LinearIndex &index, int64_t size,
                             int64_t dilation);

  /// Known to lie outside: nothing more need be required.
  bool isOutside() const { return outside; }
  /// Null if it is known to lie inside.
  mlir::Value getCondition() const { return condition; }

private:
  ElementEmitter &emitter;
  mlir::Value condition;
  bool outside = false;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_INSIDETEST_H
