//===- Operands.cpp - registers, operands and calls of helpers ------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jit/Lowering.h"
#include "ptx/Lexer.h"

using namespace llvm;

namespace tsp::emulation {

void Lowering::fail(const std::string &message) const {
  throw ptx::Error(current ? current->line : function.line, message);
}

void Lowering::unsupported() const {
  fail("the instruction '" + current->spelling() +
       "' is not supported by the emulation");
}

void Lowering::expectOperands(unsigned count) const {
  if (current->operands.size() < count)
    fail("'" + current->spelling() + "' needs " + std::to_string(count) +
         " operands");
}

const ptx::Operand &Lowering::operand(unsigned index) const {
  expectOperands(index + 1);
  return current->operands[index];
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

llvm::Type *Lowering::shaped(llvm::Type *element, unsigned perLane) const {
  unsigned count = (wide ? warpSize : 1) * perLane;
  return count == 1 ? element : FixedVectorType::get(element, count);
}

Value *Lowering::constant(uint64_t bits, unsigned width) const {
  return ConstantInt::get(shaped(intType(width)),
                          APInt(64, bits).zextOrTrunc(width));
}

Value *Lowering::splat(Value *scalar) {
  return scalar->getType()->isVectorTy()
             ? scalar
             : builder.CreateVectorSplat(warpSize, scalar);
}

Value *Lowering::laneNumbers(unsigned bits) const {
  SmallVector<Constant *> lanes;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    lanes.push_back(ConstantInt::get(intType(bits), lane));
  return ConstantVector::get(lanes);
}

Value *Lowering::contextField(size_t offset, llvm::Type *type) {
  Value *place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(),
                                                    target.getArg(0), offset);
  return builder.CreateAlignedLoad(type, place,
                                   Align(type->isVectorTy() ? 4 : 1));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Value *Lowering::readRegister(int reg) {
  AllocaInst *slot = registers[reg];
  return builder.CreateLoad(slot->getAllocatedType(), slot);
}

Value *Lowering::sharedBase() {
  Value *base = contextField(offsetof(WarpContext, shared), builder.getPtrTy());
  return builder.CreatePtrToInt(base, builder.getInt64Ty());
}

bool Lowering::isKernelParameter(const ptx::Variable *variable) const {
  return function.isKernel && variable &&
         variable->space == ptx::Space::Param && variable->parameter >= 0;
}

Value *Lowering::parameterBase() {
  return builder.CreatePtrToInt(
      contextField(offsetof(WarpContext, parameters), builder.getPtrTy()),
      builder.getInt64Ty());
}

Value *Lowering::symbolAddress(const Operand &operand) {
  const ptx::Variable *variable = operand.variable;
  if (!variable)
    fail("the address of '" + operand.name + "' is not supported");
  auto base = [&](size_t field) {
    Value *pointer = contextField(field, builder.getPtrTy());
    Value *address = builder.CreatePtrToInt(pointer, builder.getInt64Ty());
    return builder.CreateAdd(
        address, builder.getInt64(variable->offset + operand.offset));
  };
  switch (variable->space) {
  case ptx::Space::Shared: {
    auto it = kernel.sharedOffsets.find(variable);
    uint64_t offset =
        it == kernel.sharedOffsets.end() ? kernel.dynamicOffset : it->second;
    return builder.getInt64(offset + operand.offset);
  }
  case ptx::Space::Global:
  case ptx::Space::Const:
    return base(offsetof(WarpContext, variables));
  case ptx::Space::Param:
    if (isKernelParameter(variable))
      return base(offsetof(WarpContext, parameters));
    break;
  default:
    break;
  }
  // A lane's own memory: one array an element of which is a lane's variable.
  auto it = laneMemory.find(variable);
  if (it == laneMemory.end())
    fail("'" + variable->name + "' has no address here");
  uint64_t stride = (variable->size + 15) / 16 * 16;
  Value *base0 = builder.CreatePtrToInt(it->second, builder.getInt64Ty());
  base0 = builder.CreateAdd(base0, builder.getInt64(operand.offset));
  Value *lanes = builder.CreateMul(
      laneNumbers(64), ConstantInt::get(laneNumbers(64)->getType(), stride));
  return builder.CreateAdd(splat(base0), lanes);
}

Value *Lowering::special(const std::string &name) {
  auto field = [&](size_t offset) {
    return contextField(offset, builder.getInt32Ty());
  };
  auto axis = [&]() -> unsigned { return unsigned(name.back() - 'x'); };
  auto starts = [&](const char *prefix) {
    return name.compare(0, std::strlen(prefix), prefix) == 0 && axis() < 3 &&
           name.size() == std::strlen(prefix) + 1;
  };
  auto *lanes = FixedVectorType::get(builder.getInt32Ty(), warpSize);
  if (starts("%tid."))
    return contextField(offsetof(WarpContext, thread) +
                            axis() * sizeof(WarpContext::thread[0]),
                        lanes);
  if (starts("%ntid."))
    return field(offsetof(WarpContext, blockSize) + 4 * axis());
  if (starts("%ctaid."))
    return field(offsetof(WarpContext, blockIndex) + 4 * axis());
  if (starts("%nctaid."))
    return field(offsetof(WarpContext, gridSize) + 4 * axis());
  if (starts("%cluster_ctaid."))
    return field(offsetof(WarpContext, clusterBlock) + 4 * axis());
  if (starts("%cluster_nctaid."))
    return field(offsetof(WarpContext, clusterSize) + 4 * axis());
  if (starts("%clusterid."))
    return field(offsetof(WarpContext, clusterIndex) + 4 * axis());
  if (starts("%nclusterid."))
    return field(offsetof(WarpContext, clusterGrid) + 4 * axis());
  if (name == "%cluster_ctarank")
    return field(offsetof(WarpContext, clusterRank));
  if (name == "%cluster_nctarank")
    return field(offsetof(WarpContext, clusterBlocks));
  if (name == "%is_explicit_cluster")
    return builder.CreateIsNotNull(field(offsetof(WarpContext, isCluster)));
  // Where cooperative groups find the state of their grid: the address's upper
  // and lower half.
  if (name == "%envreg1")
    return field(offsetof(WarpContext, gridWorkspace) + 4);
  if (name == "%envreg2")
    return field(offsetof(WarpContext, gridWorkspace));
  if (name == "%laneid")
    return laneNumbers(32);
  if (name == "%warpid")
    return field(offsetof(WarpContext, warp));
  if (name == "%nwarpid")
    return field(offsetof(WarpContext, warps));
  if (name == "%dynamic_smem_size")
    return field(offsetof(WarpContext, dynamicShared));
  if (name == "%total_smem_size")
    return field(offsetof(WarpContext, totalShared));
  if (name == "WARP_SZ")
    return builder.getInt32(warpSize);
  if (name == "%smid" || name == "%clock" || name == "%clock_hi")
    return builder.getInt32(0);
  if (name == "%nsmid")
    return builder.getInt32(1);
  if (name == "%clock64" || name == "%globaltimer")
    return builder.getInt64(0);
  if (name.compare(0, 10, "%lanemask_") == 0) {
    std::string relation = name.substr(10);
    SmallVector<Constant *> masks;
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      uint32_t below = (uint32_t(1) << lane) - 1, self = uint32_t(1) << lane;
      uint32_t bits = relation == "eq"   ? self
                      : relation == "lt" ? below
                      : relation == "le" ? below | self
                      : relation == "gt" ? ~(below | self)
                                         : ~below;
      masks.push_back(builder.getInt32(bits));
    }
    return ConstantVector::get(masks);
  }
  fail("the special register '" + name + "' is not supported by the emulation");
}

Value *Lowering::read(const Operand &operand, Type type) {
  unsigned bits = type.bits;
  Value *value = nullptr;
  switch (operand.form) {
  case Operand::Form::Register:
    if (operand.index < 0)
      fail("'_' cannot be read");
    value = readRegister(operand.index);
    if (operand.negated)
      value = builder.CreateNot(value);
    break;
  case Operand::Form::Special:
    value = special(operand.name);
    break;
  case Operand::Form::Integer:
    if (type.bits == 1)
      return constant(operand.bits != 0, 1);
    return constant(operand.bits, bits);
  case Operand::Form::Float32: {
    if (type.bits != 64 || !type.isFloat())
      return constant(operand.bits, bits);
    uint32_t narrow = uint32_t(operand.bits);
    float single;
    std::memcpy(&single, &narrow, 4);
    double wideValue = single;
    uint64_t wideBits;
    std::memcpy(&wideBits, &wideValue, 8);
    return constant(wideBits, 64);
  }
  case Operand::Form::Float64: {
    if (bits != 32)
      return constant(operand.bits, bits);
    double number;
    std::memcpy(&number, &operand.bits, 8);
    float narrow = float(number);
    uint32_t narrowBits;
    std::memcpy(&narrowBits, &narrow, 4);
    return constant(narrowBits, 32);
  }
  case Operand::Form::Symbol:
    value = operand.name == "WARP_SZ" ? special(operand.name)
                                      : symbolAddress(operand);
    // 32 bits hold an offset among the kernel's parameters.
    if (bits == 32 && isKernelParameter(operand.variable))
      value = builder.CreateSub(value, parameterBase());
    break;
  case Operand::Form::Address:
  case Operand::Form::List:
    fail("'" + current->spelling() + "' cannot take this operand");
  }
  unsigned have = value->getType()->getScalarSizeInBits();
  if (have != bits) {
    llvm::Type *to = intType(bits);
    if (value->getType()->isVectorTy())
      to = FixedVectorType::get(to, warpSize);
    bool isSigned = type.isSigned();
    value = isSigned ? builder.CreateSExtOrTrunc(value, to)
                     : builder.CreateZExtOrTrunc(value, to);
  }
  return widen(value);
}

Value *Lowering::readPredicate(const Operand &operand) {
  return read(operand, Type{ptx::Kind::Pred, 1, false});
}

Value *Lowering::readFloat(unsigned index, Type type) {
  return toFloat(read(index, type), type);
}

Value *Lowering::toFloat(Value *bits, Type type) {
  unsigned perLane = type.packed ? 2 : 1;
  switch (type.kind) {
  case ptx::Kind::Float:
    if (type.element().bits == 16) {
      Value *half =
          builder.CreateBitCast(bits, shaped(builder.getHalfTy(), perLane));
      return builder.CreateFPExt(half, shaped(builder.getFloatTy(), perLane));
    }
    return builder.CreateBitCast(
        bits,
        shaped(type.bits == 64 ? builder.getDoubleTy() : builder.getFloatTy()));
  case ptx::Kind::BFloat: {
    bits = builder.CreateBitCast(bits, shaped(builder.getInt16Ty(), perLane));
    Value *high =
        builder.CreateZExt(bits, shaped(builder.getInt32Ty(), perLane));
    high = builder.CreateShl(high, 16);
    return builder.CreateBitCast(high, shaped(builder.getFloatTy(), perLane));
  }
  case ptx::Kind::TF32:
  case ptx::Kind::Bits:
    return builder.CreateBitCast(
        bits,
        shaped(type.bits == 64 ? builder.getDoubleTy() : builder.getFloatTy()));
  default:
    unsupported();
  }
}

/// A double as a float, truncated with the last bit saying whether anything was
/// lost, so that a rounding of it to 16 bits is the only one.
Value *Lowering::truncateToFloat(Value *value) {
  auto *bits64 = value->getType()->getWithNewType(builder.getInt64Ty());
  Value *bits = builder.CreateBitCast(value, bits64);
  Value *low = builder.CreateAnd(
      bits, ConstantInt::get(bits64, (uint64_t(1) << 29) - 1));
  Value *lost = builder.CreateICmpNE(low, ConstantInt::get(bits64, 0));
  Value *sticky = builder.CreateShl(builder.CreateZExt(lost, bits64), 29);
  bits = builder.CreateAnd(
      bits, ConstantInt::get(bits64, ~((uint64_t(1) << 29) - 1)));
  Value *odd =
      builder.CreateBitCast(builder.CreateOr(bits, sticky), value->getType());
  return builder.CreateFPTrunc(
      odd, value->getType()->getWithNewType(builder.getFloatTy()));
}

Value *Lowering::roundToHalf(Value *value) {
  auto *to = value->getType()->getWithNewType(builder.getHalfTy());
  if (!value->getType()->getScalarType()->isDoubleTy())
    return builder.CreateFPTrunc(value, to);
  return builder.CreateFPTrunc(truncateToFloat(value), to);
}

Value *Lowering::roundToBFloat(Value *value) {
  auto *bits32 = value->getType()->getWithNewType(builder.getInt32Ty());
  auto *bits16 = value->getType()->getWithNewType(builder.getInt16Ty());
  if (value->getType()->getScalarType()->isDoubleTy())
    value = truncateToFloat(value);
  Value *bits = builder.CreateBitCast(value, bits32);
  Value *last = builder.CreateAnd(builder.CreateLShr(bits, 16),
                                  ConstantInt::get(bits32, 1));
  Value *rounded = builder.CreateAdd(
      bits, builder.CreateAdd(last, ConstantInt::get(bits32, 0x7fff)));
  rounded = builder.CreateLShr(rounded, 16);
  Value *isNaN = builder.CreateFCmpUNO(value, value);
  rounded =
      builder.CreateSelect(isNaN, ConstantInt::get(bits32, 0x7fff), rounded);
  return builder.CreateTrunc(rounded, bits16);
}

Value *Lowering::fromFloat(Value *value, Type type) {
  if (type.kind == ptx::Kind::BFloat)
    return roundToBFloat(value);
  if (type.element().bits == 16)
    return roundToHalf(value);
  return value;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Value *Lowering::guardValue() {
  if (!guard && current->guard >= 0) {
    guard = readRegister(current->guard);
    if (current->guardNegated)
      guard = builder.CreateNot(guard);
  }
  return guard;
}

Value *Lowering::maskOf(Value *predicate) {
  return builder.CreateBitCast(splat(predicate), builder.getInt32Ty());
}

Value *Lowering::fromMask(Value *bits) {
  return builder.CreateBitCast(
      bits, FixedVectorType::get(builder.getInt1Ty(), warpSize));
}

Value *Lowering::mask() {
  Value *condition = guardValue();
  if (!condition)
    return blockMask;
  if (!condition->getType()->isVectorTy())
    return builder.CreateSelect(condition, blockMask, builder.getInt32(0));
  return builder.CreateAnd(blockMask, maskOf(condition));
}

void Lowering::write(const Operand &operand, Value *value) {
  if (operand.isSink())
    return;
  if (!operand.isRegister())
    fail("the result of '" + current->spelling() + "' must be a register");
  writeRegister(operand.index, value);
}

void Lowering::writeRegister(int reg, Value *value) {
  AllocaInst *slot = registers[reg];
  llvm::Type *type = slot->getAllocatedType();
  unsigned width = type->getScalarSizeInBits();
  bool isUniform = uniformity.isUniform(reg);
  // To an integer of the register's width, the rest zeros.
  bool isVector = wide && value->getType()->isVectorTy();
  unsigned lanes = isVector ? warpSize : 1;
  unsigned have = unsigned(
      value->getType()->getPrimitiveSizeInBits().getFixedValue() / lanes);
  llvm::Type *integer = intType(have);
  if (isVector)
    integer = FixedVectorType::get(integer, warpSize);
  value = builder.CreateBitCast(value, integer);
  llvm::Type *resized = intType(width);
  if (isVector)
    resized = FixedVectorType::get(resized, warpSize);
  value = builder.CreateZExtOrTrunc(value, resized);
  if (isUniform && isVector)
    fail("'" + current->spelling() +
         "' gives lanes different values of a uniform register");
  if (!isUniform)
    value = splat(value);

  Value *condition = guardValue();
  if (block->divergent && uniformity.crossesDivergence(reg))
    condition = fromMask(mask());
  if (condition)
    value = builder.CreateSelect(condition, value, readRegister(reg));
  builder.CreateStore(value, slot);
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

AllocaInst *Lowering::scratch(unsigned slot, uint64_t bytes) {
  AllocaInst *&memory = scratchSlots[{slot, bytes}];
  if (!memory) {
    IRBuilder<> entry(&target.getEntryBlock(), target.getEntryBlock().begin());
    memory = entry.CreateAlloca(ArrayType::get(entry.getInt8Ty(), bytes));
    memory->setAlignment(Align(64));
  }
  return memory;
}

AllocaInst *Lowering::spill(unsigned slot, ArrayRef<Value *> values) {
  uint64_t bytes = 0;
  for (Value *value : values)
    bytes +=
        splat(value)->getType()->getPrimitiveSizeInBits().getFixedValue() / 8;
  AllocaInst *memory = scratch(slot, bytes);
  uint64_t offset = 0;
  for (Value *value : values) {
    value = splat(value);
    Value *place =
        builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), memory, offset);
    builder.CreateAlignedStore(value, place, Align(32));
    offset += value->getType()->getPrimitiveSizeInBits().getFixedValue() / 8;
  }
  return memory;
}

Value *Lowering::reload(AllocaInst *memory, unsigned index,
                        llvm::Type *element) {
  auto *type = FixedVectorType::get(element, warpSize);
  uint64_t bytes = type->getPrimitiveSizeInBits().getFixedValue() / 8;
  Value *place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), memory,
                                                    index * bytes);
  return builder.CreateAlignedLoad(type, place, Align(32));
}

Value *Lowering::callHelper(const char *name, llvm::Type *result,
                            ArrayRef<Value *> arguments) {
  SmallVector<llvm::Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  FunctionCallee callee = kernel.module.getOrInsertFunction(
      name, FunctionType::get(result, types, false));
  return builder.CreateCall(callee, arguments);
}

/// See MemoryOrder. Only fences of other blocks' scope count.
uint8_t Lowering::memoryOrder() const {
  auto has = [&](const char *modifier) { return current->has(modifier); };
  bool isStrong = has("volatile") || has("relaxed") || has("mmio");
  bool releases = has("release") || has("acq_rel");
  bool acquires = has("acquire") || has("acq_rel");
  uint8_t order = (releases ? MemoryOrder::Release : 0) |
                  (acquires ? MemoryOrder::Acquire : 0);
  const std::string &opcode = current->opcode;
  if (opcode == "membar" || opcode == "fence") {
    bool isWide = has("gl") || has("sys") || has("gpu") || has("cluster");
    return isWide && !has("proxy") ? MemoryOrder::Release | MemoryOrder::Acquire
                                   : 0;
  }
  if (opcode == "ld")
    return isStrong || acquires ? MemoryOrder::Strong | MemoryOrder::Acquire
                                : 0;
  if (opcode == "st")
    return order | (isStrong || releases ? MemoryOrder::Strong : 0);
  bool swaps = has("cas") || has("exch");
  if (opcode == "atom")
    return order | MemoryOrder::Acquire | (swaps ? MemoryOrder::Strong : 0);
  return opcode == "red" ? order : 0;
}

Site Lowering::site() const {
  Site site;
  site.line = current->line;
  site.spelling = current->spelling();
  site.space = current->space();
  site.type = current->type();
  site.order = memoryOrder();
  return site;
}

Value *Lowering::callAt(const char *name, const Site &site, llvm::Type *result,
                        ArrayRef<Value *> arguments) {
  SmallVector<Value *> all = {target.getArg(0),
                              builder.getInt32(uint32_t(kernel.sites.size())),
                              mask()};
  all.append(arguments.begin(), arguments.end());
  kernel.sites.push_back(site);
  return callHelper(name, result, all);
}

Value *Lowering::callMath(const char *name, ArrayRef<Value *> arguments,
                          unsigned rounding) {
  SmallVector<Value *> all;
  for (unsigned i = 0; i < arguments.size(); ++i)
    all.push_back(spill(i, {arguments[i]}));
  llvm::Type *element = arguments[0]->getType()->getScalarType();
  if (StringRef(name) == "narrowRounded")
    element = builder.getFloatTy();
  AllocaInst *result =
      scratch(unsigned(arguments.size()),
              element->getPrimitiveSizeInBits().getFixedValue() / 8 * warpSize);
  all.push_back(result);
  if (rounding)
    all.push_back(builder.getInt32(rounding));
  callHelper(name, builder.getVoidTy(), all);
  if (wide)
    return reload(result, 0, element);
  return builder.CreateAlignedLoad(element, result, Align(32));
}

} // namespace tsp::emulation
