//===- Rounding.cpp - arithmetic in directed rounding ---------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled with -frounding-math: nothing is folded or moved across the changes
// of the rounding mode.
//
//===----------------------------------------------------------------------===//

#include "exec/Helpers.h"

#include <cfenv>
#include <cmath>

namespace tsp::emulation::helpers {

namespace {
class RoundingMode {
public:
  explicit RoundingMode(uint32_t rounding) : before(std::fegetround()) {
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                FE_UPWARD};
    std::fesetround(modes[rounding]);
  }
  ~RoundingMode() { std::fesetround(before); }

private:
  int before;
};

template <typename To, typename F>
void forLanes(To *result, uint32_t rounding, F compute) {
  RoundingMode mode(rounding);
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    volatile To value = compute(lane);
    result[lane] = value;
  }
}
} // namespace

void addRounded(const float *x, const float *y, float *result,
                uint32_t rounding) {
  forLanes(result, rounding, [&](unsigned lane) { return x[lane] + y[lane]; });
}
void mulRounded(const float *x, const float *y, float *result,
                uint32_t rounding) {
  forLanes(result, rounding, [&](unsigned lane) { return x[lane] * y[lane]; });
}
void fmaRounded(const float *x, const float *y, const float *z, float *result,
                uint32_t rounding) {
  forLanes(result, rounding,
           [&](unsigned lane) { return std::fma(x[lane], y[lane], z[lane]); });
}
void divRounded(const float *x, const float *y, float *result,
                uint32_t rounding) {
  forLanes(result, rounding, [&](unsigned lane) { return x[lane] / y[lane]; });
}
void sqrtRounded(const float *x, float *result, uint32_t rounding) {
  forLanes(result, rounding, [&](unsigned lane) { return std::sqrt(x[lane]); });
}
void narrowRounded(const double *x, float *result, uint32_t rounding) {
  forLanes(result, rounding, [&](unsigned lane) { return float(x[lane]); });
}
void addRounded64(const double *x, const double *y, double *result,
                  uint32_t rounding) {
  forLanes(result, rounding, [&](unsigned lane) { return x[lane] + y[lane]; });
}
void mulRounded64(const double *x, const double *y, double *result,
                  uint32_t rounding) {
  forLanes(result, rounding, [&](unsigned lane) { return x[lane] * y[lane]; });
}
void fmaRounded64(const double *x, const double *y, const double *z,
                  double *result, uint32_t rounding) {
  forLanes(result, rounding,
           [&](unsigned lane) { return std::fma(x[lane], y[lane], z[lane]); });
}
void divRounded64(const double *x, const double *y, double *result,
                  uint32_t rounding) {
  forLanes(result, rounding, [&](unsigned lane) { return x[lane] / y[lane]; });
}
void sqrtRounded64(const double *x, double *result, uint32_t rounding) {
  forLanes(result, rounding, [&](unsigned lane) { return std::sqrt(x[lane]); });
}

} // namespace tsp::emulation::helpers
