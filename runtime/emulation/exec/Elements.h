//===- Elements.h - elements of matrices in words of 32 bits ----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fragments of matrices are words of 32 bits with one, two or four elements
// each, the first lowest. A format widens one of them to 32 bits, on vectors of
// any number of words: floats to f32, integers to s32.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_ELEMENTS_H
#define TSP_EMULATION_EXEC_ELEMENTS_H

#include "exec/Clones.h"

#include <cstdint>
#include <cstring>

namespace tsp::emulation {

/// Vectors of N elements, which functions of all levels of the processor share:
/// what takes or returns them must be inlined.
template <unsigned N> struct VectorsOf {
  typedef float Floats __attribute__((vector_size(4 * N)));
  typedef uint32_t Words __attribute__((vector_size(4 * N)));
  typedef int32_t Integers __attribute__((vector_size(4 * N)));
  typedef uint16_t Halves __attribute__((vector_size(2 * N)));
  typedef _Float16 Float16s __attribute__((vector_size(2 * N)));
};
template <unsigned N> using Floats = typename VectorsOf<N>::Floats;
template <unsigned N> using Words = typename VectorsOf<N>::Words;
template <unsigned N> using Integers = typename VectorsOf<N>::Integers;

template <typename T> TSP_ALWAYS_INLINE T loadVector(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

/// The f16 in the low half of each word.
template <unsigned N> TSP_ALWAYS_INLINE Floats<N> widenHalf(Words<N> words) {
  using Vectors = VectorsOf<N>;
  auto halves =
      __builtin_convertvector(words & 0xffffu, typename Vectors::Halves);
  return __builtin_convertvector(
      reinterpret_cast<typename Vectors::Float16s>(halves), Floats<N>);
}

/// Rounds to f16, into the low half of each word.
template <unsigned N> TSP_ALWAYS_INLINE Words<N> narrowToHalf(Floats<N> x) {
  using Vectors = VectorsOf<N>;
  auto halves = __builtin_convertvector(x, typename Vectors::Float16s);
  return __builtin_convertvector(
      reinterpret_cast<typename Vectors::Halves>(halves), Words<N>);
}

struct BFloatFormat {
  static constexpr unsigned perWord = 2;
  template <unsigned Part, unsigned N>
  static TSP_ALWAYS_INLINE Floats<N> part(Words<N> words) {
    return reinterpret_cast<Floats<N>>(Part == 0 ? words << 16
                                                 : words & 0xffff0000u);
  }
};

struct HalfFormat {
  static constexpr unsigned perWord = 2;
  template <unsigned Part, unsigned N>
  static TSP_ALWAYS_INLINE Floats<N> part(Words<N> words) {
    return widenHalf<N>(Part == 0 ? words : words >> 16);
  }
};

struct TF32Format {
  static constexpr unsigned perWord = 1;
  template <unsigned Part, unsigned N>
  static TSP_ALWAYS_INLINE Floats<N> part(Words<N> words) {
    // The hardware ignores the low bits of the fraction.
    return reinterpret_cast<Floats<N>>(words & 0xffffe000u);
  }
};

/// e5m2 is the upper byte of an f16.
struct E5M2Format {
  static constexpr unsigned perWord = 4;
  template <unsigned Part, unsigned N>
  static TSP_ALWAYS_INLINE Floats<N> part(Words<N> words) {
    return widenHalf<N>((words >> (8 * Part) & 0xffu) << 8);
  }
};

/// e4m3 has a bias of 7 to the 15 of f16, no infinities, and one NaN of each
/// sign.
struct E4M3Format {
  static constexpr unsigned perWord = 4;
  template <unsigned Part, unsigned N>
  static TSP_ALWAYS_INLINE Floats<N> part(Words<N> words) {
    Words<N> byte = words >> (8 * Part) & 0xffu, magnitude = byte & 0x7fu;
    Floats<N> value =
        widenHalf<N>((byte & 0x80u) << 8 | magnitude << 7) * 256.0f;
    auto isNaN = reinterpret_cast<Words<N>>(magnitude == 0x7fu);
    return reinterpret_cast<Floats<N>>(reinterpret_cast<Words<N>>(value) |
                                       (isNaN & 0x7fc00000u));
  }
};

struct SignedByteFormat {
  static constexpr unsigned perWord = 4;
  template <unsigned Part, unsigned N>
  static TSP_ALWAYS_INLINE Integers<N> part(Words<N> words) {
    return reinterpret_cast<Integers<N>>(words << (24 - 8 * Part)) >> 24;
  }
};

struct UnsignedByteFormat {
  static constexpr unsigned perWord = 4;
  template <unsigned Part, unsigned N>
  static TSP_ALWAYS_INLINE Integers<N> part(Words<N> words) {
    return reinterpret_cast<Integers<N>>(words >> (8 * Part) & 0xffu);
  }
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_ELEMENTS_H
