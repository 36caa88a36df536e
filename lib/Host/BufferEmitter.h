//===- BufferEmitter.h - writes the program on buffers ----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_HOST_BUFFEREMITTER_H
#define TSP_LIB_HOST_BUFFEREMITTER_H

#include "tsp/Host/BufferPlan.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

#include <functional>

namespace tsp {

/// Writes an entry in destination form, following a plan.
class BufferEmitter {
public:
  BufferEmitter(mlir::func::FuncOp entry, MeshAttr mesh,
                mlir::SymbolTable &symbols);

  /// Makes the new function in front of the entry, which stays as it is.
  mlir::FailureOr<mlir::func::FuncOp> emit();

  const BufferPlan &getPlan() const { return plan; }
  int64_t getNumCopies() const { return numCopies; }

private:
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emitOps(mlir::Block::iterator begin,
                              mlir::Block::iterator end);
  mlir::LogicalResult emitOp(mlir::Operation *op);
  void emitLaunch(LaunchOp launch);
  mlir::LogicalResult emitWhile(mlir::Operation *loop);
  mlir::LogicalResult emitCase(mlir::Operation *op);
  void emitCopies(mlir::Operation *site);
  mlir::Value withStaging(mlir::Value event, mlir::Operation *op);
  mlir::Value emitStart(mlir::Operation *collective, mlir::Value result);

  // Folds (FoldEmitter.cpp; the last three: FoldPipeline.cpp).
  mlir::LogicalResult emitFold(FoldLoopOp fold);
  mlir::LogicalResult emitStreamed(FoldLoopOp fold);
  mlir::LogicalResult emitRing(FoldLoopOp fold);
  mlir::LogicalResult emitBody(FoldLoopOp fold, mlir::Value number,
                               mlir::ValueRange parts);
  llvm::SmallVector<mlir::Value> emitFirstFetches(FoldLoopOp fold);
  mlir::Value getOwnPart(FoldLoopOp fold, unsigned part);
  mlir::Value emitSend(FoldLoopOp fold, unsigned part, mlir::Value memref,
                       mlir::Value slot);
  mlir::Value emitFetch(FoldLoopOp fold, unsigned part, mlir::Value step);
  mlir::Value getSlot(FoldLoopOp fold, unsigned part, mlir::Value slot);
  mlir::Value getSlotOfStep(FoldLoopOp fold, mlir::Value step);
  llvm::SmallVector<mlir::Value> emitFetches(FoldLoopOp fold,
                                             llvm::ArrayRef<unsigned> parts,
                                             mlir::Value step);
  llvm::SmallVector<mlir::Value>
  emitLaterFetches(FoldLoopOp fold, llvm::ArrayRef<unsigned> parts,
                   mlir::Value step);
  llvm::SmallVector<mlir::Value> emitNextFetches(FoldLoopOp next,
                                                 mlir::Value step,
                                                 int64_t steps,
                                                 mlir::ValueRange carried);
  unsigned countFirstFetches(FoldLoopOp fold) const;
  llvm::SmallVector<mlir::Value>
  emitIf(mlir::Value condition, unsigned count,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> then,
         mlir::ValueRange otherwise = {});
  struct Half;
  mlir::LogicalResult emitPipelined(FoldLoopOp fold);
  void takeBuffers(FoldLoopOp fold, const Half &half,
                   llvm::ArrayRef<mlir::Value> crossing, mlir::Value step);
  llvm::SmallVector<mlir::Value> emitArrivals(FoldLoopOp fold, const Half &half,
                                              mlir::Value step,
                                              mlir::ValueRange flight);

  /// The memref of a value, with the value's own shape.
  mlir::Value getMemref(mlir::Value value);
  mlir::Value getMemref(const Buffer &buffer, mlir::RankedTensorType type);
  mlir::Value getView(mlir::Value byteOffset, mlir::RankedTensorType type);
  mlir::Value getConstant(mlir::Value root, mlir::RankedTensorType type);
  mlir::Value reshape(mlir::Value memref, mlir::RankedTensorType type);
  mlir::Value index(int64_t value);
  mlir::Value i64(int64_t value);
  void storeScalar(mlir::Value number, mlir::Value value);

  mlir::func::FuncOp entry;
  MeshAttr mesh;
  mlir::SymbolTable &symbols;
  BufferPlan plan;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::Block *body = nullptr; // of the new function
  mlir::Value arena;
  llvm::DenseMap<mlir::Value, mlir::Value> events; // of a future
  /// Of roots that have several: a fold's part, values of two steps.
  llvm::DenseMap<mlir::Value, mlir::Value> slots;
  /// Events of first fetches that were started before their fold.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> fetched;
  /// The fold whose first fetches start in the last step of the key.
  llvm::DenseMap<mlir::Operation *, FoldLoopOp> nextFold;
  /// What to emit behind an op of a fold's body.
  llvm::DenseMap<mlir::Operation *, std::function<void()>> behind;
  int64_t numCopies = 0;
};

} // namespace tsp

#endif // TSP_LIB_HOST_BUFFEREMITTER_H
