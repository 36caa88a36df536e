//===- ProductForm.h - what a matrix instruction computes -------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_PRODUCTFORM_H
#define TSP_EMULATION_EXEC_PRODUCTFORM_H

#include <cstdint>

namespace tsp::emulation {

enum class ElementFormat : uint8_t { BF16, F16, TF32, E4M3, E5M2, S8, U8 };
constexpr unsigned bytesOf(ElementFormat format) {
  return format == ElementFormat::TF32  ? 4
         : format <= ElementFormat::F16 ? 2
                                        : 1;
}

enum class SumFormat : uint8_t { F32, F16, S32 };

/// What the spelling and the constants of an mma.sync or wgmma.mma_async say:
/// D = +-A * B {+ C}.
struct ProductForm {
  ElementFormat a = ElementFormat::BF16;
  ElementFormat b = ElementFormat::BF16;
  SumFormat sum = SumFormat::F32;
  /// Of 32-bit integers.
  bool saturates = false;

  /// Of mma.sync m16n8: 16 bytes along k are a register of B and two of A.
  uint8_t registersOfB = 0;

  /// Of wgmma.mma_async, which has 64 rows and 32 bytes along k: 8 to 256.
  uint16_t columns = 0;
  bool isAInRegisters = false;
  /// The elements of one k lie one after the other (16-bit types only).
  bool isTransposedA = false;
  bool isTransposedB = false;
  bool isNegated = false;

  /// Registers of D of `columns`: of f16, two columns each.
  unsigned registersOfSums(unsigned columns) const {
    return columns / (sum == SumFormat::F16 ? 4u : 2u);
  }
};

constexpr unsigned warpsOfWarpgroup = 4;
/// Rows of A and D that each warp has.
constexpr unsigned wgmmaRows = 16;
/// Registers of a fragment of A.
constexpr unsigned wgmmaFragment = 4;
/// Bytes along k.
constexpr unsigned wgmmaDepth = 32;

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_PRODUCTFORM_H
