//===- LowerBulk.cpp - cp.async.bulk --------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/BulkCopy.h"
#include "jit/Lowering.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace tsp::emulation {

/// Modifiers that change nothing here, or that are looked at on their own.
static bool isKnownModifier(StringRef modifier) {
  return StringSwitch<bool>(modifier)
      .Cases({"async", "bulk", "tensor", "tile", "1d", "2d", "3d", "4d", "5d"},
             true)
      .Cases({"global", "shared::cta", "shared::cluster", "L2::cache_hint"},
             true)
      .Cases(
          {"mbarrier::complete_tx::bytes", "bulk_group", "multicast::cluster"},
          true)
      .Default(false);
}

void Lowering::bulkCopy(const Instruction &instruction) {
  // Hints.
  if (instruction.has("prefetch"))
    return;
  Site where = site();
  if (instruction.has("commit_group")) {
    callAt("bulkCommit", where, builder.getVoidTy(), {});
    return;
  }
  if (instruction.has("wait_group")) {
    if (operand(0).form != Operand::Form::Integer)
      fail("the number of groups must be a constant");
    where.flags = instruction.has("read") ? BulkFlags::ReadOnly : 0;
    callAt("bulkWait", where, builder.getVoidTy(),
           {builder.getInt32(uint32_t(operand(0).bits))});
    return;
  }
  if (instruction.has("reduce"))
    readReduction(instruction, where);
  for (const std::string &modifier : instruction.modifiers)
    if (!isKnownModifier(modifier) && !(where.flags & BulkFlags::Reduce))
      unsupported();
  // To where comes first.
  auto isSpace = [](const std::string &modifier) {
    return modifier == "global" || StringRef(modifier).starts_with("shared");
  };
  auto to = llvm::find_if(instruction.modifiers, isSpace);
  if (to == instruction.modifiers.end())
    unsupported();
  wide = true;
  bool isStore = *to == "global";
  if (!isStore && where.flags & BulkFlags::Reduce)
    unsupported();
  if (!instruction.has("global"))
    return copyInCluster(where);
  if (instruction.has("tensor"))
    copyTensor(where, isStore);
  else
    copyBulk(where, isStore);
}

/// cp.reduce.async.bulk: its operation, and the type, which a tensor map has
/// otherwise.
void Lowering::readReduction(const Instruction &instruction, Site &where) {
  where.operation = uint8_t(atomicOperation(instruction));
  where.flags = BulkFlags::Reduce;
  AtomicOp operation = AtomicOp(where.operation);
  bool isPlain = !instruction.has("tensor");
  if (isPlain && (!where.type || where.type.bits < 16))
    unsupported();
  if (where.type.isFloat() && operation != AtomicOp::Add)
    unsupported();
}

unsigned Lowering::tensorRank() const {
  for (unsigned rank = 1; rank <= TensorMap::maxRank; ++rank)
    if (current->has((std::to_string(rank) + "d").c_str()))
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

/// The mbarrier, and behind it the set of blocks of a multicast.
void Lowering::addBarrier(unsigned index, SmallVector<Value *> &arguments) {
  arguments.push_back(spill(3, {address(operand(index), ptx::Space::Shared)}));
  Value *ranks = constant(0, 32);
  if (current->has("multicast::cluster"))
    ranks = builder.CreateZExt(read(index + 1, ptx::parseType("u16")),
                               shaped(builder.getInt32Ty()));
  arguments.push_back(spill(4, {ranks}));
}

void Lowering::copyTensor(Site where, bool isStore) {
  // ...shared::cluster.global... [to], [map, {x, y}], [mbarrier]
  // ...global.shared::cta... [map, {x, y}], [from]
  where.count = uint8_t(tensorRank());
  auto [map, coordinates] = tensorOperand(isStore ? 0 : 1, where.count);
  Value *shared = address(operand(isStore ? 1 : 0), ptx::Space::Shared);
  SmallVector<Value *> arguments = {spill(0, {shared}), spill(1, {map}),
                                    spill(2, coordinates)};
  if (!isStore)
    addBarrier(2, arguments);
  callAt(isStore ? "bulkTensorStore" : "bulkTensorLoad", where,
         builder.getVoidTy(), arguments);
}

void Lowering::copyInCluster(const Site &where) {
  // ...shared::cluster.shared::cta... [to], [from], size, [mbarrier]
  if (current->has("tensor") || !current->has("shared::cluster") ||
      !current->has("shared::cta"))
    unsupported();
  auto shared = [&](unsigned index) {
    return address(operand(index), ptx::Space::Shared);
  };
  callAt("bulkClusterCopy", where, builder.getVoidTy(),
         {spill(0, {shared(0)}), spill(1, {shared(1)}),
          spill(2, {read(2, ptx::parseType("u32"))}), spill(3, {shared(3)})});
}

void Lowering::storeAsync(const Instruction &instruction, const Site &where,
                          ArrayRef<Value *> values) {
  // st.async{.weak}.shared::cluster.mbarrier::complete_tx::bytes{.vec}.type
  // [to], values, [mbarrier]
  bool isKnown = instruction.has("shared::cluster") &&
                 instruction.has("mbarrier::complete_tx::bytes") &&
                 where.size >= 4;
  if (!isKnown)
    unsupported();
  SmallVector<Value *> all;
  for (Value *value : values)
    all.push_back(splat(value));
  callAt("storeAsync", where, builder.getVoidTy(),
         {spill(0, {address(operand(0), ptx::Space::Shared)}), spill(1, all),
          spill(2, {address(operand(2), ptx::Space::Shared)})});
}

void Lowering::copyBulk(Site where, bool isStore) {
  // ...shared::cluster.global... [to], [from], size, [mbarrier]
  // ...global.shared::cta... [to], [from], size
  Value *shared = address(operand(isStore ? 1 : 0), ptx::Space::Shared);
  Value *global = address(operand(isStore ? 0 : 1), ptx::Space::Global);
  SmallVector<Value *> arguments = {spill(0, {shared}), spill(1, {global}),
                                    spill(2, {read(2, ptx::parseType("u32"))})};
  if (!isStore)
    addBarrier(3, arguments);
  callAt(isStore ? "bulkStore" : "bulkLoad", where, builder.getVoidTy(),
         arguments);
}

} // namespace tsp::emulation
