//===- Math.cpp - functions of 32 lanes -----------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/Clones.h"
#include "exec/Helpers.h"

#include <cfenv>
#include <cmath>
#include <cstring>

namespace tsp::emulation::helpers {

//===----------------------------------------------------------------------===//
// Approximations
//===----------------------------------------------------------------------===//

TSP_CLONES void exp2(const float *x, float *result) {
  // 2^x = 2^round(x) * 2^f, |f| <= 1/2: a polynomial of degree 6, its error
  // below that of ex2.approx (2 units in the last place). A loop without calls,
  // so that it becomes vectors.
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    float value = x[lane];
    float clamped = value < -160.f ? -160.f : value > 130.f ? 130.f : value;
    float whole = __builtin_rintf(clamped);
    float f = clamped - whole;
    float p = 1.5403530e-4f;
    p = p * f + 1.3333558e-3f;
    p = p * f + 9.6181291e-3f;
    p = p * f + 5.5504109e-2f;
    p = p * f + 2.4022651e-1f;
    p = p * f + 6.9314718e-1f;
    p = p * f + 1.0f;
    // In two steps, for results that are subnormal.
    int32_t exponent = int32_t(whole), half = exponent / 2;
    uint32_t first = uint32_t(half + 127) << 23,
             second = uint32_t(exponent - half + 127) << 23;
    float scale0, scale1;
    std::memcpy(&scale0, &first, sizeof(scale0));
    std::memcpy(&scale1, &second, sizeof(scale1));
    float power = p * scale0 * scale1;
    result[lane] = value != value ? value : power;
  }
}

void log2(const float *x, float *result) {
  for (unsigned lane = 0; lane < warpSize; ++lane)
    result[lane] = std::log2(x[lane]);
}

void sin(const float *x, float *result) {
  for (unsigned lane = 0; lane < warpSize; ++lane)
    result[lane] = std::sin(x[lane]);
}

void cos(const float *x, float *result) {
  for (unsigned lane = 0; lane < warpSize; ++lane)
    result[lane] = std::cos(x[lane]);
}

void tanh(const float *x, float *result) {
  for (unsigned lane = 0; lane < warpSize; ++lane)
    result[lane] = std::tanh(x[lane]);
}

} // namespace tsp::emulation::helpers
