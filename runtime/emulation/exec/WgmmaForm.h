//===- WgmmaForm.h - what a wgmma.mma_async computes ------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_WGMMAFORM_H
#define TSP_EMULATION_EXEC_WGMMAFORM_H

#include <cstdint>

namespace tsp::emulation {

enum class ElementFormat : uint8_t { BF16, F16, TF32, E4M3, E5M2, S8, U8 };
constexpr unsigned bytesOf(ElementFormat format) {
  return format == ElementFormat::TF32  ? 4
         : format <= ElementFormat::F16 ? 2
                                        : 1;
}

enum class SumFormat : uint8_t { F32, F16, S32 };

/// What the spelling and the constants of an instruction say: D = +-A * B {+ D}
/// of 64 rows, 32 bytes along k. Each of the four warps of a warpgroup has 16
/// rows of A and D.
struct WgmmaForm {
  ElementFormat a = ElementFormat::BF16;
  ElementFormat b = ElementFormat::BF16;
  SumFormat sum = SumFormat::F32;
  /// 8 to 256.
  uint16_t columns = 0;
  bool isAInRegisters = false;
  /// The elements of one k lie one after the other (16-bit types only).
  bool isTransposedA = false;
  bool isTransposedB = false;
  bool isNegated = false;
  bool saturates = false;

  /// Registers of D: of f16, two columns each.
  unsigned registers() const {
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

#endif // TSP_EMULATION_EXEC_WGMMAFORM_H
