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
#include "exec/Elements.h"
#include "exec/Helpers.h"

#include <type_traits>

namespace tsp::emulation::helpers {

namespace {
using Registers32 = uint32_t *const *;

/// Vectors over the lanes, of floats or integers.
using Lanes = Words<warpSize>;
using FloatLanes = Floats<warpSize>;

/// Element `Pair` of each group of four lanes, in all four.
template <unsigned Pair, typename Vector>
TSP_ALWAYS_INLINE Vector spreadInRow(Vector x) {
#define TSP_GROUP(i) 4 * i + Pair, 4 * i + Pair, 4 * i + Pair, 4 * i + Pair
  return __builtin_shufflevector(x, x, TSP_GROUP(0), TSP_GROUP(1), TSP_GROUP(2),
                                 TSP_GROUP(3), TSP_GROUP(4), TSP_GROUP(5),
                                 TSP_GROUP(6), TSP_GROUP(7));
#undef TSP_GROUP
}

/// The elements of b in lanes Pair, 8 + Pair, 16 + Pair, 24 + Pair (even
/// columns) or 4 more each (odd columns), in every group of four lanes.
template <unsigned Pair, unsigned Odd, typename Vector>
TSP_ALWAYS_INLINE Vector columns(Vector x) {
  constexpr int i = Pair + 4 * Odd;
  auto row = __builtin_shufflevector(x, x, i, 8 + i, 16 + i, 24 + i);
  return __builtin_shufflevector(row, row, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3,
                                 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3,
                                 0, 1, 2, 3);
}

template <typename Vector> struct Sums { Vector c[4]; };

/// One k: `low` and `high` are the elements of a in the rows and the rows + 8.
template <unsigned Pair, typename Vector>
TSP_ALWAYS_INLINE void step(Sums<Vector> &sums, Vector low, Vector high,
                            Vector b) {
  Vector even = columns<Pair, 0>(b), odd = columns<Pair, 1>(b);
  Vector a0 = spreadInRow<Pair>(low), a1 = spreadInRow<Pair>(high);
  sums.c[0] += a0 * even;
  sums.c[1] += a0 * odd;
  sums.c[2] += a1 * even;
  sums.c[3] += a1 * odd;
}

/// The elements `Part` and after of all words.
template <typename A, typename B, typename Vector, unsigned Part = 0>
TSP_ALWAYS_INLINE void steps(Sums<Vector> &sums, Lanes low, Lanes high,
                             Lanes right) {
  auto a0 = reinterpret_cast<Vector>(A::template part<Part, warpSize>(low));
  auto a1 = reinterpret_cast<Vector>(A::template part<Part, warpSize>(high));
  auto b = reinterpret_cast<Vector>(B::template part<Part, warpSize>(right));
  step<0>(sums, a0, a1, b);
  step<1>(sums, a0, a1, b);
  step<2>(sums, a0, a1, b);
  step<3>(sums, a0, a1, b);
  if constexpr (Part + 1 < A::perWord)
    steps<A, B, Vector, Part + 1>(sums, low, high, right);
}

/// Accumulators of 32 bits, a register each.
template <typename VectorT> struct WordSums {
  using Vector = VectorT;
  static constexpr unsigned registers = 4;
  static TSP_ALWAYS_INLINE Sums<Vector> load(Registers32 c) {
    Sums<Vector> sums;
    for (unsigned i = 0; i < 4; ++i)
      sums.c[i] = loadVector<Vector>(c[i]);
    return sums;
  }
  static TSP_ALWAYS_INLINE void store(const Sums<Vector> &sums, Registers32 d) {
    for (unsigned i = 0; i < 4; ++i)
      std::memcpy(d[i], &sums.c[i], sizeof(Vector));
  }
};

/// f16 accumulators: two columns a register.
struct HalfSums {
  using Vector = FloatLanes;
  static constexpr unsigned registers = 2;
  static TSP_ALWAYS_INLINE Sums<Vector> load(Registers32 c) {
    Sums<Vector> sums;
    for (unsigned i = 0; i < 2; ++i) {
      auto words = loadVector<Lanes>(c[i]);
      sums.c[2 * i] = widenHalf<warpSize>(words);
      sums.c[2 * i + 1] = widenHalf<warpSize>(words >> 16);
    }
    return sums;
  }
  static TSP_ALWAYS_INLINE void store(const Sums<Vector> &sums, Registers32 d) {
    for (unsigned i = 0; i < 2; ++i) {
      Lanes words = narrowToHalf<warpSize>(sums.c[2 * i]) |
                    narrowToHalf<warpSize>(sums.c[2 * i + 1]) << 16;
      std::memcpy(d[i], &words, sizeof(words));
    }
  }
};

/// Adds what was there before. The products of one instruction cannot overflow.
TSP_ALWAYS_INLINE void addSaturating(Sums<Lanes> &sums,
                                     const Sums<Lanes> &before) {
  using Signed = Integers<warpSize>;
  for (unsigned i = 0; i < 4; ++i)
    sums.c[i] = reinterpret_cast<Lanes>(
        __builtin_elementwise_add_sat(reinterpret_cast<Signed>(sums.c[i]),
                                      reinterpret_cast<Signed>(before.c[i])));
}

template <typename Layout, typename A, typename B>
TSP_ALWAYS_INLINE void multiply(const ProductForm &form,
                                Registers32 registers) {
  using Vector = typename Layout::Vector;
  Registers32 a = registers + Layout::registers;
  Registers32 b = a + 2 * form.registersOfB;
  Sums<Vector> before = Layout::load(b + form.registersOfB), sums = {};
  if (!form.saturates)
    sums = before;
  for (unsigned i = 0; i < form.registersOfB; ++i)
    steps<A, B, Vector>(sums, loadVector<Lanes>(a[2 * i]),
                        loadVector<Lanes>(a[2 * i + 1]),
                        loadVector<Lanes>(b[i]));
  if constexpr (std::is_same_v<Vector, Lanes>)
    if (form.saturates)
      addSaturating(sums, before);
  // Only now: d may be c.
  Layout::store(sums, registers);
}

/// 8-bit types, of which a and b may have different ones.
template <typename Layout, typename First, typename Second>
TSP_ALWAYS_INLINE void multiplyMixed(const ProductForm &form,
                                     ElementFormat first,
                                     Registers32 registers) {
  if (form.a == first)
    return form.b == first ? multiply<Layout, First, First>(form, registers)
                           : multiply<Layout, First, Second>(form, registers);
  return form.b == first ? multiply<Layout, Second, First>(form, registers)
                         : multiply<Layout, Second, Second>(form, registers);
}

template <typename Layout>
TSP_ALWAYS_INLINE void multiplyFloats(const ProductForm &form,
                                      Registers32 registers) {
  switch (form.a) {
  case ElementFormat::BF16:
    return multiply<Layout, BFloatFormat, BFloatFormat>(form, registers);
  case ElementFormat::F16:
    return multiply<Layout, HalfFormat, HalfFormat>(form, registers);
  case ElementFormat::TF32:
    return multiply<Layout, TF32Format, TF32Format>(form, registers);
  default:
    return multiplyMixed<Layout, E4M3Format, E5M2Format>(
        form, ElementFormat::E4M3, registers);
  }
}
} // namespace

TSP_CLONES static void multiplyAll(const ProductForm &form,
                                   Registers32 registers) {
  switch (form.sum) {
  case SumFormat::F32:
    return multiplyFloats<WordSums<FloatLanes>>(form, registers);
  case SumFormat::F16:
    return multiplyFloats<HalfSums>(form, registers);
  case SumFormat::S32:
    return multiplyMixed<WordSums<Lanes>, SignedByteFormat, UnsignedByteFormat>(
        form, ElementFormat::S8, registers);
  }
}

void mma(Context context, uint32_t site, uint32_t mask, Registers32 registers) {
  if (!mask)
    return;
  checkWhole(context, site, mask);
  multiplyAll(context->block->site(site).product, registers);
}

} // namespace tsp::emulation::helpers
