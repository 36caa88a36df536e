//===- BufferPlan.cpp - which values share which buffer -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Host/BufferPlan.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tsp;

int64_t tsp::getAliasedResult(func::FuncOp entry, unsigned number) {
  auto alias = entry.getArgAttrOfType<IntegerAttr>(number, "tsp.alias");
  return alias ? alias.getInt() : -1;
}

MeshAttr tsp::getRankMesh(Operation *inModule) {
  auto module = dyn_cast<ModuleOp>(inModule);
  if (!module)
    module = inModule->getParentOfType<ModuleOp>();
  if (auto mesh = module->getAttrOfType<MeshAttr>("tsp.mesh"))
    return mesh;
  return MeshAttr::get(inModule->getContext(), {}, {});
}

BufferPlan::BufferPlan(func::FuncOp entry, MeshAttr mesh)
    : entry(entry), mesh(mesh), liveness(entry) {
  makeBuffers();
  planFolds();
  mergeAll();
  planStaging();
  planCopies();
  layOut();
}

const Buffer *BufferPlan::getBuffer(Value value) const {
  auto it = bufferOf.find(liveness.getRoot(value));
  return it == bufferOf.end() ? nullptr : &buffers[it->second];
}

ArrayRef<PlannedCopy> BufferPlan::getCopies(Operation *site) const {
  auto it = copies.find(site);
  return it == copies.end() ? ArrayRef<PlannedCopy>() : ArrayRef(it->second);
}

unsigned BufferPlan::addBuffer(Place place, unsigned number, int64_t bytes) {
  Buffer buffer;
  buffer.place = place;
  buffer.number = number;
  buffer.memory.bytes = bytes;
  buffer.memory.life = {INT64_MAX, -1};
  buffers.push_back(std::move(buffer));
  return buffers.size() - 1;
}

/// What a report calls the value.
static std::string getLabel(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return "value carried by " + value.getParentBlock()
                                     ->getParentOp()
                                     ->getName()
                                     .getStringRef()
                                     .str();
  if (auto launch = dyn_cast<LaunchOp>(op))
    return "result of @" + launch.getKernel().str();
  if (auto wait = dyn_cast<WaitOp>(op))
    if (Operation *start = getStart(wait))
      op = start;
  return "result of " + op->getName().getStringRef().str();
}

//===----------------------------------------------------------------------===//
// A buffer for each value
//===----------------------------------------------------------------------===//

void BufferPlan::makeBuffers() {
  for (Value root : liveness.getRoots()) {
    auto arg = dyn_cast<BlockArgument>(root);
    Operation *parent = arg ? arg.getOwner()->getParentOp() : nullptr;
    if (auto fold = dyn_cast_or_null<FoldLoopOp>(parent))
      if (arg.getArgNumber() >= 1 &&
          arg.getArgNumber() <= fold.getParts().size())
        continue; // lives in the slots
    bool isEntryArg = parent == entry.getOperation();
    bool isConstant = root.getDefiningOp<stablehlo::ConstantOp>() != nullptr;
    int64_t bytes = getBytes(root.getType());
    bool twofold = liveness.isTwofold(root);
    unsigned number = addBuffer(isEntryArg   ? Place::Argument
                                : isConstant ? Place::Constant
                                             : Place::Arena,
                                isEntryArg ? arg.getArgNumber() : 0,
                                twofold ? 2 * alignBuffer(bytes) : bytes);
    Buffer &buffer = buffers[number];
    buffer.twofold = twofold;
    buffer.values.push_back(root);
    buffer.writable =
        !isConstant &&
        (!isEntryArg || getAliasedResult(entry, arg.getArgNumber()) >= 0);
    if (!isEntryArg)
      buffer.label = getLabel(root);
    bufferOf[root] = number;
  }
  for (auto [i, type] : llvm::enumerate(entry.getResultTypes()))
    resultBuffers.push_back(addBuffer(Place::Result, i, getBytes(type)));
  for (BlockArgument arg : entry.getArguments()) {
    int64_t result = getAliasedResult(entry, arg.getArgNumber());
    if (result >= 0 && result < (int64_t)resultBuffers.size())
      resultBuffers[result] = bufferOf.lookup(arg);
  }
}

/// Whether `next` streams on where `fold` ends: steps of another size of the
/// same weights.
static bool continues(FoldLoopOp next, FoldLoopOp fold) {
  if (next.getSchedule() != Schedule::Broadcast ||
      fold.getSchedule() != Schedule::Broadcast ||
      !llvm::equal(next.getParts(), fold.getParts()))
    return false;
  for (size_t p = 0; p < fold.getParts().size(); ++p)
    if (next.getPartDims()[p] != fold.getPartDims()[p] ||
        next.getPartStarts()[p] !=
            fold.getPartStarts()[p] +
                int64_t(fold.getSteps()) * fold.getPartSizes()[p] ||
        next.getPartSizes()[p] > fold.getPartSizes()[p])
      return false;
  return true;
}

/// A fold that streams on where the one before it ends goes on in its slots, as
/// if the steps of both were those of one loop: they hold no more parts in
/// flight. In step i nothing after i + prefetch is fetched, so that one slot
/// more is enough.
bool BufferPlan::shareSlots(FoldLoopOp fold, FoldPlan &plan) {
  FoldPlan &before = folds[plan.before];
  int64_t steps = plan.before.getSteps();
  if (!continues(fold, plan.before) || before.firstSlot != 0)
    return false;
  before.slotCount = plan.slotCount =
      std::max(before.slotCount, plan.slotCount);
  plan.firstSlot = steps % plan.slotCount;
  plan.slots = before.slots;
  plan.slotBytes = before.slotBytes;
  for (auto [slot, bytes] : llvm::zip(plan.slots, plan.slotBytes)) {
    buffers[slot].memory.bytes = plan.slotCount * bytes;
    buffers[slot].memory.life.include(
        {liveness.getEnter(fold), liveness.getExit(fold)});
  }
  return true;
}

void BufferPlan::planFolds() {
  entry.walk<WalkOrder::PreOrder>([&](FoldLoopOp fold) {
    FoldPlan plan;
    int64_t steps = fold.getSteps();
    SmallVector<int64_t> partBytes;
    bool oneBlock = true, fixed = true;
    for (auto [p, part] : llvm::enumerate(fold.getParts())) {
      auto type =
          cast<RankedTensorType>(fold.getBody().getArgument(1 + p).getType());
      int64_t dim = fold.getPartDims()[p];
      partBytes.push_back(getBytes(type));
      for (int64_t size : type.getShape().take_front(dim))
        oneBlock &= size == 1;
      oneBlock &= partBytes.back() % bufferAlign == 0 &&
                  fold.getPartStarts()[p] == 0 &&
                  fold.getPartSizes()[p] * steps == fold.getPartTotals()[p];
      const Buffer *source = getBuffer(part);
      fixed &= source && source->place != Place::Arena && !source->writable;
    }
    switch (fold.getSchedule()) {
    case Schedule::Ring:
      plan.prefetch = std::min<int64_t>(fold.getPrefetch(), 1);
      plan.slotCount = std::min<int64_t>(2, steps - 1);
      break;
    case Schedule::Broadcast:
      plan.prefetch = std::min<int64_t>(fold.getPrefetch(), steps);
      plan.slotCount = std::min<int64_t>(plan.prefetch + 1, steps);
      break;
    case Schedule::Gather:
      plan.prefetch = plan.slotCount = steps;
      plan.whole = oneBlock;
      break;
    }
    // First fetches of what never changes start before: in the last step of the
    // fold before this one, so that the link is never idle between folds.
    int64_t begin = liveness.getEnter(fold);
    if (fixed && plan.prefetch > 0 && plan.slotCount > 0 &&
        !isa<FoldLoopOp>(fold->getParentOp())) {
      // Never through a loop of the program: its layers would have to share the
      // memory with what none of them needs.
      Operation *op = fold->getPrevNode();
      while (op && !isa<FoldLoopOp, stablehlo::WhileOp>(op))
        op = op->getPrevNode();
      plan.before = dyn_cast_or_null<FoldLoopOp>(op);
      plan.atBlockStart = !op;
      if (plan.before)
        begin = liveness.getEnter(plan.before);
      else if (!op)
        begin = liveness.getBegin(fold->getBlock());
    }
    for (int64_t bytes : partBytes)
      plan.slotBytes.push_back(alignBuffer(bytes));
    if (plan.before && shareSlots(fold, plan)) {
      folds[fold] = std::move(plan);
      return;
    }
    for (int64_t bytes : plan.slotBytes) {
      unsigned slot = addBuffer(Place::Arena, 0, plan.slotCount * bytes);
      buffers[slot].memory.life = {begin, liveness.getExit(fold)};
      buffers[slot].label = "slots of a fold's part";
      plan.slots.push_back(slot);
    }
    folds[fold] = std::move(plan);
  });
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

bool BufferPlan::interfere(Value a, Value b) const {
  Interval lifeA = liveness.getLife(a), lifeB = liveness.getLife(b);
  if (!lifeA.meets(lifeB))
    return false;
  // A result may take over the buffer of a tied operand that ends there.
  if (liveness.getTied(b) == a && lifeA.end == lifeB.begin)
    return false;
  return liveness.getTied(a) != b || lifeB.end != lifeA.begin;
}

bool BufferPlan::mergeBuffers(unsigned a, unsigned b) {
  if (a == b)
    return true;
  if (buffers[a].place == Place::Arena)
    std::swap(a, b); // a stays
  if (buffers[b].place != Place::Arena || !buffers[a].writable ||
      !buffers[b].writable || buffers[a].twofold || buffers[b].twofold ||
      buffers[a].memory.bytes != buffers[b].memory.bytes)
    return false;
  for (Value x : buffers[a].values)
    for (Value y : buffers[b].values)
      if (interfere(x, y))
        return false;
  for (Value y : buffers[b].values)
    bufferOf[y] = a;
  buffers[a].values.append(buffers[b].values);
  buffers[a].memory.life.include(buffers[b].memory.life);
  if (buffers[a].label.empty())
    buffers[a].label = buffers[b].label;
  buffers[b].values.clear();
  buffers[b].memory.life = {INT64_MAX, -1};
  return true;
}

bool BufferPlan::merge(Value a, Value b) {
  auto x = bufferOf.find(liveness.getRoot(a)),
       y = bufferOf.find(liveness.getRoot(b));
  return x != bufferOf.end() && y != bufferOf.end() &&
         mergeBuffers(x->second, y->second);
}

/// The values of one loop variable share a buffer for the whole loop.
void BufferPlan::carry(Operation *loop, ArrayRef<Value> sameVariable) {
  for (Value value : sameVariable.drop_front())
    merge(sameVariable.front(), value);
  buffers[bufferOf.lookup(sameVariable.front())].memory.life.include(
      {liveness.getEnter(loop), liveness.getExit(loop)});
}

void BufferPlan::mergeAll() {
  // Loop variables, which must share.
  SmallVector<std::pair<Value, Value>> wishes; // by importance
  entry.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
      Block &cond = loop.getCond().front(), &body = loop.getBody().front();
      for (unsigned i = 0; i < loop->getNumResults(); ++i) {
        Value inBody = body.getArgument(i);
        if (liveness.getRoot(inBody) != inBody)
          continue; // handed on unchanged
        carry(op, {inBody, cond.getArgument(i), loop->getResult(i)});
        wishes.push_back({inBody, body.getTerminator()->getOperand(i)});
        wishes.push_back({inBody, loop.getOperand()[i]});
      }
    } else if (auto loop = dyn_cast<FoldLoopOp>(op)) {
      Block &body = loop.getBody().front();
      for (unsigned i = 0; i < loop->getNumResults(); ++i) {
        Value inBody = body.getArgument(1 + loop.getParts().size() + i);
        if (liveness.getRoot(inBody) != inBody)
          continue;
        carry(op, {inBody, loop->getResult(i)});
        wishes.push_back({inBody, body.getTerminator()->getOperand(i)});
        wishes.push_back({inBody, loop.getInits()[i]});
      }
    } else if (isa<stablehlo::CaseOp>(op)) {
      for (OpResult result : op->getResults()) {
        carry(op, {result});
        for (Region &branch : op->getRegions())
          wishes.push_back({result, branch.front().getTerminator()->getOperand(
                                        result.getResultNumber())});
      }
    }
  });
  // An all_reduce in flight works in place, or keeps its source until its wait.
  entry.walk([&](WaitOp wait) {
    auto reduce = dyn_cast_or_null<AllReduceOp>(getStart(wait));
    if (!reduce)
      return;
    Value tied = liveness.getTied(wait.getResult());
    if (!tied || !merge(tied, wait.getResult()))
      liveness.extend(liveness.getRoot(reduce.getInput()),
                      liveness.getEnter(wait));
  });
  // Launches that update a part of their operand: a copy saved is a whole
  // buffer.
  SmallVector<LaunchOp> others;
  entry.walk([&](LaunchOp launch) {
    Operation *kernel = lookupKernel(launch);
    if (!kernel || !mustTie(kernel)) {
      others.push_back(launch);
      return;
    }
    for (Value result : launch.getResults())
      if (Value tied = liveness.getTied(result))
        merge(tied, result);
  });
  for (auto [variable, value] : wishes)
    merge(variable, value);
  for (auto [k, value] : llvm::enumerate(
           entry.getBody().front().getTerminator()->getOperands())) {
    auto it = bufferOf.find(liveness.getRoot(value));
    if (it != bufferOf.end())
      mergeBuffers(resultBuffers[k], it->second);
  }
  for (LaunchOp launch : others)
    for (Value result : launch.getResults())
      if (Value tied = liveness.getTied(result))
        merge(tied, result);
  entry.walk([&](AllReduceOp reduce) {
    if (Value tied = liveness.getTied(reduce.getResult()))
      merge(tied, reduce.getResult());
  });
}

//===----------------------------------------------------------------------===//
// Copies that remain
//===----------------------------------------------------------------------===//

void BufferPlan::addCopies(Operation *site,
                           ArrayRef<std::pair<Value, unsigned>> moves) {
  SmallVector<PlannedCopy> list;
  auto sourceOf = [&](Value value) {
    auto it = bufferOf.find(value);
    return it == bufferOf.end() ? -1 : (int64_t)it->second;
  };
  for (auto [value, to] : moves) {
    Value from = liveness.getRoot(value);
    if (sourceOf(from) == (int64_t)to)
      continue;
    PlannedCopy copy;
    copy.from = from;
    copy.to = to;
    list.push_back(copy);
  }
  // Copies of one site happen at once: what a sibling overwrites is saved
  // first.
  for (PlannedCopy &copy : list) {
    if (llvm::none_of(list, [&](const PlannedCopy &other) {
          return sourceOf(copy.from) == (int64_t)other.to;
        }))
      continue;
    copy.temporary = addBuffer(Place::Arena, 0, getBytes(copy.from.getType()));
    int64_t point = liveness.getEnter(site);
    buffers[copy.temporary].memory.life = {point, point};
    buffers[copy.temporary].label = "copy for a swap";
  }
  copies[site] = std::move(list);
}

void BufferPlan::planCopies() {
  using Moves = SmallVector<std::pair<Value, unsigned>>;
  entry.walk([&](Operation *op) {
    Moves in, back;
    auto addVariable = [&](Value variable, Value init, Value yielded) {
      if (liveness.getRoot(variable) != variable)
        return;
      in.push_back({init, bufferOf.lookup(variable)});
      back.push_back({yielded, bufferOf.lookup(variable)});
    };
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
      Block &body = loop.getBody().front();
      for (unsigned i = 0; i < loop->getNumResults(); ++i)
        addVariable(body.getArgument(i), loop.getOperand()[i],
                    body.getTerminator()->getOperand(i));
      addCopies(op, in);
      addCopies(body.getTerminator(), back);
    } else if (auto loop = dyn_cast<FoldLoopOp>(op)) {
      Block &body = loop.getBody().front();
      for (unsigned i = 0; i < loop->getNumResults(); ++i)
        addVariable(body.getArgument(1 + loop.getParts().size() + i),
                    loop.getInits()[i], body.getTerminator()->getOperand(i));
      addCopies(op, in);
      addCopies(body.getTerminator(), back);
    } else if (isa<stablehlo::CaseOp>(op)) {
      for (Region &branch : op->getRegions()) {
        Operation *end = branch.front().getTerminator();
        Moves moves;
        for (OpResult result : op->getResults())
          moves.push_back({end->getOperand(result.getResultNumber()),
                           bufferOf.lookup(result)});
        addCopies(end, moves);
      }
    } else if (isa<func::ReturnOp>(op)) {
      for (auto [k, value] : llvm::enumerate(op->getOperands()))
        back.push_back({value, resultBuffers[k]});
      addCopies(op, back);
    }
  });
}

//===----------------------------------------------------------------------===//
// The arena
//===----------------------------------------------------------------------===//

void BufferPlan::layOut() {
  SmallVector<unsigned> numbers;
  SmallVector<ArenaBuffer> arena;
  for (auto [number, buffer] : llvm::enumerate(buffers)) {
    for (Value value : buffer.values)
      buffer.memory.life.include(liveness.getLife(value));
    if (buffer.place != Place::Arena || buffer.memory.life.end < 0 ||
        !buffer.memory.bytes)
      continue;
    numbers.push_back(number);
    arena.push_back(buffer.memory);
  }
  arenaBytes = layOutArena(arena);
  peak = findArenaPeak(arena);
  // What has no bytes is where no other buffer begins.
  for (Buffer &buffer : buffers)
    buffer.memory.offset = arenaBytes;
  for (auto [number, placed] : llvm::zip(numbers, arena))
    buffers[number].memory.offset = placed.offset;
}

SmallVector<const Buffer *> BufferPlan::getBuffersAtPeak() const {
  SmallVector<const Buffer *> list;
  for (const Buffer &buffer : buffers)
    if (buffer.place == Place::Arena && buffer.memory.life.end >= 0 &&
        buffer.memory.bytes &&
        buffer.memory.life.meets({peak.point, peak.point}))
      list.push_back(&buffer);
  llvm::stable_sort(list, [](const Buffer *a, const Buffer *b) {
    return a->memory.bytes > b->memory.bytes;
  });
  return list;
}
