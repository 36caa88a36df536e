//===- Memory.h - memory that is measured -----------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_MEMORY_H
#define TSP_RUNTIME_CORE_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tsp::runtime {

/// A block of zero pages, which cost memory only once they are touched.
class Mapping {
public:
  Mapping() = default;
  /// Throws an Error when the system refuses.
  explicit Mapping(int64_t bytes);
  Mapping(Mapping &&other) { swap(other); }
  Mapping &operator=(Mapping &&other) {
    swap(other);
    return *this;
  }
  ~Mapping();

  char *data() const { return base; }
  int64_t size() const { return bytes; }

  /// Bytes of the pages that were touched.
  int64_t touched() const;

  /// Makes all pages zero and untouched.
  void discard();

private:
  void swap(Mapping &other) {
    std::swap(base, other.base);
    std::swap(bytes, other.bytes);
  }

  char *base = nullptr;
  int64_t bytes = 0;
};

/// `bytes` rounded up to whole pages: what a mapping holds at most.
int64_t wholePages(int64_t bytes);

/// The process' highest resident memory so far.
int64_t processPeakBytes();

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_MEMORY_H
