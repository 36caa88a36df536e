//===- Writer.h - writing tensors to a file ---------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_IO_WRITER_H
#define TSP_RUNTIME_IO_WRITER_H

#include "core/Types.h"

#include <cstdio>
#include <functional>

namespace tsp::runtime {

/// A tensor to write. `produce` hands its bytes, in order, to the sink.
struct OutputTensor {
  using Sink = std::function<void(const char *data, int64_t bytes)>;

  std::string name;
  int dtype = TSP_F32;
  std::vector<int64_t> shape;
  std::function<void(const Sink &)> produce;

  int64_t bytes() const { return countElements(shape) * dtypeSize(dtype); }
};

/// Throws an Error unless the file can be written. Leaves an existing file as
/// it is, and none where there was none.
void checkWritable(const std::string &path);

/// The same for a file of tensors, whose ending must be known too.
void checkTensorsWritable(const std::string &path);

/// Writes .npz, .npy (one tensor) or .safetensors, by the ending.
void writeTensors(const std::string &path,
                  const std::vector<OutputTensor> &tensors);

/// Writes a text file; throws an Error that names it.
void writeText(const std::string &path, const std::string &text);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_IO_WRITER_H
