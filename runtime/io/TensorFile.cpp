//===- TensorFile.cpp - named tensors in a file ---------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "io/TensorFile.h"
#include "io/Inflate.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace tsp::runtime;

InputFile::InputFile(const std::string &path) : name(path) {
  descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    throw Error("cannot open " + path + ": " + strerror(errno));
  struct stat info;
  bool regular = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  if (!regular) {
    close(descriptor);
    throw Error("cannot read " + path + ": it is not a file");
  }
  bytes = uint64_t(info.st_size);
}

InputFile::~InputFile() { close(descriptor); }

void InputFile::read(void *dst, uint64_t count, uint64_t offset) const {
  char *cursor = static_cast<char *>(dst);
  while (count > 0) {
    ssize_t got = pread(descriptor, cursor, count, off_t(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      throw Error("cannot read " + name + ": " + strerror(errno));
    if (got == 0)
      throw Error(format("%s is truncated: it ends at byte %llu, but %llu more "
                         "are needed",
                         name.c_str(), (unsigned long long)offset,
                         (unsigned long long)count));
    cursor += got;
    offset += uint64_t(got);
    count -= uint64_t(got);
  }
}

bool FileTensor::isReadableAs(int wanted) const {
  return std::find(readableAs.begin(), readableAs.end(), wanted) !=
         readableAs.end();
}

std::string FileTensor::type() const {
  std::string text;
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + dtype;
}

static bool endsWith(const std::string &text, const char *end) {
  size_t size = strlen(end);
  return text.size() >= size &&
         text.compare(text.size() - size, size, end) == 0;
}

std::shared_ptr<TensorFile> TensorFile::open(const std::string &path) {
  std::shared_ptr<TensorFile> result(new TensorFile(path));
  auto read = endsWith(path, ".safetensors") ? readSafetensorsHeader
              : endsWith(path, ".npz")       ? readNpz
              : endsWith(path, ".npy")       ? readNpy
                                             : nullptr;
  if (!read)
    throw Error(path + ": unknown kind of file; expected .safetensors, .npz or "
                       ".npy");
  try {
    read(result->file, result->entries);
    std::set<std::string> names;
    for (const FileTensor &tensor : result->entries)
      if (!names.insert(tensor.name).second)
        throw Error("two tensors are named '" + tensor.name + "'");
  } catch (const Error &error) {
    std::string text = error.what();
    throw Error(text.find(path) == std::string::npos ? path + ": " + text
                                                     : text);
  }
  return result;
}

const FileTensor *TensorFile::find(const std::string &name) const {
  for (const FileTensor &tensor : entries)
    if (tensor.name == name)
      return &tensor;
  return nullptr;
}

/// Turns column-major values into row-major ones.
static std::vector<char> toRowMajor(const std::vector<char> &data,
                                    const FileTensor &tensor) {
  std::vector<char> result(data.size());
  size_t rank = tensor.shape.size();
  std::vector<int64_t> index(rank, 0), strides(rank, 1);
  for (size_t i = 1; i < rank; ++i)
    strides[i] = strides[i - 1] * tensor.shape[i - 1];
  int64_t count = countElements(tensor.shape), size = tensor.itemSize;
  for (int64_t at = 0; at < count; ++at) {
    int64_t from = 0;
    for (size_t i = 0; i < rank; ++i)
      from += index[i] * strides[i];
    memcpy(&result[at * size], &data[from * size], size);
    for (size_t i = rank; i-- > 0 && ++index[i] == tensor.shape[i];)
      index[i] = 0;
  }
  return result;
}

std::vector<char> TensorFile::readWhole(const FileTensor &tensor) const {
  std::vector<char> data;
  if (tensor.deflated) {
    // The member is an .npy with its header.
    std::vector<char> packed(tensor.deflatedBytes);
    file.read(packed.data(), packed.size(), tensor.offset);
    std::vector<char> member = inflate(packed, tensor.bytes + npyHeadBytes);
    FileTensor again;
    uint64_t header = parseNpyHeader(member, member.size(), again);
    if (again.shape != tensor.shape || member.size() - header != tensor.bytes)
      throw Error(path() + ": '" + tensor.name + "' is damaged");
    data.assign(member.begin() + header, member.end());
  } else {
    data.resize(tensor.bytes);
    file.read(data.data(), data.size(), tensor.offset);
  }
  return tensor.columnMajor ? toRowMajor(data, tensor) : data;
}

void SliceReader::read(void *dst, uint64_t bytes, uint64_t offset) {
  if (offset + bytes > tensor.bytes)
    throw Error(file.path() + ": '" + tensor.name + "' is too short");
  if (whole) {
    memcpy(dst, whole->data() + offset, bytes);
    return;
  }
  const uint64_t large = 65536, window = 262144;
  if (bytes >= large)
    return file.input().read(dst, bytes, tensor.offset + offset);
  if (offset < bufferBegin || offset + bytes > bufferBegin + bufferSize) {
    bufferBegin = offset;
    bufferSize = std::min(window, tensor.bytes - offset);
    buffer.resize(window);
    file.input().read(buffer.data(), bufferSize, tensor.offset + offset);
  }
  memcpy(dst, buffer.data() + (offset - bufferBegin), bytes);
}
