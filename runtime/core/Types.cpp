//===- Types.cpp - data types, their names and conversions ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Types.h"

#include <cmath>
#include <cstdarg>
#include <cstring>
#include <locale.h>

using namespace tsp::runtime;

/// What is written is read by programs, so a number has a point whatever the
/// locale of the process that the model runs in.
static std::string formatInC(const char *pattern, va_list args) {
  static const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", nullptr);
  locale_t before = uselocale(plain);
  va_list again;
  va_copy(again, args);
  int size = vsnprintf(nullptr, 0, pattern, args);
  std::string text(size < 0 ? 0 : size, '\0');
  vsnprintf(&text[0], text.size() + 1, pattern, again);
  va_end(again);
  uselocale(before);
  return text;
}

std::string tsp::runtime::format(const char *pattern, ...) {
  va_list args;
  va_start(args, pattern);
  std::string text = formatInC(pattern, args);
  va_end(args);
  return text;
}

namespace {
struct DtypeInfo {
  const char *name;
  int size;
};
} // namespace

static const DtypeInfo dtypeInfos[numDtypes] = {
    {"f64", 8},    {"f32", 4}, {"f16", 2}, {"bf16", 2}, {"f8E4M3FN", 1},
    {"f8E5M2", 1}, {"i1", 1},  {"i4", 1},  {"i8", 1},   {"i16", 2},
    {"i32", 4},    {"i64", 8}, {"ui4", 1}, {"ui8", 1},  {"ui16", 2},
    {"ui32", 4},   {"ui64", 8}};

int64_t tsp::runtime::dtypeSize(int dtype) { return dtypeInfos[dtype].size; }

const char *tsp::runtime::dtypeName(int dtype) {
  return isDtype(dtype) ? dtypeInfos[dtype].name : "unknown";
}

int tsp::runtime::dtypeFromName(const std::string &name) {
  for (int i = 0; i < numDtypes; ++i)
    if (name == dtypeInfos[i].name)
      return i;
  return -1;
}

std::string tsp::runtime::typeText(int dtype,
                                   const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + dtypeName(dtype);
}

int64_t tsp::runtime::countElements(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0)
      throw Error(format("a dim has the size %lld", (long long)size));
    empty |= size == 0;
    // 2^56 elements of 8 bytes still fit; nothing real comes near.
    if (!empty && count > (int64_t(1) << 56) / size)
      throw Error("a shape has more than 2^56 elements");
    count *= empty ? 1 : size;
  }
  return empty ? 0 : count;
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

template <typename To, typename From> static To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

/// Value of a float with `mantissa` bits of fraction and the given bias; the
/// caller has dealt with infinities and NaN.
static float decode(uint32_t sign, uint32_t exponent, uint32_t fraction,
                    int mantissa, int bias) {
  float value = exponent == 0 ? std::ldexp(float(fraction), 1 - bias - mantissa)
                              : std::ldexp(float(fraction | (1u << mantissa)),
                                           int(exponent) - bias - mantissa);
  return sign ? -value : value;
}

/// Rounds |value| (finite) to nearest even; gives exponent and fraction as one
/// number, which may be past the largest finite one.
static uint32_t encode(float value, int mantissa, int bias) {
  uint32_t bits = bitCast<uint32_t>(value) & 0x7fffffffu;
  int exponent = int(bits >> 23) - 127;
  if (bits >> 23 == 0) // subnormal floats are far below all these formats
    return 0;
  uint64_t significand = (bits & 0x7fffffu) | 0x800000u;
  int shift = 23 - mantissa;
  int target = exponent + bias;
  if (target < 1) {
    shift += 1 - target;
    target = 0;
  }
  if (shift > 40)
    return 0;
  uint64_t half = uint64_t(1) << (shift - 1);
  uint64_t rounded =
      (significand + half - 1 + ((significand >> shift) & 1)) >> shift;
  // In a normal number the leading one adds 1 to the exponent field.
  return target == 0 ? uint32_t(rounded)
                     : uint32_t(((uint64_t(target) - 1) << mantissa) + rounded);
}

float tsp::runtime::halfToFloat(uint16_t bits) {
  uint32_t sign = bits >> 15, exponent = (bits >> 10) & 31,
           fraction = bits & 1023;
  if (exponent == 31)
    return bitCast<float>((sign << 31) | 0x7f800000u | (fraction << 13));
  return decode(sign, exponent, fraction, 10, 15);
}

uint16_t tsp::runtime::floatToHalf(float value) {
  uint16_t sign = uint16_t((bitCast<uint32_t>(value) >> 16) & 0x8000u);
  if (std::isnan(value))
    return sign | 0x7e00u;
  if (std::isinf(value))
    return sign | 0x7c00u;
  uint32_t magnitude = encode(value, 10, 15);
  return sign | uint16_t(magnitude > 0x7c00u ? 0x7c00u : magnitude);
}

float tsp::runtime::f8E4M3ToFloat(uint8_t bits) {
  uint32_t sign = bits >> 7;
  if ((bits & 0x7f) == 0x7f)
    return bitCast<float>((sign << 31) | 0x7fc00000u);
  return decode(sign, (bits >> 3) & 15, bits & 7, 3, 7);
}

uint8_t tsp::runtime::floatToF8E4M3(float value) {
  uint8_t sign = uint8_t((bitCast<uint32_t>(value) >> 24) & 0x80u);
  if (std::isnan(value) || std::isinf(value))
    return sign | 0x7fu; // the format has no infinity
  uint32_t magnitude = encode(value, 3, 7);
  return sign | uint8_t(magnitude > 0x7eu ? 0x7fu : magnitude);
}

float tsp::runtime::f8E5M2ToFloat(uint8_t bits) {
  return halfToFloat(uint16_t(bits) << 8);
}

uint8_t tsp::runtime::floatToF8E5M2(float value) {
  uint8_t sign = uint8_t((bitCast<uint32_t>(value) >> 24) & 0x80u);
  if (std::isnan(value))
    return sign | 0x7eu;
  if (std::isinf(value))
    return sign | 0x7cu;
  uint32_t magnitude = encode(value, 2, 15);
  return sign | uint8_t(magnitude > 0x7cu ? 0x7cu : magnitude);
}
