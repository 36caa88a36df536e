//===- Parser.h - PTX text to data --------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_PTX_PARSER_H
#define TSP_EMULATION_PTX_PARSER_H

#include "ptx/Lexer.h"
#include "ptx/Syntax.h"

#include <unordered_map>

namespace tsp::emulation::ptx {

/// Parses a module; throws Error.
std::unique_ptr<Module> parse(const std::string &text);

/// Names of variables that are visible at a place.
using VariableScope = std::unordered_map<std::string, const Variable *>;

/// Parses `.space` has been read; reads alignment, type, name, extent and
/// initial value of a variable, up to the character after it.
std::unique_ptr<Variable> parseVariable(Lexer &lexer, Space space);

/// Parses a function's body between braces.
void parseBody(Lexer &lexer, Function &function, const VariableScope &globals);

} // namespace tsp::emulation::ptx

#endif // TSP_EMULATION_PTX_PARSER_H
