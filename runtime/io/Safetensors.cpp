//===- Safetensors.cpp - the header of a .safetensors file ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Json.h"
#include "io/TensorFile.h"

using namespace tsp::runtime;

namespace {
struct FormatDtype {
  const char *name;
  int size;
  std::vector<int> readableAs;
};
} // namespace

static const FormatDtype *findDtype(const std::string &name) {
  static const std::vector<FormatDtype> dtypes = {
      {"F64", 8, {TSP_F64}},          {"F32", 4, {TSP_F32}},
      {"F16", 2, {TSP_F16}},          {"BF16", 2, {TSP_BF16}},
      {"F8_E4M3", 1, {TSP_F8E4M3FN}}, {"F8_E5M2", 1, {TSP_F8E5M2}},
      {"BOOL", 1, {TSP_I1}},          {"I8", 1, {TSP_I8, TSP_I4}},
      {"I16", 2, {TSP_I16}},          {"I32", 4, {TSP_I32}},
      {"I64", 8, {TSP_I64}},          {"U8", 1, {TSP_UI8, TSP_UI4}},
      {"U16", 2, {TSP_UI16}},         {"U32", 4, {TSP_UI32}},
      {"U64", 8, {TSP_UI64}}};
  for (const FormatDtype &dtype : dtypes)
    if (name == dtype.name)
      return &dtype;
  return nullptr;
}

/// Reads one entry; `data` is where the values begin, `dataBytes` their size.
static FileTensor readTensor(const std::string &name, const Json &json,
                             uint64_t data, uint64_t dataBytes) {
  std::string path = "tensor '" + name + "'";
  FileTensor tensor;
  tensor.name = name;
  tensor.dtype = json.at("dtype", path).asString(path + ": dtype");
  tensor.shape = json.at("shape", path).asInts(path + ": shape");
  int64_t count = countElements(tensor.shape);
  std::vector<int64_t> range =
      json.at("data_offsets", path).asInts(path + ": data_offsets");
  if (range.size() != 2 || range[0] < 0 || range[1] < range[0])
    throw Error(path + ": data_offsets is not a range");
  if (uint64_t(range[1]) > dataBytes)
    throw Error(format("%s: the file is truncated: its data should end at byte "
                       "%llu, but the file has %llu bytes",
                       path.c_str(), (unsigned long long)(data + range[1]),
                       (unsigned long long)(data + dataBytes)));
  tensor.offset = data + uint64_t(range[0]);
  tensor.bytes = uint64_t(range[1] - range[0]);
  // Types that no program has may still be in the file.
  if (const FormatDtype *dtype = findDtype(tensor.dtype)) {
    tensor.itemSize = dtype->size;
    tensor.readableAs = dtype->readableAs;
    if (uint64_t(count) * uint64_t(dtype->size) != tensor.bytes)
      throw Error(format("%s: %s needs %lld bytes, but data_offsets gives %llu",
                         path.c_str(), tensor.type().c_str(),
                         (long long)(count * dtype->size),
                         (unsigned long long)tensor.bytes));
  }
  return tensor;
}

void tsp::runtime::readSafetensorsHeader(const InputFile &file,
                                         std::vector<FileTensor> &tensors) {
  uint64_t headerBytes = 0;
  if (file.size() < 8)
    throw Error("the file is too short for a safetensors header");
  unsigned char head[8];
  file.read(head, 8, 0);
  for (int i = 7; i >= 0; --i)
    headerBytes = headerBytes << 8 | head[i];
  const uint64_t limit = 100 << 20; // the format's own limit
  if (headerBytes > limit || headerBytes > file.size() - 8)
    throw Error(format("malformed header: it should have %llu bytes, but the "
                       "file has %llu",
                       (unsigned long long)headerBytes,
                       (unsigned long long)file.size()));
  std::string text(headerBytes, '\0');
  file.read(&text[0], headerBytes, 8);
  Json header;
  try {
    header = Json::parse(text);
  } catch (const Error &error) {
    throw Error(std::string("malformed header: ") + error.what());
  }
  if (header.kind != Json::Kind::Object)
    throw Error("malformed header: it is not a JSON object");
  uint64_t data = 8 + headerBytes;
  for (const auto &[name, json] : header.members)
    if (name != "__metadata__")
      tensors.push_back(readTensor(name, json, data, file.size() - data));
}
