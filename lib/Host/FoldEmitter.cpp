//===- FoldEmitter.cpp - fold loops on buffers ----------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// broadcast (n = prefetch, G = steps): slot of step i is i mod (n + 1).
//
//   fetch 0 .. n-1                     in the last step of the fold before, at
//   the for i in 0 .. G:                   block's start, or here
//     wait for fetch i
//     body of part i, and in it, behind its last collective (links deliver in
//       order, and the body waits for its own), else before it:
//         if i + n < G: fetch i + n
//
// broadcast with ops that run ahead: FoldPipeline.cpp.
//
// gather: the same with n = G, or one all_gather of everything.
//
// ring: step i works on part (r - i) mod D; step 0 in place, then on two slots.
//
//   send the own part to r + 1         where the first fetches of the others
//   start for i in 0 .. D:
//     if 0 < i and i + 1 < D: send the part to r + 1, receive the next one
//     body
//     if i + 1 < D: wait
//
//===----------------------------------------------------------------------===//

#include "BufferEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tsp;

static RankedTensorType partType(FoldLoopOp fold, unsigned part) {
  return cast<RankedTensorType>(fold.getBody().getArgument(1 + part).getType());
}

unsigned BufferEmitter::countFirstFetches(FoldLoopOp fold) const {
  const FoldPlan &foldPlan = plan.getFold(fold);
  // Of a ring the rest waits for what is received: one send a part.
  bool one = foldPlan.whole || fold.getSchedule() == Schedule::Ring;
  return (one ? std::min<int64_t>(foldPlan.prefetch, 1) : foldPlan.prefetch) *
         fold.getParts().size();
}

/// The buffer of slot number `slot` (an index).
Value BufferEmitter::getSlot(FoldLoopOp fold, unsigned part, Value slot) {
  RankedTensorType type = partType(fold, part);
  const FoldPlan &foldPlan = plan.getFold(fold);
  const Buffer &buffer = plan.getBuffer(foldPlan.slots[part]);
  Value bytes = arith::MulIOp::create(builder, loc, slot,
                                      index(foldPlan.slotBytes[part]));
  Value offset =
      arith::AddIOp::create(builder, loc, bytes, index(buffer.memory.offset));
  return getView(offset, type);
}

/// Number of the slot that streamed parts of step number `step` have (an
/// index).
Value BufferEmitter::getSlotOfStep(FoldLoopOp fold, Value step) {
  const FoldPlan &foldPlan = plan.getFold(fold);
  if (foldPlan.firstSlot)
    step = arith::AddIOp::create(builder, loc, step, index(foldPlan.firstSlot));
  else if (foldPlan.slotCount >= int64_t(fold.getSteps()))
    return step;
  return arith::RemUIOp::create(builder, loc, step, index(foldPlan.slotCount));
}

/// Starts the fetch of `part` for step number `step` (an index).
Value BufferEmitter::emitFetch(FoldLoopOp fold, unsigned part, Value step) {
  Value target = getSlot(fold, part, getSlotOfStep(fold, step));
  Value moved = arith::MulIOp::create(builder, loc, step,
                                      index(fold.getPartSizes()[part]));
  Value start = arith::AddIOp::create(builder, loc, moved,
                                      index(fold.getPartStarts()[part]));
  Value offset =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), start);
  Value event = BufferBroadcastOp::create(
      builder, loc, builder.getI64Type(), getMemref(fold.getParts()[part]),
      offset, target, fold.getAxis(), fold.getPartDims()[part],
      fold.getPartTotals()[part], /*unit=*/1);
  return withStaging(event, fold);
}

/// This rank's shard, which is the part of step 0 of a ring.
Value BufferEmitter::getOwnPart(FoldLoopOp fold, unsigned part) {
  return reshape(getMemref(fold.getParts()[part]), partType(fold, part));
}

/// Passes `memref` on to the next rank and receives into slot number `slot`.
Value BufferEmitter::emitSend(FoldLoopOp fold, unsigned part, Value memref,
                              Value slot) {
  return BufferSendRecvOp::create(builder, loc, builder.getI64Type(), memref,
                                  getSlot(fold, part, slot), fold.getAxis(),
                                  /*shift=*/1);
}

static SmallVector<unsigned> allParts(FoldLoopOp fold) {
  return llvm::to_vector(llvm::seq<unsigned>(0, fold.getParts().size()));
}

/// Starts what the first step finds under way; events step by step, part by
/// part.
SmallVector<Value> BufferEmitter::emitFirstFetches(FoldLoopOp fold) {
  const FoldPlan &foldPlan = plan.getFold(fold);
  SmallVector<Value> started;
  if (fold.getSchedule() == Schedule::Ring) {
    for (unsigned p = 0; p < fold.getParts().size(); ++p)
      started.push_back(emitSend(fold, p, getOwnPart(fold, p), index(0)));
    return started;
  }
  if (foldPlan.whole) {
    for (unsigned p = 0; p < fold.getParts().size(); ++p) {
      auto shard = cast<RankedTensorType>(fold.getParts()[p].getType());
      int64_t dim = fold.getPartDims()[p], total = fold.getPartTotals()[p];
      SmallVector<int64_t> shape(shard.getShape());
      shape[dim] = total;
      const Buffer &buffer = plan.getBuffer(foldPlan.slots[p]);
      Value target =
          getView(index(buffer.memory.offset),
                  RankedTensorType::get(shape, shard.getElementType()));
      Value event = BufferAllGatherOp::create(
          builder, loc, builder.getI64Type(), getMemref(fold.getParts()[p]),
          target, fold.getAxis(), dim, total, /*unit=*/1, Layout::Contiguous);
      started.push_back(withStaging(event, fold));
    }
    return started;
  }
  for (int64_t step = 0; step < foldPlan.prefetch; ++step)
    llvm::append_range(started, emitFetches(fold, allParts(fold), index(step)));
  return started;
}

/// Starts the fetches of these parts for one step.
SmallVector<Value> BufferEmitter::emitFetches(FoldLoopOp fold,
                                              ArrayRef<unsigned> parts,
                                              Value step) {
  SmallVector<Value> started;
  for (unsigned p : parts)
    started.push_back(emitFetch(fold, p, step));
  return started;
}

/// In step `step`: starts the fetches of these parts for the step that is as
/// many later as are kept in flight. Their events, 0 where no such step comes.
SmallVector<Value> BufferEmitter::emitLaterFetches(FoldLoopOp fold,
                                                   ArrayRef<unsigned> parts,
                                                   Value step) {
  int64_t steps = fold.getSteps(), ahead = plan.getFold(fold).prefetch;
  if (parts.empty())
    return {};
  if (ahead >= steps)
    return SmallVector<Value>(parts.size(), i64(0));
  Value later = arith::AddIOp::create(builder, loc, step, index(ahead));
  Value more = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                     later, index(steps));
  return emitIf(more, parts.size(),
                [&] { return emitFetches(fold, parts, later); });
}

LogicalResult BufferEmitter::emitFold(FoldLoopOp fold) {
  if (!fetched.count(fold) && countFirstFetches(fold) > 0 &&
      plan.getFold(fold).slotCount > 0)
    fetched[fold] = emitFirstFetches(fold);
  emitCopies(fold);
  if (fold.getSchedule() == Schedule::Ring)
    return emitRing(fold);
  return fold.getAhead() ? emitPipelined(fold) : emitStreamed(fold);
}

/// The body on part `number` (an i64); `parts` are its memrefs.
LogicalResult BufferEmitter::emitBody(FoldLoopOp fold, Value number,
                                      ValueRange parts) {
  Block &block = fold.getBody().front();
  if (!block.getArgument(0).use_empty())
    storeScalar(number, block.getArgument(0));
  for (auto [p, part] : llvm::enumerate(parts))
    slots[block.getArgument(1 + p)] = part;
  LogicalResult result = emitBlock(block);
  loc = fold.getLoc();
  return result;
}

/// Runs `then` when `condition` holds; its events, else `otherwise` (zeros when
/// that is empty).
SmallVector<Value>
BufferEmitter::emitIf(Value condition, unsigned count,
                      llvm::function_ref<SmallVector<Value>()> then,
                      ValueRange otherwise) {
  SmallVector<Type> types(count, builder.getI64Type());
  auto branch = scf::IfOp::create(builder, loc, types, condition,
                                  /*withElseRegion=*/count > 0);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> events = then();
  if (count == 0)
    return {};
  scf::YieldOp::create(builder, loc, events);
  builder.setInsertionPointToStart(branch.elseBlock());
  SmallVector<Value> others(otherwise);
  if (others.empty())
    others.assign(count, arith::ConstantIntOp::create(builder, loc, 0, 64));
  scf::YieldOp::create(builder, loc, others);
  return SmallVector<Value>(branch.getResults());
}

/// In the last steps of a loop of `steps`: the first fetches of the next fold,
/// one step's fetches a step, as if its steps went on here. `carried` are their
/// events so far; returns them after this step.
SmallVector<Value> BufferEmitter::emitNextFetches(FoldLoopOp next, Value step,
                                                  int64_t steps,
                                                  ValueRange carried) {
  const FoldPlan &nextPlan = plan.getFold(next);
  bool once = nextPlan.whole || next.getSchedule() == Schedule::Ring;
  int64_t groups = once ? 1 : nextPlan.prefetch, size = carried.size() / groups;
  SmallVector<Value> events;
  for (int64_t group = 0; group < groups; ++group) {
    Value now = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, step,
        index(std::max<int64_t>(0, steps - groups + group)));
    auto start = [&] {
      return once ? emitFirstFetches(next)
                  : emitFetches(next, allParts(next), index(group));
    };
    llvm::append_range(
        events, emitIf(now, size, start, carried.slice(group * size, size)));
  }
  return events;
}

/// The last op of the body in which ranks meet, or null.
static Operation *findLastCollective(FoldLoopOp fold) {
  Operation *last = nullptr;
  Block &body = fold.getBody().front();
  fold.getBody().walk([&](Operation *op) {
    if (isCollective(op) || isa<FoldLoopOp>(op))
      last = body.findAncestorOpInBlock(*op);
  });
  return last;
}

LogicalResult BufferEmitter::emitStreamed(FoldLoopOp fold) {
  const FoldPlan &foldPlan = plan.getFold(fold);
  unsigned parts = fold.getParts().size();
  int64_t steps = fold.getSteps();
  FoldLoopOp next = nextFold.lookup(fold);
  unsigned nextCount = next ? countFirstFetches(next) : 0;
  SmallVector<Value> inits = fetched[fold];
  if (foldPlan.whole) {
    for (Value event : inits)
      BufferWaitOp::create(builder, loc, event);
    inits.clear();
  }
  unsigned inFlight = inits.size();
  // The events of the next fold's first fetches leave through the last step.
  inits.append(nextCount, nextCount ? i64(0) : Value());
  auto loop =
      scf::ForOp::create(builder, loc, index(0), index(steps), index(1), inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value step = loop.getInductionVar();
    SmallVector<Value> events(loop.getRegionIterArgs().take_front(inFlight));
    SmallVector<Value> nextEvents;
    auto fetchLater = [&] {
      if (!foldPlan.whole)
        llvm::append_range(events,
                           emitLaterFetches(fold, allParts(fold), step));
      if (next)
        nextEvents = emitNextFetches(
            next, step, steps, loop.getRegionIterArgs().take_back(nextCount));
    };
    Operation *lastCollective =
        foldPlan.prefetch > 0 ? findLastCollective(fold) : nullptr;
    if (lastCollective)
      behind[lastCollective] = fetchLater;
    else
      fetchLater();
    if (!foldPlan.whole)
      for (Value event : ArrayRef(events).take_front(parts))
        BufferWaitOp::create(builder, loc, event);
    SmallVector<Value> memrefs;
    Value slot = getSlotOfStep(fold, step);
    for (unsigned p = 0; p < parts; ++p)
      memrefs.push_back(getSlot(fold, p, slot));
    Value number =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), step);
    if (failed(emitBody(fold, number, memrefs)))
      return failure();
    if (!foldPlan.whole)
      events.erase(events.begin(), events.begin() + parts);
    llvm::append_range(events, nextEvents);
    if (!inits.empty())
      scf::YieldOp::create(builder, loc, events);
  }
  if (next)
    fetched[next] = SmallVector<Value>(loop.getResults().take_back(nextCount));
  return success();
}

LogicalResult BufferEmitter::emitRing(FoldLoopOp fold) {
  const FoldPlan &foldPlan = plan.getFold(fold);
  unsigned parts = fold.getParts().size();
  int64_t steps = fold.getSteps();
  FoldLoopOp next = nextFold.lookup(fold);
  unsigned nextCount = next ? countFirstFetches(next) : 0;
  SmallVector<Value> inits(nextCount, nextCount ? i64(0) : Value());
  Value rank = BufferAxisIndexOp::create(builder, loc, fold.getAxisAttr());
  auto loop =
      scf::ForOp::create(builder, loc, index(0), index(steps), index(1), inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value step = loop.getInductionVar();
    SmallVector<Value> memrefs;
    for (unsigned p = 0; p < parts; ++p) {
      Value own = getOwnPart(fold, p);
      if (foldPlan.slotCount > 0) {
        // Slot of step i is (i - 1) mod slots; step 0 never uses it.
        Value before = arith::AddIOp::create(builder, loc, step,
                                             index(foldPlan.slotCount - 1));
        Value number = arith::RemUIOp::create(builder, loc, before,
                                              index(foldPlan.slotCount));
        Value first = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::eq, step, index(0));
        own = arith::SelectOp::create(builder, loc, first, own,
                                      getSlot(fold, p, number));
      }
      memrefs.push_back(own);
    }
    Value later = arith::AddIOp::create(builder, loc, step, index(1));
    Value more = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       later, index(steps));
    auto send = [&] {
      SmallVector<Value> started;
      Value number =
          arith::RemUIOp::create(builder, loc, step, index(foldPlan.slotCount));
      for (unsigned p = 0; p < parts; ++p)
        started.push_back(emitSend(fold, p, memrefs[p], number));
      return started;
    };
    SmallVector<Value> started, first = fetched.lookup(fold);
    if (!first.empty()) {
      // The first hop is under way already.
      Value isFirst = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq, step, index(0));
      Value isInner = arith::AndIOp::create(
          builder, loc, more,
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, step,
                                index(0)));
      started = emitIf(isInner, parts, send);
      for (auto [event, early] : llvm::zip(started, first))
        event = arith::SelectOp::create(builder, loc, isFirst, early, event);
    }
    SmallVector<Value> nextEvents;
    if (next)
      nextEvents = emitNextFetches(next, step, steps, loop.getRegionIterArgs());
    // Part (rank - step) mod steps.
    Value step64 =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), step);
    Value shifted = arith::SubIOp::create(
        builder, loc, arith::AddIOp::create(builder, loc, rank, i64(steps)),
        step64);
    Value number = arith::RemUIOp::create(builder, loc, shifted, i64(steps));
    if (failed(emitBody(fold, number, memrefs)))
      return failure();
    if (foldPlan.slotCount > 0)
      emitIf(more, 0, [&] {
        if (started.empty())
          started = send();
        for (Value event : started)
          BufferWaitOp::create(builder, loc, event);
        return SmallVector<Value>();
      });
    if (!inits.empty())
      scf::YieldOp::create(builder, loc, nextEvents);
  }
  if (next)
    fetched[next] = SmallVector<Value>(loop.getResults().take_back(nextCount));
  return success();
}
