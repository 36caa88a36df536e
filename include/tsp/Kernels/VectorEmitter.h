//===- VectorEmitter.h - short hand for vector loops ------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code generators of matrix products and attention write loops over flat
// buffers, with vectors of one dim. This is their vocabulary: index arithmetic
// that folds, loops with bodies as lambdas, loads and stores of scalars and
// vectors with an optional mask, conversion between stored and computed types,
// and the exponential.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_VECTOREMITTER_H
#define TSP_KERNELS_VECTOREMITTER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace tsp {

/// The vector unit that code is generated for.
struct VectorTarget {
  int64_t bytes = 64;     ///< of one register
  int64_t registers = 32; ///< that a loop may use

  /// Elements of `type` in one register.
  int64_t lanes(mlir::Type type) const {
    return bytes * 8 / type.getIntOrFloatBitWidth();
  }
};

class VectorEmitter {
public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;
  using Type = mlir::Type;

  VectorEmitter(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  //===-- Index arithmetic ------------------------------------------------===//

  Value index(int64_t value);
  Value add(Value x, Value y);
  Value add(Value x, int64_t y) { return add(x, index(y)); }
  Value sub(Value x, Value y);
  Value mul(Value x, int64_t y);
  Value mul(Value x, Value y);
  /// Quotient and remainder of a value that is not negative.
  Value div(Value x, int64_t y);
  Value rem(Value x, int64_t y);
  /// The least multiple of `unit` that is at least x, divided by unit.
  Value ceilDiv(Value x, int64_t unit) { return div(add(x, unit - 1), unit); }
  Value min(Value x, Value y);
  Value min(Value x, int64_t y) { return min(x, index(y)); }
  Value max(Value x, Value y);
  /// Takes a linear index apart into one index for each size, last is fastest.
  Values delinearize(Value linear, llvm::ArrayRef<int64_t> sizes);
  /// base + sum of indices times strides.
  Value offset(Value base, mlir::ValueRange indices,
               llvm::ArrayRef<int64_t> strides);

  //===-- Conditions and loops --------------------------------------------===//

  Value lessThan(Value x, Value y);
  Value equal(Value x, Value y);
  Value notEqual(Value x, Value y);
  Value select(Value condition, Value x, Value y);

  void loop(Value from, Value to, int64_t step,
            llvm::function_ref<void(Value)> body);
  void loop(int64_t from, int64_t to, int64_t step,
            llvm::function_ref<void(Value)> body);
  /// A loop that carries values; the body returns their next ones.
  Values loop(Value from, Value to, int64_t step, mlir::ValueRange init,
              llvm::function_ref<Values(Value, mlir::ValueRange)> body);
  /// A loop over elements, written as scalars, of which LLVM is to make vectors
  /// of `lanes`; it would else unroll short loops and vectorise what is around.
  void elementLoop(Value from, Value to, int64_t lanes,
                   llvm::function_ref<void(Value)> body);
  /// Adds to each sum the products of two scalars that the body gives for it,
  /// in an order that LLVM may choose.
  Values elementSums(
      Value from, Value to, int64_t lanes, mlir::ValueRange init,
      llvm::function_ref<std::vector<std::pair<Value, Value>>(Value)> body);
  void when(Value condition, llvm::function_ref<void()> body,
            llvm::function_ref<void()> otherwise = nullptr);

  //===-- Memory ----------------------------------------------------------===//

  /// A buffer of static shape as a buffer of one dim.
  Value flat(Value buffer);
  /// A flat buffer without its first elements.
  Value shifted(Value flat, int64_t elements);
  /// A part of the scratch bytes as `count` elements of a type.
  Value view(Value scratch, int64_t byteOffset, Type element, int64_t count);
  Value load(Value flat, Value at);
  void store(Value scalar, Value flat, Value at);
  /// Lanes outside of a mask (if any) are zero.
  Value loadVector(Value flat, Value at, int64_t lanes, Value mask = nullptr);
  void storeVector(Value vector, Value flat, Value at, Value mask = nullptr);
  /// Mask of the first `count` lanes; count may exceed them, or be negative.
  Value mask(Value count, int64_t lanes);

  //===-- Arithmetic on scalars and vectors -------------------------------===//

  mlir::VectorType vectorOf(Type element, int64_t lanes);
  Value splat(Value scalar, int64_t lanes);
  /// A constant of a float type, or of a vector of them.
  Value constant(Type type, double value);
  Value fma(Value x, Value y, Value z);
  /// e^x to about one unit in the last place for f32, and a few for f64;
  /// 0 below the normal numbers, so -inf gives 0; NaN gives NaN.
  Value exp(Value x);
  Value tanh(Value x);
  /// Natural logarithm of a positive scalar (by the math dialect).
  Value log(Value x);
  /// From what memory holds for elements of type `element` to float `to`.
  Value widen(Value stored, Type element, Type to);
  /// The reverse, rounded to nearest even.
  Value narrow(Value value, Type element);
  /// Turns `lanes` rows of `lanes` elements into columns.
  Values transpose(mlir::ValueRange rows);
  /// Row sums of `lanes` vectors, as one vector.
  Value sumRows(mlir::ValueRange rows);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace tsp

#endif // TSP_KERNELS_VECTOREMITTER_H
