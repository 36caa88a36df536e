//===- SinkIntoFolds.cpp - parts of folds as few bytes --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fold moves the values of its parts. Where a part is an elementwise function
// of narrower values, such as int8 weights times their scales, these are moved
// instead, and the body computes what it needs of the part.
//
//===----------------------------------------------------------------------===//

#include "VaryingValues.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Sharding/SchedulePasses.h"
#include "tsp/Support/TensorTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace tsp {
#define GEN_PASS_DEF_SINKINTOFOLDS
#include "tsp/Passes/Schedule.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

/// The type with another size of a dim.
static RankedTensorType resize(Type type, int64_t dim, int64_t size) {
  auto ranked = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(ranked.getShape());
  shape[dim] = size;
  return ranked.clone(shape);
}

namespace {

/// A part as a function of values that are sharded as it is, and of values that
/// all ranks of the axis have.
class PartFunction {
public:
  PartFunction(Value part, int64_t dim, StringRef axis)
      : block(part.getParentBlock()), varying(axis) {
    isKnown = collect(part, dim);
  }

  /// Whether moving the inputs moves fewer bytes than moving the part.
  bool isNarrower(Value part) const {
    int64_t bytes = 0;
    for (auto [input, dim] : inputs)
      bytes += getNumBytes(input);
    return isKnown && !ops.empty() && bytes < getNumBytes(part);
  }

  /// The inputs, and the dim of each that the dim of the part is.
  const llvm::MapVector<Value, int64_t> &getInputs() const { return inputs; }

  /// The function of `size` of the dim, `mapping` having those of the inputs.
  Value emit(OpBuilder &builder, Value part, int64_t size, IRMapping &mapping) {
    for (auto [op, dim] : llvm::reverse(ops)) {
      RankedTensorType type = resize(op->getResult(0).getType(), dim, size);
      Operation *copy = builder.clone(*op, mapping);
      copy->getResult(0).setType(type);
      if (auto constant = dyn_cast<stablehlo::ConstantOp>(copy))
        constant.setValueAttr(
            cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type));
    }
    return mapping.lookup(part);
  }

private:
  /// Adds a value whose dim `dim` is that of the part; false if that is not
  /// known to be so.
  bool collect(Value value, int64_t dim) {
    Operation *op = value.getDefiningOp();
    bool isFunction =
        op && op->getBlock() == block &&
        (stablehlo::isElementwise(op) ||
         isa<stablehlo::BroadcastInDimOp>(op) || isSplat(op));
    if (!isFunction) {
      auto [known, isNew] = inputs.insert({value, dim});
      return isNew || known->second == dim;
    }
    if (auto known = ops.find(op); known != ops.end()) {
      // Behind all of its users.
      if (known->second != dim)
        return false;
      ops.erase(known);
    }
    ops.insert({op, dim});
    return llvm::all_of(op->getOpOperands(), [&](OpOperand &use) {
      std::optional<int64_t> of = getDim(use, dim);
      return of ? collect(use.get(), *of) : !varying.contains(use.get());
    });
  }

  static bool isSplat(Operation *op) {
    auto constant = dyn_cast<stablehlo::ConstantOp>(op);
    return constant && isa<SplatElementsAttr>(constant.getValue());
  }

  /// The dim of an operand that is dim `dim` of the result; none if the operand
  /// is the same for all of it.
  static std::optional<int64_t> getDim(OpOperand &use, int64_t dim) {
    auto type = cast<RankedTensorType>(use.get().getType());
    auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(use.getOwner());
    if (!broadcast)
      return type.getRank() == 0 ? std::nullopt : std::optional(dim);
    for (auto [i, to] : llvm::enumerate(broadcast.getBroadcastDimensions()))
      if (to == dim && type.getDimSize(i) ==
                           broadcast.getType().getDimSize(dim))
        return i;
    return std::nullopt;
  }

  Block *block;
  VaryingValues varying;
  bool isKnown = false;
  /// Users before producers.
  llvm::MapVector<Operation *, int64_t> ops;
  llvm::MapVector<Value, int64_t> inputs;
};

struct SinkIntoFolds : tsp::impl::SinkIntoFoldsBase<SinkIntoFolds> {
  void runOnOperation() override {
    SmallVector<FoldOp> folds;
    getOperation().walk([&](FoldOp fold) { folds.push_back(fold); });
    for (FoldOp fold : folds)
      sink(fold);
  }

private:
  void sink(FoldOp fold) {
    Block &body = fold.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    SmallVector<Value> parts;
    SmallVector<int64_t> dims, sizes, starts, totals;
    for (size_t i = 0; i < fold.getParts().size(); ++i) {
      auto add = [&](Value part, int64_t dim) {
        parts.push_back(part);
        dims.push_back(dim);
        sizes.push_back(fold.getPartSizes()[i]);
        starts.push_back(fold.getPartStarts()[i]);
        totals.push_back(fold.getPartTotals()[i]);
      };
      Value part = fold.getParts()[i];
      int64_t dim = fold.getPartDims()[i], size = fold.getPartSizes()[i];
      PartFunction function(part, dim, fold.getAxis());
      if (!function.isNarrower(part)) {
        add(part, dim);
        continue;
      }
      // Argument 0 is the number of the step.
      unsigned number = parts.size() + 1;
      BlockArgument old = body.getArgument(number);
      IRMapping mapping;
      for (auto [input, inputDim] : function.getInputs()) {
        add(input, inputDim);
        mapping.map(input, body.insertArgument(
                               parts.size(),
                               resize(input.getType(), inputDim, size),
                               input.getLoc()));
      }
      old.replaceAllUsesWith(function.emit(builder, part, size, mapping));
      body.eraseArgument(old.getArgNumber());
      ++numSunk;
    }
    fold->setOperands(parts);
    fold.setPartDims(dims);
    fold.setPartSizes(sizes);
    fold.setPartStarts(starts);
    fold.setPartTotals(totals);
  }
};

} // namespace
