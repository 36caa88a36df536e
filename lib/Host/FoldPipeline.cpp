//===- FoldPipeline.cpp - fold loops whose first ops run a step ahead -----===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body has two halves: A, the ops that run ahead, and B. Each has parts of
// its own. Fetches and the transfers that A starts go over the link in the
// order in which they are needed (n = prefetch, G = steps):
//
//   fetch 0 .. n-1 of all parts        as of every fold
//   for i in 0 .. G + 1:
//     if i < G:
//       if i + n < G: fetch i + n of A's parts
//       wait for fetch i of A's parts
//       A of step i, which starts its transfers
//     if 0 < i:
//       if i - 1 + n < G: fetch i - 1 + n of B's parts
//       wait for fetch i - 1 of B's parts
//       B of step i - 1, which waits for what A of that step started
//
// What A makes for B has two buffers, used in turn.
//
//===----------------------------------------------------------------------===//

#include "BufferEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tsp;

/// One half of a body.
struct BufferEmitter::Half {
  SmallVector<unsigned> parts;
  Block::iterator begin, end;
};

/// What A makes for B: values with two buffers, and transfers under way.
static void findCrossing(FoldLoopOp fold, const HostLiveness &liveness,
                         SmallVectorImpl<Value> &values,
                         SmallVectorImpl<Value> &futures) {
  for (Operation &op : fold.getBody().front())
    for (Value result : op.getResults()) {
      if (isa<FutureType>(result.getType()) && fold.runsAhead(&op))
        futures.push_back(result);
      else if (liveness.isTwofold(result))
        values.push_back(result);
    }
}

/// Starts later fetches of a half's parts, and waits for those of `step`.
/// Returns what is in flight afterwards, the oldest first as in `flight`.
SmallVector<Value> BufferEmitter::emitArrivals(FoldLoopOp fold,
                                               const Half &half, Value step,
                                               ValueRange flight) {
  if (flight.empty())
    return {};
  size_t count = half.parts.size();
  SmallVector<Value> after(flight.drop_front(count));
  llvm::append_range(after, emitLaterFetches(fold, half.parts, step));
  for (Value event : flight.take_front(count))
    BufferWaitOp::create(builder, loc, event);
  return after;
}

/// Where the half's parts and what crosses lie in `step`, and its number.
void BufferEmitter::takeBuffers(FoldLoopOp fold, const Half &half,
                                ArrayRef<Value> crossing, Value step) {
  Block &block = fold.getBody().front();
  Value slot = getSlotOfStep(fold, step);
  for (unsigned p : half.parts)
    slots[block.getArgument(1 + p)] = getSlot(fold, p, slot);
  Value turn = arith::RemUIOp::create(builder, loc, step, index(2));
  for (Value value : crossing) {
    const Buffer &buffer = *plan.getBuffer(value);
    Value bytes = arith::MulIOp::create(builder, loc, turn,
                                        index(buffer.memory.bytes / 2));
    Value offset =
        arith::AddIOp::create(builder, loc, bytes, index(buffer.memory.offset));
    slots[value] = getView(offset, cast<RankedTensorType>(value.getType()));
  }
  if (!block.getArgument(0).use_empty())
    storeScalar(
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), step),
        block.getArgument(0));
}

LogicalResult BufferEmitter::emitPipelined(FoldLoopOp fold) {
  const FoldPlan &foldPlan = plan.getFold(fold);
  Block &block = fold.getBody().front();
  int64_t steps = fold.getSteps(), ahead = foldPlan.prefetch;
  Block::iterator border(fold.getFirstLate());
  Half a{{}, block.begin(), border}, b{{}, border, block.end()};
  for (unsigned p = 0; p < fold.getParts().size(); ++p) {
    bool early =
        llvm::any_of(block.getArgument(1 + p).getUsers(),
                     [&](Operation *user) { return fold.runsAhead(user); });
    (early ? a : b).parts.push_back(p);
  }
  SmallVector<Value> values, futures;
  findCrossing(fold, plan.getLiveness(), values, futures);

  // What is in flight: of A's parts and of B's, `ahead` steps each, the oldest
  // first; transfers of A; first fetches of the next fold.
  SmallVector<Value> inits, started = fetched[fold];
  if (foldPlan.whole) {
    for (Value event : started)
      BufferWaitOp::create(builder, loc, event);
  } else {
    for (const Half &half : {a, b})
      for (int64_t step = 0; step < ahead; ++step)
        for (unsigned p : half.parts)
          inits.push_back(started[step * fold.getParts().size() + p]);
  }
  int64_t flightA = foldPlan.whole ? 0 : ahead * a.parts.size();
  int64_t flightB = foldPlan.whole ? 0 : ahead * b.parts.size();
  FoldLoopOp next = nextFold.lookup(fold);
  int64_t nextCount = next ? countFirstFetches(next) : 0,
          others = futures.size() + nextCount;
  inits.append(others, others ? i64(0) : Value());

  bool failedInside = false;
  /// Runs a half for `step`; returns what is in flight of its parts afterwards.
  auto emitHalf = [&](const Half &half, Value step, ValueRange flight) {
    SmallVector<Value> after = emitArrivals(fold, half, step, flight);
    takeBuffers(fold, half, values, step);
    failedInside |= failed(emitOps(half.begin, half.end));
    loc = fold.getLoc();
    return after;
  };

  auto loop = scf::ForOp::create(builder, loc, index(0), index(steps + 1),
                                 index(1), inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value step = loop.getInductionVar();
    ValueRange carried = loop.getRegionIterArgs();
    ValueRange inFlightA = carried.take_front(flightA);
    ValueRange inFlightB = carried.slice(flightA, flightB);
    ValueRange transfers = carried.slice(flightA + flightB, futures.size());
    auto compare = [&](arith::CmpIPredicate predicate,
                       int64_t number) -> Value {
      return arith::CmpIOp::create(builder, loc, predicate, step,
                                   index(number));
    };
    SmallVector<Value> otherwise(inFlightA);
    otherwise.append(futures.size(), futures.empty() ? Value() : i64(0));
    SmallVector<Value> afterA = emitIf(
        compare(arith::CmpIPredicate::ult, steps), otherwise.size(),
        [&] {
          SmallVector<Value> after = emitHalf(a, step, inFlightA);
          for (Value future : futures)
            after.push_back(events.lookup(future));
          return after;
        },
        otherwise);
    SmallVector<Value> nextEvents;
    if (next)
      nextEvents =
          emitNextFetches(next, step, steps + 1, carried.take_back(nextCount));
    for (auto [future, event] : llvm::zip(futures, transfers))
      events[future] = event;
    SmallVector<Value> afterB = emitIf(
        compare(arith::CmpIPredicate::ugt, 0), flightB,
        [&] {
          Value before = arith::SubIOp::create(builder, loc, step, index(1));
          return emitHalf(b, before, inFlightB);
        },
        inFlightB);
    SmallVector<Value> after(ArrayRef(afterA).take_front(flightA));
    llvm::append_range(after, afterB);
    llvm::append_range(after, ArrayRef(afterA).drop_front(flightA));
    llvm::append_range(after, nextEvents);
    if (!after.empty())
      scf::YieldOp::create(builder, loc, after);
  }
  if (next)
    fetched[next] = SmallVector<Value>(loop.getResults().take_back(nextCount));
  return failure(failedInside);
}
