//===- Reduce.cpp - combining the ranks' values ---------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/host/Reduce.h"

#include <cmath>
#include <cstring>
#include <type_traits>

using namespace tsp::runtime;

//===----------------------------------------------------------------------===//
// Element types: how they are stored, and what they are computed in
//===----------------------------------------------------------------------===//

namespace {
template <typename T> struct Plain {
  using Stored = T;
  using Value = T;
  static Value load(Stored stored) { return stored; }
  static Stored store(Value value) { return value; }
};
template <typename S, float (*toFloat)(S), S (*fromFloat)(float)>
struct SmallFloat {
  using Stored = S;
  using Value = float;
  static Value load(Stored stored) { return toFloat(stored); }
  static Stored store(Value value) { return fromFloat(value); }
};
struct Bool : Plain<uint8_t> {};
/// Four bits in a byte; a sum wraps like one of four bits.
struct Int4 : Plain<int8_t> {
  static Stored store(Value value) { return int8_t(uint8_t(value) << 4) >> 4; }
};
struct UInt4 : Plain<uint8_t> {
  static Stored store(Value value) { return value & 15; }
};
using Half = SmallFloat<uint16_t, halfToFloat, floatToHalf>;
using Bfloat = SmallFloat<uint16_t, bfloatToFloat, floatToBfloat>;
using F8E4M3 = SmallFloat<uint8_t, f8E4M3ToFloat, floatToF8E4M3>;
using F8E5M2 = SmallFloat<uint8_t, f8E5M2ToFloat, floatToF8E5M2>;
} // namespace

/// Calls fn with an object of the type that describes `dtype`.
template <typename Fn> static void dispatch(int dtype, Fn fn) {
  switch (dtype) {
  case TSP_F64:
    return fn(Plain<double>());
  case TSP_F32:
    return fn(Plain<float>());
  case TSP_F16:
    return fn(Half());
  case TSP_BF16:
    return fn(Bfloat());
  case TSP_F8E4M3FN:
    return fn(F8E4M3());
  case TSP_F8E5M2:
    return fn(F8E5M2());
  case TSP_I1:
    return fn(Bool());
  case TSP_I4:
    return fn(Int4());
  case TSP_I8:
    return fn(Plain<int8_t>());
  case TSP_I16:
    return fn(Plain<int16_t>());
  case TSP_I32:
    return fn(Plain<int32_t>());
  case TSP_I64:
    return fn(Plain<int64_t>());
  case TSP_UI4:
    return fn(UInt4());
  case TSP_UI8:
    return fn(Plain<uint8_t>());
  case TSP_UI16:
    return fn(Plain<uint16_t>());
  case TSP_UI32:
    return fn(Plain<uint32_t>());
  case TSP_UI64:
    return fn(Plain<uint64_t>());
  }
}

//===----------------------------------------------------------------------===//
// Elementwise combines
//===----------------------------------------------------------------------===//

template <typename V> static V add(V a, V b) {
  if constexpr (std::is_integral_v<V>)
    return V(std::make_unsigned_t<V>(a) + std::make_unsigned_t<V>(b));
  else
    return a + b;
}

/// NaN wins; -0 is less than +0.
template <typename V> static V larger(V a, V b) {
  if constexpr (std::is_floating_point_v<V>) {
    if (std::isnan(a) || std::isnan(b))
      return std::isnan(a) ? a : b;
    if (a == b)
      return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}

template <typename V> static V smaller(V a, V b) {
  if constexpr (std::is_floating_point_v<V>) {
    if (std::isnan(a) || std::isnan(b))
      return std::isnan(a) ? a : b;
    if (a == b)
      return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}

template <typename T, typename Op>
static void combineTyped(char *dst, const std::vector<const char *> &sources,
                         int64_t begin, int64_t end, Op op) {
  using Stored = typename T::Stored;
  using Value = typename T::Value;
  constexpr int64_t block = 1024;
  Value sum[block];
  for (int64_t at = begin; at < end; at += block) {
    int64_t n = std::min(block, end - at);
    auto first = reinterpret_cast<const Stored *>(sources[0]) + at;
    for (int64_t i = 0; i < n; ++i)
      sum[i] = T::load(first[i]);
    for (size_t s = 1; s < sources.size(); ++s) {
      auto source = reinterpret_cast<const Stored *>(sources[s]) + at;
      for (int64_t i = 0; i < n; ++i)
        sum[i] = op(sum[i], T::load(source[i]));
    }
    auto out = reinterpret_cast<Stored *>(dst) + at;
    for (int64_t i = 0; i < n; ++i)
      out[i] = T::store(sum[i]);
  }
}

void tsp::runtime::combineElements(int dtype, int combine, char *dst,
                                   const std::vector<const char *> &sources,
                                   int64_t begin, int64_t end) {
  // One value needs no arithmetic, and keeps its bits.
  if (sources.size() == 1) {
    int64_t size = dtypeSize(dtype);
    memmove(dst + begin * size, sources[0] + begin * size,
            (end - begin) * size);
    return;
  }
  if (dtype == TSP_I1 && combine == TSP_SUM)
    combine = TSP_MAX;
  dispatch(dtype, [&](auto type) {
    using T = decltype(type);
    using Value = typename T::Value;
    if (combine == TSP_SUM)
      combineTyped<T>(dst, sources, begin, end,
                      [](Value a, Value b) { return add(a, b); });
    else if (combine == TSP_MAX)
      combineTyped<T>(dst, sources, begin, end,
                      [](Value a, Value b) { return larger(a, b); });
    else
      combineTyped<T>(dst, sources, begin, end,
                      [](Value a, Value b) { return smaller(a, b); });
  });
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

/// Row pointers of all peers.
template <typename T> static const T *row(const void *base, int64_t index) {
  return static_cast<const T *>(base) + index;
}

template <typename T, typename L>
static void combineLse(const Transfer &transfer,
                       const std::vector<const Transfer *> &peers, char *dst,
                       char *dst2, int64_t begin, int64_t end) {
  using Stored = typename T::Stored;
  using Value = typename T::Value;
  int64_t inner = transfer.inner / int64_t(sizeof(Stored));
  auto out = reinterpret_cast<Stored *>(dst);
  auto outLse = reinterpret_cast<L *>(dst2);
  std::vector<Value> sum(inner);
  for (int64_t r = begin; r < end; ++r, out += inner, ++outLse) {
    L highest = -INFINITY;
    for (const Transfer *peer : peers)
      highest = larger(highest, *row<L>(peer->src2, r));
    std::fill(sum.begin(), sum.end(), Value(0));
    L weights = 0;
    for (const Transfer *peer : peers) {
      L lse = *row<L>(peer->src2, r);
      if (lse == -INFINITY) // an empty part, whose values say nothing
        continue;
      L weight = std::exp(lse - highest);
      weights += weight;
      const Stored *values = row<Stored>(peer->src, r * inner);
      for (int64_t i = 0; i < inner; ++i)
        sum[i] += Value(weight) * T::load(values[i]);
    }
    bool empty = weights == 0;
    for (int64_t i = 0; i < inner; ++i)
      out[i] = T::store(empty ? Value(0) : sum[i] / Value(weights));
    *outLse = empty ? -L(INFINITY) : highest + std::log(weights);
  }
}

template <typename T, typename I>
static void combineArgmax(const std::vector<const Transfer *> &peers, char *dst,
                          char *dst2, int64_t begin, int64_t end) {
  using Stored = typename T::Stored;
  using Value = typename T::Value;
  auto isNan = [](Value value) { return value != value; };
  for (int64_t r = begin; r < end; ++r) {
    Stored best = *row<Stored>(peers[0]->src, r);
    I index = *row<I>(peers[0]->src2, r);
    for (size_t p = 1; p < peers.size(); ++p) {
      Stored stored = *row<Stored>(peers[p]->src, r);
      I candidate = *row<I>(peers[p]->src2, r);
      Value a = T::load(best), b = T::load(stored);
      bool equal = a == b || (isNan(a) && isNan(b));
      bool wins = equal ? candidate < index : !isNan(a) && (isNan(b) || b > a);
      if (wins) {
        best = stored;
        index = candidate;
      }
    }
    reinterpret_cast<Stored *>(dst)[r - begin] = best;
    reinterpret_cast<I *>(dst2)[r - begin] = index;
  }
}

void tsp::runtime::combineRows(const Transfer &transfer,
                               const std::vector<const Transfer *> &peers,
                               char *dst, char *dst2, int64_t begin,
                               int64_t end) {
  if (transfer.dtype2 < 0) {
    int64_t size = dtypeSize(transfer.dtype), inner = transfer.inner / size;
    std::vector<const char *> sources;
    for (const Transfer *peer : peers)
      sources.push_back(static_cast<const char *>(peer->src) +
                        begin * transfer.inner);
    combineElements(transfer.dtype, transfer.combine, dst, sources, 0,
                    (end - begin) * inner);
    return;
  }
  if (transfer.combine == TSP_LSE) {
    switch (transfer.dtype) {
    case TSP_F64:
      if (transfer.dtype2 == TSP_F64)
        return combineLse<Plain<double>, double>(transfer, peers, dst, dst2,
                                                 begin, end);
      return combineLse<Plain<double>, float>(transfer, peers, dst, dst2, begin,
                                              end);
    case TSP_F16:
      return combineLse<Half, float>(transfer, peers, dst, dst2, begin, end);
    case TSP_BF16:
      return combineLse<Bfloat, float>(transfer, peers, dst, dst2, begin, end);
    default:
      return combineLse<Plain<float>, float>(transfer, peers, dst, dst2, begin,
                                             end);
    }
  }
  dispatch(transfer.dtype, [&](auto type) {
    using T = decltype(type);
    switch (transfer.dtype2) {
    case TSP_I32:
      return combineArgmax<T, int32_t>(peers, dst, dst2, begin, end);
    case TSP_I64:
      return combineArgmax<T, int64_t>(peers, dst, dst2, begin, end);
    case TSP_UI32:
      return combineArgmax<T, uint32_t>(peers, dst, dst2, begin, end);
    default:
      return combineArgmax<T, uint64_t>(peers, dst, dst2, begin, end);
    }
  });
}
