//===- LowerCluster.cpp - blocks of a cluster -----------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/Barrier.h"
#include "jit/Lowering.h"

using namespace llvm;

namespace tsp::emulation {

void Lowering::clusterBarrier(const Instruction &instruction) {
  // barrier.cluster.arrive, barrier.cluster.wait
  Site where = site();
  where.flags = instruction.has("relaxed") ? ArriveFlags::Relaxed : 0;
  callAt(instruction.has("arrive") ? "clusterArrive" : "clusterWait", where,
         builder.getVoidTy(), {});
}

/// The address operand of mapa and getctarank, which may be a variable too: of
/// 64 bits.
Value *Lowering::sharedOperand(unsigned index) {
  const Operand &from = operand(index);
  Value *value = read(from, ptx::parseType("u64"));
  bool isOffset = from.form == Operand::Form::Symbol;
  return isOffset && current->space() != ptx::Space::Shared
             ? builder.CreateAdd(value, splat(sharedBase()))
             : value;
}

void Lowering::mapShared(const Instruction &instruction) {
  // mapa{.shared::cluster}.type d, a, rank
  bool wasWide = wide;
  wide = true;
  AllocaInst *results = scratch(2, 8 * warpSize);
  callAt("mapShared", site(), builder.getVoidTy(),
         {spill(0, {sharedOperand(1)}),
          spill(1, {read(2, ptx::parseType("u32"))}), results});
  Value *value = reload(results, 0, builder.getInt64Ty());
  value = builder.CreateTrunc(value, shaped(intType(instruction.type().bits)));
  wide = wasWide;
  write(wide ? value : ofFirstLane(value));
}

void Lowering::rankOfShared(const Instruction &) {
  // getctarank{.shared::cluster}.type d, a
  bool wasWide = wide;
  wide = true;
  AllocaInst *results = scratch(1, 4 * warpSize);
  callAt("rankOfShared", site(), builder.getVoidTy(),
         {spill(0, {sharedOperand(1)}), results});
  Value *value = reload(results, 0, builder.getInt32Ty());
  wide = wasWide;
  write(wide ? value : ofFirstLane(value));
}

/// The element of the first lane that runs.
Value *Lowering::ofFirstLane(Value *value) {
  Value *lane = builder.CreateBinaryIntrinsic(Intrinsic::cttz, mask(),
                                              builder.getFalse());
  return builder.CreateExtractElement(value, lane);
}

/// An address of shared::cluster as one of the host, or the other way round.
Value *Lowering::convertCluster(Value *from, bool toCluster) {
  bool isVector = from->getType()->isVectorTy();
  AllocaInst *results = scratch(5, 8 * warpSize);
  callAt(toCluster ? "clusterOffsets" : "clusterAddresses", site(),
         builder.getVoidTy(), {spill(0, {from}), results});
  Value *value = reload(results, 0, builder.getInt64Ty());
  return isVector ? value : ofFirstLane(value);
}

/// An address in the site's space. One of shared::cluster becomes generic.
Value *Lowering::isOfCluster(Value *address) {
  Value *found = callAt("isOfCluster", site(), builder.getInt32Ty(),
                        {spill(0, {address})});
  return wide ? fromMask(found) : builder.CreateIsNotNull(found);
}

Value *Lowering::clusterAddress(const Operand &operand, Site &where) {
  if (!current->has("shared::cluster"))
    return address(operand, where.space);
  where.space = ptx::Space::Generic;
  return convertCluster(address(operand, ptx::Space::Shared),
                        /*toCluster=*/false);
}

} // namespace tsp::emulation
