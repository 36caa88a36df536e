//===- DataTypes.cpp - element types and sums of them ---------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nccl/DataTypes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

using namespace tsp::emulation;

namespace {
/// A float format of at most 16 bits. e4m3 has no infinities: its largest
/// exponent holds numbers, and NaN where all other bits are ones.
struct Format {
  int exponentBits;
  int mantissaBits;
  bool hasInfinity;
};
} // namespace

constexpr Format e5m10{5, 10, true}, e4m3{4, 3, false}, e5m2{5, 2, true};

static float decode(Format format, uint32_t bits) {
  int bias = (1 << (format.exponentBits - 1)) - 1;
  uint32_t topExponent = (1u << format.exponentBits) - 1;
  uint32_t mantissa = bits & ((1u << format.mantissaBits) - 1);
  uint32_t exponent = (bits >> format.mantissaBits) & topExponent;
  bool negative = bits >> (format.mantissaBits + format.exponentBits) & 1;
  uint32_t ones = (1u << format.mantissaBits) - 1;
  float value;
  if (exponent == topExponent && format.hasInfinity)
    value = mantissa ? NAN : INFINITY;
  else if (exponent == topExponent && mantissa == ones)
    value = NAN;
  else if (exponent == 0)
    value = std::ldexp(float(mantissa), 1 - bias - format.mantissaBits);
  else
    value = std::ldexp(float(mantissa | (1u << format.mantissaBits)),
                       int(exponent) - bias - format.mantissaBits);
  return negative ? -value : value;
}

/// To the nearest, ties to even. What is too large becomes infinity, or NaN in
/// a format without it.
static uint32_t encode(Format format, float value) {
  int bias = (1 << (format.exponentBits - 1)) - 1;
  uint32_t topExponent = (1u << format.exponentBits) - 1;
  uint32_t ones = (1u << format.mantissaBits) - 1;
  uint32_t sign = uint32_t(std::signbit(value))
                  << (format.mantissaBits + format.exponentBits);
  uint32_t infinity = format.hasInfinity
                          ? topExponent << format.mantissaBits
                          : topExponent << format.mantissaBits | ones;
  if (std::isnan(value))
    return sign | topExponent << format.mantissaBits | ones;
  if (std::isinf(value))
    return sign | infinity;
  int exponent = 0;
  std::frexp(value, &exponent);
  // The distance of neighbours at this size, and the value counted in it.
  int unit = std::max(exponent - 1, 1 - bias) - format.mantissaBits;
  auto steps = uint32_t(std::nearbyint(std::ldexp(std::fabs(value), -unit)));
  // Numbers below the smallest normal one have exponent 0. A count that rounds
  // up to the next power of two carries into the exponent as it should.
  uint32_t exponentField = uint32_t(unit + format.mantissaBits + bias - 1);
  uint32_t bits = (exponentField << format.mantissaBits) + steps;
  return sign | std::min(bits, infinity);
}

/// How a type is stored and in what it is summed.
template <typename T> struct Plain {
  using Stored = T;
  using Sum = T;
  static Sum load(Stored value) { return value; }
  static Stored store(Sum value) { return value; }
};
template <const Format &format, typename T> struct InFloat {
  using Stored = T;
  using Sum = float;
  static Sum load(Stored bits) { return decode(format, bits); }
  static Stored store(Sum value) { return Stored(encode(format, value)); }
};
struct BFloat {
  using Stored = uint16_t;
  using Sum = float;
  static Sum load(Stored bits) {
    uint32_t wide = uint32_t(bits) << 16;
    float value;
    memcpy(&value, &wide, sizeof(value));
    return value;
  }
  // The upper half of a float, rounded to even: by bits, since it is common.
  static Stored store(Sum value) {
    uint32_t wide;
    memcpy(&wide, &value, sizeof(wide));
    if (value != value)
      return Stored(wide >> 16 | 0x40);
    return Stored((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
};

template <typename Function>
static void dispatch(ncclDataType_t type, Function function) {
  switch (type) {
  case ncclInt8:
    return function(Plain<int8_t>());
  case ncclUint8:
    return function(Plain<uint8_t>());
  case ncclInt32:
    return function(Plain<int32_t>());
  case ncclUint32:
    return function(Plain<uint32_t>());
  case ncclInt64:
    return function(Plain<int64_t>());
  case ncclUint64:
    return function(Plain<uint64_t>());
  case ncclFloat32:
    return function(Plain<float>());
  case ncclFloat64:
    return function(Plain<double>());
  case ncclFloat16:
    return function(InFloat<e5m10, uint16_t>());
  case ncclBfloat16:
    return function(BFloat());
  case ncclFloat8e4m3:
    return function(InFloat<e4m3, uint8_t>());
  case ncclFloat8e5m2:
    return function(InFloat<e5m2, uint8_t>());
  default:
    return;
  }
}

template <typename T> static T combine(ncclRedOp_t op, T a, T b) {
  switch (op) {
  case ncclProd:
    return a * b;
  case ncclMax:
    return a != a ? a : b > a || b != b ? b : a;
  case ncclMin:
    return a != a ? a : b < a || b != b ? b : a;
  default:
    return a + b;
  }
}

Accumulator::Accumulator(ncclDataType_t type, ncclRedOp_t op, size_t count)
    : type(type), op(op), count(count) {
  dispatch(type, [&](auto traits) {
    values.resize(count * sizeof(typename decltype(traits)::Sum));
  });
}

void Accumulator::add(const void *elements, size_t first, size_t number,
                      bool isFirstRank) {
  dispatch(type, [&](auto traits) {
    using Traits = decltype(traits);
    auto *from = static_cast<const typename Traits::Stored *>(elements);
    auto *sums =
        reinterpret_cast<typename Traits::Sum *>(values.data()) + first;
    for (size_t i = 0; i < number; ++i) {
      auto value = Traits::load(from[i]);
      sums[i] = isFirstRank ? value : combine(op, sums[i], value);
    }
  });
}

void Accumulator::finish(void *result, int ranks) {
  dispatch(type, [&](auto traits) {
    using Traits = decltype(traits);
    using Sum = typename Traits::Sum;
    auto *to = static_cast<typename Traits::Stored *>(result);
    auto *sums = reinterpret_cast<const Sum *>(values.data());
    for (size_t i = 0; i < count; ++i)
      to[i] =
          Traits::store(op == ncclAvg ? Sum(sums[i] / Sum(ranks)) : sums[i]);
  });
}

namespace {
struct TypeInfo {
  const char *name;
  size_t size;
};
} // namespace

/// By the numbers of ncclDataType_t.
static const TypeInfo types[] = {
    {"int8", 1},    {"uint8", 1},    {"int32", 4},      {"uint32", 4},
    {"int64", 8},   {"uint64", 8},   {"float16", 2},    {"float32", 4},
    {"float64", 8}, {"bfloat16", 2}, {"float8e4m3", 1}, {"float8e5m2", 1}};

bool tsp::emulation::isDataType(ncclDataType_t type) {
  return type >= 0 && type < ncclNumTypes;
}

size_t tsp::emulation::sizeOf(ncclDataType_t type) { return types[type].size; }

const char *tsp::emulation::nameOf(ncclDataType_t type) {
  return isDataType(type) ? types[type].name : "unknown type";
}

bool tsp::emulation::isReduction(ncclRedOp_t op) {
  return op >= 0 && op < ncclNumOps;
}

const char *tsp::emulation::nameOf(ncclRedOp_t op) {
  static const char *const names[] = {"sum", "prod", "max", "min", "avg"};
  return isReduction(op) ? names[op] : "unknown reduction";
}
