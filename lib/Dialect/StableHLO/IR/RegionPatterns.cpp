//===- RegionPatterns.cpp - simpler loops, branches and reductions --------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantFolding.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

/// Takes out values that no iteration changes, and values that only feed
/// themselves.
LogicalResult WhileOp::canonicalize(WhileOp op, PatternRewriter &rewriter) {
  Block &cond = op.getCond().front(), &body = op.getBody().front();
  Operation *returned = body.getTerminator();
  auto isDead = [&](unsigned index) {
    BlockArgument argument = body.getArgument(index);
    return op.getResult(index).use_empty() && cond.getArgument(index).use_empty() &&
           argument.use_empty();
  };
  llvm::BitVector dropped(op.getNumOperands());
  for (unsigned index = 0; index < op.getNumOperands(); ++index)
    if (returned->getOperand(index) == body.getArgument(index) || isDead(index))
      dropped.set(index);
  if (dropped.none())
    return failure();

  SmallVector<Value> operands, kept;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (!dropped[index]) {
      operands.push_back(operand);
      kept.push_back(returned->getOperand(index));
      continue;
    }
    rewriter.replaceAllUsesWith(cond.getArgument(index), operand);
    rewriter.replaceAllUsesWith(body.getArgument(index), operand);
    rewriter.replaceAllUsesWith(op.getResult(index), operand);
  }
  rewriter.modifyOpInPlace(returned, [&] { returned->setOperands(kept); });
  for (Block *block : {&cond, &body})
    rewriter.modifyOpInPlace(op, [&] { block->eraseArguments(dropped); });
  auto loop = WhileOp::create(rewriter, op.getLoc(), ValueRange(operands).getTypes(),
                              operands);
  loop->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.inlineRegionBefore(op.getCond(), loop.getCond(), loop.getCond().end());
  rewriter.inlineRegionBefore(op.getBody(), loop.getBody(), loop.getBody().end());
  SmallVector<Value> results;
  auto next = loop->result_begin();
  for (unsigned index = 0; index < dropped.size(); ++index)
    results.push_back(dropped[index] ? op.getOperands()[index] : Value(*next++));
  rewriter.replaceOp(op, results);
  return success();
}

//===----------------------------------------------------------------------===//
// case, if
//===----------------------------------------------------------------------===//

/// A branch that is known to run takes the place of the op.
LogicalResult CaseOp::canonicalize(CaseOp op, PatternRewriter &rewriter) {
  unsigned branch = op.getBranches().size() - 1;
  Attribute constant;
  if (matchPattern(op.getIndex(), m_Constant(&constant))) {
    auto number = dyn_cast_or_null<IntegerAttr>(getSplatElement(constant));
    if (!number)
      return failure();
    branch = number.getValue().getLimitedValue(branch);
  } else if (branch != 0) {
    return failure();
  }
  Block &block = op.getBranches()[branch].front();
  Operation *returned = block.getTerminator();
  SmallVector<Value> results(returned->getOperands());
  rewriter.eraseOp(returned);
  rewriter.inlineBlockBefore(&block, op);
  rewriter.replaceOp(op, results);
  return success();
}

/// The branches of case count from false.
LogicalResult IfOp::canonicalize(IfOp op, PatternRewriter &rewriter) {
  Type index = RankedTensorType::get({}, rewriter.getI32Type());
  Value number = ConvertOp::create(rewriter, op.getLoc(), index, op.getPred());
  auto branches =
      CaseOp::create(rewriter, op.getLoc(), op.getResultTypes(), number, 2);
  for (auto [from, to] : llvm::zip(
           SmallVector<Region *>{&op.getFalseBranch(), &op.getTrueBranch()},
           branches.getBranches()))
    rewriter.inlineRegionBefore(*from, to, to.end());
  rewriter.replaceOp(op, branches.getResults());
  return success();
}

//===----------------------------------------------------------------------===//
// dot, reduce
//===----------------------------------------------------------------------===//

LogicalResult DotOp::canonicalize(DotOp op, PatternRewriter &rewriter) {
  int64_t last = op.getLhs().getType().getRank() - 1;
  auto dims = DotDimensionNumbersAttr::get(op.getContext(), {}, {}, last, int64_t(0));
  rewriter.replaceOpWithNewOp<DotGeneralOp>(op, op.getType(), op.getLhs(),
                                            op.getRhs(), dims,
                                            op.getPrecisionConfigAttr(), nullptr);
  return success();
}

/// Whether combining with the init value changes no value, -0.0 included.
static bool isNeutral(Operation *reducer, Attribute init) {
  Type element = cast<RankedTensorType>(reducer->getResult(0).getType()).getElementType();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (isa<FloatType>(element))
    return (isa<MaxOp>(reducer) && isAll(init, -infinity)) ||
           (isa<MinOp>(reducer) && isAll(init, infinity)) ||
           (isa<MulOp>(reducer) && isAll(init, 1.0)) ||
           (isa<AddOp>(reducer) && isAll(init, -0.0));
  if (element.isInteger(1))
    return (isa<AndOp, MinOp, MulOp>(reducer) && isAll(init, 1.0)) ||
           (isa<OrOp, MaxOp, AddOp>(reducer) && isAll(init, 0.0));
  return (isa<AddOp, OrOp, XorOp>(reducer) && isAll(init, 0.0)) ||
         (isa<MulOp>(reducer) && isAll(init, 1.0));
}

/// Reducing dims of size 1 is a reshape.
LogicalResult ReduceOp::canonicalize(ReduceOp op, PatternRewriter &rewriter) {
  if (op.getInputs().size() != 1)
    return failure();
  Value input = op.getInputs().front();
  auto type = cast<RankedTensorType>(input.getType());
  if (!type.hasStaticShape() || llvm::any_of(op.getDimensions(), [&](int64_t dim) {
        return type.getDimSize(dim) != 1;
      }))
    return failure();
  Operation *reducer = getSimpleReducer(op.getBody());
  Attribute init;
  if (!reducer || !matchPattern(op.getInitValues().front(), m_Constant(&init)) ||
      !isNeutral(reducer, init))
    return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getResultTypes().front(), input);
  return success();
}
