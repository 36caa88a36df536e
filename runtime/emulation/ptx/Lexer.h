//===- Lexer.h - words of PTX text --------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_PTX_LEXER_H
#define TSP_EMULATION_PTX_LEXER_H

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tsp::emulation::ptx {

/// Thrown by everything that reads or compiles PTX; what() names the line.
class Error : public std::runtime_error {
public:
  Error(uint32_t line, const std::string &message)
      : std::runtime_error("PTX line " + std::to_string(line) + ": " +
                           message) {}
};

struct Token {
  enum class Form : uint8_t {
    End,
    Word, ///< names, directives and whole opcodes: ld.global.f32, %tid.x, .reg
    Integer,
    Float32, ///< bits: of 0f..., or of a decimal number
    Float64,
    String,
    Mark, ///< one character
  };
  Form form = Form::End;
  std::string text;
  uint64_t bits = 0;
  uint32_t line = 1;
};

class Lexer {
public:
  explicit Lexer(const std::string &text)
      : cursor(text.data()), end(cursor + text.size()) {
    advance();
  }

  const Token &peek() const { return token; }
  Token next();
  bool at(const char *text) const {
    return token.form != Token::Form::String && token.text == text;
  }
  /// Consumes the word or mark when it is next.
  bool accept(const char *text);
  void expect(const char *text);
  [[noreturn]] void fail(const std::string &message) const {
    throw Error(token.line, message);
  }

private:
  void advance();
  void skipBlanks();
  void lexNumber();

  const char *cursor;
  const char *end;
  uint32_t line = 1;
  Token token;
};

} // namespace tsp::emulation::ptx

#endif // TSP_EMULATION_PTX_LEXER_H
