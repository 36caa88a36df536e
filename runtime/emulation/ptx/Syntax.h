//===- Syntax.h - PTX as data -------------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_PTX_SYNTAX_H
#define TSP_EMULATION_PTX_SYNTAX_H

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tsp::emulation::ptx {

enum class Kind : uint8_t {
  None,
  Bits,
  Unsigned,
  Signed,
  Float,
  BFloat,
  TF32,
  E4M3,
  E5M2,
  Pred
};

/// A type such as .u32, .f16x2 (bits = 32, packed) or .pred.
struct Type {
  Kind kind = Kind::None;
  uint16_t bits = 0;
  bool packed = false;

  explicit operator bool() const { return kind != Kind::None; }
  bool isFloat() const {
    return kind == Kind::Float || kind == Kind::BFloat || kind == Kind::TF32 ||
           isFloat8();
  }
  bool isFloat8() const { return kind == Kind::E4M3 || kind == Kind::E5M2; }
  bool isSigned() const { return kind == Kind::Signed; }
  /// The type of one element of a packed type.
  Type element() const {
    return packed ? Type{kind, uint16_t(bits / 2), false} : *this;
  }
  bool operator==(const Type &other) const {
    return kind == other.kind && bits == other.bits && packed == other.packed;
  }
};

/// Parses a type's name without the dot; none when it is no type.
Type parseType(const std::string &name);

enum class Space : uint8_t { Generic, Global, Shared, Local, Param, Const };

/// A variable of a module or function. Offsets are within the space's block: of
/// the module (global and const), the kernel's shared memory, a thread's local
/// memory, or a kernel's parameters.
struct Variable {
  std::string name;
  Space space = Space::Global;
  uint64_t size = 0;
  uint32_t alignment = 1;
  uint64_t offset = 0;
  uint32_t line = 0;
  /// Declared with an empty extent: the launch's dynamic shared memory.
  bool dynamic = false;
  /// Position among a function's parameters, or -1.
  int parameter = -1;
  std::vector<uint8_t> initial;
  /// Pointers in the initial value: where, to what, plus how much.
  struct Relocation {
    uint64_t where;
    std::string symbol;
    int64_t addend;
  };
  std::vector<Relocation> relocations;
};

struct Operand {
  enum class Form : uint8_t {
    Register, ///< index, or -1 for the sink `_`
    Special,  ///< name: %tid.x
    Integer,  ///< bits
    Float32,  ///< bits
    Float64,  ///< bits
    Symbol,   ///< variable, or name of a function or label
    Address,  ///< elements[0] (register, symbol or integer) + offset
    List,     ///< {a, b}, a|b, or a list in parentheses
  };
  Form form = Form::Register;
  bool negated = false;
  int index = -1;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::string name;
  const Variable *variable = nullptr;
  std::vector<Operand> elements;

  bool isRegister() const { return form == Form::Register && index >= 0; }
  bool isSink() const { return form == Form::Register && index < 0; }
};

struct Instruction {
  std::string opcode;
  std::vector<std::string> modifiers;
  std::vector<Operand> operands;
  int guard = -1;
  bool guardNegated = false;
  uint32_t line = 0;

  bool has(const char *modifier) const;
  /// The n-th modifier that is a type; none when there are fewer.
  Type type(unsigned n = 0) const;
  Space space() const;
  /// 1, 2, 4 or 8: of .v2, .v4, .v8.
  unsigned vectorSize() const;
  /// The opcode as written.
  std::string spelling() const;
  /// Calls visit(register) for each register written or read.
  template <typename F> void forEachDef(F visit) const;
  template <typename F> void forEachUse(F visit) const;
  /// How many leading operands are results.
  unsigned numResults() const;
};

struct Register {
  std::string name;
  Type type;
};

struct Function {
  std::string name;
  bool isKernel = false;
  bool isDeclaration = false;
  uint32_t line = 0;
  std::vector<std::unique_ptr<Variable>> parameters;
  std::vector<std::unique_ptr<Variable>> results;
  /// Shared, local and call-parameter variables of the body.
  std::vector<std::unique_ptr<Variable>> variables;
  std::vector<Register> registers;
  std::vector<Instruction> body;
  /// Label to the index of the instruction after it.
  std::map<std::string, unsigned> labels;
  std::map<std::string, std::vector<std::string>> branchTargets;
  std::array<uint32_t, 3> maxThreads = {0, 0, 0};
  bool exactThreads = false;
  std::array<uint32_t, 3> clusterSize = {0, 0, 0};
  uint32_t localBytes = 0;
};

struct Module {
  std::vector<std::unique_ptr<Variable>> variables;
  std::vector<std::unique_ptr<Function>> functions;
  const Function *findFunction(const std::string &name) const;
};

namespace detail {
template <typename F> void visitRegisters(const Operand &operand, F visit) {
  if (operand.isRegister())
    visit(operand.index);
  for (const Operand &element : operand.elements)
    visitRegisters(element, visit);
}
} // namespace detail

template <typename F> void Instruction::forEachDef(F visit) const {
  for (unsigned i = 0, e = numResults(); i != e; ++i)
    detail::visitRegisters(operands[i], visit);
}

template <typename F> void Instruction::forEachUse(F visit) const {
  if (guard >= 0)
    visit(guard);
  for (unsigned i = numResults(); i < operands.size(); ++i)
    detail::visitRegisters(operands[i], visit);
}

} // namespace tsp::emulation::ptx

#endif // TSP_EMULATION_PTX_SYNTAX_H
