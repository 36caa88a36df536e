//===- LowerBarrier.cpp - mbarrier ----------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/Barrier.h"
#include "jit/Lowering.h"

using namespace llvm;

namespace tsp::emulation {

/// The addresses of mbarrier objects: in shared memory, else generic.
Value *Lowering::barrierAddresses(unsigned index) {
  return spill(0, {address(operand(index), current->space())});
}

/// The operand as a number of 32 bits, or `otherwise` when there is none.
Value *Lowering::countOr(unsigned index, uint32_t otherwise) {
  wide = true;
  return index < current->operands.size() ? read(index, ptx::parseType("u32"))
                                          : constant(otherwise, 32);
}

void Lowering::mbarrier(const Instruction &instruction) {
  llvm::Type *none = builder.getVoidTy();
  if (instruction.has("init"))
    callAt("mbarrierInit", site(), none,
           {barrierAddresses(0), spill(1, {countOr(1, 1)})});
  else if (instruction.has("inval"))
    callAt("mbarrierInvalidate", site(), none, {barrierAddresses(0)});
  else if (instruction.has("expect_tx") && !instruction.numResults())
    callAt("mbarrierExpect", site(), none,
           {barrierAddresses(0), spill(1, {countOr(1, 0)})});
  else if (instruction.has("complete_tx"))
    callAt("mbarrierComplete", site(), none,
           {barrierAddresses(0), spill(1, {countOr(1, 0)})});
  else if (instruction.has("arrive") || instruction.has("arrive_drop"))
    arriveAtPhase(instruction);
  else if (instruction.has("test_wait") || instruction.has("try_wait"))
    waitForPhase(instruction);
  else if (instruction.has("pending_count"))
    write(builder.CreateAnd(builder.CreateLShr(read(1, ptx::parseType("b64")),
                                               constant(stateCountShift, 64)),
                            constant(maxPhaseCount, 64)));
  else
    unsupported();
}

void Lowering::arriveAtPhase(const Instruction &instruction) {
  // mbarrier.arrive{.expect_tx}{.noComplete}.b64 state, [addr]{, count or tx}
  Site where = site();
  bool expects = instruction.has("expect_tx");
  where.flags =
      uint8_t((expects ? ArriveFlags::ExpectBytes : 0) |
              (instruction.has("arrive_drop") ? ArriveFlags::Drop : 0) |
              (instruction.has("noComplete") ? ArriveFlags::KeepPhase : 0) |
              (instruction.has("relaxed") ? ArriveFlags::Relaxed : 0));
  unsigned first = instruction.numResults();
  wide = true;
  Value *count = expects ? constant(1, 32) : countOr(first + 1, 1);
  Value *bytes = expects ? countOr(first + 1, 0) : constant(0, 32);
  AllocaInst *states = scratch(3, 8 * warpSize);
  callAt(
      "mbarrierArrive", where, builder.getVoidTy(),
      {barrierAddresses(first), spill(1, {count}), spill(2, {bytes}), states});
  if (first)
    write(reload(states, 0, builder.getInt64Ty()));
}

void Lowering::waitForPhase(const Instruction &instruction) {
  // mbarrier.try_wait{.parity}.b64 complete, [addr], state or parity{, time}
  Site where = site();
  bool byParity = instruction.has("parity");
  where.flags = uint8_t((byParity ? WaitFlags::Parity : 0) |
                        (instruction.has("relaxed") ? WaitFlags::Relaxed : 0));
  bool wasWide = wide;
  wide = true;
  Value *phase = read(2, ptx::parseType(byParity ? "u32" : "b64"));
  phase = builder.CreateZExt(phase, shaped(builder.getInt64Ty()));
  Value *done = callAt("mbarrierWait", where, builder.getInt32Ty(),
                       {barrierAddresses(1), spill(1, {phase})});
  wide = wasWide;
  // Where all lanes ask for one phase they all get one answer.
  write(wide ? fromMask(done) : builder.CreateIsNotNull(done));
}

void Lowering::fence(const Instruction &instruction) {
  // Lanes keep their memory operations in order; the checker is told which
  // accesses are ordered for the async proxy, or for others than the block.
  Site where = site();
  if (instruction.has("mbarrier_init"))
    where.flags |= FenceFlags::BarrierInit;
  for (const std::string &modifier : instruction.modifiers)
    if (StringRef(modifier).starts_with("async"))
      where.flags |= FenceFlags::Async;
  if (where.flags || where.order)
    callAt("fence", where, builder.getVoidTy(), {});
}

void Lowering::setMaxRegisters(const Instruction &instruction) {
  // setmaxnreg.inc.sync.aligned.u32 count
  const Operand &count = operand(0);
  if (count.form != Operand::Form::Integer || count.bits < 24 ||
      count.bits > 256 || count.bits % 8)
    fail("'" + instruction.spelling() +
         "' needs a multiple of 8 from 24 to 256");
}

} // namespace tsp::emulation
