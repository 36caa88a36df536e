//===- LowerWarp.cpp - what the lanes of a warp do together ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jit/Lowering.h"

using namespace llvm;

namespace tsp::emulation {

void Lowering::shuffle(const Instruction &instruction) {
  // shfl.sync.mode.b32 d|p, a, b, c, membermask
  if (!instruction.has("sync"))
    unsupported();
  Site where = site();
  where.operation = uint8_t(instruction.has("up")     ? ShuffleMode::Up
                            : instruction.has("down") ? ShuffleMode::Down
                            : instruction.has("bfly") ? ShuffleMode::Bfly
                                                      : ShuffleMode::Idx);
  Type word = ptx::parseType("b32");
  bool wasWide = wide;
  wide = true;
  AllocaInst *result = scratch(4, 4 * warpSize);
  Value *inRange =
      callAt("shuffle", where, builder.getInt32Ty(),
             {spill(0, {read(1, word)}), spill(1, {read(2, word)}),
              spill(2, {read(3, word)}), spill(3, {read(4, word)}), result});
  Value *value = reload(result, 0, builder.getInt32Ty());
  Value *isInRange = fromMask(inRange);
  wide = wasWide;
  if (!wide) {
    // All lanes read the same one.
    value = ofFirstLane(value);
    isInRange = builder.CreateIsNotNull(inRange);
  }
  if (operand(0).form != Operand::Form::List)
    return write(value);
  write(operand(0).elements[0], value);
  write(operand(0).elements[1], isInRange);
}

/// The member mask of a .sync instruction: a scalar, the same in all lanes that
/// run.
Value *Lowering::readMembers(unsigned index) {
  Value *members = builder.CreateSelect(
      fromMask(mask()), read(index, ptx::parseType("b32")), constant(0, 32));
  return members->getType()->isVectorTy() ? builder.CreateOrReduce(members)
                                          : members;
}

void Lowering::vote(const Instruction &instruction) {
  // vote.sync.mode d, {!}a, membermask
  if (!instruction.has("sync"))
    unsupported();
  bool wasWide = wide;
  wide = true;
  Value *members = readMembers(2);
  callAt("checkMembers", site(), builder.getVoidTy(), {members});
  Value *predicate = maskOf(readPredicate(operand(1)));
  Value *taking = builder.CreateAnd(mask(), members);
  Value *set = builder.CreateAnd(predicate, taking);
  wide = wasWide;
  if (instruction.has("ballot"))
    return write(set);
  Value *none = builder.CreateICmpEQ(set, builder.getInt32(0));
  Value *every = builder.CreateICmpEQ(set, taking);
  write(instruction.has("any")   ? builder.CreateNot(none)
        : instruction.has("all") ? every
                                 : builder.CreateOr(none, every));
}

void Lowering::activeMask(const Instruction &) { write(mask()); }

void Lowering::elect(const Instruction &) {
  // elect.sync d|p, membermask
  wide = true;
  callAt("checkMembers", site(), builder.getVoidTy(), {readMembers(1)});
  Value *taking = mask();
  Value *lowest = builder.CreateAnd(taking, builder.CreateNeg(taking));
  Value *lane = builder.CreateBinaryIntrinsic(Intrinsic::cttz, taking,
                                              builder.getFalse());
  if (operand(0).form != Operand::Form::List)
    unsupported();
  write(operand(0).elements[0], lane);
  write(operand(0).elements[1], fromMask(lowest));
}

void Lowering::match(const Instruction &instruction) {
  // match.any.sync.b32 d, a, membermask; match.all.sync.b32 d|p, a, membermask
  Type type = instruction.type();
  Site where = site();
  where.operation = instruction.has("all");
  wide = true;
  Value *members = readMembers(2);
  Value *values =
      builder.CreateZExt(read(1, type), shaped(builder.getInt64Ty()));
  AllocaInst *result = scratch(1, 4 * warpSize);
  callAt("match", where, builder.getVoidTy(),
         {spill(0, {values}), members, result});
  Value *same = reload(result, 0, builder.getInt32Ty());
  if (operand(0).form != Operand::Form::List)
    return write(same);
  write(operand(0).elements[0], same);
  write(operand(0).elements[1], builder.CreateICmpNE(same, constant(0, 32)));
}

void Lowering::reduce(const Instruction &instruction) {
  // redux.sync.op.type d, a, membermask
  static const std::pair<const char *, AtomicOp> operations[] = {
      {"add", AtomicOp::Add}, {"min", AtomicOp::Min}, {"max", AtomicOp::Max},
      {"and", AtomicOp::And}, {"or", AtomicOp::Or},   {"xor", AtomicOp::Xor}};
  Site where = site();
  bool known = false;
  for (const auto &[name, operation] : operations)
    if (instruction.has(name)) {
      where.operation = uint8_t(operation);
      known = true;
    }
  Type type = instruction.type();
  if (!known || type.bits != 32 || type.isFloat())
    unsupported();
  bool wasWide = wide;
  wide = true;
  Value *members = readMembers(2);
  AllocaInst *result = scratch(1, 4);
  callAt("reduce", where, builder.getVoidTy(),
         {spill(0, {read(1, type)}), members, result});
  wide = wasWide;
  write(builder.CreateAlignedLoad(builder.getInt32Ty(), result, Align(4)));
}

void Lowering::barrier(const Instruction &instruction) {
  bool wasWide = wide;
  // bar.warp.sync membermask
  if (instruction.has("warp")) {
    wide = true;
    Value *members = readMembers(0);
    callAt("checkMembers", site(), builder.getVoidTy(), {members});
    return;
  }
  if (instruction.has("cluster"))
    return clusterBarrier(instruction);
  // bar{.cta}.sync a{, b}; .arrive a, b; .red.op d, a{, b}, {!}p
  Site where = site();
  bool isReduction = instruction.has("red");
  BarrierKind kind = BarrierKind::Sync;
  if (instruction.has("arrive"))
    kind = BarrierKind::Arrive;
  else if (isReduction)
    kind = instruction.has("popc")  ? BarrierKind::Popc
           : instruction.has("and") ? BarrierKind::And
                                    : BarrierKind::Or;
  else if (!instruction.has("sync"))
    unsupported();
  where.operation = uint8_t(kind);
  unsigned first = isReduction ? 1 : 0;
  unsigned count =
      unsigned(instruction.operands.size()) - first - (isReduction ? 1 : 0);
  Type word = ptx::parseType("u32");
  auto uniform = [&](unsigned index) {
    wide = !uniformity.isUniform(operand(index));
    Value *value = read(index, word);
    return wide ? callAt("sameInLanes", where, builder.getInt32Ty(),
                         {spill(index, {value})})
                : value;
  };
  Value *id = uniform(first);
  Value *threads = count > 1 ? uniform(first + 1)
                             : static_cast<Value *>(builder.getInt32(0));
  wide = true;
  Value *predicate = builder.getInt32(0);
  if (isReduction)
    predicate = maskOf(
        readPredicate(operand(unsigned(instruction.operands.size()) - 1)));
  Value *result =
      callAt("barrier", where, builder.getInt32Ty(), {id, threads, predicate});
  wide = wasWide;
  if (!isReduction)
    return;
  if (kind != BarrierKind::Popc)
    result = builder.CreateICmpNE(result, builder.getInt32(0));
  write(result);
}

} // namespace tsp::emulation
