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
/// The types of D, A and B that a product may have.
struct ProductTypes {
  const char *d, *a, *b;
  SumFormat sum;
  ElementFormat formatOfA, formatOfB;
};
} // namespace

static const ProductTypes *findTypes(StringRef d, StringRef a, StringRef b) {
  using E = ElementFormat;
  static const ProductTypes table[] = {
      {"f32", "bf16", "bf16", SumFormat::F32, E::BF16, E::BF16},
      {"f32", "f16", "f16", SumFormat::F32, E::F16, E::F16},
      {"f16", "f16", "f16", SumFormat::F16, E::F16, E::F16},
      {"f32", "tf32", "tf32", SumFormat::F32, E::TF32, E::TF32},
      {"f32", "e4m3", "e4m3", SumFormat::F32, E::E4M3, E::E4M3},
      {"f32", "e4m3", "e5m2", SumFormat::F32, E::E4M3, E::E5M2},
      {"f32", "e5m2", "e4m3", SumFormat::F32, E::E5M2, E::E4M3},
      {"f32", "e5m2", "e5m2", SumFormat::F32, E::E5M2, E::E5M2},
      {"f16", "e4m3", "e4m3", SumFormat::F16, E::E4M3, E::E4M3},
      {"f16", "e4m3", "e5m2", SumFormat::F16, E::E4M3, E::E5M2},
      {"f16", "e5m2", "e4m3", SumFormat::F16, E::E5M2, E::E4M3},
      {"f16", "e5m2", "e5m2", SumFormat::F16, E::E5M2, E::E5M2},
      {"s32", "s8", "s8", SumFormat::S32, E::S8, E::S8},
      {"s32", "s8", "u8", SumFormat::S32, E::S8, E::U8},
      {"s32", "u8", "s8", SumFormat::S32, E::U8, E::S8},
      {"s32", "u8", "u8", SumFormat::S32, E::U8, E::U8},
  };
  for (const ProductTypes &types : table)
    if (d == types.d && a == types.a && b == types.b)
      return &types;
  return nullptr;
}

/// Of an instruction whose last `count` modifiers are the types of D, A, B and,
/// of mma.sync, C. ptxas takes .satfinite before them, as the manual has it,
/// and behind them, where CUTLASS writes it.
ProductForm Lowering::productTypes(const Instruction &instruction,
                                   unsigned count) const {
  ArrayRef<std::string> types(instruction.modifiers);
  if (!types.empty() && types.back() == "satfinite")
    types = types.drop_back();
  types = types.take_back(count);
  const ProductTypes *found =
      types.size() == count ? findTypes(types[0], types[1], types[2]) : nullptr;
  if (!found || types.back() != types[count == 4 ? 0 : 2])
    unsupported();
  ProductForm form;
  form.a = found->formatOfA;
  form.b = found->formatOfB;
  form.sum = found->sum;
  form.saturates = instruction.has("satfinite");
  if (form.saturates && form.sum != SumFormat::S32)
    unsupported();
  return form;
}

/// Of the shape m16n8kK; 0 when K is not 16 or 32 bytes.
static unsigned registersOfB(StringRef shape, ElementFormat format) {
  unsigned depth;
  if (!shape.consume_front("m16n8k") || shape.getAsInteger(10, depth))
    return 0;
  unsigned bytes = depth * bytesOf(format);
  return bytes == 16 || bytes == 32 ? bytes / 16 : 0;
}

void Lowering::multiplyMatrix(const Instruction &instruction) {
  if (instruction.has("m8n8k4") && instruction.modifiers.back() == "f64")
    return multiplyDoubles();
  // mma.sync.aligned.shape.row.col{.satfinite}.d.a.b.c
  Site where = site();
  ProductForm &form = where.product = productTypes(instruction, 4);
  form.registersOfB = uint8_t(registersOfB(instruction.modifiers[2], form.a));
  if (!form.registersOfB || !instruction.has("row") ||
      !instruction.has("col") ||
      instruction.modifiers.size() != (form.saturates ? 10u : 9u))
    unsupported();
  wide = true;
  checkFragment(0, form.registersOfSums(8));
  checkFragment(1, 2 * form.registersOfB);
  checkFragment(2, form.registersOfB);
  checkFragment(3, form.registersOfSums(8));
  // The pointers never change: they are stored once, where the function begins.
  SmallVector<Value *> pointers;
  for (const Operand &list : instruction.operands)
    for (const Operand &element : list.elements)
      pointers.push_back(fragmentPointer(element, unsigned(pointers.size())));
  callAt("mma", where, builder.getVoidTy(), {pointerTable(pointers)});
}

/// m8n8k4: a has row lane / 4 and column lane % 4, b the row lane % 4 and the
/// column lane / 4, c the row lane / 4 and two columns from 2 (lane % 4) on.
/// The products are added in the order of k, and each is rounded with its sum.
void Lowering::multiplyDoubles() {
  checkFragment(0, 2);
  checkFragment(1, 1);
  checkFragment(2, 1);
  checkFragment(3, 2);
  wide = true;
  callAt("checkWhole", site(), builder.getVoidTy(), {});
  Type f64 = ptx::parseType("f64");
  auto element = [&](unsigned index, unsigned number) {
    return toFloat(read(operand(index).elements[number], f64), f64);
  };
  auto spread = [&](Value *x, auto laneOf) {
    SmallVector<int> lanes;
    for (int lane = 0; lane < int(warpSize); ++lane)
      lanes.push_back(laneOf(lane));
    return builder.CreateShuffleVector(x, lanes);
  };
  Value *a = element(1, 0), *b = element(2, 0);
  SmallVector<Value *> sums;
  for (unsigned column = 0; column < 2; ++column) {
    Value *sum = element(3, column);
    for (int k = 0; k < 4; ++k) {
      Value *x = spread(a, [&](int lane) { return lane / 4 * 4 + k; });
      Value *y = spread(
          b, [&](int lane) { return 4 * (2 * (lane % 4) + int(column)) + k; });
      sum = builder.CreateIntrinsic(Intrinsic::fma, {sum->getType()},
                                    {x, y, sum});
    }
    sums.push_back(sum);
  }
  for (unsigned column = 0; column < 2; ++column)
    write(operand(0).elements[column], fromFloat(sums[column], f64));
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
