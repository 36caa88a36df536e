//===- TspComputeVerifiers.cpp - verifiers of the attention core ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Support/TensorTypes.h"

using namespace mlir;
using namespace tsp;

/// A value over scores: [B|1, Hq|1, Sq|1, Skv].
static LogicalResult verifyOverScores(SdpaOp op, StringRef name, Value value,
                                      ArrayRef<int64_t> full) {
  RankedTensorType type = typeOf(value);
  bool fits = type.getRank() == 4 && type.getDimSize(3) == full[3];
  for (int64_t i = 0; fits && i < 3; ++i)
    fits = type.getDimSize(i) == full[i] || type.getDimSize(i) == 1;
  if (fits)
    return success();
  return op.emitOpError("(sdpa_c5) expected ")
         << name << " of shape [" << full[0] << "|1," << full[1] << "|1,"
         << full[2] << "|1," << full[3] << "], found " << type;
}

/// Positions or segments: integers [S] or [B,S].
static LogicalResult verifySide(SdpaOp op, StringRef name, Value value,
                                int64_t batch, int64_t length) {
  RankedTensorType type = typeOf(value);
  bool fits = isa<IntegerType>(type.getElementType()) && type.getRank() >= 1 &&
              type.getRank() <= 2 && type.getShape().back() == length &&
              (type.getRank() == 1 || type.getDimSize(0) == batch);
  if (fits)
    return success();
  return op.emitOpError("(sdpa_c6) expected ")
         << name << " to be integers [" << length << "] or [" << batch << ","
         << length << "], found " << type;
}

LogicalResult SdpaOp::verify() {
  RankedTensorType q = typeOf(getQ()), k = typeOf(getK()), v = typeOf(getV());
  if (q.getRank() != 4 || k.getRank() != 4 || v.getRank() != 4)
    return emitOpError(
               "(sdpa_c3) expected q, k, v of rank 4 ([B,S,H,E]), found ")
           << q << ", " << k << ", " << v;
  if (k.getDimSize(2) == 0 || q.getDimSize(2) % k.getDimSize(2) != 0)
    return emitOpError(
               "(sdpa_c1) expected key heads to divide the query heads, found ")
           << k.getDimSize(2) << " and " << q.getDimSize(2);
  if (q.getDimSize(0) != k.getDimSize(0) ||
      k.getDimSize(0) != v.getDimSize(0) ||
      k.getDimSize(1) != v.getDimSize(1) ||
      k.getDimSize(2) != v.getDimSize(2) || q.getDimSize(3) != k.getDimSize(3))
    return emitOpError("(sdpa_c3) expected q [B,Sq,Hq,E], k [B,Skv,Hkv,E], v "
                       "[B,Skv,Hkv,Ev], "
                       "found ")
           << q << ", " << k << ", " << v;
  if (!isa<FloatType>(q.getElementType()) ||
      q.getElementType() != k.getElementType() ||
      q.getElementType() != v.getElementType())
    return emitOpError("(sdpa_c3) expected q, k, v of one float type, found ")
           << q << ", " << k << ", " << v;

  int64_t batch = q.getDimSize(0), rows = q.getDimSize(1),
          heads = q.getDimSize(2), keys = k.getDimSize(1);
  SmallVector<int64_t> shape{batch, rows, heads, v.getDimSize(3)};
  RankedTensorType o = typeOf(getO()), lse = typeOf(getLse());
  if (o.getShape() != ArrayRef(shape) ||
      lse.getShape() != ArrayRef(shape).drop_back())
    return emitOpError(
               "(sdpa_c4) expected results [B,Sq,Hq,Ev] and [B,Sq,Hq], found ")
           << o << " and " << lse;
  Type lseType = q.getElementType().isF64()
                     ? q.getElementType()
                     : Type(Float32Type::get(getContext()));
  if (!isa<FloatType>(o.getElementType()) || lse.getElementType() != lseType)
    return emitOpError("(sdpa_c4) expected o of floats and lse of ")
           << lseType << ", found " << o << " and " << lse;

  SmallVector<int64_t> scores{batch, heads, rows, keys};
  if (getBias()) {
    if (failed(verifyOverScores(*this, "bias", getBias(), scores)))
      return failure();
    if (!isa<FloatType>(typeOf(getBias()).getElementType()))
      return emitOpError("(sdpa_c5) expected bias of floats, found ")
             << getBias().getType();
  }
  if (getMask()) {
    if (failed(verifyOverScores(*this, "mask", getMask(), scores)))
      return failure();
    if (!typeOf(getMask()).getElementType().isInteger(1))
      return emitOpError("(sdpa_c5) expected mask of i1, found ")
             << getMask().getType();
  }
  if ((getCausal() || getWindow()) && !getQPositions())
    return emitOpError(
        "(sdpa_c2) causal and window need positions, found none");
  if (!getQPositions() != !getKvPositions() ||
      !getQSegments() != !getKvSegments())
    return emitOpError(
        "(sdpa_c2) expected positions and segments of both sides");
  struct Side {
    StringRef name;
    Value value;
    int64_t length;
  };
  for (const Side &side : {Side{"q_positions", getQPositions(), rows},
                           Side{"kv_positions", getKvPositions(), keys},
                           Side{"q_segments", getQSegments(), rows},
                           Side{"kv_segments", getKvSegments(), keys}})
    if (side.value &&
        failed(verifySide(*this, side.name, side.value, batch, side.length)))
      return failure();
  if (getWindow() && (int64_t)*getWindow() < 1)
    return emitOpError("(sdpa_c7) expected a window of at least 1, found ")
           << (int64_t)*getWindow();
  if (getSoftcap() && !(getSoftcap()->convertToDouble() > 0))
    return emitOpError("(sdpa_c7) expected a softcap over 0, found ")
           << getSoftcap()->convertToDouble();
  return success();
}

LogicalResult LogSumExpOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  if (int64_t(getDim()) < 0 || int64_t(getDim()) >= input.getRank())
    return emitOpError("(logsumexp_c1) expected dim in [0, ")
           << input.getRank() << "), found " << int64_t(getDim());
  if (!input.getElementType().isF32() && !input.getElementType().isF64())
    return emitOpError("(logsumexp_c3) expected elements of f32 or f64, found ")
           << input.getElementType();
  SmallVector<int64_t> shape(input.getShape());
  shape.erase(shape.begin() + getDim());
  auto expected = RankedTensorType::get(shape, input.getElementType());
  if (getType() != expected)
    return emitOpError("(logsumexp_c2) expected a result of type ")
           << expected << ", found " << getType();
  return success();
}

LogicalResult PlaceOp::verify() {
  int64_t rank = typeOf(getInput()).getRank(),
          dims = getPlacement().getDims().size();
  if (dims != rank)
    return emitOpError("(place_c1) expected a placement of ")
           << rank << " dims, found " << dims;
  return success();
}
