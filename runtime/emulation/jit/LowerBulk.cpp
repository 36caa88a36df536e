//===- LowerBulk.cpp - cp.async.bulk --------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jit/Lowering.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace tsp::emulation {

/// Modifiers that change nothing here, or that are looked at on their own.
static bool isKnownModifier(StringRef modifier) {
  return StringSwitch<bool>(modifier)
      .Cases({"async", "bulk", "tensor", "tile", "1d", "2d", "3d", "4d", "5d"},
             true)
      .Cases({"global", "shared::cta", "shared::cluster", "L2::cache_hint",
              "mbarrier::complete_tx::bytes"},
             true)
      .Default(false);
}

void Lowering::bulkCopy(const Instruction &instruction) {
  // Hints.
  if (instruction.has("prefetch"))
    return;
  for (const std::string &modifier : instruction.modifiers)
    if (!isKnownModifier(modifier))
      unsupported();
  // To where comes first.
  auto isSpace = [](const std::string &modifier) {
    return modifier == "global" || StringRef(modifier).starts_with("shared");
  };
  auto to = llvm::find_if(instruction.modifiers, isSpace);
  if (to == instruction.modifiers.end() || *to == "global" ||
      !instruction.has("global"))
    unsupported();
  wide = true;
  if (instruction.has("tensor"))
    loadTensor(instruction);
  else
    loadBulk();
}

unsigned Lowering::tensorRank(const Instruction &instruction) const {
  for (unsigned rank = 1; rank <= 5; ++rank)
    if (instruction.has((std::to_string(rank) + "d").c_str()))
      return rank;
  unsupported();
}

/// The operand [map, {coordinates}]: the map's address and the coordinates.
std::pair<Value *, SmallVector<Value *>>
Lowering::tensorOperand(unsigned index, unsigned rank) {
  const Operand &tensor = operand(index);
  if (tensor.form != Operand::Form::Address || tensor.elements.size() != 2 ||
      tensor.elements[1].form != Operand::Form::List ||
      tensor.elements[1].elements.size() != rank)
    fail("'" + current->spelling() + "' needs a tensor map and " +
         std::to_string(rank) + " coordinates");
  Operand map = tensor;
  map.elements.resize(1);
  SmallVector<Value *> coordinates;
  for (const Operand &coordinate : tensor.elements[1].elements)
    coordinates.push_back(read(coordinate, ptx::parseType("s32")));
  return {address(map, ptx::Space::Generic), coordinates};
}

void Lowering::loadTensor(const Instruction &instruction) {
  // cp.async.bulk.tensor.2d.shared::cluster.global... [to], [map, {x, y}],
  // [mbarrier]
  Site where = site();
  where.count = uint8_t(tensorRank(instruction));
  auto [map, coordinates] = tensorOperand(1, where.count);
  callAt("bulkTensorLoad", where, builder.getVoidTy(),
         {spill(0, {address(operand(0), ptx::Space::Shared)}), spill(1, {map}),
          spill(2, coordinates),
          spill(3, {address(operand(2), ptx::Space::Shared)})});
}

void Lowering::loadBulk() {
  // cp.async.bulk.shared::cluster.global... [to], [from], size, [mbarrier]
  callAt("bulkLoad", site(), builder.getVoidTy(),
         {spill(0, {address(operand(0), ptx::Space::Shared)}),
          spill(1, {address(operand(1), ptx::Space::Global)}),
          spill(2, {read(2, ptx::parseType("u32"))}),
          spill(3, {address(operand(3), ptx::Space::Shared)})});
}

} // namespace tsp::emulation
