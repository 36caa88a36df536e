//===- DeviceEmitter.h - building blocks of device code ---------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device code is written on 32-bit integers, on which the machine computes at
// full rate, and on raw pointers of the global (1) and shared (3) memory, whose
// addresses are then a base and a constant. Offsets that may exceed 31 bits are
// 64-bit integers; `add` and `mul` of a mixed pair are 64-bit.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_DEVICEEMITTER_H
#define TSP_LIB_KERNELS_GPU_DEVICEEMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace tsp {

class DeviceEmitter {
public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;
  using Type = mlir::Type;

  DeviceEmitter(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  //===-- Integers --------------------------------------------------------===//

  Value i32(int64_t value);
  Value i64(int64_t value);
  /// A constant of an integer or float type.
  Value constant(Type type, double value);
  Value wide(Value x); ///< as a 64-bit integer
  Value add(Value x, Value y);
  Value add(Value x, int64_t y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value mul(Value x, int64_t y);
  /// Of values that are not negative.
  Value div(Value x, int64_t y);
  Value rem(Value x, int64_t y);
  Value min(Value x, Value y);
  Value max(Value x, Value y);
  Value bitAnd(Value x, Value y);
  Value bitOr(Value x, Value y);
  Value bitXor(Value x, Value y);
  Value less(Value x, Value y);
  Value compare(mlir::arith::CmpIPredicate predicate, Value x, Value y);
  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y);
  Value select(Value condition, Value x, Value y);

  //===-- Threads ---------------------------------------------------------===//

  Value thread();       ///< x
  Value block(int dim); ///< 0, 1, 2
  Value lane();         ///< of a warp
  void barrier();
  void syncWarp();
  /// The value of the lane whose number differs in the bits of `mask`; i32,
  /// i64, f32 or f64.
  Value shuffleXor(Value value, int64_t mask);
  /// Combines a value over groups of `lanes` lanes (a power of two); all get
  /// it.
  Value reduceLanes(Value value, int64_t lanes,
                    llvm::function_ref<Value(Value, Value)> combine);

  /// The least (greatest) of a signed integer over the warp, the same register
  /// for all lanes: branches on it are known to be uniform.
  Value leastOfWarp(Value value);
  Value greatestOfWarp(Value value);

  //===-- Control flow ----------------------------------------------------===//

  void loop(Value from, Value to, int64_t step,
            llvm::function_ref<void(Value)> body);
  Values loop(Value from, Value to, int64_t step, mlir::ValueRange init,
              llvm::function_ref<Values(Value, mlir::ValueRange)> body);
  /// Keeps LLVM from unrolling the loop that gave these results: one of few
  /// steps, each of which is long enough.
  void keepRolled(mlir::ValueRange results);
  /// while (condition(x)) x = body(x)
  Values loopWhile(mlir::ValueRange init,
                   llvm::function_ref<Value(mlir::ValueRange)> condition,
                   llvm::function_ref<Values(mlir::ValueRange)> body);
  void when(Value condition, llvm::function_ref<void()> body);
  Values choose(Value condition, mlir::TypeRange types,
                llvm::function_ref<Values()> then,
                llvm::function_ref<Values()> otherwise);

  //===-- Memory ----------------------------------------------------------===//

  /// Pointer to an element of a buffer in global memory.
  Value pointer(Value memref, int64_t element = 0);
  /// `bytes` further.
  Value shifted(Value pointer, Value bytes);
  Value shifted(Value pointer, int64_t bytes);
  /// `at` elements of `type` further.
  Value element(Value pointer, Type type, Value at);
  Value load(Value pointer, Type type, int64_t align = 0);
  void store(Value value, Value pointer, int64_t align = 0);
  /// Dynamic shared memory of the block.
  Value sharedMemory();

  //===-- Floats ----------------------------------------------------------===//

  Value addf(Value x, Value y);
  Value subf(Value x, Value y);
  Value mulf(Value x, Value y);
  Value divf(Value x, Value y);
  Value fma(Value x, Value y, Value z);
  Value maxf(Value x, Value y); ///< the number, if one is NaN
  /// 2^x: one instruction for f32 (2 ulp; -inf gives 0, NaN NaN).
  Value exp2(Value x);
  /// Natural; rounded well, as what is far from 1 becomes an exponent again.
  Value log(Value x);
  /// To about 2e-7 absolute in f32, from exp2.
  Value tanh(Value x);
  Value infinity(Type type, bool negative);
  /// From what memory holds for elements of `element` to a float `to`, back.
  Value widen(Value stored, Type element, Type to);
  Value narrow(Value value, Type element);

  mlir::OpBuilder &b;
  mlir::Location loc;

private:
  Value reduceWarp(Value value, bool least);
  std::pair<Value, Value> sameWidth(Value x, Value y);
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_DEVICEEMITTER_H
