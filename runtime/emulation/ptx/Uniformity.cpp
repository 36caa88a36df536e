//===- Uniformity.cpp - what all lanes of a warp share --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ptx/Control.h"

#include <algorithm>

namespace tsp::emulation::ptx {

static bool specialVaries(const std::string &name) {
  return name == "%tid.x" || name == "%tid.y" || name == "%tid.z" ||
         name == "%laneid" || name.compare(0, 10, "%lanemask_") == 0;
}

bool Uniformity::isUniform(const Operand &operand) const {
  switch (operand.form) {
  case Operand::Form::Register:
    return operand.index < 0 || !varying[operand.index];
  case Operand::Form::Special:
    return !specialVaries(operand.name);
  case Operand::Form::Symbol:
    // Local memory is each lane's own; so are the parameters of a function.
    return !operand.variable ||
           (operand.variable->space != Space::Local &&
            (operand.variable->space != Space::Param ||
             (function.isKernel && operand.variable->parameter >= 0)));
  default:
    return std::all_of(
        operand.elements.begin(), operand.elements.end(),
        [&](const Operand &element) { return isUniform(element); });
  }
}

/// Results that differ between lanes even when the operands do not.
static bool alwaysVaries(const Instruction &instruction) {
  // One arrival may complete the phase, the next is of another.
  if (instruction.opcode == "mbarrier")
    return instruction.has("arrive") || instruction.has("arrive_drop");
  static const char *const opcodes[] = {"shfl", "atom",  "match", "ldmatrix",
                                        "mma",  "wgmma", "elect", "movmatrix"};
  return std::any_of(
      std::begin(opcodes), std::end(opcodes),
      [&](const char *name) { return instruction.opcode == name; });
}

/// Results that the lanes make together: the same in all that take part.
static bool collects(const Instruction &instruction) {
  return instruction.opcode == "vote" || instruction.opcode == "redux" ||
         instruction.opcode == "activemask" || instruction.opcode == "bar" ||
         instruction.opcode == "barrier";
}

/// A shuffle in which all lanes read the same one.
bool Uniformity::isBroadcast(const Instruction &instruction) const {
  return instruction.opcode == "shfl" && instruction.has("sync") &&
         instruction.has("idx") && instruction.operands.size() > 3 &&
         isUniform(instruction.operands[2]) &&
         instruction.operands[3].form == Operand::Form::Integer &&
         instruction.operands[3].bits == 31;
}

bool Uniformity::resultVaries(const Instruction &instruction,
                              const Block &block) const {
  bool isCollective = collects(instruction) || isBroadcast(instruction);
  if (!isCollective && alwaysVaries(instruction))
    return true;
  if (instruction.guard >= 0 && varying[instruction.guard])
    return true;
  if (isCollective)
    return block.divergent;
  for (unsigned i = instruction.numResults(); i < instruction.operands.size();
       ++i)
    if (!isUniform(instruction.operands[i]))
      return true;
  return false;
}

Uniformity::Uniformity(const Function &function, Control &control)
    : function(function), varying(function.registers.size()),
      local(function.registers.size()), crosses(function.registers.size()) {
  findLocals(function, control);
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned b = 0; b < control.blocks.size(); ++b) {
      const Block &block = control.blocks[b];
      for (unsigned i = block.begin; i < block.end; ++i) {
        const Instruction &instruction = function.body[i];
        bool varies = resultVaries(instruction, block);
        bool apart = varies;
        instruction.forEachDef([&](int reg) {
          bool now = varies || (block.divergent && !local[reg]);
          if (now && !varying[reg])
            varying[reg] = changed = true;
          apart |= varying[reg];
        });
        // An instruction with several results makes all of them alike.
        if (apart)
          instruction.forEachDef([&](int reg) {
            if (!varying[reg])
              varying[reg] = changed = true;
          });
      }
      if (block.begin == block.end)
        continue;
      const Instruction &last = function.body[block.end - 1];
      if (!Control::isTerminator(last))
        continue;
      bool parts = last.guard >= 0 && varying[last.guard];
      if (last.opcode == "brx")
        parts |= !isUniform(last.operands[0]);
      if (parts)
        changed |= control.markDivergent(b);
    }
  }
  for (const Block &block : control.blocks)
    for (unsigned i = block.begin; block.divergent && i < block.end; ++i) {
      auto visit = [&](int reg) { crosses[reg] = !local[reg]; };
      function.body[i].forEachDef(visit);
      function.body[i].forEachUse(visit);
    }
}

void Uniformity::findLocals(const Function &function, const Control &control) {
  enum : int { Unseen = -1, Outlives = -2 };
  std::vector<int> home(function.registers.size(), Unseen);
  for (unsigned b = 0; b < control.blocks.size(); ++b)
    for (unsigned i = control.blocks[b].begin; i < control.blocks[b].end; ++i) {
      const Instruction &instruction = function.body[i];
      instruction.forEachUse([&](int reg) {
        if (home[reg] != int(b))
          home[reg] = Outlives;
      });
      instruction.forEachDef([&](int reg) {
        if (home[reg] == Unseen)
          home[reg] = instruction.guard >= 0 ? int(Outlives) : int(b);
        else if (home[reg] != int(b))
          home[reg] = Outlives;
      });
    }
  for (unsigned reg = 0; reg < local.size(); ++reg)
    local[reg] = home[reg] >= 0;
}

} // namespace tsp::emulation::ptx
