//===- BlockCode.cpp - threads of a block that work together --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockCode.h"

#include "tsp/Kernels/Kernels.h"

using namespace mlir;
using namespace tsp;

BlockCode::BlockCode(ElementEmitter &emitter, DeviceKernel &kernel)
    : emitter(emitter), builder(emitter.getBuilder()), kernel(kernel),
      workspace(kernel.workspace) {
  emitter.useNarrowIndices();
}

void BlockCode::start(int64_t count) {
  numThreads = count;
  Location loc = emitter.getLoc();
  Value id = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  thread = emitter.makeSymbol(id, 0, numThreads - 1);
  block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
}

void BlockCode::barrier() { gpu::BarrierOp::create(builder, emitter.getLoc()); }

void BlockCode::forUnits(int64_t count, int64_t first, int64_t numBlocks,
                         llvm::function_ref<void(LinearIndex)> body) {
  if (count == 0)
    return;
  Location loc = emitter.getLoc();
  int64_t used = shared ? shared->mark() : 0;
  if (oneBlock) {
    emitter.emitLoop(0, count, {}, [&](LinearIndex unit, ValueRange) {
      body(unit);
      // What comes next may use the same shared memory.
      barrier();
      return SmallVector<Value>();
    });
  } else if (count == numBlocks) {
    body(emitter.makeSymbol(block, 0, count - 1));
  } else {
    Value unit = arith::SubIOp::create(builder, loc, block,
                                       emitter.constantIndex(first));
    // Unsigned, a negative number is a large one.
    Value isOwn = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        unit, emitter.constantIndex(count));
    emitter.emitWhen(isOwn,
                     [&] { body(emitter.makeSymbol(unit, 0, count - 1)); });
  }
  if (shared)
    shared->release(used);
}

Value BlockCode::allocate(int64_t count, Type elementType) {
  return workspace.allocate(emitter, count, elementType);
}

Value BlockCode::allocateShared(int64_t count, Type elementType) {
  if (!shared) {
    sharedBytes = addSharedBuffer(kernel, {0}, builder.getI8Type());
    shared.emplace(sharedBytes);
  }
  return shared->allocate(emitter, count, elementType);
}

BlockCode::Buffer BlockCode::allocateInUnit(int64_t count, Type elementType,
                                            const LinearIndex &unit,
                                            int64_t grid) {
  // Half is left for what teams merge by, and lets two blocks be resident.
  int64_t used = shared ? shared->mark() : 0;
  if (used + ScratchPlan::getBytes(count, elementType) <= kMaxStaticShared / 2)
    return {allocateShared(count, elementType), LinearIndex(0)};
  if (oneBlock)
    return {allocate(count, elementType), LinearIndex(0)};
  return {allocate(count * grid, elementType), unit * count};
}

void BlockCode::finish(DeviceLaunch &launch) {
  launch.block = {numThreads, 1, 1};
  launch.workspaceBytes = workspace.getBytes();
  if (!shared)
    return;
  auto type = cast<MemRefType>(sharedBytes.getType());
  sharedBytes.setType(MemRefType::Builder(type).setShape(shared->getBytes()));
}

//===----------------------------------------------------------------------===//
// Team
//===----------------------------------------------------------------------===//

namespace {

/// Elements that a thread handles without a loop: what it has loaded for one
/// loop over a row is still in registers for the next.
constexpr int64_t kUnrolled = 32;
/// Groups of elements that a thread loads in one round of a longer loop.
constexpr int64_t kInFlight = 4;
constexpr int64_t kWarp = 32;

int64_t getProduct(ArrayRef<int64_t> extents) {
  int64_t product = 1;
  for (int64_t extent : extents)
    product *= extent;
  return product;
}

} // namespace

Team::Team(BlockCode &code, TeamShape shape)
    : code(code), emitter(code.emitter), builder(code.builder), shape(shape),
      perBlock(code.getNumThreads() / shape.size) {
  if (shape.isStrided)
    std::tie(lane, number) = emitter.divide(code.getThread(), perBlock);
  else
    std::tie(number, lane) = emitter.divide(code.getThread(), shape.size);
}

std::pair<LinearIndex, Value> Team::emitRow(const LinearIndex &unit,
                                            int64_t numRows) {
  LinearIndex row = unit * perBlock + number;
  if (numRows % perBlock == 0)
    return {row, Value()};
  Location loc = emitter.getLoc();
  Value place = emitter.materialize(row);
  Value isReal = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       place, emitter.constantIndex(numRows));
  Value clamped = arith::MinSIOp::create(builder, loc, place,
                                         emitter.constantIndex(numRows - 1));
  return {emitter.makeSymbol(clamped, 0, numRows - 1), isReal};
}

Value Team::isLane(arith::CmpIPredicate predicate, int64_t bound) {
  return arith::CmpIOp::create(builder, emitter.getLoc(), predicate,
                               emitter.materialize(lane),
                               emitter.constantIndex(bound));
}

/// Runs `body` for `width` neighbours along the last loop, of which `place`
/// says how many come before; `groups` are the loops in units of that.
static Team::Values emitNeighbours(ElementEmitter &emitter,
                                   const LinearIndex &place,
                                   ArrayRef<int64_t> groups, int64_t width,
                                   ValueRange carried, Team::Body body) {
  SmallVector<ElementIndex, 0> positions(width,
                                         emitter.delinearize(place, groups));
  if (width > 1)
    for (auto [number, position] : llvm::enumerate(positions))
      position.back() = position.back() * width + number;
  return body(positions, carried);
}

static SmallVector<int64_t> divideLast(ArrayRef<int64_t> extents,
                                       int64_t width) {
  SmallVector<int64_t> groups(extents);
  if (width > 1)
    groups.back() /= width;
  return groups;
}

Team::Values Team::emitLoop(ArrayRef<int64_t> extents, int64_t width,
                            ValueRange inits, Body body) {
  SmallVector<int64_t> groups = divideLast(extents, width);
  int64_t count = getProduct(groups);
  auto at = [&](const LinearIndex &place, ValueRange carried) {
    return emitNeighbours(emitter, place, groups, width, carried, body);
  };

  int64_t full = count / shape.size, rest = count % shape.size;
  Values carried = llvm::to_vector(inits);
  auto atAll = [&](const LinearIndex &first, int64_t times) {
    for (int64_t i = 0; i < times; ++i)
      carried = at(first + i * shape.size, carried);
  };
  if (full * width <= kUnrolled) {
    atAll(lane, full);
  } else {
    // Several loads are on their way at once.
    int64_t times =
        std::max<int64_t>(std::min(kInFlight, kUnrolled / width), 1);
    int64_t rounds = full / times;
    carried = emitter.emitLoop(0, rounds, carried,
                               [&](LinearIndex i, ValueRange arguments) {
                                 carried = llvm::to_vector(arguments);
                                 atAll(i * (times * shape.size) + lane, times);
                                 return carried;
                               });
    atAll(lane + rounds * times * shape.size, full % times);
  }
  if (rest == 0)
    return carried;
  return emitter.emitIf(
      isLane(arith::CmpIPredicate::slt, rest), ValueRange(carried).getTypes(),
      [&] {
        LinearIndex own =
            emitter.makeSymbol(emitter.materialize(lane), 0, rest - 1);
        return at(own + full * shape.size, carried);
      },
      [&] { return carried; });
}

Team::Values Team::emitLoopInParts(ArrayRef<int64_t> extents, int64_t width,
                                   ValueRange inits, Body body) {
  SmallVector<int64_t> groups = divideLast(extents, width);
  int64_t count = getProduct(groups);
  int64_t part = llvm::divideCeil(count, shape.size);
  return emitter.emitLoop(
      0, part, inits, [&](LinearIndex i, ValueRange carried) {
        LinearIndex place = lane * part + i;
        if (part * shape.size == count)
          return emitNeighbours(emitter, place, groups, width, carried, body);
        Value isInside = arith::CmpIOp::create(
            builder, emitter.getLoc(), arith::CmpIPredicate::slt,
            emitter.materialize(place), emitter.constantIndex(count));
        return emitter.emitIf(
            isInside, carried.getTypes(),
            [&] {
              LinearIndex own =
                  emitter.makeSymbol(emitter.materialize(place), 0, count - 1);
              return emitNeighbours(emitter, own, groups, width, carried, body);
            },
            [&] { return llvm::to_vector(carried); });
      });
}

Team::Values Team::emitReduction(const Reduction &reduction, int64_t width,
                                 ArrayRef<LinearIndex> index) {
  auto step = [&](ArrayRef<ElementIndex> positions, ValueRange carried) {
    Values values = llvm::to_vector(carried);
    for (const ElementIndex &position : positions)
      values = reduction.emitStep(emitter, values, index, position);
    return values;
  };
  Values inits = reduction.emitInits(emitter);
  if (shape.size == 1)
    return emitLoop(reduction.getExtents(), width, inits, step);
  // The inits count once.
  Values neutral = reduction.emitNeutral(emitter);
  Value isFirst = isLane(arith::CmpIPredicate::eq, 0);
  for (auto [init, other] : llvm::zip_equal(inits, neutral))
    init = arith::SelectOp::create(builder, emitter.getLoc(), isFirst, init,
                                   other);
  return merge(
      reduction,
      reduction.isCommutative()
          ? emitLoop(reduction.getExtents(), width, inits, step)
          : emitLoopInParts(reduction.getExtents(), width, inits, step));
}

/// Values of the lane whose number differs in one bit.
Team::Values Team::exchange(ValueRange values, int64_t offset) {
  Location loc = emitter.getLoc();
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto constant = [&](Type type, int64_t number) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, number));
  };
  auto shuffle = [&](Value word) -> Value {
    return gpu::ShuffleOp::create(builder, loc, word, constant(i32, offset),
                                  constant(i32, kWarp), gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  Values others;
  for (Value value : values) {
    Type type = value.getType();
    unsigned bits = type.getIntOrFloatBitWidth();
    if (type.isF32() || bits == 32) {
      others.push_back(shuffle(value));
      continue;
    }
    if (bits < 32) {
      Value word = shuffle(arith::ExtUIOp::create(builder, loc, i32, value));
      others.push_back(arith::TruncIOp::create(builder, loc, type, word));
      continue;
    }
    Value whole = value;
    if (type.isF64())
      whole = arith::BitcastOp::create(builder, loc, i64, value);
    Value half = constant(i64, 32);
    Value low = shuffle(arith::TruncIOp::create(builder, loc, i32, whole));
    Value high = shuffle(arith::TruncIOp::create(
        builder, loc, i32, arith::ShRUIOp::create(builder, loc, whole, half)));
    Value joined = arith::OrIOp::create(
        builder, loc, arith::ExtUIOp::create(builder, loc, i64, low),
        arith::ShLIOp::create(builder, loc,
                              arith::ExtUIOp::create(builder, loc, i64, high),
                              half));
    if (type.isF64())
      joined = arith::BitcastOp::create(builder, loc, type, joined);
    others.push_back(joined);
  }
  return others;
}

/// Neighbouring lanes first, so that the order of elements is kept.
Team::Values Team::merge(const Reduction &reduction, Values values) {
  Location loc = emitter.getLoc();
  int64_t numLanes = shape.isStrided ? 1 : std::min(shape.size, kWarp);
  for (int64_t offset = 1; offset < numLanes; offset *= 2) {
    Values others = exchange(values, offset);
    if (reduction.isCommutative()) {
      values = reduction.emitMerge(emitter, values, others);
      continue;
    }
    Value bit = arith::AndIOp::create(builder, loc, emitter.materialize(lane),
                                      emitter.constantIndex(offset));
    Value isSecond = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne, bit, emitter.constantIndex(0));
    Values first, second;
    for (auto [own, other] : llvm::zip_equal(values, others)) {
      first.push_back(
          arith::SelectOp::create(builder, loc, isSecond, other, own));
      second.push_back(
          arith::SelectOp::create(builder, loc, isSecond, own, other));
    }
    values = reduction.emitMerge(emitter, first, second);
  }
  int64_t numParts = shape.size / numLanes;
  if (numParts == 1)
    return values;

  // The other parts come by shared memory, in which those of all teams of the
  // block have a place: [part][team].
  ArrayRef<Type> types = reduction.getAccumulatorTypes();
  Values buffers;
  for (Type type : types)
    buffers.push_back(code.allocateShared(numParts * perBlock, type));
  auto [part, laneOfPart] = emitter.divide(lane, numLanes);
  auto put = [&, part = part] {
    for (auto [value, buffer, type] : llvm::zip_equal(values, buffers, types))
      emitter.store(value, buffer, type, part * perBlock + number);
  };
  Value isFirst;
  if (numLanes > 1)
    isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                    emitter.materialize(laneOfPart),
                                    emitter.constantIndex(0));
  emitter.emitWhen(isFirst, put);
  code.barrier();
  auto get = [&](int64_t i) {
    Values loaded;
    for (auto [buffer, type] : llvm::zip_equal(buffers, types))
      loaded.push_back(
          emitter.load(buffer, type, number + LinearIndex(i * perBlock)));
    return loaded;
  };
  values = get(0);
  for (int64_t i = 1; i < numParts; ++i)
    values = reduction.emitMerge(emitter, values, get(i));
  return values;
}
