//===- SdpaScores.cpp - scores and masks of attention ---------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmEmit.h"
#include "SdpaEmit.h"

using namespace mlir;
using namespace tsp;

std::pair<Value, Value> SdpaEmitter::keyRange(const SdpaTensor &tensor) {
  Value line = e.add(e.mul(batch, tensor.batch), e.mul(firstKey, tensor.row));
  Value first = loadInteger(tensor, line);
  Values range =
      e.loop(e.index(0), keyCount, 1, {first, first},
             [&](Value key, ValueRange carried) -> Values {
               Value value =
                   loadInteger(tensor, e.add(line, e.mul(key, tensor.row)));
               return {e.min(carried[0], value), e.max(carried[1], value)};
             });
  return {range[0], range[1]};
}

SdpaEmitter::Visibility SdpaEmitter::visibility(Value panel) {
  Visibility result;
  auto both = [&](Value &condition, Value other) {
    condition = condition
                    ? Value(arith::AndIOp::create(e.b, e.loc, condition, other))
                    : other;
  };
  using P = arith::CmpIPredicate;
  auto [leastKey, greatestKey] = positionRange;
  if (spec.hasPositions()) {
    Value least = e.load(leastPosition, panel);
    Value greatest = e.load(greatestPosition, panel);
    if (spec.causal) {
      both(result.some, compare(P::sle, leastKey, greatest));
      both(result.all, compare(P::sle, greatestKey, least));
    }
    if (spec.window) {
      both(result.some, compare(P::sgt, greatestKey, windowStart(least)));
      both(result.all, compare(P::sgt, leastKey, windowStart(greatest)));
    }
  }
  if (spec.hasSegments()) {
    auto [leastKeySegment, greatestKeySegment] = segmentRange;
    Value least = e.load(leastSegment, panel);
    Value greatest = e.load(greatestSegment, panel);
    both(result.some, compare(P::sle, leastKeySegment, greatest));
    both(result.some, compare(P::sge, greatestKeySegment, least));
    both(result.all, compare(P::eq, leastKeySegment, greatestKeySegment));
    both(result.all, compare(P::eq, least, greatest));
    both(result.all, compare(P::eq, least, leastKeySegment));
  }
  return result;
}

void SdpaEmitter::emitScores(Value panel) {
  int64_t lanes = plan.lanes, mr = plan.mrKeys, nv = plan.nv;
  int64_t paddedWidth = llvm::alignTo(spec.width, lanes);
  TileOperand q{bufferQ, e.mul(panel, paddedWidth * nr), spec.compute, 0, nr};

  e.loop(e.index(0), keyCount, mr, [&](Value tile) {
    TileOperand k;
    k.element = spec.compute;
    Value key = tile;
    if (plan.copyK) {
      k.flat = bufferK;
      k.free = plan.ldk;
      k.k = 1;
      k.base = e.mul(key, plan.ldk);
    } else {
      // Not past the last key: scores of keys before the block, or after it,
      // are not looked at.
      key = e.min(tile, e.sub(e.index(spec.keys - mr), firstKey));
      k.flat = spec.k.flat;
      k.free = spec.k.row;
      k.k = spec.k.last;
      k.base =
          e.add(scaledBase(spec.k), e.mul(e.add(firstKey, key), spec.k.row));
    }
    Values scores =
        emitTile(e, {lanes, mr, nv}, spec.compute, k, q, e.index(spec.width));
    for (int64_t m = 0; m < mr; ++m)
      for (int64_t v = 0; v < nv; ++v)
        e.storeVector(scores[m * nv + v], bufferS,
                      e.add(scoreLine(e.add(key, m)), v * lanes));
  });

  bool uniformBias = spec.bias.flat && !spec.bias.row && !spec.bias.head;
  if (spec.softcap || uniformBias)
    e.loop(e.index(0), keyCount, 1, [&](Value key) {
      Value bias;
      if (uniformBias) {
        Value at = e.add(e.mul(batch, spec.bias.batch),
                         e.mul(e.add(firstKey, key), spec.bias.last));
        bias = e.splat(e.widen(e.load(spec.bias.flat, at), spec.bias.element,
                               spec.compute),
                       lanes);
      }
      for (int64_t v = 0; v < nv; ++v) {
        Value at = e.add(scoreLine(key), v * lanes);
        Value score = e.loadVector(bufferS, at, lanes);
        if (spec.softcap)
          score = arith::MulFOp::create(e.b, e.loc, e.tanh(score),
                                        e.constant(vector(), *spec.softcap));
        if (bias)
          score = arith::AddFOp::create(e.b, e.loc, score, bias);
        e.storeVector(score, bufferS, at);
      }
    });
  if (spec.bias.flat && !uniformBias)
    addTurned(spec.bias, panel, /*isMask=*/false);
  if (spec.mask.flat)
    addTurned(spec.mask, panel, /*isMask=*/true);
}

void SdpaEmitter::addTurned(const SdpaTensor &tensor, Value panel,
                            bool isMask) {
  int64_t lanes = plan.lanes;
  bool whole = spec.keys % lanes == 0 && tensor.last == 1;
  Value zero = e.constant(vector(), 0);
  e.loop(0, nr, lanes, [&](Value x) {
    Values lines;
    for (int64_t i = 0; i < lanes; ++i)
      lines.push_back(e.add(rowOffset(tensor, laneRow(panel, e.add(x, i))),
                            e.mul(firstKey, tensor.last)));
    e.loop(e.index(0), keyCount, lanes, [&](Value key) {
      Value mask = whole ? Value() : e.mask(e.sub(keyCount, key), lanes);
      Values square;
      for (Value line : lines) {
        Value at = e.add(line, e.mul(key, tensor.last));
        Value part = tensor.last == 1
                         ? e.loadVector(tensor.flat, at, lanes, mask)
                         : e.splat(e.load(tensor.flat, line), lanes);
        if (isMask)
          part = arith::UIToFPOp::create(e.b, e.loc, vector(), part);
        square.push_back(e.widen(part, tensor.element, spec.compute));
      }
      for (auto [i, part] : llvm::enumerate(e.transpose(square))) {
        Value at = e.add(scoreLine(e.add(key, i)), x);
        Value score = e.loadVector(bufferS, at, lanes);
        if (isMask)
          score = e.select(compare(arith::CmpFPredicate::ONE, part, zero),
                           score, minusInfinity(vector()));
        else
          score = arith::AddFOp::create(e.b, e.loc, score, part);
        e.storeVector(score, bufferS, at);
      }
    });
  });
}

void SdpaEmitter::maskScores(Value panel) {
  int64_t lanes = plan.lanes;
  Value outside = minusInfinity(vector());
  using P = arith::CmpIPredicate;
  auto lineOf = [&](const SdpaTensor &tensor) {
    return e.add(e.mul(batch, tensor.batch), e.mul(firstKey, tensor.row));
  };
  Values positions, starts, segments;
  for (int64_t v = 0; v < plan.nv; ++v) {
    if (spec.hasPositions())
      positions.push_back(loadRows(rowPositions, panel, v));
    if (spec.window)
      starts.push_back(windowStart(positions.back()));
    if (spec.hasSegments())
      segments.push_back(loadRows(rowSegments, panel, v));
  }
  e.loop(e.index(0), keyCount, 1, [&](Value key) {
    Value position, segment;
    auto ofKey = [&](const SdpaTensor &tensor) {
      Value at = e.add(lineOf(tensor), e.mul(key, tensor.row));
      return e.splat(loadInteger(tensor, at), lanes);
    };
    if (spec.hasPositions())
      position = ofKey(spec.kPositions);
    if (spec.hasSegments())
      segment = ofKey(spec.kSegments);
    for (int64_t v = 0; v < plan.nv; ++v) {
      Value at = e.add(scoreLine(key), v * lanes);
      Value score = e.loadVector(bufferS, at, lanes);
      if (spec.causal)
        score =
            e.select(compare(P::sle, position, positions[v]), score, outside);
      if (spec.window)
        score = e.select(compare(P::sgt, position, starts[v]), score, outside);
      if (spec.hasSegments())
        score = e.select(compare(P::eq, segment, segments[v]), score, outside);
      e.storeVector(score, bufferS, at);
    }
  });
}
