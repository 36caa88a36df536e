//===- LowerCompare.cpp - comparisons and selection -----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jit/Lowering.h"

#include <optional>

using namespace llvm;

namespace tsp::emulation {

static std::optional<CmpInst::Predicate>
integerRelation(const std::string &name, bool isSigned) {
  static const std::map<std::string,
                        std::pair<CmpInst::Predicate, CmpInst::Predicate>>
      table = {
          {"eq", {CmpInst::ICMP_EQ, CmpInst::ICMP_EQ}},
          {"ne", {CmpInst::ICMP_NE, CmpInst::ICMP_NE}},
          {"lt", {CmpInst::ICMP_SLT, CmpInst::ICMP_ULT}},
          {"le", {CmpInst::ICMP_SLE, CmpInst::ICMP_ULE}},
          {"gt", {CmpInst::ICMP_SGT, CmpInst::ICMP_UGT}},
          {"ge", {CmpInst::ICMP_SGE, CmpInst::ICMP_UGE}},
          {"lo", {CmpInst::ICMP_ULT, CmpInst::ICMP_ULT}},
          {"ls", {CmpInst::ICMP_ULE, CmpInst::ICMP_ULE}},
          {"hi", {CmpInst::ICMP_UGT, CmpInst::ICMP_UGT}},
          {"hs", {CmpInst::ICMP_UGE, CmpInst::ICMP_UGE}},
      };
  auto it = table.find(name);
  if (it == table.end())
    return std::nullopt;
  return isSigned ? it->second.first : it->second.second;
}

static std::optional<CmpInst::Predicate>
floatRelation(const std::string &name) {
  static const std::map<std::string, CmpInst::Predicate> table = {
      {"eq", CmpInst::FCMP_OEQ},  {"ne", CmpInst::FCMP_ONE},
      {"lt", CmpInst::FCMP_OLT},  {"le", CmpInst::FCMP_OLE},
      {"gt", CmpInst::FCMP_OGT},  {"ge", CmpInst::FCMP_OGE},
      {"equ", CmpInst::FCMP_UEQ}, {"neu", CmpInst::FCMP_UNE},
      {"ltu", CmpInst::FCMP_ULT}, {"leu", CmpInst::FCMP_ULE},
      {"gtu", CmpInst::FCMP_UGT}, {"geu", CmpInst::FCMP_UGE},
      {"num", CmpInst::FCMP_ORD}, {"nan", CmpInst::FCMP_UNO},
  };
  auto it = table.find(name);
  return it == table.end() ? std::nullopt : std::make_optional(it->second);
}

/// The relation of operands 1 and 2; for packed types of both halves of a lane.
Value *Lowering::compare() {
  const Instruction &instruction = *current;
  // The last type is that of the operands; set has its result's before.
  Type type = instruction.type(instruction.opcode == "set" ? 1 : 0);
  if (instruction.modifiers.empty())
    unsupported();
  const std::string &name = instruction.modifiers[0];
  if (type.isFloat()) {
    std::optional<CmpInst::Predicate> relation = floatRelation(name);
    if (!relation)
      unsupported();
    Value *x = flush(readFloat(1, type), type),
          *y = flush(readFloat(2, type), type);
    return builder.CreateFCmp(*relation, x, y);
  }
  std::optional<CmpInst::Predicate> relation =
      integerRelation(name, type.isSigned());
  if (!relation || !type || type.packed)
    unsupported();
  return builder.CreateICmp(*relation, read(1, type), read(2, type));
}

/// Combines with operand 3 when the instruction has one.
static Value *combined(IRBuilder<> &builder,
                       const ptx::Instruction &instruction, Value *relation,
                       Value *other) {
  if (instruction.has("and"))
    return builder.CreateAnd(relation, other);
  if (instruction.has("or"))
    return builder.CreateOr(relation, other);
  return builder.CreateXor(relation, other);
}

void Lowering::setPredicate(const Instruction &instruction) {
  Value *relation = compare();
  Type type = instruction.type();
  bool isPair = operand(0).form == Operand::Form::List;
  Value *second = nullptr;
  if (type.packed) {
    // One predicate for each half.
    if (!isPair)
      unsupported();
    SmallVector<int> even, odd;
    for (unsigned lane = 0; lane < (wide ? warpSize : 1); ++lane) {
      even.push_back(int(2 * lane));
      odd.push_back(int(2 * lane + 1));
    }
    second = wide ? builder.CreateShuffleVector(relation, odd)
                  : builder.CreateExtractElement(relation, uint64_t(1));
    relation = wide ? builder.CreateShuffleVector(relation, even)
                    : builder.CreateExtractElement(relation, uint64_t(0));
  } else if (isPair) {
    second = builder.CreateNot(relation);
  }
  if (instruction.operands.size() > 3) {
    Value *other = readPredicate(operand(3));
    relation = combined(builder, instruction, relation, other);
    if (second)
      second = combined(builder, instruction, second, other);
  }
  if (!isPair)
    return write(relation);
  write(operand(0).elements[0], relation);
  write(operand(0).elements[1], second);
}

void Lowering::set(const Instruction &instruction) {
  Value *relation = compare();
  Type to = instruction.type(0), from = instruction.type(1);
  if (from.packed || to.packed) {
    // The two forms that compilers make: f16x2 with a result of the same type,
    // and masks of 16 bits.
    if (instruction.operands.size() > 3)
      unsupported();
    auto *halves = shaped(builder.getInt16Ty(), 2);
    uint64_t one = to.kind == ptx::Kind::BFloat ? 0x3f80 : 0x3c00;
    Value *yes = ConstantInt::get(halves, to.isFloat() ? one : 0xffff);
    return write(
        builder.CreateSelect(relation, yes, Constant::getNullValue(halves)));
  }
  if (instruction.operands.size() > 3)
    relation =
        combined(builder, instruction, relation, readPredicate(operand(3)));
  if (!to.isFloat())
    return write(builder.CreateSExt(relation, shaped(intType(to.bits))));
  uint64_t one = to.kind == ptx::Kind::BFloat ? 0x3f80
                 : to.bits == 16              ? 0x3c00
                                              : 0x3f800000;
  write(builder.CreateSelect(relation, constant(one, to.bits),
                             constant(0, to.bits)));
}

void Lowering::select(const Instruction &instruction) {
  Type type = instruction.type();
  write(builder.CreateSelect(readPredicate(operand(3)), read(1, type),
                             read(2, type)));
}

void Lowering::selectBySign(const Instruction &instruction) {
  Type type = instruction.type(0), test = instruction.type(1);
  Value *isPositive =
      test.isFloat()
          ? builder.CreateFCmpOGE(
                flush(readFloat(3, test), test),
                ConstantFP::get(shaped(builder.getFloatTy()), 0.0))
          : builder.CreateICmpSGE(read(3, test), constant(0, test.bits));
  write(builder.CreateSelect(isPositive, read(1, type), read(2, type)));
}

} // namespace tsp::emulation
