//===- Parser.cpp - modules, functions, variables -------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ptx/Parser.h"

#include <cstring>

namespace tsp::emulation::ptx {

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

namespace {
/// The bytes of an initial value, written element by element.
class InitialValue {
public:
  InitialValue(Lexer &lexer, Variable &variable, Type type)
      : lexer(lexer), variable(variable), type(type), bytes(type.bits / 8) {}

  void parse() {
    if (!lexer.accept("{"))
      return parseElement();
    while (!lexer.accept("}")) {
      parse();
      lexer.accept(",");
    }
  }

private:
  void parseElement() {
    // mask(bits)(symbol) is one byte of an address, in arrays of bytes.
    if (lexer.at("mask"))
      lexer.fail("initial values with mask() are not supported");
    bool negative = lexer.accept("-");
    Token token = lexer.next();
    uint64_t bits = token.bits;
    if (token.form == Token::Form::Word) {
      std::string symbol = token.text;
      bool generic = symbol == "generic" && lexer.accept("(");
      if (generic)
        symbol = lexer.next().text;
      if (generic)
        lexer.expect(")");
      int64_t addend = 0;
      if (lexer.accept("+"))
        addend = int64_t(lexer.next().bits);
      if (bytes != 8)
        lexer.fail("an address needs an element of 64 bits");
      variable.relocations.push_back({variable.initial.size(), symbol, addend});
      bits = 0;
    } else if (token.form == Token::Form::Float64 && type.bits == 32) {
      double wide;
      std::memcpy(&wide, &token.bits, sizeof(wide));
      float narrow = float(wide);
      bits = 0;
      std::memcpy(&bits, &narrow, sizeof(narrow));
    }
    if (negative && token.form == Token::Form::Integer)
      bits = -bits;
    else if (negative)
      bits ^= uint64_t(1) << (type.bits - 1);
    for (unsigned i = 0; i < bytes; ++i)
      variable.initial.push_back(uint8_t(bits >> (8 * i)));
  }

  Lexer &lexer;
  Variable &variable;
  Type type;
  unsigned bytes;
};
} // namespace

std::unique_ptr<Variable> parseVariable(Lexer &lexer, Space space) {
  auto variable = std::make_unique<Variable>();
  variable->space = space;
  variable->line = lexer.peek().line;
  Type type;
  unsigned vector = 1;
  bool aligned = false;
  while (lexer.peek().form == Token::Form::Word &&
         lexer.peek().text[0] == '.') {
    std::string word = lexer.next().text.substr(1);
    if (word == "align") {
      variable->alignment = uint32_t(lexer.next().bits);
      aligned = true;
    } else if (word == "v2" || word == "v4") {
      vector = unsigned(word[1] - '0');
    } else if (word == "attribute") {
      lexer.expect("(");
      while (!lexer.accept(")"))
        lexer.next();
    } else if (Type parsed = parseType(word)) {
      type = parsed;
    } else if (word != "ptr" && word != "global" && word != "shared" &&
               word != "const" && word != "local" && word != "param") {
      lexer.fail("unknown word '." + word + "' in a declaration");
    }
  }
  if (!type)
    lexer.fail("a declaration without a type");
  unsigned element = std::max(1u, type.bits / 8u) * vector;
  if (!aligned)
    variable->alignment = element;
  variable->name = lexer.next().text;
  uint64_t count = 1;
  while (lexer.accept("[")) {
    if (lexer.accept("]")) {
      variable->dynamic = true;
      count = 0;
      continue;
    }
    count *= lexer.next().bits;
    lexer.expect("]");
  }
  variable->size = count * element;
  if (lexer.accept("=")) {
    InitialValue(lexer, *variable, type).parse();
    if (variable->dynamic) {
      variable->dynamic = false;
      variable->size = variable->initial.size();
    }
    if (variable->initial.size() > variable->size)
      lexer.fail("the initial value of '" + variable->name +
                 "' is larger than it");
  }
  return variable;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

namespace {
class ModuleParser {
public:
  explicit ModuleParser(const std::string &text)
      : lexer(text), module(std::make_unique<Module>()) {}

  std::unique_ptr<Module> parse() {
    while (lexer.peek().form != Token::Form::End)
      parseItem();
    return std::move(module);
  }

private:
  void parseItem() {
    Token token = lexer.next();
    const std::string &word = token.text;
    if (word == ".version" || word == ".address_size") {
      Token value = lexer.next();
      if (word == ".address_size" && value.bits != 64)
        lexer.fail("only .address_size 64 is supported");
    } else if (word == ".target") {
      do
        lexer.next();
      while (lexer.accept(","));
    } else if (word == ".file") {
      skipLine(token.line);
    } else if (word == ".section") {
      while (!lexer.accept("}"))
        lexer.next();
    } else if (word == ".visible" || word == ".weak" || word == ".common") {
      // Linkage makes no difference to one module.
    } else if (word == ".extern") {
      external = true;
      return;
    } else if (word == ".entry" || word == ".func") {
      parseFunction(word == ".entry", token.line);
    } else if (word == ".global" || word == ".const" || word == ".shared") {
      parseGlobal(word == ".global"  ? Space::Global
                  : word == ".const" ? Space::Const
                                     : Space::Shared);
    } else if (word == ";" || word == ".pragma" ||
               token.form == Token::Form::String) {
      // Nothing follows from these.
    } else {
      throw Error(token.line, "unknown directive '" + word + "'");
    }
    external = false;
  }

  /// Directives about source lines end with their own line.
  void skipLine(uint32_t line) {
    while (lexer.peek().form != Token::Form::End && lexer.peek().line == line)
      lexer.next();
  }

  void parseGlobal(Space space) {
    do {
      std::unique_ptr<Variable> variable = parseVariable(lexer, space);
      if (external && space != Space::Shared)
        lexer.fail("'" + variable->name + "' is defined in another module");
      if (variable->dynamic && space != Space::Shared)
        lexer.fail("'" + variable->name + "' has no extent");
      scope[variable->name] = variable.get();
      module->variables.push_back(std::move(variable));
    } while (lexer.accept(","));
    lexer.expect(";");
  }

  void parseParameters(std::vector<std::unique_ptr<Variable>> &list,
                       VariableScope &names) {
    uint64_t offset = 0;
    while (!lexer.accept(")")) {
      if (lexer.accept(".reg"))
        lexer.fail("function parameters in registers are not supported");
      lexer.expect(".param");
      std::unique_ptr<Variable> parameter = parseVariable(lexer, Space::Param);
      offset = (offset + parameter->alignment - 1) / parameter->alignment *
               parameter->alignment;
      parameter->offset = offset;
      parameter->parameter = int(list.size());
      offset += parameter->size;
      names[parameter->name] = parameter.get();
      list.push_back(std::move(parameter));
      lexer.accept(",");
    }
  }

  void parseFunction(bool isKernel, uint32_t line) {
    auto function = std::make_unique<Function>();
    function->isKernel = isKernel;
    function->line = line;
    VariableScope names = scope;
    while (lexer.peek().text == ".attribute" ||
           lexer.peek().text == ".noreturn")
      skipAttribute();
    if (lexer.accept("("))
      parseParameters(function->results, names);
    function->name = lexer.next().text;
    if (lexer.accept("("))
      parseParameters(function->parameters, names);
    parseDirectives(*function);
    if (lexer.accept(";"))
      function->isDeclaration = true;
    else
      parseBody(lexer, *function, names);
    // A definition after its declaration takes its place.
    for (std::unique_ptr<Function> &known : module->functions)
      if (known->name == function->name) {
        if (known->isDeclaration)
          known = std::move(function);
        return;
      }
    module->functions.push_back(std::move(function));
  }

  void skipAttribute() {
    if (lexer.next().text == ".attribute") {
      lexer.expect("(");
      while (!lexer.accept(")"))
        lexer.next();
    }
  }

  std::array<uint32_t, 3> parseExtents() {
    std::array<uint32_t, 3> extents = {1, 1, 1};
    for (uint32_t &extent : extents) {
      extent = uint32_t(lexer.next().bits);
      if (!lexer.accept(","))
        break;
    }
    return extents;
  }

  void parseDirectives(Function &function) {
    while (!lexer.at("{") && !lexer.at(";")) {
      Token directive = lexer.next();
      const std::string &word = directive.text;
      if (word == ".maxntid" || word == ".reqntid") {
        function.maxThreads = parseExtents();
        function.exactThreads |= word == ".reqntid";
      } else if (word == ".reqnctapercluster") {
        function.clusterSize = parseExtents();
      } else if (word == ".minnctapersm" || word == ".maxnreg" ||
                 word == ".maxclusterrank") {
        lexer.next();
      } else if (word == ".pragma") {
        lexer.next();
        lexer.expect(";");
      } else if (word != ".noreturn" && word != ".explicitcluster") {
        throw Error(directive.line, "unsupported directive '" + word +
                                        "' of function '" + function.name +
                                        "'");
      }
    }
  }

  Lexer lexer;
  std::unique_ptr<Module> module;
  VariableScope scope;
  bool external = false;
};
} // namespace

std::unique_ptr<Module> parse(const std::string &text) {
  return ModuleParser(text).parse();
}

} // namespace tsp::emulation::ptx
