//===- Npz.cpp - the members of an .npz file ------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "io/Inflate.h"
#include "io/TensorFile.h"

#include <algorithm>

using namespace tsp::runtime;

namespace {
/// A little-endian field reader over bytes that it checks.
class Fields {
public:
  Fields(const std::vector<char> &data, size_t at) : data(data), at(at) {}

  uint64_t get(int bytes) {
    if (at + size_t(bytes) > data.size())
      throw Error("malformed zip: a record is cut off");
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; --i)
      value = value << 8 | (unsigned char)data[at + size_t(i)];
    at += size_t(bytes);
    return value;
  }
  std::string text(size_t bytes) {
    if (at + bytes > data.size())
      throw Error("malformed zip: a record is cut off");
    at += bytes;
    return std::string(data.begin() + (at - bytes), data.begin() + at);
  }
  void skip(size_t bytes) { at += bytes; }
  void seek(size_t position) { at = position; }
  size_t position() const { return at; }

private:
  const std::vector<char> &data;
  size_t at;
};

struct Member {
  std::string name;
  uint64_t method = 0, packed = 0, unpacked = 0, header = 0;
};
} // namespace

static std::vector<char> readRange(const InputFile &file, uint64_t offset,
                                   uint64_t bytes) {
  if (offset > file.size() || bytes > file.size() - offset)
    throw Error("malformed zip: a record lies outside the file (is it "
                "truncated?)");
  std::vector<char> data(bytes);
  file.read(data.data(), bytes, offset);
  return data;
}

/// Position and size of the central directory.
static void findDirectory(const InputFile &file, uint64_t &offset,
                          uint64_t &bytes, uint64_t &count) {
  uint64_t tail = std::min<uint64_t>(file.size(), 65536 + 22);
  std::vector<char> data = readRange(file, file.size() - tail, tail);
  const char mark[] = {'P', 'K', 5, 6};
  auto found =
      std::find_end(data.begin(), data.end(), mark, mark + sizeof(mark));
  if (found == data.end())
    throw Error("not an .npz file: it has no zip directory (is it truncated?)");
  size_t at = size_t(found - data.begin());
  Fields end(data, at + 10);
  count = end.get(2);
  bytes = end.get(4);
  offset = end.get(4);
  if (count != 0xffff && bytes != 0xffffffff && offset != 0xffffffff)
    return;
  // Large archives have a second record, found by a locator before this one.
  const char mark64[] = {'P', 'K', 6, 7};
  if (at < 20 || memcmp(&data[at - 20], mark64, 4) != 0)
    return;
  uint64_t record = Fields(data, at - 20 + 8).get(8);
  std::vector<char> large = readRange(file, record, 56);
  const char markEnd[] = {'P', 'K', 6, 6};
  if (memcmp(large.data(), markEnd, 4) != 0)
    throw Error("malformed zip: the zip64 record is missing");
  Fields end64(large, 32);
  count = end64.get(8);
  bytes = end64.get(8);
  offset = end64.get(8);
}

/// Reads one record of the directory.
static Member readMember(const std::vector<char> &directory, size_t &at) {
  const char mark[] = {'P', 'K', 1, 2};
  if (at + 46 > directory.size() || memcmp(&directory[at], mark, 4) != 0)
    throw Error("malformed zip: a directory record is missing");
  Fields fields(directory, at + 8);
  Member member;
  uint64_t flags = fields.get(2);
  member.method = fields.get(2);
  fields.skip(8); // time, date, CRC
  member.packed = fields.get(4);
  member.unpacked = fields.get(4);
  uint64_t nameBytes = fields.get(2), extraBytes = fields.get(2);
  uint64_t commentBytes = fields.get(2);
  fields.skip(8);
  member.header = fields.get(4);
  member.name = fields.text(nameBytes);
  size_t extraEnd = fields.position() + extraBytes;
  while (fields.position() + 4 <= extraEnd) {
    uint64_t id = fields.get(2), size = fields.get(2);
    size_t next = fields.position() + size;
    if (id == 1)
      for (uint64_t *field : {&member.unpacked, &member.packed, &member.header})
        if (*field == 0xffffffff)
          *field = fields.get(8);
    fields.seek(next);
  }
  at = extraEnd + commentBytes;
  if (flags & 1)
    throw Error("'" + member.name + "' is encrypted");
  return member;
}

static FileTensor readTensor(const InputFile &file, const Member &member) {
  std::vector<char> local = readRange(file, member.header, 30);
  const char mark[] = {'P', 'K', 3, 4};
  if (memcmp(local.data(), mark, 4) != 0)
    throw Error("malformed zip: '" + member.name + "' has no local header");
  Fields fields(local, 26);
  uint64_t nameBytes = fields.get(2), extraBytes = fields.get(2);
  uint64_t data = member.header + 30 + nameBytes + extraBytes;
  if (data > file.size() || member.packed > file.size() - data)
    throw Error("'" + member.name + "': the file is truncated");

  FileTensor tensor;
  tensor.name = member.name;
  if (tensor.name.size() > 4 &&
      tensor.name.compare(tensor.name.size() - 4, 4, ".npy") == 0)
    tensor.name.resize(tensor.name.size() - 4);
  try {
    if (member.method == 0) {
      std::vector<char> head =
          readRange(file, data, std::min(member.packed, npyHeadBytes));
      tensor.offset = data + parseNpyHeader(head, member.packed, tensor);
    } else if (member.method == 8) {
      std::vector<char> packed =
          readRange(file, data, std::min<uint64_t>(member.packed, 262144));
      parseNpyHeader(inflate(packed, npyHeadBytes), member.unpacked, tensor);
      tensor.deflated = true;
      tensor.offset = data;
      tensor.deflatedBytes = member.packed;
    } else {
      throw Error(format("unknown compression method %llu",
                         (unsigned long long)member.method));
    }
  } catch (const Error &error) {
    throw Error("'" + member.name + "': " + error.what());
  }
  return tensor;
}

void tsp::runtime::readNpz(const InputFile &file,
                           std::vector<FileTensor> &tensors) {
  uint64_t offset, bytes, count;
  findDirectory(file, offset, bytes, count);
  std::vector<char> directory = readRange(file, offset, bytes);
  size_t at = 0;
  for (uint64_t i = 0; i < count; ++i)
    tensors.push_back(readTensor(file, readMember(directory, at)));
}
