//===- Json.cpp - a small JSON reader and writer helpers ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Json.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

using namespace tsp::runtime;

/// A whole text that is a number; it has a point in every locale.
static std::optional<double> parseDouble(const std::string &text) {
  const char *end = text.data() + text.size();
  double value = 0;
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end)
    return std::nullopt;
  return value;
}

namespace {
class Parser {
public:
  Parser(const char *text, size_t size)
      : begin(text), cursor(text), end(text + size) {}

  Json run() {
    Json value = parseValue(0);
    skipSpace();
    if (cursor != end)
      fail("text after the value");
    return value;
  }

private:
  [[noreturn]] void fail(const char *what) {
    throw Error(format("JSON: %s at offset %zu", what, size_t(cursor - begin)));
  }

  void skipSpace() {
    while (cursor != end && (*cursor == ' ' || *cursor == '\n' ||
                             *cursor == '\t' || *cursor == '\r'))
      ++cursor;
  }

  bool accept(char c) {
    skipSpace();
    if (cursor == end || *cursor != c)
      return false;
    ++cursor;
    return true;
  }

  void expectWord(const char *word) {
    size_t size = strlen(word);
    if (size_t(end - cursor) < size || memcmp(cursor, word, size) != 0)
      fail("expected a value");
    cursor += size;
  }

  Json parseValue(int depth) {
    if (depth > 64)
      fail("more than 64 levels");
    skipSpace();
    if (cursor == end)
      fail("unexpected end");
    Json value;
    switch (*cursor) {
    case '{':
      return parseObject(depth);
    case '[':
      return parseArray(depth);
    case '"':
      value.kind = Json::Kind::String;
      value.text = parseString();
      return value;
    case 't':
    case 'f':
      value.kind = Json::Kind::Bool;
      value.truth = *cursor == 't';
      expectWord(value.truth ? "true" : "false");
      return value;
    case 'n':
      expectWord("null");
      return value;
    default:
      return parseNumber();
    }
  }

  Json parseNumber() {
    Json value;
    value.kind = Json::Kind::Number;
    while (cursor != end &&
           (strchr("+-.eE", *cursor) != nullptr ||
            (*cursor >= '0' && *cursor <= '9')) &&
           *cursor != '\0')
      value.text += *cursor++;
    if (value.text.empty())
      fail("expected a value");
    if (!parseDouble(value.text))
      fail("malformed number");
    return value;
  }

  Json parseArray(int depth) {
    Json value;
    value.kind = Json::Kind::Array;
    ++cursor;
    if (accept(']'))
      return value;
    do
      value.items.push_back(parseValue(depth + 1));
    while (accept(','));
    if (!accept(']'))
      fail("expected ',' or ']'");
    return value;
  }

  Json parseObject(int depth) {
    Json value;
    value.kind = Json::Kind::Object;
    ++cursor;
    if (accept('}'))
      return value;
    do {
      skipSpace();
      if (cursor == end || *cursor != '"')
        fail("expected a name in quotes");
      std::string name = parseString();
      if (!accept(':'))
        fail("expected ':'");
      value.members.emplace_back(std::move(name), parseValue(depth + 1));
    } while (accept(','));
    if (!accept('}'))
      fail("expected ',' or '}'");
    return value;
  }

  unsigned parseHex4() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i, ++cursor) {
      if (cursor == end || !isxdigit((unsigned char)*cursor))
        fail("malformed \\u escape");
      char c = *cursor | 0x20;
      code = code * 16 + unsigned(c <= '9' ? *cursor - '0' : c - 'a' + 10);
    }
    return code;
  }

  static void appendUtf8(std::string &out, unsigned code) {
    if (code < 0x80) {
      out += char(code);
      return;
    }
    if (code < 0x800) {
      out += char(0xc0 | (code >> 6));
    } else {
      if (code < 0x10000) {
        out += char(0xe0 | (code >> 12));
      } else {
        out += char(0xf0 | (code >> 18));
        out += char(0x80 | ((code >> 12) & 63));
      }
      out += char(0x80 | ((code >> 6) & 63));
    }
    out += char(0x80 | (code & 63));
  }

  std::string parseString() {
    std::string out;
    ++cursor;
    while (true) {
      if (cursor == end)
        fail("string without an end");
      unsigned char c = (unsigned char)*cursor++;
      if (c == '"')
        return out;
      if (c < 0x20)
        fail("control character in a string");
      if (c != '\\') {
        out += char(c);
        continue;
      }
      if (cursor == end)
        fail("string without an end");
      char escape = *cursor++;
      static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
      if (escape == 'u') {
        unsigned code = parseHex4();
        if (code >= 0xd800 && code < 0xdc00 && end - cursor >= 6 &&
            cursor[0] == '\\' && cursor[1] == 'u') {
          cursor += 2;
          unsigned low = parseHex4();
          code = 0x10000 + ((code - 0xd800) << 10) + ((low - 0xdc00) & 0x3ff);
        }
        appendUtf8(out, code);
      } else if (const char *found = escape ? strchr(names, escape) : nullptr) {
        out += values[found - names];
      } else {
        fail("unknown escape in a string");
      }
    }
  }

  const char *begin, *cursor, *end;
};
} // namespace

Json Json::parse(const char *text, size_t size) {
  return Parser(text, size).run();
}

const Json *Json::find(const char *name) const {
  for (const auto &[key, value] : members)
    if (key == name)
      return &value;
  return nullptr;
}

const Json &Json::at(const char *name, const std::string &path) const {
  if (const Json *value = find(name))
    return *value;
  throw Error(path + " has no '" + name + "'");
}

int64_t Json::asInt(const std::string &path) const {
  char *rest;
  errno = 0;
  int64_t value = strtoll(text.c_str(), &rest, 10);
  if (kind != Kind::Number || *rest != '\0' || errno != 0)
    throw Error(path + " is not an integer of 64 bits");
  return value;
}

double Json::asDouble(const std::string &path) const {
  if (kind != Kind::Number)
    throw Error(path + " is not a number");
  return parseDouble(text).value();
}

const std::string &Json::asString(const std::string &path) const {
  if (kind != Kind::String)
    throw Error(path + " is not a string");
  return text;
}

const std::vector<Json> &Json::asArray(const std::string &path) const {
  if (kind != Kind::Array)
    throw Error(path + " is not a list");
  return items;
}

std::vector<int64_t> Json::asInts(const std::string &path) const {
  std::vector<int64_t> values;
  for (const Json &item : asArray(path))
    values.push_back(item.asInt(path));
  return values;
}

std::string tsp::runtime::jsonString(const std::string &text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if ((unsigned char)c < 0x20)
      out += format("\\u%04x", c);
    else
      out += c;
  }
  return out + "\"";
}
