//===- TspVerifiers.cpp - verifiers of the tsp dialect --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tsp;

static RankedTensorType valueType(Value v) {
  if (auto future = dyn_cast<FutureType>(v.getType()))
    return future.getValueType();
  return cast<RankedTensorType>(v.getType());
}

static LogicalResult verifyDim(Operation *op, int64_t dim, RankedTensorType type) {
  if (dim >= 0 && dim < type.getRank())
    return success();
  return op->emitOpError("expected dim in [0, ") << type.getRank() << "), found " << dim;
}

/// Types equal except for the size of dim `dim`.
static LogicalResult verifyEqualBut(Operation *op, int64_t dim,
                                    RankedTensorType a, RankedTensorType b) {
  if (a.getElementType() != b.getElementType() || a.getRank() != b.getRank())
    return op->emitOpError("expected the element type and rank of ")
           << a << ", found " << b;
  for (int64_t i = 0; i < a.getRank(); ++i)
    if (i != dim && a.getDimSize(i) != b.getDimSize(i))
      return op->emitOpError("expected size ")
             << a.getDimSize(i) << " in dim " << i << ", found " << b.getDimSize(i);
  return success();
}

LogicalResult AllGatherOp::verify() {
  auto in = getInput().getType(), out = valueType(getResult());
  if (failed(verifyDim(*this, getDim(), in)) ||
      failed(verifyEqualBut(*this, getDim(), in, out)))
    return failure();
  if (out.getDimSize(getDim()) != (int64_t)getTotal())
    return emitOpError("expected total = ")
           << getTotal() << " elements in dim " << getDim() << " of the result, found "
           << out.getDimSize(getDim());
  return success();
}

LogicalResult ReduceScatterOp::verify() {
  auto in = getInput().getType(), out = valueType(getResult());
  if (failed(verifyDim(*this, getDim(), in)) ||
      failed(verifyEqualBut(*this, getDim(), in, out)))
    return failure();
  if (in.getDimSize(getDim()) != (int64_t)getTotal())
    return emitOpError("expected total = ")
           << getTotal() << " elements in dim " << getDim() << " of the input, found "
           << in.getDimSize(getDim());
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (getInput().getType() != valueType(getResult()))
    return emitOpError("expected a result of type ")
           << getInput().getType() << ", found " << valueType(getResult());
  return success();
}

LogicalResult AllToAllOp::verify() {
  auto in = getInput().getType(), out = valueType(getResult());
  if (failed(verifyDim(*this, getSplitDim(), in)) ||
      failed(verifyDim(*this, getConcatDim(), in)))
    return failure();
  if (getSplitDim() == getConcatDim())
    return emitOpError("expected split_dim and concat_dim to differ, found both ")
           << getSplitDim();
  if (in.getRank() != out.getRank() || in.getElementType() != out.getElementType())
    return emitOpError("expected the element type and rank of ") << in << ", found " << out;
  return success();
}

LogicalResult BroadcastOp::verify() {
  auto in = getInput().getType(), out = valueType(getResult());
  auto offset = cast<RankedTensorType>(getOffset().getType());
  if (offset.getRank() != 0 || !offset.getElementType().isInteger(32))
    return emitOpError("expected an offset of type tensor<i32>, found ") << offset;
  if (failed(verifyDim(*this, getDim(), in)))
    return failure();
  return verifyEqualBut(*this, getDim(), in, out);
}

LogicalResult SendRecvOp::verify() {
  if (getInput().getType() != valueType(getResult()))
    return emitOpError("expected a result of type ")
           << getInput().getType() << ", found " << valueType(getResult());
  return success();
}

LogicalResult PlaceOp::verify() {
  auto type = cast<RankedTensorType>(getInput().getType());
  if ((int64_t)getPlacement().getDims().size() != type.getRank())
    return emitOpError("expected a placement of ")
           << type.getRank() << " dims, found " << getPlacement().getDims().size();
  return success();
}

LogicalResult SdpaOp::verify() {
  auto q = cast<RankedTensorType>(getQ().getType()), k = cast<RankedTensorType>(getK().getType()),
       v = cast<RankedTensorType>(getV().getType());
  if (q.getRank() != 4 || k.getRank() != 4 || v.getRank() != 4)
    return emitOpError("expected q, k, v of rank 4 ([B,S,H,E]), found ")
           << q << ", " << k << ", " << v;
  if (k.getDimSize(2) == 0 || q.getDimSize(2) % k.getDimSize(2) != 0)
    return emitOpError("(sdpa_c1) expected key heads to divide the query heads, found ")
           << k.getDimSize(2) << " and " << q.getDimSize(2);
  if (q.getDimSize(0) != k.getDimSize(0) || k.getDimSize(0) != v.getDimSize(0) ||
      k.getDimSize(1) != v.getDimSize(1) || k.getDimSize(2) != v.getDimSize(2) ||
      q.getDimSize(3) != k.getDimSize(3))
    return emitOpError("expected q [B,Sq,Hq,E], k [B,Skv,Hkv,E], v [B,Skv,Hkv,Ev], found ")
           << q << ", " << k << ", " << v;
  SmallVector<int64_t> o{q.getDimSize(0), q.getDimSize(1), q.getDimSize(2), v.getDimSize(3)};
  auto oType = cast<RankedTensorType>(getO().getType()), lseType = cast<RankedTensorType>(getLse().getType());
  if (oType.getShape() != ArrayRef(o) || lseType.getShape() != ArrayRef(o).drop_back())
    return emitOpError("expected results [B,Sq,Hq,Ev] and [B,Sq,Hq], found ")
           << oType << " and " << lseType;
  if ((getCausal() || getWindow()) && !getQPositions())
    return emitOpError("(sdpa_c2) causal and window need positions, found none");
  if (!getQPositions() != !getKvPositions() || !getQSegments() != !getKvSegments())
    return emitOpError("(sdpa_c2) expected positions and segments of both sides");
  for (auto [value, tokens] : {std::pair(getQPositions(), q.getDimSize(1)),
                               std::pair(getQSegments(), q.getDimSize(1)),
                               std::pair(getKvPositions(), k.getDimSize(1)),
                               std::pair(getKvSegments(), k.getDimSize(1))}) {
    auto type = value ? cast<RankedTensorType>(value.getType()) : RankedTensorType();
    if (type && (type.getRank() < 1 || type.getRank() > 2 || type.getShape().back() != tokens))
      return emitOpError("(sdpa_c3) expected positions and segments of shape [S] or [B,S] with "
                         "S = ") << tokens << ", found " << type;
  }
  return success();
}

/// What `tsp.fold` and `tsp.fold_loop` share: the parts, their intervals, and
/// what schedule `ring` asks for.
template <typename OpTy>
static LogicalResult verifyParts(OpTy op, std::optional<Schedule> schedule) {
  size_t n = op.getParts().size();
  for (ArrayRef<int64_t> list : {op.getPartDims(), op.getPartSizes(),
                                 op.getPartStarts(), op.getPartTotals()})
    if (list.size() != n)
      return op.emitOpError("(fold_c1) expected a dim, size, start and total for each of ")
             << n << " parts, found " << list.size();
  Block &body = op.getBody().front();
  if (body.getNumArguments() < 1 + n)
    return op.emitOpError("expected a block argument for the step and for each of ")
           << n << " parts, found " << body.getNumArguments();
  for (size_t p = 0; p < n; ++p) {
    auto shard = cast<RankedTensorType>(op.getParts()[p].getType());
    int64_t dim = op.getPartDims()[p];
    if (failed(verifyDim(op, dim, shard)))
      return failure();
    SmallVector<int64_t> shape(shard.getShape());
    shape[dim] = op.getPartSizes()[p];
    auto expected = RankedTensorType::get(shape, shard.getElementType());
    if (body.getArgument(1 + p).getType() != expected)
      return op.emitOpError("expected block argument ")
             << 1 + p << " of type " << expected << ", found "
             << body.getArgument(1 + p).getType();
    int64_t end = op.getPartStarts()[p] + (int64_t)op.getSteps() * op.getPartSizes()[p];
    if (op.getPartStarts()[p] < 0 || end > op.getPartTotals()[p])
      return op.emitOpError("expected part ")
             << p << " to stay inside its " << op.getPartTotals()[p]
             << " elements, found an end of " << end;
    if (schedule == Schedule::Ring && shard.getDimSize(dim) != op.getPartSizes()[p])
      return op.emitOpError("(fold_c2) schedule ring needs steps that are whole shards: part ")
             << p << " has " << shard.getDimSize(dim) << " elements of dim " << dim
             << " in a shard and " << op.getPartSizes()[p] << " in a step";
  }
  if (schedule == Schedule::Ring) {
    WalkResult result = op.getBody().walk([&](Operation *inner) {
      auto axis = inner->getAttrOfType<StringAttr>("axis");
      if (axis && axis.getValue() == op.getAxis() && !isa<AxisIndexOp>(inner)) {
        auto diag = op.emitOpError("(fold_c2) under schedule ring ranks run different parts, so the "
                                   "body may not hold a collective over axis ")
                    << axis;
        diag.attachNote(inner->getLoc()) << "the collective is here";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult FoldOp::verify() {
  if (failed(verifyParts(*this, getSchedule())))
    return failure();
  if (getCombines().size() != getNumResults())
    return emitOpError("expected a combine for each of ")
           << getNumResults() << " results, found " << getCombines().size();
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  if (yield.getNumOperands() != getNumResults())
    return emitOpError("(fold_c3) expected ")
           << getNumResults() << " yielded values, found " << yield.getNumOperands();
  for (auto [combine, value, result] : llvm::zip(getCombines(), yield.getValues(), getResults())) {
    auto from = cast<RankedTensorType>(value.getType()), to = cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> shape(from.getShape());
    if (auto concat = dyn_cast<ConcatAttr>(combine)) {
      if (failed(verifyDim(*this, concat.getDim(), from)))
        return failure();
      shape[concat.getDim()] *= getSteps();
    } else if (!isa<CombineKindAttr>(combine)) {
      return emitOpError("expected #tsp.combine or #tsp.concat, found ") << combine;
    }
    if (to.getShape() != ArrayRef(shape))
      return emitOpError("(fold_c3) expected a result of shape ")
             << RankedTensorType::get(shape, to.getElementType()) << ", found " << to;
  }
  return success();
}

LogicalResult FoldLoopOp::verify() {
  if (failed(verifyParts(*this, getSchedule())))
    return failure();
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  auto carried = getBody().front().getArguments().drop_front(1 + getParts().size());
  if (!llvm::equal(getInits().getTypes(), getResultTypes()) ||
      !llvm::equal(yield.getValues().getTypes(), getResultTypes()) ||
      !llvm::equal(TypeRange(ValueRange(carried)), getResultTypes()))
    return emitOpError("(fold_loop_c2) expected inits, carried block arguments, yielded "
                       "values and results of equal types");
  return success();
}

// Types are compared as long as the kernel works on tensors; kernel codegen turns
// it into a function on pointers, whose launches keep their tensor types.
LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  Operation *symbol = tables.lookupNearestSymbolFrom(*this, getKernelAttr());
  if (!symbol || !symbol->hasAttr("tsp.kernel"))
    return emitOpError("expected a kernel named ")
           << getKernelAttr() << ", found " << (symbol ? "a function that is none" : "nothing");
  auto kernel = dyn_cast<func::FuncOp>(symbol);
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  if (!kernel || !llvm::all_of(kernel.getArgumentTypes(), isTensor) ||
      !llvm::all_of(kernel.getResultTypes(), isTensor))
    return success();
  if (!llvm::equal(kernel.getArgumentTypes(), getInputs().getTypes()) ||
      !llvm::equal(kernel.getResultTypes(), getResultTypes()))
    return emitOpError("expected operands and results of kernel type ")
           << kernel.getFunctionType();
  return success();
}
