//===- FusedLowering.h - from ops to nests, for any target ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which nests and whole ops make up a kernel: side by side where no
// part reads what another writes, else one after the other. How a nest is
// spread over a machine, and where temporaries are, is what the targets add.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_FUSEDLOWERING_H
#define TSP_LIB_KERNELS_FUSEDLOWERING_H

#include "Nest.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tsp {

class FusedLowering {
public:
  virtual ~FusedLowering() = default;

protected:
  /// `body` is the kernel's tensor form.
  FusedLowering(mlir::func::FuncOp kernel, mlir::Region &body,
                ElementEmitter &emitter)
      : kernel(kernel), body(body), emitter(emitter) {}

  /// Makes the code of the kernel, whose arguments and results are in these
  /// buffers.
  void lower(mlir::ValueRange inputs, mlir::ValueRange outputs);

  virtual std::unique_ptr<Nest> plan(llvm::ArrayRef<Target> targets) = 0;
  /// Memory for a temporary that all of the kernel sees.
  virtual mlir::Value allocate(int64_t count, mlir::Type elementType) = 0;

  /// The kernel is these nests, which do not depend on each other.
  virtual void
  emitApart(llvm::MutableArrayRef<std::unique_ptr<Nest>> nests) = 0;
  /// The kernel is this op, whose rows do not depend on each other. `inPlace`
  /// is an operand whose buffer is the first output, or null.
  virtual void emitAlone(mlir::Operation *op,
                         llvm::ArrayRef<mlir::Value> outputs,
                         mlir::Value inPlace) = 0;
  /// The kernel is what `parts` makes by the two functions that follow, in
  /// order.
  virtual void emitInOrder(llvm::function_ref<void()> parts) = 0;
  virtual void emitPart(Nest &nest) = 0;
  virtual void emitPart(mlir::Operation *op,
                        llvm::ArrayRef<mlir::Value> outputs) = 0;

  mlir::func::FuncOp kernel;
  mlir::Region &body;
  ElementEmitter &emitter;

private:
  void takeUpdatesInPlace();
  std::vector<std::unique_ptr<Nest>> planNests();
  void storeFrom(RowReduction &row, llvm::ArrayRef<Target> own,
                 llvm::DenseSet<mlir::Value> &stored);
  bool needsOrder(llvm::ArrayRef<mlir::Operation *> wholeOps);
  void lowerWhole(mlir::Operation *op);
  void lowerInOrder(llvm::ArrayRef<mlir::Operation *> wholeOps);
  void emitOrdered(llvm::ArrayRef<Target> targets);
  void putInMemory(mlir::Operation *op);
  void fillOutputs(mlir::Operation *op,
                   llvm::MutableArrayRef<mlir::Value> outputs);
  mlir::Value getTiedArgument();

  llvm::SmallVector<Target> targets;
  bool hasUpdateChain = false;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_FUSEDLOWERING_H
