//===- Sdpa.h - code for the attention core ---------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention with online softmax. The queries of a key/value head are rows
// r = i * group + g (query i, head g of the group); rows lie in the lanes of
// vectors, keys and features run down:
//
//   S[key][row]  = sum over e of K[key][e] Q[e][row]      A read by broadcasts,
//   O[e][row]   += sum over keys of V[key][e] P[key][row] B a panel in L1
//
// so maxima and sums of softmax need no work across lanes, K and V are read in
// place, and only Q and O are turned, once. A unit of the grid is a batch
// index, a key/value head and some panels of rows; it runs over blocks of keys
// and skips those that positions or segments prove masked. The order of sums
// depends on shapes alone.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_SDPA_H
#define TSP_KERNELS_SDPA_H

#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Kernels/StridedView.h"
#include "tsp/Kernels/VectorEmitter.h"
#include <optional>

namespace tsp {

/// A tensor of attention as it lies in memory.
struct SdpaTensor {
  mlir::Value flat;   ///< null when the op does not have it
  mlir::Type element; ///< of the tensor
  /// Strides of (batch, query or key, head, last): 0 where it is repeated. Bias
  /// and mask have (batch, query, head, key).
  int64_t batch = 0, row = 0, head = 0, last = 0;
};

struct SdpaSpec {
  int64_t batch, queries, keys, queryHeads, keyHeads, width, valueWidth;
  SdpaTensor q, k, v, bias, mask, qPositions, kPositions, qSegments, kSegments,
      o, lse;
  double scale = 1;
  std::optional<double> softcap;
  bool causal = false;
  std::optional<int64_t> window;
  EmptyRows empty = EmptyRows::Nan;
  mlir::Type compute; ///< f32 or f64

  int64_t group() const { return queryHeads / keyHeads; }
  int64_t rows() const { return queries * group(); }
  bool hasPositions() const { return causal || window; }
  bool hasSegments() const { return bool(qSegments.flat); }
  /// Whether scores may be -inf.
  bool hasMasks() const {
    return hasPositions() || hasSegments() || mask.flat || bias.flat;
  }
};

struct SdpaPlan {
  int64_t lanes = 16, nv = 3;       ///< a panel has nv vectors of rows
  int64_t mrKeys = 8, mrValues = 8; ///< register tiles of S and of O
  int64_t keyBlock = 64;
  int64_t panels = 1, panelsPerUnit = 4, units = 1, grid = 1;
  bool copyK = false, copyV = false;
  int64_t ldk = 0, ldv = 0; ///< elements between keys of the copies
  int64_t turnedWidth = 0;  ///< value width in whole vectors

  int64_t nr() const { return nv * lanes; }
};

SdpaPlan planSdpa(const SdpaSpec &spec, const VectorTarget &target);

/// Writes the units [begin, end) of the grid; returns the bytes of scratch.
int64_t emitSdpa(VectorEmitter &e, const SdpaSpec &spec, const SdpaPlan &plan,
                 mlir::Value begin, mlir::Value end, mlir::Value scratch);

} // namespace tsp

#endif // TSP_KERNELS_SDPA_H
