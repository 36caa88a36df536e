//===- Writer.cpp - writing tensors to a file -----------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "io/Writer.h"
#include "core/Json.h"

#include <cerrno>
#include <unistd.h>

using namespace tsp::runtime;

namespace {
/// A file that is written from front to back; errors throw.
class OutputFile {
public:
  explicit OutputFile(const std::string &path)
      : path(path), file(fopen(path.c_str(), "wb")) {
    if (!file)
      fail();
  }
  ~OutputFile() {
    if (file)
      fclose(file);
  }

  void write(const void *data, size_t bytes) {
    if (bytes > 0 && fwrite(data, 1, bytes, file) != bytes)
      fail();
    offset += bytes;
  }
  void write(const std::string &text) { write(text.data(), text.size()); }
  /// A little-endian number.
  void number(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      char byte = char(value >> (8 * i));
      write(&byte, 1);
    }
  }
  void patch(uint64_t at, uint64_t value, int bytes) {
    uint64_t end = offset;
    seek(at);
    number(value, bytes);
    seek(end);
  }
  void close() {
    FILE *old = file;
    file = nullptr;
    if (fclose(old) != 0)
      fail();
  }
  uint64_t position() const { return offset; }

private:
  void seek(uint64_t to) {
    if (fseeko(file, off_t(to), SEEK_SET) != 0)
      fail();
    offset = to;
  }
  [[noreturn]] void fail() {
    std::string reason = strerror(errno);
    if (file)
      fclose(file);
    file = nullptr;
    throw Error("cannot write " + path + ": " + reason);
  }

  std::string path;
  FILE *file;
  uint64_t offset = 0;
};
} // namespace

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The zip checksum of more data.
static uint32_t updateCrc(uint32_t crc, const char *data, int64_t bytes) {
  static const std::vector<uint32_t> table = [] {
    std::vector<uint32_t> result(8 * 256);
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit)
        value = (value >> 1) ^ (value & 1 ? 0xedb88320u : 0);
      result[i] = value;
    }
    for (uint32_t i = 0; i < 256; ++i)
      for (int k = 1; k < 8; ++k)
        result[k * 256 + i] = result[result[(k - 1) * 256 + i] & 255] ^
                              (result[(k - 1) * 256 + i] >> 8);
    return result;
  }();
  crc = ~crc;
  int64_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    uint32_t low, high;
    memcpy(&low, data + i, 4);
    memcpy(&high, data + i + 4, 4);
    low ^= crc;
    crc = table[7 * 256 + (low & 255)] ^ table[6 * 256 + (low >> 8 & 255)] ^
          table[5 * 256 + (low >> 16 & 255)] ^ table[4 * 256 + (low >> 24)] ^
          table[3 * 256 + (high & 255)] ^ table[2 * 256 + (high >> 8 & 255)] ^
          table[256 + (high >> 16 & 255)] ^ table[high >> 24];
  }
  for (; i < bytes; ++i)
    crc = table[(crc ^ (unsigned char)data[i]) & 255] ^ (crc >> 8);
  return ~crc;
}

static std::string npyHeader(const OutputTensor &tensor) {
  static const char *const names[numDtypes] = {
      "<f8", "<f4", "<f2", "<u2", "|u1", "|u1", "|b1", "|i1", "|i1",
      "<i2", "<i4", "<i8", "|u1", "|u1", "<u2", "<u4", "<u8"};
  std::string text = std::string("{'descr': '") + names[tensor.dtype] +
                     "', 'fortran_order': False, 'shape': (";
  for (int64_t size : tensor.shape)
    text += std::to_string(size) + ",";
  text += "), }";
  while ((10 + text.size() + 1) % 64 != 0)
    text += ' ';
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += char(text.size() & 255);
  header += char(text.size() >> 8);
  return header + text;
}

static void writeNpy(OutputFile &file, const OutputTensor &tensor) {
  file.write(npyHeader(tensor));
  tensor.produce([&](const char *data, int64_t bytes) {
    file.write(data, size_t(bytes));
  });
}

/// The zip64 extra field with these numbers.
static std::string zip64Field(const std::vector<uint64_t> &values) {
  std::string field("\x01\x00", 2);
  field += char(8 * values.size());
  field += '\0';
  for (uint64_t value : values)
    for (int i = 0; i < 8; ++i)
      field += char(value >> (8 * i));
  return field;
}

/// Members are stored, each with zip64 sizes as NumPy itself writes them.
static void writeNpz(OutputFile &file,
                     const std::vector<OutputTensor> &tensors) {
  const uint64_t large = 0xffffffff;
  std::string directory;
  auto record = [&](std::string &out, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      out += char(value >> (8 * i));
  };
  for (const OutputTensor &tensor : tensors) {
    std::string name = tensor.name + ".npy", header = npyHeader(tensor);
    uint64_t begin = file.position();
    uint64_t size = header.size() + uint64_t(tensor.bytes());
    // version, flags (UTF-8 name), method, time, date
    const uint64_t common[5] = {45, 0x800, 0, 0, 0x21};
    file.number(0x04034b50, 4);
    for (uint64_t field : common)
      file.number(field, 2);
    uint64_t crcAt = file.position();
    file.number(0, 4);
    file.number(large, 4);
    file.number(large, 4);
    file.number(name.size(), 2);
    file.number(20, 2);
    file.write(name);
    file.write(zip64Field({size, size}));
    uint32_t crc = updateCrc(0, header.data(), int64_t(header.size()));
    file.write(header);
    tensor.produce([&](const char *data, int64_t bytes) {
      crc = updateCrc(crc, data, bytes);
      file.write(data, size_t(bytes));
    });
    file.patch(crcAt, crc, 4);

    record(directory, 0x02014b50, 4);
    record(directory, 45, 2);
    for (uint64_t field : common)
      record(directory, field, 2);
    record(directory, crc, 4);
    record(directory, large, 4);
    record(directory, large, 4);
    record(directory, name.size(), 2);
    record(directory, 28, 2);
    record(directory, 0, 2); // comment
    record(directory, 0, 2); // disk
    record(directory, 0, 2); // attributes
    record(directory, 0, 4);
    record(directory, large, 4);
    directory += name + zip64Field({size, size, begin});
  }
  uint64_t begin = file.position();
  file.write(directory);
  uint64_t end = file.position();
  file.number(0x06064b50, 4); // zip64 end of the directory
  file.number(44, 8);
  file.number(45, 2);
  file.number(45, 2);
  file.number(0, 4);
  file.number(0, 4);
  file.number(tensors.size(), 8);
  file.number(tensors.size(), 8);
  file.number(directory.size(), 8);
  file.number(begin, 8);
  file.number(0x07064b50, 4); // its locator
  file.number(0, 4);
  file.number(end, 8);
  file.number(1, 4);
  file.number(0x06054b50, 4); // the end
  file.number(0, 2);
  file.number(0, 2);
  file.number(0xffff, 2);
  file.number(0xffff, 2);
  file.number(large, 4);
  file.number(large, 4);
  file.number(0, 2);
}

static void writeSafetensors(OutputFile &file,
                             const std::vector<OutputTensor> &tensors) {
  static const char *const names[numDtypes] = {
      "F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "BOOL", "I8", "I8",
      "I16", "I32", "I64", "U8",   "U8",      "U16",     "U32",  "U64"};
  std::string header = "{";
  int64_t offset = 0;
  for (const OutputTensor &tensor : tensors) {
    header += format("%s%s:{\"dtype\":\"%s\",\"shape\":[",
                     header.size() > 1 ? "," : "",
                     jsonString(tensor.name).c_str(), names[tensor.dtype]);
    for (size_t i = 0; i < tensor.shape.size(); ++i)
      header += (i ? "," : "") + std::to_string(tensor.shape[i]);
    header += format("],\"data_offsets\":[%lld,%lld]}", (long long)offset,
                     (long long)(offset + tensor.bytes()));
    offset += tensor.bytes();
  }
  header += "}";
  while (header.size() % 8 != 0)
    header += ' ';
  file.number(header.size(), 8);
  file.write(header);
  for (const OutputTensor &tensor : tensors)
    tensor.produce([&](const char *data, int64_t bytes) {
      file.write(data, size_t(bytes));
    });
}

void tsp::runtime::checkTensorsWritable(const std::string &path) {
  if (!endsWith(path, ".npz") && !endsWith(path, ".npy") &&
      !endsWith(path, ".safetensors"))
    throw Error(path + ": unknown kind of file; expected .npz, .npy or "
                       ".safetensors");
  checkWritable(path);
}

void tsp::runtime::checkWritable(const std::string &path) {
  bool existed = access(path.c_str(), F_OK) == 0;
  FILE *file = fopen(path.c_str(), "ab");
  if (!file)
    throw Error("cannot write " + path + ": " + strerror(errno));
  fclose(file);
  if (!existed)
    unlink(path.c_str());
}

void tsp::runtime::writeTensors(const std::string &path,
                                const std::vector<OutputTensor> &tensors) {
  checkTensorsWritable(path);
  bool isNpy = endsWith(path, ".npy");
  if (isNpy && tensors.size() != 1)
    throw Error(format("%s: an .npy file holds one result, but there are %zu; "
                       "use .npz or .safetensors",
                       path.c_str(), tensors.size()));
  OutputFile file(path);
  if (isNpy)
    writeNpy(file, tensors[0]);
  else if (endsWith(path, ".npz"))
    writeNpz(file, tensors);
  else
    writeSafetensors(file, tensors);
  file.close();
}

void tsp::runtime::writeText(const std::string &path, const std::string &text) {
  OutputFile file(path);
  file.write(text);
  file.close();
}
