//===- Memory.cpp - memory that is measured -------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Memory.h"
#include "core/Types.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace tsp::runtime;

static int64_t pageSize() {
  static const int64_t size = sysconf(_SC_PAGESIZE);
  return size;
}

int64_t tsp::runtime::wholePages(int64_t bytes) {
  return (bytes + pageSize() - 1) / pageSize() * pageSize();
}

Mapping::Mapping(int64_t size) {
  if (size == 0)
    return;
  bytes = wholePages(size);
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::string text = format("cannot reserve %lld bytes of memory: %s",
                              (long long)bytes, strerror(errno));
    bytes = 0;
    throw Error(text);
  }
  base = static_cast<char *>(memory);
  // Fewer faults and misses of the TLB; blocks this large are used whole.
  if (bytes >= (int64_t(8) << 20))
    madvise(base, bytes, MADV_HUGEPAGE);
}

Mapping::~Mapping() {
  if (base)
    munmap(base, bytes);
}

int64_t Mapping::touched() const {
  if (!base)
    return 0;
  const int64_t blockPages = 4096;
  unsigned char present[blockPages];
  int64_t pages = bytes / pageSize(), count = 0;
  for (int64_t first = 0; first < pages; first += blockPages) {
    int64_t n = std::min(blockPages, pages - first);
    if (mincore(base + first * pageSize(), n * pageSize(), present) != 0)
      return bytes;
    for (int64_t i = 0; i < n; ++i)
      count += present[i] & 1;
  }
  return count * pageSize();
}

void Mapping::discard() {
  if (base)
    madvise(base, bytes, MADV_DONTNEED);
}

int64_t tsp::runtime::processPeakBytes() {
  int64_t kilobytes = 0;
  if (FILE *file = fopen("/proc/self/status", "r")) {
    char line[256];
    while (fgets(line, sizeof(line), file))
      if (strncmp(line, "VmHWM:", 6) == 0)
        kilobytes = strtoll(line + 6, nullptr, 10);
    fclose(file);
  }
  return kilobytes * 1024;
}
