//===- TspBlockVerifiers.cpp - verifiers of whole blocks ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Support/TensorTypes.h"

using namespace mlir;
using namespace tsp;

static bool hasShape(RankedTensorType type, ArrayRef<int64_t> shape,
                     Type element) {
  return type.getShape() == shape && type.getElementType() == element;
}

/// That x is [B,S,h] of floats.
static LogicalResult verifyTokens(Operation *op, StringRef label,
                                  RankedTensorType x) {
  if (x.getRank() == 3 && isa<FloatType>(x.getElementType()))
    return success();
  return op->emitOpError(label) << " expected x [B,S,h] of floats, found " << x;
}

LogicalResult AttentionOp::verify() {
  RankedTensorType x = typeOf(getX()), wq = typeOf(getWq()),
                   wk = typeOf(getWk()), wv = typeOf(getWv()),
                   wo = typeOf(getWo()), y = typeOf(getY());
  int64_t heads = getHeads(), kvHeads = getKvHeads();
  if (heads < 1 || kvHeads < 1 || heads % kvHeads != 0)
    return emitOpError(
               "(attention_c1) expected kv_heads to divide heads, found ")
           << kvHeads << " and " << heads;
  if (failed(verifyTokens(*this, "(attention_c2)", x)))
    return failure();
  bool ranks =
      llvm::all_of(ArrayRef{wq, wk, wv, wo},
                   [](RankedTensorType type) { return type.getRank() == 2; });
  Type element = x.getElementType();
  int64_t batch = x.getDimSize(0), tokens = x.getDimSize(1),
          width = x.getDimSize(2);
  int64_t features = ranks ? wq.getDimSize(1) / heads : 0;
  int64_t valueFeatures = ranks ? wv.getDimSize(1) / kvHeads : 0;
  if (!ranks || !hasShape(wq, {width, heads * features}, element) ||
      !hasShape(wk, {width, kvHeads * features}, element) ||
      !hasShape(wv, {width, kvHeads * valueFeatures}, element) ||
      !hasShape(wo, {heads * valueFeatures, wo.getDimSize(1)}, element) ||
      !hasShape(y, {batch, tokens, wo.getDimSize(1)}, element))
    return emitOpError("(attention_c2) expected wq [h,Hq E], wk [h,Hkv E], wv "
                       "[h,Hkv Ev], wo "
                       "[Hq Ev,o] and y [B,S,o] of one type for x ")
           << x << ", " << heads << " heads and " << kvHeads
           << " kv_heads, found " << wq << ", " << wk << ", " << wv << ", "
           << wo << " and " << y;
  if (!getCos() != !getSin())
    return emitOpError("(attention_c3) expected both rotary tables");
  for (Value table : {getCos(), getSin()})
    if (table && (features % 2 != 0 ||
                  !hasShape(typeOf(table), {tokens, features}, element)))
      return emitOpError("(attention_c3) expected rotary tables ")
             << RankedTensorType::get({tokens, features}, element)
             << " of an even number of features, found " << typeOf(table);
  if (getPositions()) {
    RankedTensorType type = typeOf(getPositions());
    if (!getCausal() && !getWindow())
      return emitOpError(
          "(attention_c4) positions serve causal or window, found neither");
    if (!isa<IntegerType>(type.getElementType()) ||
        (type.getShape() != ArrayRef{tokens} &&
         type.getShape() != ArrayRef{batch, tokens}))
      return emitOpError("(attention_c4) expected integer positions [")
             << tokens << "] or [" << batch << "," << tokens << "], found "
             << type;
  }
  if (getMask()) {
    RankedTensorType type = typeOf(getMask());
    SmallVector<int64_t> full{batch, heads, tokens};
    bool fits = type.getRank() == 4 && type.getDimSize(3) == tokens &&
                type.getElementType().isInteger(1);
    for (int64_t i = 0; fits && i < 3; ++i)
      fits = type.getDimSize(i) == full[i] || type.getDimSize(i) == 1;
    if (!fits)
      return emitOpError("(attention_c5) expected mask of i1 [")
             << batch << "|1," << heads << "|1," << tokens << "|1," << tokens
             << "], found " << type;
  }
  return success();
}

LogicalResult GatedMlpOp::verify() {
  RankedTensorType x = typeOf(getX()), wg = typeOf(getWg()),
                   wu = typeOf(getWu()), wd = typeOf(getWd()),
                   y = typeOf(getY());
  if (failed(verifyTokens(*this, "(gated_mlp_c1)", x)))
    return failure();
  Type element = x.getElementType();
  if (wg.getRank() != 2 || wd.getRank() != 2 ||
      !hasShape(wg, {x.getDimSize(2), wg.getDimSize(1)}, element) || wu != wg ||
      !hasShape(wd, {wg.getDimSize(1), wd.getDimSize(1)}, element) ||
      !hasShape(y, {x.getDimSize(0), x.getDimSize(1), wd.getDimSize(1)},
                element))
    return emitOpError("(gated_mlp_c1) expected wg and wu [h,f], wd [f,o] and "
                       "y [B,S,o] of one "
                       "type for x ")
           << x << ", found " << wg << ", " << wu << ", " << wd << " and " << y;
  return success();
}
