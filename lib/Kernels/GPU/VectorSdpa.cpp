//===- VectorSdpa.cpp - attention by the vector units ---------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `lanesPerRow` neighbouring lanes share a row: each holds some columns of its
// Q and O in registers, in chunks of 16 bytes dealt out in turn, so that the
// lanes of a row read one line of shared memory and the rows of a warp the same
// one. Keys come in groups, whose scores are independent of each other.
//
//===----------------------------------------------------------------------===//

#include "DeviceSdpaForms.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tsp;

namespace {
class VectorSdpa : DeviceSdpaEmitter {
public:
  using DeviceSdpaEmitter::DeviceSdpaEmitter;
  void emit();

private:
  static constexpr int64_t keyGroup = 8;

  /// Elements of a chunk, and chunks of a lane for `width` columns.
  int64_t chunk() const { return 128 / real.getIntOrFloatBitWidth(); }
  int64_t chunksOf(int64_t width) const {
    return llvm::divideCeil(width, chunk() * plan.lanesPerRow);
  }
  /// First column of a lane's chunk.
  Value columnOf(int64_t number) {
    return e.mul(e.add(share, number * plan.lanesPerRow), chunk());
  }
  int64_t bytes() const { return real.getIntOrFloatBitWidth() / 8; }

  void copyTile(const SdpaTensor &tensor, int64_t width, int64_t pitch,
                Value to, Value tile);
  Values loadQueries();
  /// Element `i` of a vector.
  Value extract(Value vector, int64_t i);
  Value loadChunk(Value line, int64_t number);
  Values emitGroup(Value firstKey, Value line, ValueRange carried);
  void storeRow(ValueRange carried);

  Value shared, values, share;
  Row row;
  Values queries;
};
} // namespace

Value VectorSdpa::extract(Value vector, int64_t i) {
  return vector::ExtractOp::create(e.b, e.loc, vector, i);
}

Value VectorSdpa::loadChunk(Value line, int64_t number) {
  Value place = e.shifted(line, e.mul(columnOf(number), bytes()));
  return e.load(place, VectorType::get({chunk()}, real), 16);
}

/// Elements past the width or the last key are zero.
void VectorSdpa::copyTile(const SdpaTensor &tensor, int64_t width,
                          int64_t pitch, Value to, Value tile) {
  int64_t columns = pitch / bytes(), count = plan.keys * columns;
  Value firstKey = e.mul(tile, plan.keys);
  e.loop(thread, e.i32(count), plan.warps * 32, [&](Value number) {
    Value key = e.add(firstKey, e.div(number, columns));
    Value column = e.rem(number, columns);
    Value inside =
        e.bitAnd(e.less(key, e.i32(spec.keys)), e.less(column, e.i32(width)));
    Value value = e.choose(
        inside, real,
        [&]() -> Values {
          Value offset =
              e.add(keyOffset(tensor, key), e.mul(e.wide(column), tensor.last));
          Value stored = e.load(at(tensor, offset), tensor.element);
          return {e.widen(stored, tensor.element, real)};
        },
        [&]() -> Values { return {e.constant(real, 0)}; })[0];
    e.store(value, e.shifted(to, e.mul(number, bytes())));
  });
}

DeviceSdpaEmitter::Values VectorSdpa::loadQueries() {
  Values all;
  Value start = rowOffset(spec.q, row.number);
  for (int64_t c = 0; c < chunksOf(spec.width); ++c)
    for (int64_t i = 0; i < chunk(); ++i) {
      Value column = e.add(columnOf(c), i);
      // K is zero past the width; any number will do, but not a NaN.
      Value offset =
          e.add(start, e.mul(e.wide(e.min(column, e.i32(spec.width - 1))),
                             spec.q.last));
      Value value = e.widen(e.load(at(spec.q, offset), spec.q.element),
                            spec.q.element, real);
      all.push_back(e.select(e.less(column, e.i32(spec.width)), value,
                             e.constant(real, 0)));
    }
  return all;
}

/// One group of keys; carried are maximum, sum and O.
DeviceSdpaEmitter::Values VectorSdpa::emitGroup(Value firstKey, Value line,
                                                ValueRange carried) {
  auto addUp = [&](Value x, Value y) { return e.addf(x, y); };
  Value keyLine = e.shifted(shared, e.mul(line, plan.pitchK));
  Value valueLine = e.shifted(values, e.mul(line, plan.pitchV));
  Values scores;
  Value maximum = carried[0];
  for (int64_t key = 0; key < keyGroup; ++key) {
    Value score = e.constant(real, 0);
    for (int64_t c = 0; c < chunksOf(spec.width); ++c) {
      Value part = loadChunk(e.shifted(keyLine, key * plan.pitchK), c);
      for (int64_t i = 0; i < chunk(); ++i)
        score = e.fma(queries[c * chunk() + i], extract(part, i), score);
    }
    score = e.reduceLanes(score, plan.lanesPerRow, addUp);
    Value number = e.add(firstKey, key);
    score = maskScore(finishScore(score, row, number), row, number);
    scores.push_back(score);
    maximum = e.maxf(maximum, score);
  }
  Value finite = e.select(e.compare(arith::CmpFPredicate::OEQ, maximum,
                                    e.infinity(real, /*negative=*/true)),
                          e.constant(real, 0), maximum);
  Value factor = e.constant(real, exponent());
  Value shift = e.mulf(finite, e.constant(real, -exponent()));
  Value correction = e.exp2(e.fma(carried[0], factor, shift));
  Value sum = e.mulf(carried[1], correction);
  Values output;
  for (Value part : carried.drop_front(2))
    output.push_back(e.mulf(part, correction));
  for (int64_t key = 0; key < keyGroup; ++key) {
    Value weight = e.exp2(e.fma(scores[key], factor, shift));
    sum = e.addf(sum, weight);
    for (int64_t c = 0; c < chunksOf(spec.valueWidth); ++c) {
      Value part = loadChunk(e.shifted(valueLine, key * plan.pitchV), c);
      for (int64_t i = 0; i < chunk(); ++i) {
        Value &target = output[c * chunk() + i];
        target = e.fma(weight, extract(part, i), target);
      }
    }
  }
  Values result{maximum, sum};
  result.append(output);
  return result;
}

void VectorSdpa::storeRow(ValueRange carried) {
  Value sum = carried[1], inverse = inverseOf(sum);
  e.when(storesSums(row, sum), [&] {
    Value start = rowOffset(spec.o, row.number);
    for (int64_t c = 0; c < chunksOf(spec.valueWidth); ++c)
      for (int64_t i = 0; i < chunk(); ++i) {
        Value column = e.add(columnOf(c), i);
        Value result = e.mulf(carried[2 + c * chunk() + i], inverse);
        e.when(e.less(column, e.i32(spec.valueWidth)), [&] {
          e.store(e.narrow(result, spec.o.element),
                  at(spec.o, e.add(start, column)));
        });
      }
  });
  storeMeans(row, sum, share, plan.lanesPerRow);
  e.when(e.compare(arith::CmpIPredicate::eq, share, e.i32(0)),
         [&] { storeLse(row, carried[0], sum); });
}

void VectorSdpa::emit() {
  findRanges();
  shared = e.sharedMemory();
  values = e.shifted(shared, plan.keys * plan.pitchK);
  share = e.rem(thread, plan.lanesPerRow);
  row = describeRow(
      e.add(e.mul(rowTile, plan.rows), e.div(thread, plan.lanesPerRow)));
  queries = loadQueries();

  Value tiles = e.i32(numTiles());
  Values init{findTile(e.i32(0)), e.infinity(real, /*negative=*/true)};
  init.append(1 + chunksOf(spec.valueWidth) * chunk(), e.constant(real, 0));
  Values last = e.loopWhile(
      init, [&](ValueRange carried) { return e.less(carried[0], tiles); },
      [&](ValueRange carried) -> Values {
        Value tile = carried[0];
        e.barrier();
        copyTile(spec.k, spec.width, plan.pitchK, shared, tile);
        copyTile(spec.v, spec.valueWidth, plan.pitchV, values, tile);
        e.barrier();
        Value firstKey = e.mul(tile, plan.keys);
        Values result{findTile(e.add(tile, 1))};
        result.append(
            e.loop(e.i32(0), e.i32(plan.keys), keyGroup, carried.drop_front(),
                   [&](Value line, ValueRange carried) {
                     return emitGroup(e.add(firstKey, line), line, carried);
                   }));
        return result;
      });
  storeRow(ValueRange(last).drop_front());
}

void tsp::emitVectorSdpa(DeviceEmitter &e, const SdpaSpec &spec,
                         const DeviceSdpaPlan &plan) {
  VectorSdpa(e, spec, plan).emit();
}
