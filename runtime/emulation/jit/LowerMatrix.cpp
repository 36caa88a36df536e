//===- LowerMatrix.cpp - matrix fragments ---------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jit/Lowering.h"

using namespace llvm;

namespace tsp::emulation {

namespace {
/// A form of mma.sync: how many registers of 32 bits its fragments take.
struct MmaForm {
  const char *shape;
  const char *types; ///< d.a.b.c
  const char *helper;
  unsigned a, b, c;
};
} // namespace

static const MmaForm mmaForms[] = {
    {"m16n8k16", "f32.bf16.bf16.f32", "mmaM16N8K16BF16", 4, 2, 4},
    {"m16n8k8", "f32.bf16.bf16.f32", "mmaM16N8K8BF16", 2, 1, 4},
    {"m16n8k16", "f32.f16.f16.f32", "mmaM16N8K16F16", 4, 2, 4},
    {"m16n8k8", "f32.f16.f16.f32", "mmaM16N8K8F16", 2, 1, 4},
    {"m16n8k16", "f16.f16.f16.f16", "mmaM16N8K16F16F16", 4, 2, 2},
    {"m16n8k8", "f16.f16.f16.f16", "mmaM16N8K8F16F16", 2, 1, 2},
    {"m16n8k8", "f32.tf32.tf32.f32", "mmaM16N8K8TF32", 4, 2, 4},
    {"m16n8k4", "f32.tf32.tf32.f32", "mmaM16N8K4TF32", 2, 1, 4},
    {"m16n8k32", "s32.s8.s8.s32", "mmaM16N8K32S8", 4, 2, 4},
    {"m16n8k16", "s32.s8.s8.s32", "mmaM16N8K16S8", 2, 1, 4},
};

void Lowering::multiplyMatrix(const Instruction &instruction) {
  std::string types;
  for (unsigned i = 0; Type type = instruction.type(i); ++i) {
    for (const std::string &modifier : instruction.modifiers)
      if (ptx::parseType(modifier) == type) {
        types += (types.empty() ? "" : ".") + modifier;
        break;
      }
  }
  const MmaForm *form = nullptr;
  for (const MmaForm &candidate : mmaForms)
    if (instruction.has(candidate.shape) && types == candidate.types)
      form = &candidate;
  if (!form || !instruction.has("row") || !instruction.has("col") ||
      instruction.has("sp") || instruction.has("satfinite"))
    unsupported();
  wide = true;
  checkFragment(0, form->c);
  checkFragment(1, form->a);
  checkFragment(2, form->b);
  checkFragment(3, form->c);
  // The pointers never change: they are stored once, where the function begins.
  SmallVector<Value *> pointers;
  for (const Operand &list : instruction.operands)
    for (const Operand &element : list.elements)
      pointers.push_back(fragmentPointer(element, unsigned(pointers.size())));
  callAt(form->helper, site(), builder.getVoidTy(), {pointerTable(pointers)});
}

void Lowering::checkFragment(unsigned index, unsigned registers) const {
  const Operand &list = operand(index);
  if (list.form != Operand::Form::List || list.elements.size() != registers)
    fail("operand " + std::to_string(index) + " of '" + current->spelling() +
         "' needs " + std::to_string(registers) + " registers");
}

/// Where the lanes of a fragment's register are: the register's own place, or a
/// copy of what has none.
Value *Lowering::fragmentPointer(const Operand &element, unsigned slot) {
  if (element.isRegister() && isFragment[element.index] &&
      registers[element.index]->getAllocatedType() ==
          FixedVectorType::get(builder.getInt32Ty(), warpSize))
    return registers[element.index];
  if (element.isSink())
    return scratch(slot, 4 * warpSize);
  return spill(slot, {read(element, ptx::parseType("b32"))});
}

Value *Lowering::pointerTable(ArrayRef<Value *> pointers) {
  IRBuilder<> entry(context);
  BasicBlock &start = target.getEntryBlock();
  entry.SetInsertPoint(&start, start.begin());
  AllocaInst *table =
      entry.CreateAlloca(ArrayType::get(entry.getPtrTy(), pointers.size()));
  // After all allocations so far; the entry has no terminator yet.
  entry.SetInsertPoint(&start);
  for (unsigned i = 0; i < pointers.size(); ++i)
    entry.CreateStore(pointers[i], entry.CreateConstInBoundsGEP1_64(
                                       entry.getPtrTy(), table, i));
  return table;
}

/// The matrices of an ldmatrix or stmatrix.
static unsigned matricesOf(const ptx::Instruction &instruction) {
  return instruction.has("x4") ? 4 : instruction.has("x2") ? 2 : 1;
}

void Lowering::loadMatrix(const Instruction &instruction) {
  if (!instruction.has("m8n8") || !instruction.has("b16"))
    unsupported();
  unsigned count = matricesOf(instruction);
  Site where = site();
  where.size = 16;
  where.count = uint8_t(count);
  wide = true;
  const Operand &to = operand(0);
  if ((to.form == Operand::Form::List ? to.elements.size() : 1) != count)
    fail("'" + instruction.spelling() + "' needs " + std::to_string(count) +
         " results");
  Value *from = address(operand(1), where.space);
  SmallVector<Value *> pointers;
  for (unsigned i = 0; i < count; ++i)
    pointers.push_back(fragmentPointer(
        to.form == Operand::Form::List ? to.elements[i] : to, 1 + i));
  callAt(instruction.has("trans") ? "ldmatrixTrans" : "ldmatrix", where,
         builder.getVoidTy(), {spill(0, {from}), pointerTable(pointers)});
}

void Lowering::storeMatrix(const Instruction &instruction) {
  if (!instruction.has("m8n8") || !instruction.has("b16"))
    unsupported();
  unsigned count = matricesOf(instruction);
  Site where = site();
  where.size = 16;
  where.count = uint8_t(count);
  const Operand &from = operand(1);
  if ((from.form == Operand::Form::List ? from.elements.size() : 1) != count)
    fail("'" + instruction.spelling() + "' needs " + std::to_string(count) +
         " values");
  SmallVector<Value *> values;
  for (unsigned i = 0; i < count; ++i)
    values.push_back(
        read(from.form == Operand::Form::List ? from.elements[i] : from,
             ptx::parseType("b32")));
  Value *to = address(operand(0), where.space);
  callAt(instruction.has("trans") ? "stmatrixTrans" : "stmatrix", where,
         builder.getVoidTy(), {spill(0, {to}), spill(1, values)});
}

void Lowering::moveMatrix(const Instruction &instruction) {
  if (!instruction.has("trans") || !instruction.has("b16"))
    unsupported();
  wide = true;
  AllocaInst *result = scratch(1, 4 * warpSize);
  callAt("movmatrix", site(), builder.getVoidTy(),
         {spill(0, {read(1, ptx::parseType("b32"))}), result});
  write(reload(result, 0, builder.getInt32Ty()));
}

} // namespace tsp::emulation
