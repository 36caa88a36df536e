//===- Json.h - a small JSON reader and writer helpers ----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_JSON_H
#define TSP_RUNTIME_CORE_JSON_H

#include "core/Types.h"

#include <string>
#include <utility>
#include <vector>

namespace tsp::runtime {

/// A JSON value. Numbers keep their text, so that 64-bit integers are exact.
/// The accessors throw an Error that names `path` when the kind is another.
class Json {
public:
  enum class Kind { Null, Bool, Number, String, Array, Object };

  /// Parses the whole text; throws an Error with the offset of the mistake.
  static Json parse(const char *text, size_t size);
  static Json parse(const std::string &text) {
    return parse(text.data(), text.size());
  }

  Kind kind = Kind::Null;
  bool truth = false;
  std::string text; ///< of a string or a number
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;

  /// The member with this name, or null.
  const Json *find(const char *name) const;

  /// The member with this name; an Error if there is none.
  const Json &at(const char *name, const std::string &path) const;

  int64_t asInt(const std::string &path) const;
  double asDouble(const std::string &path) const;
  const std::string &asString(const std::string &path) const;
  const std::vector<Json> &asArray(const std::string &path) const;
  std::vector<int64_t> asInts(const std::string &path) const;
};

/// The text as a JSON string, with its quotes.
std::string jsonString(const std::string &text);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_JSON_H
