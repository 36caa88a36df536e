//===- RandomBits.cpp - rng_bit_generator ---------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counter-based generators (Salmon et al., "Parallel random numbers: as easy
// as 1, 2, 3"): each element is a function of the key, state[0], and of a
// counter that starts at state[1]. Which word of which counter an element gets
// is as in XLA, so that programs see the numbers that they see there.
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "ScalarBuilder.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

namespace {

/// Where the words of an element come from: a counter, relative to the state,
/// and the first of its words.
struct Source {
  LinearIndex counter, word;
};

class RandomCode {
public:
  RandomCode(ElementEmitter &emitter, sh::RngBitGeneratorOp op)
      : emitter(emitter), op(op), b(emitter.getBuilder(), emitter.getLoc()),
        type(cast<RankedTensorType>(op.getOutput().getType())),
        isThreeFry(op.getRngAlgorithm() == sh::RngAlgorithm::THREE_FRY),
        isWide(type.getElementTypeBitWidth() == 64) {}

  /// The key stays, the counter moves on by the counters used.
  Value emitState(ArrayRef<LinearIndex> index) {
    Value old = emitter.emit(op.getInitialState(), index);
    Value place = emitter.materialize(index.front());
    Value isCounter = b.cmpi(arith::CmpIPredicate::eq, place,
                             emitter.constantIndex(1));
    Value next = b.addi(old, b.constant(old.getType(), getNumCounters()));
    return b.select(isCounter, next, old);
  }

  Value emitElement(ArrayRef<LinearIndex> index) {
    Source source = getSource(index);
    Value key = emitter.emit(op.getInitialState(), LinearIndex(0));
    Value start = emitter.emit(op.getInitialState(), LinearIndex(1));
    Type i64 = b.builder.getI64Type();
    Value offset = arith::IndexCastOp::create(
        b.builder, b.loc, i64, emitter.materialize(source.counter));
    Value counter = b.addi(start, offset);
    SmallVector<Value> words = isThreeFry ? threeFry(key, counter)
                                          : philox(key, counter);
    auto pick = [&](const LinearIndex &number) {
      if (number.isConstant())
        return words[number.getConstant()];
      Value i = emitter.materialize(number), result = words[0];
      for (unsigned word = 1; word < words.size(); ++word)
        result = b.select(b.cmpi(arith::CmpIPredicate::eq, i,
                                 emitter.constantIndex(word)),
                          words[word], result);
      return result;
    };
    Value low = pick(source.word);
    if (isWide) {
      Value high = b.shli(b.extui(pick(source.word + 1), i64), 32);
      return b.ori(b.extui(low, i64), high);
    }
    Type result = getComputeType(type.getElementType());
    return result == b.i32() ? low : b.trunci(low, result);
  }

private:
  /// ThreeFry pairs elements along the first even dim, else the greatest.
  unsigned getPairedDim() const {
    ArrayRef<int64_t> shape = type.getShape();
    for (unsigned dim = 0; dim < shape.size(); ++dim)
      if (shape[dim] % 2 == 0)
        return dim;
    return llvm::max_element(shape) - shape.begin();
  }

  Source getSource(ArrayRef<LinearIndex> index) {
    ArrayRef<int64_t> shape = type.getShape();
    LinearIndex place = linearize(index, shape);
    if (!isThreeFry) {
      auto [counter, word] = emitter.divide(place, isWide ? 2 : 4);
      return {counter, isWide ? word * 2 : word};
    }
    if (isWide || shape.empty())
      return {place, LinearIndex(0)};
    SmallVector<int64_t> half(shape);
    unsigned dim = getPairedDim();
    half[dim] = llvm::divideCeil(shape[dim], 2);
    ElementIndex at(index);
    auto [counter, word] = emitter.divide(index[dim], 2);
    at[dim] = counter;
    return {linearize(at, half), word};
  }

  int64_t getNumCounters() const {
    int64_t count = type.getNumElements();
    if (!isThreeFry)
      return llvm::divideCeil(count, isWide ? 2 : 4);
    if (isWide || count == 0 || type.getRank() == 0)
      return count;
    int64_t size = type.getShape()[getPairedDim()];
    return count / size * llvm::divideCeil(size, 2);
  }

  Value low(Value wide) { return b.trunci(wide, b.i32()); }
  Value high(Value wide) { return b.trunci(b.shrui(wide, 32), b.i32()); }

  SmallVector<Value> threeFry(Value key, Value counter) {
    Value k0 = low(key), k1 = high(key);
    Value k2 = b.xori(b.xori(k0, k1), b.constI32(0x1BD11BDA));
    Value keys[] = {k0, k1, k2};
    Value x = b.addi(low(counter), k0), y = b.addi(high(counter), k1);
    constexpr unsigned rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    for (unsigned round = 0; round < 5; ++round) {
      for (unsigned rotation : rotations[round % 2]) {
        x = b.addi(x, y);
        y = b.xori(x, b.ori(b.shli(y, rotation), b.shrui(y, 32 - rotation)));
      }
      x = b.addi(x, keys[(round + 1) % 3]);
      y = b.addi(b.addi(y, keys[(round + 2) % 3]), b.constI32(round + 1));
    }
    return {x, y};
  }

  SmallVector<Value> philox(Value key, Value counter) {
    Type i64 = b.builder.getI64Type();
    Value k0 = low(key), k1 = high(key);
    SmallVector<Value> c{low(counter), high(counter), k0, k1};
    auto multiply = [&](Value word, uint64_t factor) {
      return b.muli(b.extui(word, i64), b.constant(i64, factor));
    };
    for (unsigned round = 0; round < 10; ++round) {
      Value p = multiply(c[0], 0xD2511F53), q = multiply(c[2], 0xCD9E8D57);
      c = {b.xori(b.xori(high(q), c[1]), k0), low(q),
           b.xori(b.xori(high(p), c[3]), k1), low(p)};
      k0 = b.addi(k0, b.constI32(0x9E3779B9));
      k1 = b.addi(k1, b.constI32(0xBB67AE85));
    }
    return c;
  }

  ElementEmitter &emitter;
  sh::RngBitGeneratorOp op;
  ScalarBuilder b;
  RankedTensorType type;
  bool isThreeFry, isWide;
};

} // namespace

Value tsp::emitRandomBits(ElementEmitter &emitter, Operation *op,
                          unsigned number, ArrayRef<LinearIndex> index) {
  auto generator = dyn_cast<sh::RngBitGeneratorOp>(op);
  if (!generator)
    return {};
  auto state = cast<RankedTensorType>(generator.getInitialState().getType());
  if (state.getShape() != ArrayRef<int64_t>{2} ||
      state.getElementTypeBitWidth() != 64)
    return emitter.refuse(
        op, getComputeType(getElementTypeOrSelf(op->getResult(number))),
        "its state has to be a key and a counter, tensor<2xui64>");
  RandomCode code(emitter, generator);
  return number == 0 ? code.emitState(index) : code.emitElement(index);
}
