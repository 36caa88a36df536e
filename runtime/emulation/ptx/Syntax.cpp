//===- Syntax.cpp - PTX as data -------------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ptx/Syntax.h"

#include <algorithm>
#include <cstring>

namespace tsp::emulation::ptx {

Type parseType(const std::string &name) {
  static const std::map<std::string, Type> types = [] {
    std::map<std::string, Type> table;
    for (uint16_t bits : {8, 16, 32, 64, 128}) {
      table["b" + std::to_string(bits)] = {Kind::Bits, bits, false};
      table["u" + std::to_string(bits)] = {Kind::Unsigned, bits, false};
      table["s" + std::to_string(bits)] = {Kind::Signed, bits, false};
    }
    for (uint16_t bits : {16, 32, 64})
      table["f" + std::to_string(bits)] = {Kind::Float, bits, false};
    table["f16x2"] = {Kind::Float, 32, true};
    table["bf16"] = {Kind::BFloat, 16, false};
    table["bf16x2"] = {Kind::BFloat, 32, true};
    table["u16x2"] = {Kind::Unsigned, 32, true};
    table["s16x2"] = {Kind::Signed, 32, true};
    table["tf32"] = {Kind::TF32, 32, false};
    table["e4m3"] = {Kind::E4M3, 8, false};
    table["e4m3x2"] = {Kind::E4M3, 16, true};
    table["e5m2"] = {Kind::E5M2, 8, false};
    table["e5m2x2"] = {Kind::E5M2, 16, true};
    table["pred"] = {Kind::Pred, 1, false};
    return table;
  }();
  auto it = types.find(name);
  return it == types.end() ? Type() : it->second;
}

bool Instruction::has(const char *modifier) const {
  return std::any_of(modifiers.begin(), modifiers.end(),
                     [&](const std::string &m) { return m == modifier; });
}

Type Instruction::type(unsigned n) const {
  for (const std::string &modifier : modifiers)
    if (Type type = parseType(modifier))
      if (n-- == 0)
        return type;
  return {};
}

Space Instruction::space() const {
  for (const std::string &modifier : modifiers) {
    if (modifier == "global")
      return Space::Global;
    if (modifier.compare(0, 6, "shared") == 0)
      return Space::Shared;
    if (modifier == "local")
      return Space::Local;
    if (modifier.compare(0, 5, "param") == 0)
      return Space::Param;
    if (modifier == "const")
      return Space::Const;
  }
  return Space::Generic;
}

unsigned Instruction::vectorSize() const {
  return has("v2") ? 2 : has("v4") ? 4 : has("v8") ? 8 : 1;
}

std::string Instruction::spelling() const {
  std::string text = opcode;
  for (const std::string &modifier : modifiers)
    text += "." + modifier;
  return text;
}

unsigned Instruction::numResults() const {
  static const char *const withoutResult[] = {"st",
                                              "red",
                                              "bra",
                                              "brx",
                                              "ret",
                                              "exit",
                                              "trap",
                                              "brkpt",
                                              "membar",
                                              "fence",
                                              "prefetch",
                                              "prefetchu",
                                              "discard",
                                              "applypriority",
                                              "cp",
                                              "nanosleep",
                                              "stmatrix",
                                              "call",
                                              "griddepcontrol",
                                              "setmaxnreg",
                                              "pmevent",
                                              "tensormap"};
  for (const char *name : withoutResult)
    if (opcode == name)
      return 0;
  if (opcode == "bar" || opcode == "barrier")
    return has("red") ? 1 : 0;
  if (opcode == "wgmma")
    return has("mma_async") ? 1 : 0;
  // Those of mbarrier that give nothing begin with the address.
  if (opcode == "mbarrier" && !operands.empty() &&
      operands[0].form == Operand::Form::Address)
    return 0;
  return operands.empty() ? 0 : 1;
}

const Function *Module::findFunction(const std::string &name) const {
  for (const std::unique_ptr<Function> &function : functions)
    if (function->name == name)
      return function.get();
  return nullptr;
}

} // namespace tsp::emulation::ptx
