//===- TensorFile.h - named tensors in a file -------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_IO_TENSORFILE_H
#define TSP_RUNTIME_IO_TENSORFILE_H

#include "core/Types.h"

#include <memory>
#include <mutex>

namespace tsp::runtime {

/// An open file that is read by position.
class InputFile {
public:
  /// Throws an Error that names the file.
  explicit InputFile(const std::string &path);
  ~InputFile();
  InputFile(const InputFile &) = delete;

  const std::string &path() const { return name; }
  uint64_t size() const { return bytes; }

  /// Reads exactly `count` bytes; an Error when the file is shorter.
  void read(void *dst, uint64_t count, uint64_t offset) const;

private:
  std::string name;
  int descriptor;
  uint64_t bytes = 0;
};

/// A tensor in a file.
struct FileTensor {
  std::string name;
  std::string dtype; ///< as the file calls it, for messages
  int itemSize = 1;
  /// The types it may be read as: the one it says, and those that have no name
  /// in the format (bf16 as uint16).
  std::vector<int> readableAs;
  std::vector<int64_t> shape;
  uint64_t offset = 0, bytes = 0; ///< of the data in the file
  /// Values cannot be read in place: compressed, or column by column.
  bool deflated = false, columnMajor = false;
  uint64_t deflatedBytes = 0;

  bool isReadableAs(int dtype) const;
  std::string type() const; ///< "3x5xF32"
};

/// A file of named tensors.
class TensorFile {
public:
  /// Opens a .safetensors, .npz or .npy by its ending and reads the headers.
  /// Throws an Error that names the file and what is wrong with it.
  static std::shared_ptr<TensorFile> open(const std::string &path);

  const std::string &path() const { return file.path(); }
  const std::vector<FileTensor> &tensors() const { return entries; }
  const FileTensor *find(const std::string &name) const;

  /// The whole tensor in row-major order.
  std::vector<char> readWhole(const FileTensor &tensor) const;

  const InputFile &input() const { return file; }

private:
  explicit TensorFile(const std::string &path) : file(path) {}

  InputFile file;
  std::vector<FileTensor> entries;
};

/// Reads pieces of a tensor's data in increasing order; small ones through a
/// buffer. One for each reading thread.
class SliceReader {
public:
  SliceReader(const TensorFile &file, const FileTensor &tensor)
      : file(file), tensor(tensor) {}
  /// Reads from the values that readWhole gave.
  SliceReader(const TensorFile &file, const FileTensor &tensor,
              const std::vector<char> &whole)
      : file(file), tensor(tensor), whole(&whole) {}

  void read(void *dst, uint64_t bytes, uint64_t offset);

private:
  const TensorFile &file;
  const FileTensor &tensor;
  const std::vector<char> *whole = nullptr;
  std::vector<char> buffer;
  uint64_t bufferBegin = 0, bufferSize = 0;
};

// Readers of the formats; they append to the list.
void readSafetensorsHeader(const InputFile &file,
                           std::vector<FileTensor> &tensors);
void readNpy(const InputFile &file, std::vector<FileTensor> &tensors);
void readNpz(const InputFile &file, std::vector<FileTensor> &tensors);

/// Reads the header of an .npy whose first bytes are `head`; `bytes` is the
/// size of the whole. Fills in dtype, shape and order; returns the header's
/// size.
uint64_t parseNpyHeader(const std::vector<char> &head, uint64_t bytes,
                        FileTensor &tensor);

/// Most bytes that an .npy header may have here.
constexpr uint64_t npyHeadBytes = 65536 + 16;

} // namespace tsp::runtime

#endif // TSP_RUNTIME_IO_TENSORFILE_H
