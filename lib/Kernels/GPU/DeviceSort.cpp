//===- DeviceSort.cpp - sort and top_k on a GPU ---------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bitonic network whose every exchange puts the lesser element first, so that
// a row of any length needs no padding: places beyond its end would hold what
// stays there. Each element carries its place, which makes the order of equal
// elements that of a stable sort.
//
//===----------------------------------------------------------------------===//

#include "../SortedRows.h"
#include "DeviceWholeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tsp;

namespace {

/// Elements of a row for each thread of its team.
constexpr int64_t kElementsPerThread = 4;

class NetworkCode : SortedRowCode {
public:
  /// The elements of the row are kept in `buffers`, from `start` on; the last
  /// buffer is for their places.
  NetworkCode(BlockCode &code, Team &team, const SortedRows &rows,
              ArrayRef<Value> outputs, const LinearIndex &row,
              ArrayRef<BlockCode::Buffer> buffers, const LinearIndex &start)
      : SortedRowCode(code.emitter, rows, outputs, row), code(code), team(team),
        buffers(buffers), start(start), placeType(builder.getI32Type()) {}

  /// Stores the sorted row if `isReal`, which may be null, holds.
  void emit(Value isReal);

private:
  struct Element {
    Values values;
    Value place;
  };
  Element load(const LinearIndex &i);
  void store(const Element &element, const LinearIndex &i);
  Value isBefore(const Element &a, const Element &b);
  void emitExchanges(Value half, Value mask);
  void forOwn(int64_t count, llvm::function_ref<void(LinearIndex)> body);

  template <typename Op> Value make(Value a, Value b) {
    return Op::create(builder, loc(), a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc(), predicate, a, b);
  }

  BlockCode &code;
  Team &team;
  ArrayRef<BlockCode::Buffer> buffers;
  LinearIndex start;
  Type placeType;
};

void NetworkCode::forOwn(int64_t count,
                         llvm::function_ref<void(LinearIndex)> body) {
  team.emitLoop(count, 1, {}, [&](ArrayRef<ElementIndex> i, ValueRange) {
    body(i.front().front());
    return Values();
  });
}

NetworkCode::Element NetworkCode::load(const LinearIndex &i) {
  Element element;
  for (auto [buffer, type] : llvm::zip_equal(buffers.drop_back(), rows.types))
    element.values.push_back(
        emitter.load(buffer.flat, type, buffer.start + start + i));
  element.place = emitter.load(buffers.back().flat, placeType,
                               buffers.back().start + start + i);
  return element;
}

void NetworkCode::store(const Element &element, const LinearIndex &i) {
  for (auto [value, buffer, type] :
       llvm::zip_equal(element.values, buffers.drop_back(), rows.types))
    emitter.store(value, buffer.flat, type, buffer.start + start + i);
  emitter.store(element.place, buffers.back().flat, placeType,
                buffers.back().start + start + i);
}

Value NetworkCode::isBefore(const Element &a, const Element &b) {
  Value before = emitIsBefore(a.values, b.values);
  Value after = emitIsBefore(b.values, a.values);
  Value earlier = compare(arith::CmpIPredicate::slt, a.place, b.place);
  Value no =
      arith::ConstantOp::create(builder, loc(), builder.getBoolAttr(false));
  earlier = arith::SelectOp::create(builder, loc(), after, no, earlier);
  return make<arith::OrIOp>(before, earlier);
}

/// Puts elements i < (i xor mask) in order, for all i that lack the bit `half`.
void NetworkCode::emitExchanges(Value half, Value mask) {
  Value last = emitter.constantIndex(rows.size - 1);
  Value below = make<arith::SubIOp>(half, emitter.constantIndex(1));
  forOwn(llvm::PowerOf2Ceil(rows.size) / 2, [&](LinearIndex pair) {
    Value number = emitter.materialize(pair);
    Value low = make<arith::AndIOp>(number, below);
    Value high = make<arith::SubIOp>(number, low);
    Value i = make<arith::AddIOp>(make<arith::AddIOp>(high, high), low);
    Value partner = make<arith::XOrIOp>(i, mask);
    emitter.emitWhen(compare(arith::CmpIPredicate::sle, partner, last), [&] {
      LinearIndex at = emitter.makeSymbol(i, 0, rows.size - 1);
      LinearIndex other = emitter.makeSymbol(partner, 0, rows.size - 1);
      Element a = load(at), b = load(other);
      emitter.emitWhen(isBefore(b, a), [&] {
        store(b, at);
        store(a, other);
      });
    });
  });
}

void NetworkCode::emit(Value isReal) {
  forOwn(rows.size, [&](LinearIndex i) {
    Value place = arith::IndexCastOp::create(builder, loc(), placeType,
                                             emitter.materialize(i));
    store({emitInputs(i), place}, i);
  });
  code.barrier();

  // Stage s joins sorted runs of 2^s: the first step compares the ends of two
  // runs inwards, the others halves of what that leaves.
  int64_t numStages = llvm::Log2_64_Ceil(rows.size);
  Value zero = emitter.constantIndex(0), one = emitter.constantIndex(1);
  emitter.emitLoop(0, numStages, {}, [&](LinearIndex stage, ValueRange) {
    Value run = make<arith::ShLIOp>(one, emitter.materialize(stage));
    Value numSteps = emitter.materialize(stage + 1);
    emitter.emitLoop(
        zero, numSteps, 0, numStages - 1, {},
        [&](LinearIndex step, ValueRange) {
          Value number = emitter.materialize(step);
          Value half = make<arith::ShRUIOp>(run, number);
          Value ends =
              make<arith::SubIOp>(make<arith::AddIOp>(half, half), one);
          Value isFirst = compare(arith::CmpIPredicate::eq, number, zero);
          Value mask =
              arith::SelectOp::create(builder, loc(), isFirst, ends, half);
          emitExchanges(half, mask);
          code.barrier();
          return Values();
        });
    return Values();
  });

  emitter.emitWhen(isReal, [&] {
    forOwn(rows.getNumKept(),
           [&](LinearIndex i) { storeResult(load(i).values, i); });
  });
}

} // namespace

int64_t tsp::emitDeviceSort(BlockCode &code, Operation *op,
                            ArrayRef<Value> outputs) {
  SortedRows rows(op);
  if (rows.numRows == 0 || rows.size == 0)
    return 1;
  TeamShape shape;
  shape.size = std::clamp<int64_t>(
      llvm::PowerOf2Ceil(llvm::divideCeil(rows.size, kElementsPerThread)), 1,
      code.getNumThreads());
  int64_t perBlock = code.getNumThreads() / shape.size;
  int64_t grid = llvm::divideCeil(rows.numRows, perBlock);
  code.forUnits(grid, 0, grid, [&](LinearIndex unit) {
    Team team(code, shape);
    auto [row, isReal] = team.emitRow(unit, rows.numRows);
    SmallVector<Type> types(rows.types);
    types.push_back(code.builder.getI32Type());
    SmallVector<BlockCode::Buffer> buffers;
    for (Type type : types)
      buffers.push_back(
          code.allocateInUnit(perBlock * rows.size, type, unit, grid));
    NetworkCode(code, team, rows, outputs, row, buffers,
                team.getNumber() * rows.size)
        .emit(isReal);
  });
  return grid;
}
