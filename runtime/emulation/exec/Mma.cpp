//===- Mma.cpp - mma.sync of a warp ---------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layouts are those of Matrix.cpp. The accumulators stay as they are,
// vectors over the lanes: row = lane / 4, pair = lane % 4. For each k, element
// (row, k) of a is spread over the four lanes of its row, and the elements (k,
// 2*pair) and (k, 2*pair + 1) of b over the eight rows; the sums are in f32.
//
//===----------------------------------------------------------------------===//

#include "exec/BlockRunner.h"
#include "exec/Clones.h"
#include "exec/Helpers.h"

#include <cstring>

namespace tsp::emulation::helpers {

namespace {
using Registers32 = uint32_t *const *;

typedef float Floats __attribute__((vector_size(128)));
typedef float Row __attribute__((vector_size(16)));
typedef uint32_t Words __attribute__((vector_size(128)));
typedef uint16_t Halves __attribute__((vector_size(64)));
typedef _Float16 Float16s __attribute__((vector_size(64)));

#define TSP_ALWAYS_INLINE __attribute__((always_inline)) inline

template <typename T> TSP_ALWAYS_INLINE T loadVector(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

/// The low (0) or high (1) element of each lane's register.
struct BFloatFormat {
  template <unsigned Part> static TSP_ALWAYS_INLINE Floats part(Words words) {
    if constexpr (Part == 0)
      return reinterpret_cast<Floats>(words << 16);
    return reinterpret_cast<Floats>(words & 0xffff0000u);
  }
};
struct HalfFormat {
  template <unsigned Part> static TSP_ALWAYS_INLINE Floats part(Words words) {
    if constexpr (Part == 1)
      words >>= 16;
    Halves halves = __builtin_convertvector(words & 0xffffu, Halves);
    return __builtin_convertvector(reinterpret_cast<Float16s>(halves), Floats);
  }
};

/// Element `Pair` of each group of four lanes, in all four.
template <unsigned Pair> TSP_ALWAYS_INLINE Floats spreadInRow(Floats x) {
#define TSP_GROUP(i) 4 * i + Pair, 4 * i + Pair, 4 * i + Pair, 4 * i + Pair
  return __builtin_shufflevector(x, x, TSP_GROUP(0), TSP_GROUP(1), TSP_GROUP(2),
                                 TSP_GROUP(3), TSP_GROUP(4), TSP_GROUP(5),
                                 TSP_GROUP(6), TSP_GROUP(7));
#undef TSP_GROUP
}

/// Four elements, in every group of four lanes.
TSP_ALWAYS_INLINE Floats repeat(Row x) {
  return __builtin_shufflevector(x, x, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1,
                                 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1,
                                 2, 3);
}

/// The elements of b in lanes Pair, 8 + Pair, 16 + Pair, 24 + Pair (even
/// columns) or 4 more each (odd columns).
template <unsigned Pair, unsigned Odd>
TSP_ALWAYS_INLINE Floats columns(Floats x) {
  constexpr int i = Pair + 4 * Odd;
  return repeat(__builtin_shufflevector(x, x, i, 8 + i, 16 + i, 24 + i));
}

struct Sums {
  Floats c[4];
};

/// One k: `low` and `high` are the elements of a in the rows and the rows + 8.
template <unsigned Pair>
TSP_ALWAYS_INLINE void step(Sums &sums, Floats low, Floats high, Floats b) {
  Floats even = columns<Pair, 0>(b), odd = columns<Pair, 1>(b);
  Floats a0 = spreadInRow<Pair>(low), a1 = spreadInRow<Pair>(high);
  sums.c[0] += a0 * even;
  sums.c[1] += a0 * odd;
  sums.c[2] += a1 * even;
  sums.c[3] += a1 * odd;
}

TSP_ALWAYS_INLINE void steps(Sums &sums, Floats low, Floats high, Floats b) {
  step<0>(sums, low, high, b);
  step<1>(sums, low, high, b);
  step<2>(sums, low, high, b);
  step<3>(sums, low, high, b);
}

/// `Registers` of b: 8 rows of 16-bit elements each.
template <typename Format, unsigned Registers>
TSP_ALWAYS_INLINE void multiply16(Sums &sums, Registers32 a, Registers32 b) {
  for (unsigned i = 0; i < Registers; ++i) {
    Words low = loadVector<Words>(a[2 * i]);
    Words high = loadVector<Words>(a[2 * i + 1]);
    Words right = loadVector<Words>(b[i]);
    steps(sums, Format::template part<0>(low), Format::template part<0>(high),
          Format::template part<0>(right));
    steps(sums, Format::template part<1>(low), Format::template part<1>(high),
          Format::template part<1>(right));
  }
}

/// tf32: a register an element, the columns of a in steps of 4.
template <unsigned Registers>
TSP_ALWAYS_INLINE void multiplyTF32(Sums &sums, Registers32 a, Registers32 b) {
  // The hardware ignores the low bits of the fraction.
  auto load = [](Lanes32 from) __attribute__((always_inline)) {
    return reinterpret_cast<Floats>(loadVector<Words>(from) & 0xffffe000u);
  };
  for (unsigned i = 0; i < Registers; ++i)
    steps(sums, load(a[2 * i]), load(a[2 * i + 1]), load(b[i]));
}

TSP_ALWAYS_INLINE Sums loadSums(Registers32 c) {
  Sums sums;
  for (unsigned i = 0; i < 4; ++i)
    sums.c[i] = loadVector<Floats>(c[i]);
  return sums;
}

TSP_ALWAYS_INLINE void storeSums(const Sums &sums, Registers32 d) {
  for (unsigned i = 0; i < 4; ++i)
    std::memcpy(d[i], &sums.c[i], sizeof(Floats));
}

/// f16 accumulators: two columns a register.
TSP_ALWAYS_INLINE Sums loadHalfSums(Registers32 c) {
  Sums sums;
  for (unsigned i = 0; i < 2; ++i) {
    Words words = loadVector<Words>(c[i]);
    sums.c[2 * i] = HalfFormat::part<0>(words);
    sums.c[2 * i + 1] = HalfFormat::part<1>(words);
  }
  return sums;
}

TSP_ALWAYS_INLINE void storeHalfSums(const Sums &sums, Registers32 d) {
  auto bits = [](Floats x) __attribute__((always_inline)) {
    Float16s halves = __builtin_convertvector(x, Float16s);
    return __builtin_convertvector(reinterpret_cast<Halves>(halves), Words);
  };
  for (unsigned i = 0; i < 2; ++i) {
    Words words = bits(sums.c[2 * i]) | bits(sums.c[2 * i + 1]) << 16;
    std::memcpy(d[i], &words, sizeof(words));
  }
}

/// Integers: four columns of a a register.
template <unsigned Registers> void multiplyBytes(Registers32 registers) {
  Registers32 d = registers, a = d + 4, b = a + 2 * Registers,
              c = b + Registers;
  auto byte = [](uint32_t word, unsigned i) {
    return int32_t(int8_t(word >> (8 * i)));
  };
  uint32_t sums[4][warpSize];
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    unsigned row = lane / 4, pair = lane % 4;
    for (unsigned element = 0; element < 4; ++element) {
      unsigned column = 2 * pair + element % 2, upper = element / 2;
      uint32_t sum = c[element][lane];
      for (unsigned r = 0; r < Registers; ++r)
        for (unsigned group = 0; group < 4; ++group)
          for (unsigned i = 0; i < 4; ++i)
            sum += uint32_t(byte(a[2 * r + upper][4 * row + group], i) *
                            byte(b[r][4 * column + group], i));
      sums[element][lane] = sum;
    }
  }
  // Only now: d may be c.
  for (unsigned element = 0; element < 4; ++element)
    std::memcpy(d[element], sums[element], sizeof(sums[element]));
}
} // namespace

#define TSP_MMA(NAME, MULTIPLY, LOAD, STORE, REGISTERS_OF_C, REGISTERS_OF_B)   \
  TSP_CLONES static void compute##NAME(Registers32 registers) {                \
    Registers32 a = registers + REGISTERS_OF_C;                                \
    Registers32 b = a + 2 * REGISTERS_OF_B;                                    \
    Sums sums = LOAD(b + REGISTERS_OF_B);                                      \
    MULTIPLY(sums, a, b);                                                      \
    STORE(sums, registers);                                                    \
  }                                                                            \
  void NAME(Context context, uint32_t site, uint32_t mask,                     \
            Registers32 registers) {                                           \
    if (!mask)                                                                 \
      return;                                                                  \
    checkWhole(context, site, mask);                                           \
    compute##NAME(registers);                                                  \
  }

TSP_MMA(mmaM16N8K16BF16, (multiply16<BFloatFormat, 2>), loadSums, storeSums, 4,
        2)
TSP_MMA(mmaM16N8K8BF16, (multiply16<BFloatFormat, 1>), loadSums, storeSums, 4,
        1)
TSP_MMA(mmaM16N8K16F16, (multiply16<HalfFormat, 2>), loadSums, storeSums, 4, 2)
TSP_MMA(mmaM16N8K8F16, (multiply16<HalfFormat, 1>), loadSums, storeSums, 4, 1)
TSP_MMA(mmaM16N8K16F16F16, (multiply16<HalfFormat, 2>), loadHalfSums,
        storeHalfSums, 2, 2)
TSP_MMA(mmaM16N8K8F16F16, (multiply16<HalfFormat, 1>), loadHalfSums,
        storeHalfSums, 2, 1)
TSP_MMA(mmaM16N8K8TF32, multiplyTF32<2>, loadSums, storeSums, 4, 2)
TSP_MMA(mmaM16N8K4TF32, multiplyTF32<1>, loadSums, storeSums, 4, 1)

void mmaM16N8K32S8(Context context, uint32_t site, uint32_t mask,
                   Registers32 registers) {
  if (!mask)
    return;
  checkWhole(context, site, mask);
  multiplyBytes<2>(registers);
}

void mmaM16N8K16S8(Context context, uint32_t site, uint32_t mask,
                   Registers32 registers) {
  if (!mask)
    return;
  checkWhole(context, site, mask);
  multiplyBytes<1>(registers);
}

} // namespace tsp::emulation::helpers
