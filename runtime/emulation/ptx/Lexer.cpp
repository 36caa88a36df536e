//===- Lexer.cpp - words of PTX text --------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ptx/Lexer.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace tsp::emulation::ptx {

static bool startsWord(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

static bool continuesWord(char c) {
  return startsWord(c) || std::isdigit(static_cast<unsigned char>(c));
}

Token Lexer::next() {
  Token result = token;
  advance();
  return result;
}

bool Lexer::accept(const char *text) {
  if (!at(text))
    return false;
  advance();
  return true;
}

void Lexer::expect(const char *text) {
  if (!accept(text))
    fail("expected '" + std::string(text) + "' but found '" + token.text + "'");
}

void Lexer::skipBlanks() {
  while (cursor != end) {
    if (*cursor == '\n') {
      ++line;
      ++cursor;
    } else if (std::isspace(static_cast<unsigned char>(*cursor)) ||
               *cursor == '\0') {
      ++cursor;
    } else if (end - cursor >= 2 && cursor[0] == '/' && cursor[1] == '/') {
      while (cursor != end && *cursor != '\n')
        ++cursor;
    } else if (end - cursor >= 2 && cursor[0] == '/' && cursor[1] == '*') {
      cursor += 2;
      while (end - cursor >= 2 && !(cursor[0] == '*' && cursor[1] == '/'))
        line += *cursor++ == '\n';
      cursor += end - cursor >= 2 ? 2 : end - cursor;
    } else {
      return;
    }
  }
}

void Lexer::lexNumber() {
  const char *begin = cursor;
  while (cursor != end &&
         (std::isalnum(static_cast<unsigned char>(*cursor)) || *cursor == '.'))
    ++cursor;
  token.text.assign(begin, cursor);
  const std::string &text = token.text;
  char *rest = nullptr;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'f' || text[1] == 'F')) {
    token.form = Token::Form::Float32;
    token.bits = std::strtoull(text.c_str() + 2, &rest, 16);
  } else if (text.size() > 2 && text[0] == '0' &&
             (text[1] == 'd' || text[1] == 'D')) {
    token.form = Token::Form::Float64;
    token.bits = std::strtoull(text.c_str() + 2, &rest, 16);
  } else if (text.find('.') != std::string::npos) {
    token.form = Token::Form::Float64;
    double value = std::strtod(text.c_str(), &rest);
    std::memcpy(&token.bits, &value, sizeof(value));
  } else {
    token.form = Token::Form::Integer;
    bool binary =
        text.size() > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B');
    token.bits =
        std::strtoull(text.c_str() + (binary ? 2 : 0), &rest, binary ? 2 : 0);
    if (*rest == 'U')
      ++rest;
  }
  if (*rest)
    fail("malformed number '" + text + "'");
}

void Lexer::advance() {
  skipBlanks();
  token = Token();
  token.line = line;
  if (cursor == end)
    return;
  if (startsWord(*cursor)) {
    const char *begin = cursor++;
    while (cursor != end) {
      if (continuesWord(*cursor))
        ++cursor;
      else if (end - cursor > 2 && cursor[0] == ':' && cursor[1] == ':' &&
               continuesWord(cursor[2]))
        cursor += 2;
      else
        break;
    }
    token.form = Token::Form::Word;
    token.text.assign(begin, cursor);
    return;
  }
  if (std::isdigit(static_cast<unsigned char>(*cursor)))
    return lexNumber();
  if (*cursor == '"') {
    const char *begin = ++cursor;
    while (cursor != end && *cursor != '"')
      ++cursor;
    token.form = Token::Form::String;
    token.text.assign(begin, cursor);
    if (cursor != end)
      ++cursor;
    return;
  }
  token.form = Token::Form::Mark;
  token.text.assign(1, *cursor++);
}

} // namespace tsp::emulation::ptx
