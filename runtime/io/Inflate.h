//===- Inflate.h - decompression of zip members -----------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_IO_INFLATE_H
#define TSP_RUNTIME_IO_INFLATE_H

#include <cstddef>
#include <vector>

namespace tsp::runtime {

/// Decompresses raw deflate data (RFC 1951). Stops after `limit` bytes, in
/// which case the input may be cut off. Throws an Error on malformed data.
std::vector<char> inflate(const std::vector<char> &packed, size_t limit);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_IO_INFLATE_H
