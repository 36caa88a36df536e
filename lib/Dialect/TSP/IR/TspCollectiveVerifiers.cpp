//===- TspCollectiveVerifiers.cpp - verifiers of communication ------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/TSP/IR/TspVerifiers.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tsp;

static RankedTensorType valueType(Value v) {
  if (auto future = dyn_cast<FutureType>(v.getType()))
    return future.getValueType();
  return cast<RankedTensorType>(v.getType());
}

LogicalResult tsp::verifyDim(Operation *op, StringRef name, int64_t dim,
                             RankedTensorType type) {
  if (dim >= 0 && dim < type.getRank())
    return success();
  return op->emitOpError("expected ")
         << name << " in [0, " << type.getRank() << "), found " << dim;
}

/// Element type, rank and sizes of `b` as of `a`, except for dim `dim`.
static LogicalResult verifyEqualBut(Operation *op, ArrayRef<int64_t> dims,
                                    RankedTensorType a, RankedTensorType b) {
  if (a.getElementType() != b.getElementType() || a.getRank() != b.getRank())
    return op->emitOpError(
               "expected a result with the element type and rank of ")
           << a << ", found " << b;
  for (int64_t i = 0; i < a.getRank(); ++i)
    if (!llvm::is_contained(dims, i) && a.getDimSize(i) != b.getDimSize(i))
      return op->emitOpError("expected size ")
             << a.getDimSize(i) << " in dim " << i << " of the result, found "
             << b.getDimSize(i);
  return success();
}

static LogicalResult verifyTotal(Operation *op, StringRef label, StringRef of,
                                 int64_t dim, int64_t total,
                                 RankedTensorType type) {
  if (type.getDimSize(dim) == total)
    return success();
  return op->emitOpError(label)
         << " expected " << total << " elements in dim " << dim << " of the "
         << of << ", found " << type.getDimSize(dim);
}

/// The ranks on the axis, when the module says what its mesh is.
static FailureOr<std::optional<int64_t>> axisSize(Operation *op,
                                                  StringRef axis) {
  auto module = op->getParentOfType<ModuleOp>();
  auto mesh = module ? module->getAttrOfType<MeshAttr>("tsp.mesh") : MeshAttr();
  if (!mesh)
    return std::optional<int64_t>();
  int64_t size = mesh.getAxisSize(axis);
  if (size == 0) {
    InFlightDiagnostic diag =
        op->emitOpError("expected an axis of the mesh, found \"")
        << axis << '"';
    diag.attachNote(module.getLoc()) << "the mesh is " << mesh;
    return diag;
  }
  return std::optional<int64_t>(size);
}

/// The unit, and the size of the shard that every rank holds of a dim.
static LogicalResult verifyShard(Operation *op, StringRef label, StringRef of,
                                 StringRef axis, int64_t dim, int64_t total,
                                 int64_t unit, Layout layout,
                                 RankedTensorType shard) {
  if (unit < 1)
    return op->emitOpError("expected a unit of at least 1, found ") << unit;
  FailureOr<std::optional<int64_t>> ranks = axisSize(op, axis);
  if (failed(ranks))
    return failure();
  if (!*ranks)
    return success();
  int64_t chunks = layout == Layout::Zigzag ? 2 : 1;
  int64_t chunk =
      llvm::divideCeil(total, chunks * **ranks * unit) * unit * chunks;
  if (shard.getDimSize(dim) == chunk)
    return success();
  return op->emitOpError(label)
         << " expected the shard of " << total << " elements over " << **ranks
         << " ranks, " << chunk << ", in dim " << dim << " of the " << of
         << ", found " << shard.getDimSize(dim);
}

LogicalResult AllGatherOp::verify() {
  auto in = getInput().getType(), out = valueType(getResult());
  int64_t dim = getDim(), total = getTotal();
  if (failed(verifyDim(*this, "dim", dim, in)) ||
      failed(verifyEqualBut(*this, dim, in, out)) ||
      failed(verifyTotal(*this, "(all_gather_c2)", "result", dim, total, out)))
    return failure();
  return verifyShard(*this, "(all_gather_c3)", "input", getAxis(), dim, total,
                     getUnit(), getLayout(), in);
}

LogicalResult ReduceScatterOp::verify() {
  auto in = getInput().getType(), out = valueType(getResult());
  int64_t dim = getDim(), total = getTotal();
  if (failed(verifyDim(*this, "dim", dim, in)) ||
      failed(verifyEqualBut(*this, dim, in, out)) ||
      failed(
          verifyTotal(*this, "(reduce_scatter_c2)", "input", dim, total, in)))
    return failure();
  return verifyShard(*this, "(reduce_scatter_c3)", "result", getAxis(), dim,
                     total, getUnit(), getLayout(), out);
}

static LogicalResult verifySameType(Operation *op, Value input, Value result) {
  if (input.getType() == valueType(result))
    return success();
  return op->emitOpError("expected a result of type ")
         << input.getType() << ", found " << valueType(result);
}

LogicalResult AllReduceOp::verify() {
  if (failed(verifySameType(*this, getInput(), getResult())))
    return failure();
  return LogicalResult(axisSize(*this, getAxis()));
}

LogicalResult AllToAllOp::verify() {
  auto in = getInput().getType(), out = valueType(getResult());
  int64_t split = getSplitDim(), concat = getConcatDim();
  if (failed(verifyDim(*this, "split_dim", split, in)) ||
      failed(verifyDim(*this, "concat_dim", concat, in)))
    return failure();
  if (split == concat)
    return emitOpError("(all_to_all_c2) expected split_dim and concat_dim to "
                       "differ, found both ")
           << split;
  if (failed(verifyEqualBut(*this, {split, concat}, in, out)) ||
      failed(verifyTotal(*this, "(all_to_all_c3)", "input", split,
                         getSplitTotal(), in)) ||
      failed(verifyTotal(*this, "(all_to_all_c3)", "result", concat,
                         getConcatTotal(), out)) ||
      failed(verifyShard(*this, "(all_to_all_c4)", "result", getAxis(), split,
                         getSplitTotal(), getSplitUnit(), getSplitLayout(),
                         out)))
    return failure();
  return verifyShard(*this, "(all_to_all_c4)", "input", getAxis(), concat,
                     getConcatTotal(), getConcatUnit(), getConcatLayout(), in);
}

LogicalResult BroadcastOp::verify() {
  auto in = getInput().getType(), out = valueType(getResult());
  auto offset = cast<RankedTensorType>(getOffset().getType());
  int64_t dim = getDim(), total = getTotal();
  if (offset.getRank() != 0 || !offset.getElementType().isInteger(32))
    return emitOpError(
               "(broadcast_c2) expected an offset of type tensor<i32>, found ")
           << offset;
  if (failed(verifyDim(*this, "dim", dim, in)) ||
      failed(verifyEqualBut(*this, dim, in, out)))
    return failure();
  if (out.getDimSize(dim) > total)
    return emitOpError("(broadcast_c3) expected at most ")
           << total << " elements in dim " << dim << " of the result, found "
           << out.getDimSize(dim);
  return verifyShard(*this, "(broadcast_c4)", "input", getAxis(), dim, total,
                     getUnit(), Layout::Contiguous, in);
}

LogicalResult SendRecvOp::verify() {
  if (failed(verifySameType(*this, getInput(), getResult())))
    return failure();
  return LogicalResult(axisSize(*this, getAxis()));
}

LogicalResult AxisIndexOp::verify() {
  return LogicalResult(axisSize(*this, getAxis()));
}

LogicalResult WaitOp::verify() {
  RankedTensorType expected =
      cast<FutureType>(getFuture().getType()).getValueType();
  if (getResult().getType() != expected)
    return emitOpError("(wait_c1) expected a result of type ")
           << expected << ", found " << getResult().getType();
  if (!getFuture().hasOneUse())
    return emitOpError(
               "(wait_c2) expected the future to be waited for once, found ")
           << llvm::range_size(getFuture().getUses()) << " uses";
  return success();
}
