//===- Types.h - data types, their names and conversions --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_TYPES_H
#define TSP_RUNTIME_CORE_TYPES_H

#include "tsp_runtime.h"

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace tsp::runtime {

/// An error with a text for the user. Never crosses compiled code or the C API.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// printf into a string.
std::string format(const char *pattern, ...)
    __attribute__((format(printf, 1, 2)));

constexpr int numDtypes = TSP_UI64 + 1;

/// Whether `dtype` is one of the enumeration.
inline bool isDtype(int dtype) { return dtype >= 0 && dtype < numDtypes; }

/// Bytes of an element; the name in descriptions and messages.
int64_t dtypeSize(int dtype);
const char *dtypeName(int dtype);

/// The type with this name, or -1.
int dtypeFromName(const std::string &name);

/// "3x5xf32"; "f32" for a scalar.
std::string typeText(int dtype, const std::vector<int64_t> &shape);

/// Number of elements. Throws when it, in bytes, overflows or a size is < 0.
int64_t countElements(const std::vector<int64_t> &shape);

//===----------------------------------------------------------------------===//
// Conversions of the small floats: exact to f32, rounded to nearest even back.
//===----------------------------------------------------------------------===//

float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
inline float bfloatToFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  memcpy(&value, &wide, sizeof(value));
  return value;
}
inline uint16_t floatToBfloat(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
  return uint16_t(value != value ? (bits >> 16) | 0x40u : rounded);
}
float f8E4M3ToFloat(uint8_t bits);
uint8_t floatToF8E4M3(float value);
float f8E5M2ToFloat(uint8_t bits);
uint8_t floatToF8E5M2(float value);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_TYPES_H
