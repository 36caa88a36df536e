//===- Staging.cpp - memory in which transfers pack parts -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Host/Staging.h"
#include "tsp/Host/BufferPlan.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tsp;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

int64_t tsp::getAllGatherStaging(int64_t ranks, int64_t partBytes,
                                 bool direct) {
  return ranks == 1 || direct ? 0 : ranks * partBytes;
}

int64_t tsp::getReduceScatterStaging(int64_t ranks, int64_t partBytes,
                                     int64_t wholeBytes, bool direct) {
  if (ranks == 1)
    return 0;
  return direct ? ranks * partBytes : (ranks + 1) * partBytes + wholeBytes;
}

int64_t tsp::getAllReduceStaging(int64_t ranks, int64_t rows, int64_t rowBytes,
                                 int64_t rowBytes2) {
  constexpr int64_t small = int64_t(64) << 10;
  if (ranks == 1 || rowBytes == 0)
    return 0;
  // Large ones are combined in slices, of lines of 64 bytes at least.
  if (rows * (rowBytes + rowBytes2) > small) {
    int64_t unit = std::max<int64_t>(1, 64 / rowBytes);
    rows = llvm::divideCeil(rows, ranks * unit) * unit;
  }
  return alignBuffer(ranks * rows * rowBytes) + ranks * rows * rowBytes2;
}

int64_t tsp::getAllToAllStaging(int64_t ranks, int64_t sourceBytes,
                                int64_t targetBytes) {
  return ranks == 1 ? 0 : sourceBytes + targetBytes;
}

int64_t tsp::getBroadcastStaging(int64_t ranks, int64_t outer,
                                 int64_t targetBytes) {
  return ranks == 1 || outer == 1 ? 0 : targetBytes;
}

static ShapedType valueType(Value value) {
  if (auto future = dyn_cast<FutureType>(value.getType()))
    return future.getValueType();
  return cast<ShapedType>(value.getType());
}

static int64_t getOuter(ShapedType type, int64_t dim) {
  return ShapedType::getNumElements(type.getShape().take_front(dim));
}

int64_t tsp::getStagingBytes(Operation *collective, MeshAttr mesh) {
  ShapedType in = valueType(collective->getOperand(0)),
             out = valueType(collective->getResult(0));
  int64_t ranks =
      mesh.getAxisSize(collective->getAttrOfType<StringAttr>("axis"));
  // Whether a rank's shard of a dim is one piece of the whole value.
  auto isOnePiece = [&](int64_t dim, Layout layout) {
    return getOuter(in, dim) == 1 && layout == Layout::Contiguous;
  };
  return llvm::TypeSwitch<Operation *, int64_t>(collective)
      .Case([&](AllGatherOp op) {
        int64_t dim = op.getDim(), total = op.getTotal();
        bool direct = isOnePiece(dim, op.getLayout()) &&
                      ranks * in.getDimSize(dim) == total;
        return getAllGatherStaging(ranks, getBytes(in), direct);
      })
      .Case([&](ReduceScatterOp op) {
        return getReduceScatterStaging(ranks, getBytes(out), getBytes(in),
                                       isOnePiece(op.getDim(), op.getLayout()));
      })
      .Case([&](AllReduceOp) {
        return getAllReduceStaging(ranks, in.getNumElements(),
                                   getElementBytes(in.getElementType()), 0);
      })
      .Case([&](AllToAllOp) {
        return getAllToAllStaging(ranks, getBytes(in), getBytes(out));
      })
      .Case([&](BroadcastOp op) {
        return getBroadcastStaging(ranks, getOuter(out, op.getDim()),
                                   getBytes(out));
      })
      .Case([](SendRecvOp) { return 0; });
}

int64_t tsp::getStagingBytes(FoldLoopOp fold, unsigned part, bool whole,
                             MeshAttr mesh) {
  if (fold.getSchedule() == Schedule::Ring)
    return 0;
  int64_t ranks = mesh.getAxisSize(fold.getAxis());
  int64_t dim = fold.getPartDims()[part];
  auto type = cast<ShapedType>(fold.getBody().getArgument(1 + part).getType());
  if (!whole)
    return getBroadcastStaging(ranks, getOuter(type, dim), getBytes(type));
  auto shard = cast<ShapedType>(fold.getParts()[part].getType());
  return getAllGatherStaging(ranks, getBytes(shard),
                             ranks * shard.getDimSize(dim) ==
                                 int64_t(fold.getPartTotals()[part]));
}

//===----------------------------------------------------------------------===//
// Places in the arena
//===----------------------------------------------------------------------===//

/// From the start of a transfer to its wait.
Interval BufferPlan::getFlight(Operation *collective) const {
  auto fold = dyn_cast<FoldLoopOp>(collective->getParentOp());
  if (fold && fold.getAhead() && fold.runsAhead(collective))
    return {liveness.getEnter(fold), liveness.getExit(fold)};
  Interval flight{liveness.getEnter(collective), liveness.getEnter(collective)};
  for (Operation *user : collective->getUsers())
    if (isa<WaitOp>(user))
      flight.include({flight.begin, liveness.getEnter(user)});
  return flight;
}

/// A rank's transfers run one after the other, so those in flight at the same
/// time share one staging buffer.
void BufferPlan::planStaging() {
  struct Need {
    Operation *op;
    int64_t bytes;
    Interval life;
  };
  SmallVector<Need> needs;
  entry.walk([&](Operation *op) {
    if (isCollective(op))
      needs.push_back({op, tsp::getStagingBytes(op, mesh), getFlight(op)});
    auto fold = dyn_cast<FoldLoopOp>(op);
    if (!fold)
      return;
    const FoldPlan &plan = folds[fold];
    for (auto [part, slot] : llvm::enumerate(plan.slots))
      needs.push_back({op, tsp::getStagingBytes(fold, part, plan.whole, mesh),
                       buffers[slot].memory.life});
  });
  llvm::erase_if(needs, [](const Need &need) { return need.bytes == 0; });
  llvm::sort(needs, [](const Need &a, const Need &b) {
    return a.life.begin < b.life.begin;
  });
  Interval together{-1, -1};
  for (const Need &need : needs) {
    if (need.life.begin > together.end) {
      together = need.life;
      buffers[addBuffer(Place::Arena, 0, 0)].label = "staging of transfers";
    }
    together.include(need.life);
    ArenaBuffer &memory = buffers.back().memory;
    memory.life = together;
    memory.bytes = std::max(memory.bytes, need.bytes);
    stagingOf[need.op] = buffers.size() - 1;
  }
}

const Buffer *BufferPlan::getStaging(Operation *op) const {
  auto it = stagingOf.find(op);
  return it == stagingOf.end() ? nullptr : &buffers[it->second];
}

int64_t BufferPlan::getStagingBytes() const {
  int64_t bytes = 0;
  for (auto [op, number] : stagingOf)
    bytes = std::max(bytes, buffers[number].memory.bytes);
  return bytes;
}
