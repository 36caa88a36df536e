//===- Print.cpp - printf() of kernels ------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// vprintf of the device runtime: a format, and a buffer with the arguments one
// after the other, each aligned to its size, floats as doubles.
//
//===----------------------------------------------------------------------===//

#include "exec/BlockRunner.h"
#include "exec/Helpers.h"

#include <cstdio>
#include <cstring>

namespace tsp::emulation::helpers {

namespace {
class Printer {
public:
  Printer(Context context, uint32_t site, unsigned lane, uint64_t arguments)
      : context(context), site(site), lane(lane), next(arguments) {}

  std::string print(const char *format) {
    while (*format)
      if (*format != '%')
        text += *format++;
      else
        format = convert(format);
    return std::move(text);
  }

private:
  template <typename T> T take() {
    next = (next + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    uint64_t addresses[warpSize] = {};
    addresses[lane] = next;
    context->block->checkAccess(*context, site, uint32_t(1) << lane, addresses,
                                sizeof(T), sizeof(T), ptx::Space::Generic);
    T value;
    std::memcpy(&value, reinterpret_cast<const void *>(next), sizeof(T));
    next += sizeof(T);
    return value;
  }

  template <typename... Ts> void add(const std::string &format, Ts... values) {
    char buffer[512];
    std::snprintf(buffer, sizeof(buffer), format.c_str(), values...);
    text += buffer;
  }

  /// What begins with '%'; returns what follows it.
  const char *convert(const char *format) {
    std::string one(1, *format++);
    for (; *format && std::strchr("-+ #0123456789.*", *format); ++format)
      one += *format == '*' ? std::to_string(take<int32_t>())
                            : std::string(1, *format);
    bool isLong = false;
    for (; *format && std::strchr("hljzt", *format); ++format)
      isLong |= *format != 'h';
    char kind = *format;
    if (!kind)
      return format;
    if (kind == '%')
      text += kind;
    else if (std::strchr("diouxX", kind) && isLong)
      add(one + "ll" + kind, static_cast<long long>(take<int64_t>()));
    else if (std::strchr("diouxXc", kind))
      add(one + kind, take<int32_t>());
    else if (std::strchr("fFeEgGaA", kind))
      add(one + kind, take<double>());
    else if (kind == 'p')
      add(one + kind, reinterpret_cast<void *>(take<uint64_t>()));
    else if (kind == 's')
      add(one + kind, reinterpret_cast<const char *>(take<uint64_t>()));
    else
      text += one + kind;
    return format + 1;
  }

  Context context;
  uint32_t site;
  unsigned lane;
  uint64_t next;
  std::string text;
};
} // namespace

void print(Context context, uint32_t siteIndex, uint32_t mask,
           const uint8_t *formats, const uint8_t *arguments, uint8_t *results) {
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    auto pointerAt = [&](const uint8_t *operands) {
      uint64_t pointer;
      std::memcpy(&pointer, operands + 16 * lane, sizeof(pointer));
      return pointer;
    };
    uint64_t format = pointerAt(formats);
    uint64_t addresses[warpSize] = {};
    addresses[lane] = format;
    context->block->checkAccess(*context, siteIndex, uint32_t(1) << lane,
                                addresses, 1, 1, ptx::Space::Generic);
    std::string text = Printer(context, siteIndex, lane, pointerAt(arguments))
                           .print(reinterpret_cast<const char *>(format));
    int32_t count = int32_t(text.size());
    std::memcpy(results + 16 * lane, &count, sizeof(count));
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
}

} // namespace tsp::emulation::helpers
