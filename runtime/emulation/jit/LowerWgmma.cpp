//===- LowerWgmma.cpp - matrix products of warpgroups ---------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Asynchronous warpgroup level matrix instructions".
//
//===----------------------------------------------------------------------===//

#include "jit/Lowering.h"

using namespace llvm;

namespace tsp::emulation {

/// N of m64nNkK when K is what the type has in 32 bytes; else 0.
static unsigned columnsOf(StringRef shape, ElementFormat format) {
  unsigned columns, depth;
  if (!shape.consume_front("m64n") || shape.consumeInteger(10, columns) ||
      !shape.consume_front("k") || shape.getAsInteger(10, depth))
    return 0;
  bool isInteger = format == ElementFormat::S8 || format == ElementFormat::U8;
  // Integers have no odd multiples of 8 beyond 24.
  bool exists = columns % 8 == 0 && columns >= 8 && columns <= 256 &&
                (!isInteger || columns % 16 == 0 || columns <= 24);
  return exists && depth * bytesOf(format) == wgmmaDepth ? columns : 0;
}

void Lowering::warpgroupMatrix(const Instruction &instruction) {
  if (!instruction.has("sync") || !instruction.has("aligned"))
    unsupported();
  if (instruction.has("mma_async"))
    return warpgroupMultiply(instruction);
  wide = true;
  if (instruction.has("fence")) {
    callAt("wgmmaFence", site(), builder.getVoidTy(), {});
    return;
  }
  if (instruction.has("commit_group")) {
    callAt("wgmmaCommit", site(), builder.getVoidTy(), {});
    return;
  }
  if (!instruction.has("wait_group"))
    unsupported();
  if (operand(0).form != Operand::Form::Integer)
    fail("the number of groups must be a constant");
  callAt("wgmmaWait", site(), builder.getVoidTy(),
         {builder.getInt32(uint32_t(operand(0).bits))});
}

/// The types and constants of an instruction:
/// wgmma.mma_async.sync.aligned.shape{.satfinite}.d.a.b
/// d, a, b, scale-d{, scale-a, scale-b{, trans-a}{, trans-b}}
ProductForm Lowering::wgmmaForm(const Instruction &instruction) const {
  ProductForm form = productTypes(instruction, 3);
  // mma_async.sync.aligned.shape come first.
  form.columns = uint16_t(columnsOf(instruction.modifiers[3], form.a));
  if (!form.columns)
    unsupported();
  form.isAInRegisters = operand(1).form == Operand::Form::List;

  auto flag = [&](unsigned index) -> int64_t {
    if (operand(index).form != Operand::Form::Integer)
      fail("operand " + std::to_string(index) + " of '" +
           instruction.spelling() + "' must be a constant");
    return int64_t(operand(index).bits);
  };
  bool isInteger = form.sum == SumFormat::S32;
  unsigned expected = isInteger ? 4 : 6;
  if (!isInteger) {
    form.isNegated = flag(4) * flag(5) < 0;
    if (bytesOf(form.a) == 2) {
      if (!form.isAInRegisters)
        form.isTransposedA = flag(expected++);
      form.isTransposedB = flag(expected++);
    }
  }
  if (instruction.operands.size() != expected)
    fail("'" + instruction.spelling() + "' needs " + std::to_string(expected) +
         " operands");
  return form;
}

void Lowering::warpgroupMultiply(const Instruction &instruction) {
  // The products would outlive the function's frame, where D is.
  if (!function.isKernel)
    fail("'" + instruction.spelling() +
         "' in a function that is called: it must be inlined into the kernel");
  Site where = site();
  where.product = wgmmaForm(instruction);
  wide = true;
  checkFragment(0, where.product.registersOfSums(where.product.columns));
  if (where.product.isAInRegisters)
    checkFragment(1, wgmmaFragment);
  unsigned slot = 0;
  auto pointers = [&](const Operand &list) {
    SmallVector<Value *> result;
    for (const Operand &element : list.elements)
      result.push_back(fragmentPointer(element, slot++));
    return pointerTable(result);
  };
  // Sums need places that last until the wait.
  for (const Operand &element : operand(0).elements)
    if (!element.isRegister() || !isFragment[element.index])
      fail("each result of '" + instruction.spelling() +
           "' must be a register of 32 bits");
  Value *sums = pointers(operand(0));
  Type descriptor = ptx::parseType("b64");
  bool inRegisters = where.product.isAInRegisters;
  Value *fragment = inRegisters ? pointers(operand(1))
                                : Constant::getNullValue(sums->getType());
  Value *b = spill(slot + 1, {read(2, descriptor)});
  Value *a = inRegisters ? b : spill(slot, {read(1, descriptor)});
  callAt("wgmma", where, builder.getVoidTy(),
         {sums, fragment, a, b, maskOf(readPredicate(operand(3)))});
}

/// Tells the checker of other accesses to registers of products: once for each
/// in a block of the function between products, fences and waits.
void Lowering::touchProductRegisters(const Instruction &instruction) {
  if (instruction.opcode == "wgmma")
    return touched.clear();
  uint32_t where = 0;
  auto touch = [&](int reg, bool writes) {
    if (!isOfProduct[reg] || !touched.insert({reg, writes}).second)
      return;
    if (!where) {
      where = uint32_t(kernel.sites.size());
      kernel.sites.push_back(site());
    }
    callHelper("wgmmaTouch", builder.getVoidTy(),
               {target.getArg(0), builder.getInt32(where), mask(),
                registers[reg], builder.getInt32(writes)});
  };
  instruction.forEachUse([&](int reg) { touch(reg, false); });
  instruction.forEachDef([&](int reg) { touch(reg, true); });
}

} // namespace tsp::emulation
