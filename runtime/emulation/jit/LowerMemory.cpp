//===- LowerMemory.cpp - loads, stores, atomics and copies ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/Barrier.h"
#include "jit/Lowering.h"

using namespace llvm;

namespace tsp::emulation {

/// Of 64 bits: an offset in shared memory, else an address of the host.
Value *Lowering::address(const Operand &operand, ptx::Space space) {
  if (operand.form != Operand::Form::Address || operand.elements.size() != 1)
    fail("'" + current->spelling() + "' needs an address in brackets");
  const Operand &base = operand.elements[0];
  Value *value;
  if (base.isRegister()) {
    value = readRegister(base.index);
    llvm::Type *wanted = builder.getInt64Ty();
    if (value->getType()->isVectorTy())
      wanted = FixedVectorType::get(wanted, warpSize);
    value = builder.CreateZExtOrTrunc(value, wanted);
  } else if (base.form == Operand::Form::Integer) {
    value = builder.getInt64(base.bits);
  } else {
    value = symbolAddress(base);
    // A variable's symbol is an offset in its own space, which generic accesses
    // do not take.
    if (base.variable->space == ptx::Space::Shared &&
        space != ptx::Space::Shared)
      value = builder.CreateAdd(value, sharedBase());
  }
  if (!operand.offset)
    return value;
  return builder.CreateAdd(
      value, ConstantInt::get(value->getType(), uint64_t(operand.offset)));
}

/// A kernel's parameter at a constant place needs no check at run time.
bool Lowering::loadParameter(const Instruction &instruction) {
  const Operand &from = operand(1);
  if (!function.isKernel || from.form != Operand::Form::Address ||
      from.elements[0].form != Operand::Form::Symbol)
    return false;
  const ptx::Variable *variable = from.elements[0].variable;
  if (!variable || variable->space != ptx::Space::Param ||
      variable->parameter < 0)
    return false;
  Type type = instruction.type();
  unsigned count = instruction.vectorSize();
  if (from.offset < 0 ||
      uint64_t(from.offset) + count * type.bits / 8 > variable->size)
    fail("a load past the end of parameter '" + variable->name + "'");
  Value *parameters =
      contextField(offsetof(WarpContext, parameters), builder.getPtrTy());
  const Operand &to = operand(0);
  for (unsigned i = 0; i < count; ++i) {
    uint64_t place = variable->offset + from.offset + i * type.bits / 8;
    Value *value =
        builder.CreateAlignedLoad(intType(type.bits),
                                  builder.CreateConstInBoundsGEP1_64(
                                      builder.getInt8Ty(), parameters, place),
                                  Align(1));
    const Operand &result =
        to.form == Operand::Form::List ? to.elements.at(i) : to;
    unsigned width = result.isRegister()
                         ? function.registers[result.index].type.bits
                         : type.bits;
    auto *sized = intType(std::max<unsigned>(width, type.bits));
    value = type.isSigned() ? builder.CreateSExt(value, sized)
                            : builder.CreateZExt(value, sized);
    write(result, value);
  }
  return true;
}

static const char *sized(const char *const (&names)[4], unsigned bytes) {
  return names[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3];
}

void Lowering::load(const Instruction &instruction) {
  Type type = instruction.type();
  if (!type || type.bits > 64)
    unsupported();
  if (instruction.space() == ptx::Space::Param && loadParameter(instruction))
    return;
  unsigned count = instruction.vectorSize(), bytes = type.bits / 8;
  const Operand &to = operand(0);
  if ((to.form == Operand::Form::List ? to.elements.size() : 1) != count)
    fail("'" + instruction.spelling() + "' needs " + std::to_string(count) +
         " results");
  Site where = site();
  where.size = uint8_t(bytes);
  where.count = uint8_t(count);
  where.polls = ptx::Control::readsFromOthers(instruction);
  Value *from = clusterAddress(operand(1), where);
  AllocaInst *result = scratch(1, uint64_t(bytes) * count * warpSize);
  bool isVector = from->getType()->isVectorTy();
  if (isVector) {
    static const char *const names[4] = {"load1", "load2", "load4", "load8"};
    callAt(sized(names, bytes), where, builder.getVoidTy(),
           {spill(0, {from}), result});
  } else {
    callAt("loadUniform", where, builder.getVoidTy(), {from, result});
  }
  auto *element = intType(type.bits);
  for (unsigned i = 0; i < count; ++i) {
    const Operand &target =
        to.form == Operand::Form::List ? to.elements[i] : to;
    Value *value;
    if (isVector)
      value = reload(result, i, element);
    else
      value = widen(
          builder.CreateAlignedLoad(element,
                                    builder.CreateConstInBoundsGEP1_64(
                                        builder.getInt8Ty(), result, i * bytes),
                                    Align(1)));
    unsigned width = target.isRegister()
                         ? function.registers[target.index].type.bits
                         : type.bits;
    auto *extended = shaped(intType(std::max<unsigned>(width, type.bits)));
    write(target, type.isSigned() ? builder.CreateSExt(value, extended)
                                  : builder.CreateZExt(value, extended));
  }
}

void Lowering::store(const Instruction &instruction) {
  Type type = instruction.type();
  if (!type || type.bits > 64)
    unsupported();
  unsigned count = instruction.vectorSize(), bytes = type.bits / 8;
  const Operand &from = operand(1);
  if ((from.form == Operand::Form::List ? from.elements.size() : 1) != count)
    fail("'" + instruction.spelling() + "' needs " + std::to_string(count) +
         " values");
  Site where = site();
  where.size = uint8_t(bytes);
  where.count = uint8_t(count);
  SmallVector<Value *> values;
  for (unsigned i = 0; i < count; ++i)
    values.push_back(
        read(from.form == Operand::Form::List ? from.elements[i] : from, type));
  if (instruction.has("async"))
    return storeAsync(instruction, where, values);
  static const char *const names[4] = {"store1", "store2", "store4", "store8"};
  Value *to = clusterAddress(operand(0), where);
  callAt(sized(names, bytes), where, builder.getVoidTy(),
         {spill(0, {to}), spill(1, values)});
}

AtomicOp Lowering::atomicOperation(const Instruction &instruction) const {
  static const std::pair<const char *, AtomicOp> operations[] = {
      {"add", AtomicOp::Add},   {"min", AtomicOp::Min}, {"max", AtomicOp::Max},
      {"and", AtomicOp::And},   {"or", AtomicOp::Or},   {"xor", AtomicOp::Xor},
      {"exch", AtomicOp::Exch}, {"cas", AtomicOp::Cas}, {"inc", AtomicOp::Inc},
      {"dec", AtomicOp::Dec}};
  for (const auto &[name, operation] : operations)
    if (instruction.has(name))
      return operation;
  unsupported();
}

void Lowering::atomic(const Instruction &instruction) {
  Type type = instruction.type();
  if (!type || type.bits > 64 || instruction.vectorSize() != 1)
    unsupported();
  Site where = site();
  where.operation = uint8_t(atomicOperation(instruction));
  where.size = uint8_t(type.bits / 8);
  where.polls = ptx::Control::readsFromOthers(instruction);
  bool hasResult = instruction.opcode == "atom";
  unsigned first = hasResult ? 1 : 0;
  bool isSwap = AtomicOp(where.operation) == AtomicOp::Cas;
  wide = true;
  auto value = [&](unsigned index) {
    return builder.CreateZExt(read(index, type), shaped(builder.getInt64Ty()));
  };
  Value *second = value(first + 1);
  Value *third = isSwap ? value(first + 2) : second;
  Value *to = clusterAddress(operand(first), where);
  AllocaInst *result = scratch(3, 8 * warpSize);
  callAt("atomic", where, builder.getVoidTy(),
         {spill(0, {to}), spill(1, {second}), spill(2, {third}), result});
  if (hasResult)
    write(builder.CreateTrunc(reload(result, 0, builder.getInt64Ty()),
                              shaped(intType(type.bits))));
}

void Lowering::asyncCopy(const Instruction &instruction) {
  if (instruction.has("bulk"))
    return bulkCopy(instruction);
  if (!instruction.has("async"))
    unsupported();
  Site where = site();
  if (instruction.has("mbarrier")) {
    // cp.async.mbarrier.arrive{.noinc}.b64 [addr]
    where.flags = instruction.has("noinc") ? ArriveFlags::NoIncrement : 0;
    callAt("asyncArrive", where, builder.getVoidTy(), {barrierAddresses(0)});
    return;
  }
  if (instruction.has("commit_group")) {
    callAt("asyncCommit", where, builder.getVoidTy(), {});
    return;
  }
  if (instruction.has("wait_all")) {
    callAt("asyncWaitAll", where, builder.getVoidTy(), {});
    return;
  }
  if (instruction.has("wait_group")) {
    if (operand(0).form != Operand::Form::Integer)
      fail("the number of groups must be a constant");
    callAt("asyncWait", where, builder.getVoidTy(),
           {builder.getInt32(uint32_t(operand(0).bits))});
    return;
  }
  if (operand(2).form != Operand::Form::Integer)
    fail("the size of a copy must be a constant");
  uint64_t bytes = operand(2).bits;
  if (bytes != 4 && bytes != 8 && bytes != 16)
    fail("cp.async copies 4, 8 or 16 bytes, not " + std::to_string(bytes));
  where.size = uint8_t(bytes);
  Type word = ptx::parseType("u32");
  Value *sourceBytes = splat(builder.getInt32(uint32_t(bytes)));
  for (unsigned i = 3; i < instruction.operands.size(); ++i) {
    const Operand &extra = operand(i);
    if (extra.isRegister() &&
        function.registers[extra.index].type.kind == ptx::Kind::Pred) {
      // ignore-src: nothing is read, the destination is zeros.
      sourceBytes = builder.CreateSelect(readPredicate(extra), constant(0, 32),
                                         sourceBytes);
    } else if (extra.isRegister() &&
               function.registers[extra.index].type.bits == 64) {
      // A cache policy.
    } else {
      sourceBytes = read(extra, word);
    }
  }
  Value *to = address(operand(0), ptx::Space::Shared);
  Value *from = address(operand(1), ptx::Space::Global);
  callAt("asyncCopy", where, builder.getVoidTy(),
         {spill(0, {to}), spill(1, {from}), spill(2, {sourceBytes})});
}

} // namespace tsp::emulation
