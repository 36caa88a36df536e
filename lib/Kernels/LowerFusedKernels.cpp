//===- LowerFusedKernels.cpp - StableHLO kernels to loops on buffers ------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopNest.h"
#include "WholeOps.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Kernels/Kernels.h"
#include "tsp/Kernels/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tsp {
#define GEN_PASS_DEF_LOWERFUSEDKERNELS
#include "tsp/Passes/Kernels.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

namespace {

class KernelLowering {
public:
  KernelLowering(func::FuncOp kernel)
      : kernel(kernel), buffers(startBufferForm(kernel, body)),
        emitter(&kernel.getBody().front(),
                kernel->getParentOfType<ModuleOp>()),
        scratch(buffers.scratch) {
    emitter.setLoc(kernel.getLoc());
    for (auto [argument, buffer] :
         llvm::zip_equal(body.getArguments(), buffers.inputs))
      emitter.bindBuffer(argument, buffer);
    for (auto [result, buffer] : llvm::zip_equal(
             body.front().getTerminator()->getOperands(), buffers.outputs))
      targets.push_back({result, emitter.flatten(buffer)});
  }

  LogicalResult run() {
    takeUpdatesInPlace();
    SmallVector<Operation *> wholeOps;
    for (Operation &op : body.front())
      if (isWholeOp(&op))
        wholeOps.push_back(&op);
    if (needsOrder(wholeOps))
      lowerInOrder(wholeOps);
    else if (!wholeOps.empty())
      lowerWhole(wholeOps.front());
    else
      lowerNests();
    body.dropAllReferences();
    if (emitter.failed())
      return failure();
    finishBufferForm(kernel, grid, scratch.getBytes());
    return success();
  }

private:
  /// A result that must share the buffer of an argument, made by writing parts
  /// of it, becomes a target for each part.
  void takeUpdatesInPlace() {
    if (!kernel->hasAttr(kMustTieAttr))
      return;
    auto tied = kernel->getAttrOfType<DenseI64ArrayAttr>(kTiedAttr);
    SmallVector<Target> all;
    for (auto [target, argument] : llvm::zip_equal(targets, tied.asArrayRef())) {
      SmallVector<Target> updates;
      Value value = target.tensor;
      while (auto update = value.getDefiningOp<sh::DynamicUpdateSliceOp>()) {
        updates.push_back({update.getUpdate(), target.buffer, update});
        value = update.getOperand();
      }
      if (updates.empty() || argument < 0 ||
          value != body.getArgument(argument)) {
        all.push_back(target);
        continue;
      }
      hasUpdateChain |= updates.size() > 1;
      llvm::append_range(all, llvm::reverse(updates));
    }
    targets = std::move(all);
  }

  /// Nests for the targets that are left, one for each shape.
  std::vector<LoopNest> planNests() {
    std::vector<LoopNest> nests;
    llvm::MapVector<Type, SmallVector<Target>> groups;
    for (const Target &target : targets)
      groups[RankedTensorType::get(
                 cast<RankedTensorType>(target.tensor.getType()).getShape(),
                 IntegerType::get(kernel.getContext(), 1))]
          .push_back(target);
    DenseMap<Type, unsigned> order;
    for (const auto &group : groups)
      order.try_emplace(group.first, order.size());
    auto ordered = groups.takeVector();
    auto size = [](const auto &group) {
      return cast<RankedTensorType>(group.second.front().tensor.getType())
          .getNumElements();
    };
    llvm::sort(ordered, [&](const auto &a, const auto &b) {
      return std::make_tuple(-size(a), order.lookup(a.first)) <
             std::make_tuple(-size(b), order.lookup(b.first));
    });
    // Reductions inside the larger nests are stored from there.
    DenseSet<Value> stored;
    for (auto &entry : ordered) {
      SmallVector<Target> &group = entry.second;
      llvm::erase_if(group, [&](const Target &target) {
        return stored.contains(target.tensor);
      });
      if (group.empty())
        continue;
      LoopNest nest(emitter, group);
      std::vector<LoopNest> parts = nest.takeParts();
      if (!parts.empty()) {
        llvm::move(parts, std::back_inserter(nests));
        continue;
      }
      if (nest.getMisfits().empty())
        for (RowReduction &row : nest.getReductions())
          storeFrom(row, group, stored);
      nests.push_back(std::move(nest));
    }
    return nests;
  }

  void storeFrom(RowReduction &row, ArrayRef<Target> own,
                 DenseSet<Value> &stored) {
    for (Value result : row.reduction.getOp()->getResults()) {
      row.resultBuffers.push_back({});
      for (const Target &target : targets)
        if (target.tensor == result && !stored.contains(result) &&
            llvm::none_of(own, [&](const Target &t) { return t.tensor == result; }) &&
            llvm::count_if(targets, [&](const Target &t) { return t.tensor == result; }) == 1) {
          row.resultBuffers.back() = target.buffer;
          stored.insert(result);
        }
    }
  }

  /// Whether one part of the kernel reads what another has written.
  bool needsOrder(ArrayRef<Operation *> wholeOps) {
    if (hasUpdateChain)
      return true;
    if (!wholeOps.empty())
      return wholeOps.size() > 1 ||
             llvm::any_of(targets, [&](const Target &target) {
               return target.tensor.getDefiningOp() != wholeOps.front() ||
                      llvm::count_if(targets, [&](const Target &other) {
                        return other.tensor == target.tensor;
                      }) > 1;
             });
    return llvm::any_of(planNests(), [](const LoopNest &nest) {
      return !nest.getMisfits().empty();
    });
  }

  /// The parts are independent: the grid is that of one after the other.
  void lowerNests() {
    std::vector<LoopNest> nests = planNests();
    grid = 0;
    for (LoopNest &nest : nests)
      grid += nest.getGrid();
    int64_t first = 0;
    OpBuilder &builder = emitter.getBuilder();
    Location loc = kernel.getLoc();
    for (LoopNest &nest : nests) {
      auto toOwn = [&](Value unit) -> Value {
        if (nests.size() == 1)
          return unit;
        unit = arith::SubIOp::create(builder, loc, unit,
                                     emitter.constantIndex(first));
        unit = arith::MaxSIOp::create(builder, loc, unit,
                                      emitter.constantIndex(0));
        return arith::MinSIOp::create(builder, loc, unit,
                                      emitter.constantIndex(nest.getGrid()));
      };
      nest.emit(emitter, scratch, toOwn(buffers.begin), toOwn(buffers.end));
      first += nest.getGrid();
    }
  }

  /// All results are those of one op, whose rows are independent.
  void lowerWhole(Operation *op) {
    SmallVector<Value> outputs(op->getNumResults());
    for (const Target &target : targets)
      outputs[cast<OpResult>(target.tensor).getResultNumber()] = target.buffer;
    fillOutputs(op, outputs);
    grid = getWholeOpGrid(op);
    emitWholeOp(emitter, scratch, op, outputs, getTiedBuffer(op), buffers.begin,
                buffers.end);
  }

  /// One unit, which computes everything in order of use.
  void lowerInOrder(ArrayRef<Operation *> wholeOps) {
    grid = 1;
    emitter.emitLoop(buffers.begin, buffers.end, 0, 0, {},
                     [&](LinearIndex, ValueRange) {
                       for (Operation *op : wholeOps)
                         putInMemory(op);
                       lowerNestsInOrder();
                       return SmallVector<Value>();
                     });
  }

  void lowerNestsInOrder() {
    for (const Target &target : targets) {
      LoopNest nest(emitter, target);
      while (!nest.getMisfits().empty()) {
        for (Operation *op : nest.getMisfits())
          putInMemory(op);
        nest = LoopNest(emitter, target);
      }
      emitWholeNest(nest);
    }
  }

  void emitWholeNest(LoopNest &nest) {
    std::vector<LoopNest> parts = nest.takeParts();
    if (parts.empty())
      parts.push_back(std::move(nest));
    for (LoopNest &part : parts)
      part.emit(emitter, scratch, emitter.constantIndex(0),
                emitter.constantIndex(part.getGrid()));
  }

  /// Computes all of an op's results, into scratch memory.
  void putInMemory(Operation *op) {
    SmallVector<Value> outputs(op->getNumResults());
    fillOutputs(op, outputs);
    if (isWholeOp(op)) {
      emitWholeOp(emitter, scratch, op, outputs, Value(),
                  emitter.constantIndex(0),
                  emitter.constantIndex(getWholeOpGrid(op)));
    } else {
      SmallVector<Target> results;
      for (auto [result, buffer] : llvm::zip_equal(op->getResults(), outputs))
        results.push_back({result, buffer});
      LoopNest nest(emitter, results);
      while (!nest.getMisfits().empty()) {
        for (Operation *inner : nest.getMisfits())
          putInMemory(inner);
        nest = LoopNest(emitter, results);
      }
      emitWholeNest(nest);
    }
    for (auto [result, buffer] : llvm::zip_equal(op->getResults(), outputs))
      emitter.bindBuffer(result, buffer);
  }

  void fillOutputs(Operation *op, MutableArrayRef<Value> outputs) {
    for (auto [result, output] : llvm::zip_equal(op->getResults(), outputs))
      if (!output) {
        auto type = cast<RankedTensorType>(result.getType());
        output = scratch.allocate(emitter, type.getNumElements(),
                                  type.getElementType());
      }
  }

  /// The argument that a scatter works on in place, if its result must share
  /// the argument's buffer.
  Value getTiedBuffer(Operation *op) {
    if (!kernel->hasAttr(kMustTieAttr))
      return {};
    auto tied = kernel->getAttrOfType<DenseI64ArrayAttr>(kTiedAttr);
    int64_t argument = tied.empty() ? -1 : tied[0];
    return argument < 0 ? Value() : Value(body.getArgument(argument));
  }

  func::FuncOp kernel;
  Region body;
  KernelBuffers buffers;
  ElementEmitter emitter;
  ScratchPlan scratch;
  SmallVector<Target> targets;
  bool hasUpdateChain = false;
  int64_t grid = 1;
};

class LowerFusedKernels
    : public tsp::impl::LowerFusedKernelsBase<LowerFusedKernels> {
public:
  void runOnOperation() override {
    SmallVector<func::FuncOp> kernels;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isTensorKernel(function))
        kernels.push_back(function);
    for (func::FuncOp kernel : kernels) {
      if (failed(KernelLowering(kernel).run()))
        return signalPassFailure();
      ++numKernels;
    }
  }
};

} // namespace
