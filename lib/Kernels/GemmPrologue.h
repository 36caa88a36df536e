//===- GemmPrologue.h - operands that a kernel computes ---------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operand of a product that is no buffer but an elementwise function of
// buffers: quantised weights times their scales, rows times their norm. Its
// elements are computed where the product reads them, with every rounding of
// the program.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GEMMPROLOGUE_H
#define TSP_LIB_KERNELS_GEMMPROLOGUE_H

#include "GemmKernel.h"
#include "tsp/Kernels/ElementEmitter.h"

namespace tsp {

class GemmPrologue {
public:
  /// Of the side that `operand`, one of the product's, describes.
  /// `tensorBody` is the kernel's block in tensor form, `block` the new one.
  GemmPrologue(const GemmKernel &kernel, const GemmOperand &operand,
               mlir::Block &tensorBody, mlir::ValueRange inputs,
               mlir::Block *block);

  /// `count` elements that follow each other along the last dim of k, or along
  /// the free dim, of the type of the product's computation. The index of the
  /// first is a multiple of `count`, and so is the size of the dim.
  llvm::SmallVector<mlir::Value> emit(mlir::OpBuilder &at,
                                      const GemmPlace &place, bool alongK,
                                      int64_t count,
                                      ElementEmitter::Loader loader = nullptr);

  /// GemmOperand::run of this operand.
  int64_t findRun();
  ElementEmitter &getEmitter() { return emitter; }
  bool failed() const { return emitter.failed(); }

private:
  const GemmSpec &spec;
  const GemmOperand &operand;
  mlir::Value base;
  int64_t offset, freeSize;
  ElementEmitter emitter;
};

/// Whether every element of a tensor can be computed from a few of the kernel's
/// arguments, without loops.
bool isPrologue(mlir::Value tensor);

/// The element type of the argument of which `tensor` reads most bytes; that of
/// `tensor` if it reads none.
mlir::Type findLoadedType(mlir::Value tensor);

} // namespace tsp

#endif // TSP_LIB_KERNELS_GEMMPROLOGUE_H
