//===- Emit.h - element code by op family -----------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function makes the code of one element for the ops of its family, and
// returns null for other ops.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_EMIT_H
#define TSP_LIB_KERNELS_EMIT_H

#include "tsp/Kernels/ElementEmitter.h"

namespace tsp {

//===----------------------------------------------------------------------===//
// Ops on scalars (Elementwise.cpp, IntegerOps.cpp, Convert.cpp, MathOps.cpp)
//===----------------------------------------------------------------------===//

/// An elementwise op on computed operands. The result is rounded to the op's
/// element type unless `exact`.
mlir::Value emitScalarOp(ElementEmitter &emitter, mlir::Operation *op,
                         mlir::ValueRange operands, bool exact = false);

mlir::Value emitIntegerOp(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Operation *op, mlir::ValueRange operands);
mlir::Value emitMathOp(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Operation *op, mlir::ValueRange operands);
/// The bits of a float as an integer whose signed order is the total order.
mlir::Value toTotalOrder(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value);
/// stablehlo.convert of a computed value.
mlir::Value emitConvert(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, mlir::Type from, mlir::Type to);

//===----------------------------------------------------------------------===//
// Formats (FloatFormats.cpp)
//===----------------------------------------------------------------------===//

/// Rounds an f32 to the nearest value of a narrow float type, ties to even.
mlir::Value roundToFormat(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, mlir::Type elementType);
/// Rounds to `mantissaBits` and flushes what has no exponent in
/// `exponentBits`, as stablehlo.reduce_precision does.
mlir::Value reducePrecision(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value value, unsigned exponentBits,
                            unsigned mantissaBits);
/// Between a computed value and its bits (a signless integer of the width of
/// `elementType`, at least i8 for floats).
mlir::Value toBits(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value, mlir::Type elementType);
mlir::Value fromBits(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value bits, mlir::Type elementType);
/// Between a computed value and what a buffer holds.
mlir::Value toStorage(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, mlir::Type elementType);
mlir::Value fromStorage(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value stored, mlir::Type elementType);

//===----------------------------------------------------------------------===//
// Ops that choose elements (ShapeOps.cpp, DynamicOps.cpp)
//===----------------------------------------------------------------------===//

mlir::Value emitShapeOp(ElementEmitter &emitter, mlir::Operation *op,
                        llvm::ArrayRef<LinearIndex> index);
mlir::Value emitDynamicOp(ElementEmitter &emitter, mlir::Operation *op,
                          llvm::ArrayRef<LinearIndex> index);
/// A result of rng_bit_generator (RandomBits.cpp).
mlir::Value emitRandomBits(ElementEmitter &emitter, mlir::Operation *op,
                           unsigned number, llvm::ArrayRef<LinearIndex> index);
/// The place in the operand of an element of a dynamic_update_slice's update.
LinearIndex emitUpdatePlace(ElementEmitter &emitter, mlir::Operation *op,
                            llvm::ArrayRef<LinearIndex> index);

} // namespace tsp

#endif // TSP_LIB_KERNELS_EMIT_H
