//===- Npy.cpp - the header of an .npy file -------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "io/TensorFile.h"

#include <algorithm>
#include <cstdlib>

using namespace tsp::runtime;

namespace {
struct FormatDtype {
  const char *name; ///< without the mark of the byte order
  int size;
  std::vector<int> readableAs;
};

/// Reads the Python literal {'descr': '<f4', 'fortran_order': False, 'shape':
/// (2, 3), } that is an .npy header.
class HeaderParser {
public:
  explicit HeaderParser(const std::string &text) : text(text) {}

  void parse(std::string &descr, bool &columnMajor,
             std::vector<int64_t> &shape) {
    int seen = 0;
    expect('{');
    while (!accept('}')) {
      std::string key = quoted();
      expect(':');
      if (key == "descr") {
        descr = quoted();
        seen |= 1;
      } else if (key == "fortran_order") {
        columnMajor = word() == "True";
        seen |= 2;
      } else if (key == "shape") {
        shape = numbers();
        seen |= 4;
      } else {
        fail();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (seen != 7)
      fail();
  }

private:
  [[noreturn]] void fail() {
    throw Error("malformed .npy header: " +
                text.substr(0, std::min<size_t>(text.size(), 80)));
  }
  void skip() {
    while (at < text.size() && isspace((unsigned char)text[at]))
      ++at;
  }
  bool accept(char c) {
    skip();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      fail();
  }
  std::string quoted() {
    skip();
    char quote = at < text.size() ? text[at] : 0;
    size_t end = text.find(quote, at + 1);
    if ((quote != '\'' && quote != '"') || end == std::string::npos)
      fail();
    std::string result = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return result;
  }
  std::string word() {
    skip();
    size_t begin = at;
    while (at < text.size() && isalpha((unsigned char)text[at]))
      ++at;
    std::string result = text.substr(begin, at - begin);
    if (result != "True" && result != "False")
      fail();
    return result;
  }
  std::vector<int64_t> numbers() {
    std::vector<int64_t> result;
    expect('(');
    while (!accept(')')) {
      skip();
      size_t begin = at;
      while (at < text.size() && isdigit((unsigned char)text[at]))
        ++at;
      if (at == begin || at - begin > 18)
        fail();
      result.push_back(
          strtoll(text.substr(begin, at - begin).c_str(), nullptr, 10));
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return result;
  }

  const std::string &text;
  size_t at = 0;
};
} // namespace

static const FormatDtype *findDtype(const std::string &name) {
  // V1, V2: how NumPy writes the types of ml_dtypes.
  static const std::vector<FormatDtype> dtypes = {
      {"f8", 8, {TSP_F64}},
      {"f4", 4, {TSP_F32}},
      {"f2", 2, {TSP_F16}},
      {"b1", 1, {TSP_I1}},
      {"i1", 1, {TSP_I8, TSP_I4}},
      {"i2", 2, {TSP_I16}},
      {"i4", 4, {TSP_I32}},
      {"i8", 8, {TSP_I64}},
      {"u1", 1, {TSP_UI8, TSP_UI4, TSP_F8E4M3FN, TSP_F8E5M2}},
      {"u2", 2, {TSP_UI16, TSP_BF16}},
      {"u4", 4, {TSP_UI32}},
      {"u8", 8, {TSP_UI64}},
      {"V1", 1, {TSP_F8E4M3FN, TSP_F8E5M2, TSP_I4, TSP_UI4}},
      {"V2", 2, {TSP_BF16}}};
  for (const FormatDtype &dtype : dtypes)
    if (name == dtype.name)
      return &dtype;
  return nullptr;
}

uint64_t tsp::runtime::parseNpyHeader(const std::vector<char> &head,
                                      uint64_t bytes, FileTensor &tensor) {
  if (head.size() < 10 || memcmp(head.data(), "\x93NUMPY", 6) != 0)
    throw Error("not an .npy file: its first bytes are others");
  auto byte = [&](size_t i) { return uint64_t((unsigned char)head[i]); };
  uint64_t length = byte(8) | byte(9) << 8, begin = 10;
  if (byte(6) >= 2) {
    if (head.size() < 12)
      throw Error("the .npy header is truncated");
    length |= byte(10) << 16 | byte(11) << 24;
    begin = 12;
  }
  if (begin + length > head.size())
    throw Error("the .npy header is truncated or too long");
  std::string descr;
  std::string text(head.begin() + begin, head.begin() + begin + length);
  HeaderParser(text).parse(descr, tensor.columnMajor, tensor.shape);
  tensor.dtype = descr;
  if (!descr.empty() && descr[0] == '>')
    throw Error("big-endian values (" + descr + ") are not supported");
  const FormatDtype *dtype =
      findDtype(descr.find_first_of("<|=") == 0 ? descr.substr(1) : descr);
  if (!dtype)
    throw Error("unsupported dtype " + descr);
  static const char *const names[] = {
      "float64", "float32", "float16", "bool",   "int8",   "int16", "int32",
      "int64",   "uint8",   "uint16",  "uint32", "uint64", "void8", "void16"};
  tensor.dtype = names[dtype - findDtype("f8")];
  tensor.itemSize = dtype->size;
  tensor.readableAs = dtype->readableAs;
  if (tensor.shape.size() < 2)
    tensor.columnMajor = false;
  tensor.bytes =
      uint64_t(countElements(tensor.shape)) * uint64_t(tensor.itemSize);
  uint64_t found = bytes - std::min(bytes, begin + length);
  if (found < tensor.bytes)
    throw Error(format("the file is truncated: %s needs %llu bytes of data, "
                       "found %llu",
                       tensor.type().c_str(), (unsigned long long)tensor.bytes,
                       (unsigned long long)found));
  return begin + length;
}

void tsp::runtime::readNpy(const InputFile &file,
                           std::vector<FileTensor> &tensors) {
  FileTensor tensor;
  size_t slash = file.path().rfind('/');
  tensor.name = file.path().substr(slash == std::string::npos ? 0 : slash + 1);
  tensor.name.resize(tensor.name.size() - strlen(".npy"));
  std::vector<char> head(std::min<uint64_t>(file.size(), npyHeadBytes));
  file.read(head.data(), head.size(), 0);
  tensor.offset = parseNpyHeader(head, file.size(), tensor);
  tensors.push_back(tensor);
}
