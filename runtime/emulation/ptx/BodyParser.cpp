//===- BodyParser.cpp - instructions of functions -------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ptx/Parser.h"

namespace tsp::emulation::ptx {

namespace {
class BodyParser {
public:
  BodyParser(Lexer &lexer, Function &function, const VariableScope &globals)
      : lexer(lexer), function(function) {
    variables.push_back(globals);
    registers.emplace_back();
  }

  void parse() {
    lexer.expect("{");
    while (!lexer.accept("}"))
      parseStatement();
    function.labels.insert(labels.back().begin(), labels.back().end());
  }

private:
  void parseScope() {
    variables.emplace_back();
    registers.emplace_back();
    labels.emplace_back();
    size_t begin = function.body.size();
    while (!lexer.accept("}"))
      parseStatement();
    endLabels(begin);
    labels.pop_back();
    registers.pop_back();
    variables.pop_back();
  }

  /// Labels of a scope that ends get names that no other scope has.
  void endLabels(size_t begin) {
    for (const auto &[name, place] : labels.back()) {
      std::string unique = name + "#" + std::to_string(scopedLabels++);
      function.labels[unique] = place;
      for (size_t i = begin; i < function.body.size(); ++i)
        if (function.body[i].opcode == "bra" &&
            function.body[i].operands.at(0).name == name)
          function.body[i].operands[0].name = unique;
    }
  }

  void parseStatement() {
    const Token &token = lexer.peek();
    if (token.form == Token::Form::End)
      lexer.fail("the body of '" + function.name + "' has no end");
    if (lexer.accept("{"))
      return parseScope();
    if (lexer.accept(";"))
      return;
    if (token.text == ".reg")
      return parseRegisters();
    if (token.text == ".local" || token.text == ".shared" ||
        token.text == ".param")
      return parseLocal();
    if (token.text == ".loc" || token.text == ".file") {
      uint32_t line = token.line;
      while (lexer.peek().line == line)
        lexer.next();
      return;
    }
    if (token.text == ".pragma") {
      while (!lexer.accept(";"))
        lexer.next();
      return;
    }
    parseInstruction();
  }

  void parseRegisters() {
    lexer.next();
    Token word = lexer.next();
    if (word.text == ".v2" || word.text == ".v4")
      lexer.fail("vector registers are not supported");
    Type type = parseType(word.text.substr(1));
    if (!type || type.bits > 64)
      lexer.fail("registers of type '" + word.text + "' are not supported");
    do {
      std::string name = lexer.next().text;
      if (!lexer.accept("<")) {
        addRegister(name, type);
        continue;
      }
      uint64_t count = lexer.next().bits;
      lexer.expect(">");
      for (uint64_t i = 0; i < count; ++i)
        addRegister(name + std::to_string(i), type);
    } while (lexer.accept(","));
    lexer.expect(";");
  }

  void addRegister(const std::string &name, Type type) {
    registers.back()[name] = int(function.registers.size());
    function.registers.push_back({name, type});
  }

  void parseLocal() {
    std::string word = lexer.next().text;
    Space space = word == ".local"    ? Space::Local
                  : word == ".shared" ? Space::Shared
                                      : Space::Param;
    do {
      std::unique_ptr<Variable> variable = parseVariable(lexer, space);
      if (space == Space::Local) {
        uint64_t align = variable->alignment;
        variable->offset = (function.localBytes + align - 1) / align * align;
        function.localBytes = uint32_t(variable->offset + variable->size);
      }
      variables.back()[variable->name] = variable.get();
      function.variables.push_back(std::move(variable));
    } while (lexer.accept(","));
    lexer.expect(";");
  }

  void parseInstruction() {
    Token token = lexer.next();
    Instruction instruction;
    instruction.line = token.line;
    if (token.text == "@") {
      instruction.guardNegated = lexer.accept("!");
      Operand guard = parseOperand();
      if (!guard.isRegister())
        lexer.fail("a guard must be a register");
      instruction.guard = guard.index;
      token = lexer.next();
    }
    if (token.form != Token::Form::Word)
      throw Error(token.line,
                  "expected an instruction but found '" + token.text + "'");
    if (lexer.accept(":"))
      return parseLabel(token.text);
    splitOpcode(token.text, instruction);
    if (!lexer.at(";"))
      do
        parseOperandOf(instruction);
      while (lexer.accept(","));
    lexer.expect(";");
    addCarry(instruction);
    function.body.push_back(std::move(instruction));
  }

  void parseOperandOf(Instruction &instruction) {
    Operand operand = parseOperand();
    if (lexer.accept("|")) {
      Operand pair;
      pair.form = Operand::Form::List;
      pair.elements = {std::move(operand), parseOperand()};
      operand = std::move(pair);
    }
    instruction.operands.push_back(std::move(operand));
  }

  /// The carry flag is a register like others: a second result of .cc, a last
  /// operand of addc, subc and madc.
  void addCarry(Instruction &instruction) {
    const std::string &opcode = instruction.opcode;
    bool reads = opcode == "addc" || opcode == "subc" || opcode == "madc";
    bool writes = instruction.has("cc");
    if ((!reads && !writes) || instruction.operands.empty())
      return;
    if (carry < 0) {
      carry = int(function.registers.size());
      function.registers.push_back({"carry", {Kind::Pred, 1, false}});
    }
    Operand flag;
    flag.index = carry;
    if (reads)
      instruction.operands.push_back(flag);
    if (writes) {
      Operand pair;
      pair.form = Operand::Form::List;
      pair.elements = {instruction.operands[0], flag};
      instruction.operands[0] = std::move(pair);
    }
  }

  void parseLabel(const std::string &name) {
    if (lexer.accept(".branchtargets")) {
      std::vector<std::string> &targets = function.branchTargets[name];
      do
        targets.push_back(lexer.next().text);
      while (lexer.accept(","));
      lexer.expect(";");
      return;
    }
    if (lexer.at(".callprototype") || lexer.at(".calltargets")) {
      while (!lexer.accept(";"))
        lexer.next();
      return;
    }
    if (!labels.back().emplace(name, unsigned(function.body.size())).second)
      lexer.fail("the label '" + name + "' is there already");
  }

  static void splitOpcode(const std::string &text, Instruction &instruction) {
    size_t begin = 0;
    for (size_t dot; (dot = text.find('.', begin)) != std::string::npos;
         begin = dot + 1)
      add(text.substr(begin, dot - begin), instruction);
    add(text.substr(begin), instruction);
  }

  static void add(std::string part, Instruction &instruction) {
    if (instruction.opcode.empty())
      instruction.opcode = std::move(part);
    else
      instruction.modifiers.push_back(std::move(part));
  }

  Operand parseList(const char *close) {
    Operand list;
    list.form = Operand::Form::List;
    while (!lexer.accept(close)) {
      list.elements.push_back(parseOperand());
      if (!lexer.at(close))
        lexer.expect(",");
    }
    return list;
  }

  Operand parseAddress() {
    Operand address;
    address.form = Operand::Form::Address;
    address.elements.push_back(parseOperand());
    address.offset = address.elements[0].offset;
    address.elements[0].offset = 0;
    while (lexer.accept("+")) {
      bool negative = lexer.accept("-");
      int64_t offset = int64_t(lexer.next().bits);
      address.offset += negative ? -offset : offset;
    }
    // Textures and tensors have coordinates beside the address.
    while (lexer.accept(","))
      address.elements.push_back(parseOperand());
    lexer.expect("]");
    return address;
  }

  Operand parseOperand() {
    if (lexer.accept("["))
      return parseAddress();
    if (lexer.accept("{"))
      return parseList("}");
    if (lexer.accept("("))
      return parseList(")");
    Operand operand;
    if (lexer.accept("!")) {
      operand = parseOperand();
      operand.negated = true;
      return operand;
    }
    bool negative = lexer.accept("-");
    Token token = lexer.next();
    switch (token.form) {
    case Token::Form::Integer:
      operand.form = Operand::Form::Integer;
      operand.bits = negative ? -token.bits : token.bits;
      return operand;
    case Token::Form::Float32:
      operand.form = Operand::Form::Float32;
      operand.bits = token.bits ^ (negative ? 0x80000000u : 0);
      return operand;
    case Token::Form::Float64:
      operand.form = Operand::Form::Float64;
      operand.bits = token.bits ^ (negative ? uint64_t(1) << 63 : 0);
      return operand;
    case Token::Form::Word:
      return parseName(token);
    default:
      throw Error(token.line,
                  "expected an operand but found '" + token.text + "'");
    }
  }

  Operand parseName(const Token &token) {
    Operand operand;
    if (token.text == "_")
      return operand;
    for (auto scope = registers.rbegin(); scope != registers.rend(); ++scope) {
      auto it = scope->find(token.text);
      if (it != scope->end()) {
        operand.index = it->second;
        return operand;
      }
    }
    operand.name = token.text;
    operand.form =
        token.text[0] == '%' ? Operand::Form::Special : Operand::Form::Symbol;
    for (auto scope = variables.rbegin(); scope != variables.rend(); ++scope) {
      auto it = scope->find(token.text);
      if (it != scope->end()) {
        operand.variable = it->second;
        break;
      }
    }
    // A symbol as a value may carry an offset.
    if (operand.variable && lexer.accept("+"))
      operand.offset = int64_t(lexer.next().bits);
    return operand;
  }

  Lexer &lexer;
  Function &function;
  int carry = -1;
  /// By scope, outermost first: the index of the instruction after a label.
  std::vector<std::map<std::string, unsigned>> labels = {{}};
  unsigned scopedLabels = 0;
  std::vector<VariableScope> variables;
  std::vector<std::unordered_map<std::string, int>> registers;
};
} // namespace

void parseBody(Lexer &lexer, Function &function, const VariableScope &globals) {
  BodyParser(lexer, function, globals).parse();
}

} // namespace tsp::emulation::ptx
