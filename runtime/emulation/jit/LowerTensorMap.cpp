//===- LowerTensorMap.cpp - tensor maps that kernels change ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/TensorMap.h"
#include "jit/Lowering.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace tsp::emulation {

/// Fields whose values do not depend on how hardware encodes types and modes.
static std::optional<MapField> findField(StringRef name) {
  return StringSwitch<std::optional<MapField>>(name)
      .Case("global_address", MapField::Address)
      .Case("rank", MapField::Rank)
      .Case("box_dim", MapField::Box)
      .Case("global_dim", MapField::Size)
      .Case("global_stride", MapField::Stride)
      .Case("element_stride", MapField::ElementStride)
      .Default(std::nullopt);
}

void Lowering::tensorMap(const Instruction &instruction) {
  wide = true;
  Site where = site();
  if (instruction.has("cp_fenceproxy")) {
    // tensormap.cp_fenceproxy.global.shared::cta... [to], [from], 128
    where.space = ptx::Space::Shared;
    callAt("copyMap", where, builder.getVoidTy(),
           {spill(0, {address(operand(0), ptx::Space::Global)}),
            spill(1, {address(operand(1), ptx::Space::Shared)})});
    return;
  }
  // tensormap.replace.tile.field{.space}.b1024.type [map], {dimension,} value
  if (!instruction.has("replace") || !instruction.has("tile"))
    unsupported();
  std::optional<MapField> field = findField(instruction.modifiers[2]);
  if (!field)
    unsupported();
  bool hasDimension = *field != MapField::Address && *field != MapField::Rank;
  expectOperands(hasDimension ? 3 : 2);
  uint32_t dimension = 0;
  if (hasDimension) {
    if (operand(1).form != Operand::Form::Integer)
      fail("the dimension must be a constant");
    dimension = uint32_t(operand(1).bits);
  }
  // The type behind .b1024, the object's own.
  Type type = ptx::parseType(instruction.modifiers.back());
  Value *value = read(hasDimension ? 2 : 1, type);
  value = builder.CreateZExt(value, shaped(builder.getInt64Ty()));
  callAt("replaceInMap", where, builder.getVoidTy(),
         {spill(0, {address(operand(0), where.space)}),
          builder.getInt32(uint32_t(*field)), builder.getInt32(dimension),
          spill(1, {value})});
}

} // namespace tsp::emulation
