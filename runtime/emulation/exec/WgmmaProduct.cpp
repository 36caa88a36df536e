//===- WgmmaProduct.cpp - the arithmetic of wgmma.mma_async ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp has 16 rows of A and D. D stays in its registers, vectors over the
// lanes: row = lane / 4, pair = lane % 4; for each 8 columns the registers hold
// (row, 2*pair), (row, 2*pair + 1) and the same of row + 8. A is brought into
// the layout of a fragment in registers and then spread: for each k a vector
// over the lanes with the element of each lane's row. B is packed in panels of
// 8 columns: for each k the even ones, then the odd ones. Sums are in f32 in
// the order of k.
//
//===----------------------------------------------------------------------===//

#include "exec/Clones.h"
#include "exec/Elements.h"
#include "exec/MatrixDescriptor.h"
#include "exec/Wgmma.h"

#include <algorithm>
#include <type_traits>

namespace tsp::emulation {

namespace {
constexpr unsigned panelColumns = 8;
constexpr unsigned maxDepth = 32;
constexpr unsigned maxPanels = 256 / panelColumns;
/// Half a warp: a vector of the processor.
constexpr unsigned half = 16;

/// Elements of 32 bits, floats or integers.
struct Operands {
  /// Of each k, the rows and the rows + 8, for each half of the warp.
  alignas(64) uint32_t a[maxDepth][2][2][half];
  alignas(64) uint32_t b[maxPanels][maxDepth][panelColumns];
};

using Fragment = uint32_t[wgmmaFragment][warpSize];
} // namespace

//===----------------------------------------------------------------------===//
// A
//===----------------------------------------------------------------------===//

/// Brings this warp's rows of A from shared memory into the layout of
/// registers: word 4 * (r / 2) + pair of row lane / 4 + 8 * (r % 2) in register
/// r.
static void loadFragment(const ProductForm &form, const MatrixDescriptor &matrix,
                         const uint8_t *shared, uint32_t warp,
                         Fragment &fragment) {
  unsigned firstRow = warp % warpsOfWarpgroup * wgmmaRows;
  if (!form.isTransposedA) {
    for (unsigned r = 0; r < wgmmaFragment; ++r)
      for (unsigned row = 0; row < 8; ++row) {
        uint32_t from = matrix.row(false, firstRow + row + r % 2 * 8, r / 2);
        std::memcpy(&fragment[r][4 * row], shared + from, 16);
      }
    return;
  }
  // Elements of 16 bits: a row of memory has one k of 8 rows.
  auto *halves = reinterpret_cast<uint16_t *>(fragment);
  for (unsigned k = 0; k < wgmmaRows; ++k)
    for (unsigned upper = 0; upper < 2; ++upper) {
      uint16_t elements[8];
      std::memcpy(elements, shared + matrix.row(true, k, firstRow / 8 + upper),
                  sizeof(elements));
      unsigned r = k / 8 * 2 + upper, pair = k % 8 / 2;
      for (unsigned row = 0; row < 8; ++row)
        halves[2 * (r * warpSize + 4 * row + pair) + k % 2] = elements[row];
    }
}

/// Element `Pair` of each group of four lanes, in all four.
template <unsigned Pair>
TSP_ALWAYS_INLINE Words<half> spreadInRow(Words<half> x) {
#define TSP_GROUP(i) 4 * i + Pair, 4 * i + Pair, 4 * i + Pair, 4 * i + Pair
  return __builtin_shufflevector(x, x, TSP_GROUP(0), TSP_GROUP(1), TSP_GROUP(2),
                                 TSP_GROUP(3));
#undef TSP_GROUP
}

template <typename Format, unsigned Part, bool IsNegated>
TSP_ALWAYS_INLINE Words<half> operandOf(Words<half> words) {
  auto element = Format::template part<Part, half>(words);
  if constexpr (IsNegated)
    element = -element;
  return reinterpret_cast<Words<half>>(element);
}

template <typename Format, bool IsNegated, unsigned Pair, unsigned Part>
TSP_ALWAYS_INLINE void spreadParts(Words<half> words, unsigned firstWord,
                                   unsigned upper, unsigned lanes,
                                   Operands &to) {
  Words<half> element =
      operandOf<Format, Part, IsNegated>(spreadInRow<Pair>(words));
  unsigned k = (firstWord + Pair) * Format::perWord + Part;
  std::memcpy(to.a[k][upper][lanes], &element, sizeof(element));
  if constexpr (Part + 1 < Format::perWord)
    spreadParts<Format, IsNegated, Pair, Part + 1>(words, firstWord, upper,
                                                   lanes, to);
  else if constexpr (Pair < 3)
    spreadParts<Format, IsNegated, Pair + 1, 0>(words, firstWord, upper, lanes,
                                                to);
}

template <typename Format, bool IsNegated>
TSP_ALWAYS_INLINE void spreadRegisters(const Fragment &fragment, Operands &to) {
  for (unsigned r = 0; r < wgmmaFragment; ++r)
    for (unsigned lanes = 0; lanes < 2; ++lanes)
      spreadParts<Format, IsNegated, 0, 0>(
          loadVector<Words<half>>(&fragment[r][half * lanes]), r / 2 * 4, r % 2,
          lanes, to);
}

template <typename Format>
TSP_ALWAYS_INLINE void spread(const Fragment &fragment, bool isNegated,
                              Operands &to) {
  if (isNegated)
    spreadRegisters<Format, true>(fragment, to);
  else
    spreadRegisters<Format, false>(fragment, to);
}

TSP_CLONES static void spreadA(const ProductForm &form, const Fragment &fragment,
                               Operands &to) {
  switch (form.a) {
  case ElementFormat::BF16:
    return spread<BFloatFormat>(fragment, form.isNegated, to);
  case ElementFormat::F16:
    return spread<HalfFormat>(fragment, form.isNegated, to);
  case ElementFormat::TF32:
    return spread<TF32Format>(fragment, form.isNegated, to);
  case ElementFormat::E4M3:
    return spread<E4M3Format>(fragment, form.isNegated, to);
  case ElementFormat::E5M2:
    return spread<E5M2Format>(fragment, form.isNegated, to);
  case ElementFormat::S8:
    return spread<SignedByteFormat>(fragment, form.isNegated, to);
  case ElementFormat::U8:
    return spread<UnsignedByteFormat>(fragment, form.isNegated, to);
  }
}

//===----------------------------------------------------------------------===//
// B
//===----------------------------------------------------------------------===//

using Eight = Words<8>;

/// Offsets of the 8 rows of a group in shared memory.
TSP_ALWAYS_INLINE Eight rowOffsets(const MatrixDescriptor &matrix,
                                   uint32_t groupStart) {
  Eight rows = {0, 1, 2, 3, 4, 5, 6, 7};
  return matrix.swizzled(rows * matrix.pitch() + groupStart);
}

/// Words [0, 4) of each of 8 columns, the even columns first, to a vector of
/// columns for each word.
TSP_ALWAYS_INLINE void transpose(const uint8_t *shared, Eight offsets,
                                 Eight (&words)[4]) {
  typedef Words<4> Row;
  auto pair = [&](unsigned even, unsigned odd) __attribute__((always_inline)) {
    auto first = loadVector<Row>(shared + offsets[even]);
    auto second = loadVector<Row>(shared + offsets[odd]);
    return __builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7);
  };
  // Each has the words of an even column, then of the odd one after it.
  Eight c0 = pair(0, 1), c2 = pair(2, 3), c4 = pair(4, 5), c6 = pair(6, 7);
  Eight low02 = __builtin_shufflevector(c0, c2, 0, 8, 1, 9, 4, 12, 5, 13);
  Eight low46 = __builtin_shufflevector(c4, c6, 0, 8, 1, 9, 4, 12, 5, 13);
  Eight high02 = __builtin_shufflevector(c0, c2, 2, 10, 3, 11, 6, 14, 7, 15);
  Eight high46 = __builtin_shufflevector(c4, c6, 2, 10, 3, 11, 6, 14, 7, 15);
  words[0] = __builtin_shufflevector(low02, low46, 0, 1, 8, 9, 4, 5, 12, 13);
  words[1] = __builtin_shufflevector(low02, low46, 2, 3, 10, 11, 6, 7, 14, 15);
  words[2] = __builtin_shufflevector(high02, high46, 0, 1, 8, 9, 4, 5, 12, 13);
  words[3] =
      __builtin_shufflevector(high02, high46, 2, 3, 10, 11, 6, 7, 14, 15);
}

template <typename Format, unsigned Part = 0>
TSP_ALWAYS_INLINE void storeParts(Eight words, uint32_t (*to)[panelColumns]) {
  auto elements = Format::template part<Part, 8>(words);
  std::memcpy(to[Part], &elements, sizeof(elements));
  if constexpr (Part + 1 < Format::perWord)
    storeParts<Format, Part + 1>(words, to);
}

template <typename Format>
TSP_ALWAYS_INLINE void pack(const MatrixDescriptor &matrix, unsigned panels,
                            const uint8_t *shared, Operands &to) {
  for (unsigned panel = 0; panel < panels; ++panel)
    for (unsigned chunk = 0; chunk < 2; ++chunk) {
      Eight words[4];
      transpose(shared,
                rowOffsets(matrix, matrix.groupStart(false, 8 * panel, chunk)),
                words);
      for (unsigned word = 0; word < 4; ++word)
        storeParts<Format>(words[word],
                           &to.b[panel][(4 * chunk + word) * Format::perWord]);
    }
}

/// Elements of 16 bits; a row of memory has one k of 8 columns.
template <typename Format>
TSP_ALWAYS_INLINE void packTransposed(const MatrixDescriptor &matrix,
                                      unsigned panels, const uint8_t *shared,
                                      Operands &to) {
  for (unsigned panel = 0; panel < panels; ++panel)
    for (unsigned group = 0; group < 2; ++group) {
      Eight offsets =
          rowOffsets(matrix, matrix.groupStart(true, 8 * group, panel));
      for (unsigned k = 0; k < 8; ++k) {
        auto row = loadVector<Words<4>>(shared + offsets[k]);
        auto even = Format::template part<0, 4>(row);
        auto odd = Format::template part<1, 4>(row);
        uint32_t *columns = to.b[panel][8 * group + k];
        std::memcpy(columns, &even, sizeof(even));
        std::memcpy(columns + 4, &odd, sizeof(odd));
      }
    }
}

TSP_CLONES static void packB(const ProductForm &form,
                             const MatrixDescriptor &matrix,
                             const uint8_t *shared, Operands &to) {
  unsigned panels = form.columns / panelColumns;
  bool isTransposed = form.isTransposedB;
  switch (form.b) {
  case ElementFormat::BF16:
    return isTransposed
               ? packTransposed<BFloatFormat>(matrix, panels, shared, to)
               : pack<BFloatFormat>(matrix, panels, shared, to);
  case ElementFormat::F16:
    return isTransposed ? packTransposed<HalfFormat>(matrix, panels, shared, to)
                        : pack<HalfFormat>(matrix, panels, shared, to);
  case ElementFormat::TF32:
    return pack<TF32Format>(matrix, panels, shared, to);
  case ElementFormat::E4M3:
    return pack<E4M3Format>(matrix, panels, shared, to);
  case ElementFormat::E5M2:
    return pack<E5M2Format>(matrix, panels, shared, to);
  case ElementFormat::S8:
    return pack<SignedByteFormat>(matrix, panels, shared, to);
  case ElementFormat::U8:
    return pack<UnsignedByteFormat>(matrix, panels, shared, to);
  }
}

//===----------------------------------------------------------------------===//
// D
//===----------------------------------------------------------------------===//

namespace {
/// The sums of a panel: [row or row + 8][even or odd column][half of the warp].
template <typename Vector> struct PanelSums { Vector at[2][2][2]; };
} // namespace

/// Four elements, in every group of four lanes.
template <typename Vector>
TSP_ALWAYS_INLINE Vector repeated(const uint32_t *four) {
  auto quad = loadVector<Words<4>>(four);
  return reinterpret_cast<Vector>(__builtin_shufflevector(
      quad, quad, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3));
}

/// `Panels` at once, so that each vector of A is loaded for all of them.
template <typename Vector, unsigned Panels>
TSP_ALWAYS_INLINE void accumulate(PanelSums<Vector> (&sums)[Panels],
                                  const Operands &operands, unsigned first,
                                  unsigned depth) {
  for (unsigned k = 0; k < depth; ++k) {
    Vector columns[Panels][2];
    for (unsigned panel = 0; panel < Panels; ++panel)
      for (unsigned odd = 0; odd < 2; ++odd)
        columns[panel][odd] =
            repeated<Vector>(&operands.b[first + panel][k][4 * odd]);
    for (unsigned upper = 0; upper < 2; ++upper)
      for (unsigned lanes = 0; lanes < 2; ++lanes) {
        auto rows = loadVector<Vector>(operands.a[k][upper][lanes]);
        for (unsigned panel = 0; panel < Panels; ++panel)
          for (unsigned odd = 0; odd < 2; ++odd)
            sums[panel].at[upper][odd][lanes] += rows * columns[panel][odd];
      }
  }
}

namespace {
/// Accumulators of 32 bits, floats or integers, a register each.
template <typename VectorT> struct WordSums {
  using Vector = VectorT;
  static constexpr unsigned registersOfPanel = 4;
  static TSP_ALWAYS_INLINE void load(PanelSums<Vector> &sums,
                                     uint32_t *const *registers) {
    for (unsigned i = 0; i < registersOfPanel; ++i)
      std::memcpy(sums.at[i / 2][i % 2], registers[i], 4 * warpSize);
  }
  static TSP_ALWAYS_INLINE void store(const PanelSums<Vector> &sums,
                                      uint32_t *const *registers) {
    for (unsigned i = 0; i < registersOfPanel; ++i)
      std::memcpy(registers[i], sums.at[i / 2][i % 2], 4 * warpSize);
  }
};

/// Of f16: two columns a register. They are rounded after the whole product.
struct HalfSums {
  using Vector = Floats<half>;
  static constexpr unsigned registersOfPanel = 2;
  static TSP_ALWAYS_INLINE void load(PanelSums<Vector> &sums,
                                     uint32_t *const *registers) {
    for (unsigned upper = 0; upper < 2; ++upper)
      for (unsigned lanes = 0; lanes < 2; ++lanes) {
        auto words = loadVector<Words<half>>(registers[upper] + half * lanes);
        sums.at[upper][0][lanes] = widenHalf<half>(words);
        sums.at[upper][1][lanes] = widenHalf<half>(words >> 16);
      }
  }
  static TSP_ALWAYS_INLINE void store(const PanelSums<Vector> &sums,
                                      uint32_t *const *registers) {
    for (unsigned upper = 0; upper < 2; ++upper)
      for (unsigned lanes = 0; lanes < 2; ++lanes) {
        Words<half> words = narrowToHalf<half>(sums.at[upper][0][lanes]) |
                            narrowToHalf<half>(sums.at[upper][1][lanes]) << 16;
        std::memcpy(registers[upper] + half * lanes, &words, sizeof(words));
      }
  }
};
} // namespace

/// Adds what was there before. The products of one instruction cannot overflow.
TSP_ALWAYS_INLINE void addSaturating(PanelSums<Words<half>> &sums,
                                     const PanelSums<Words<half>> &before) {
  using Signed = Integers<half>;
  for (unsigned i = 0; i < 8; ++i) {
    Words<half> &sum = sums.at[i / 4][i / 2 % 2][i % 2];
    sum = reinterpret_cast<Words<half>>(__builtin_elementwise_add_sat(
        reinterpret_cast<Signed>(sum),
        reinterpret_cast<Signed>(before.at[i / 4][i / 2 % 2][i % 2])));
  }
}

template <typename Layout, unsigned Panels>
TSP_ALWAYS_INLINE void
multiplyPanels(const ProductForm &form, const PendingProduct &product,
               const Operands &operands, unsigned first, unsigned depth) {
  using Vector = typename Layout::Vector;
  uint32_t *const *registers = product.sums + first * Layout::registersOfPanel;
  PanelSums<Vector> before[Panels] = {}, sums[Panels] = {};
  if (product.accumulates)
    for (unsigned panel = 0; panel < Panels; ++panel)
      Layout::load(before[panel], registers + panel * Layout::registersOfPanel);
  if (!form.saturates)
    std::copy(before, before + Panels, sums);
  accumulate<Vector, Panels>(sums, operands, first, depth);
  if constexpr (std::is_same_v<Vector, Words<half>>)
    for (unsigned panel = 0; form.saturates && panel < Panels; ++panel)
      addSaturating(sums[panel], before[panel]);
  for (unsigned panel = 0; panel < Panels; ++panel)
    Layout::store(sums[panel], registers + panel * Layout::registersOfPanel);
}

template <typename Layout>
TSP_ALWAYS_INLINE void multiply(const ProductForm &form,
                                const PendingProduct &product,
                                const Operands &operands, unsigned depth) {
  unsigned panel = 0, panels = form.columns / panelColumns;
  for (; panel + 2 <= panels; panel += 2)
    multiplyPanels<Layout, 2>(form, product, operands, panel, depth);
  if (panel < panels)
    multiplyPanels<Layout, 1>(form, product, operands, panel, depth);
}

TSP_CLONES static void multiplyOperands(const ProductForm &form,
                                        const PendingProduct &product,
                                        const Operands &operands) {
  unsigned depth = wgmmaDepth / bytesOf(form.b);
  switch (form.sum) {
  case SumFormat::F32:
    return multiply<WordSums<Floats<half>>>(form, product, operands, depth);
  case SumFormat::F16:
    return multiply<HalfSums>(form, product, operands, depth);
  case SumFormat::S32:
    return multiply<WordSums<Words<half>>>(form, product, operands, depth);
  }
}

void computeProduct(const ProductForm &form, const PendingProduct &product,
                    const uint8_t *shared, uint32_t warp) {
  Operands operands;
  if (form.isAInRegisters) {
    spreadA(form, product.fragment, operands);
  } else {
    Fragment fragment;
    loadFragment(form, MatrixDescriptor(product.a), shared, warp, fragment);
    spreadA(form, fragment, operands);
  }
  packB(form, MatrixDescriptor(product.b), shared, operands);
  multiplyOperands(form, product, operands);
}

} // namespace tsp::emulation
