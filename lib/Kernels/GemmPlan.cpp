//===- GemmPlan.cpp - blocks of a matrix product --------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/Gemm.h"

#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace tsp;
using llvm::alignTo;
using llvm::divideCeil;

// Bytes that blocks may take of the caches; modest, as the caches also hold
// what streams through.
static constexpr int64_t kL1BytesB = 32 << 10;
static constexpr int64_t kL2BytesA = 384 << 10;
static constexpr int64_t kL2BytesB = 768 << 10;
/// Longest contraction that is copied at once.
static constexpr int64_t kDepth = 4096;
/// Blocks of less work than this many products are not split for the sake of
/// parallelism, nor grids of this many blocks.
static constexpr int64_t kBlockWork = 1 << 20;
static constexpr int64_t kEnoughBlocks = 16;
/// Up to this many rows B is read in place: a copy would not pay.
static constexpr int64_t kFewRowsOfDots = 4;

static int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

int64_t GemmSpec::depth() const { return product(k); }

int64_t GemmPlan::steps(const GemmSpec &spec) const {
  return divideCeil(spec.depth(), ks);
}

/// Steps of k of a computed line of B that is to be turned.
static constexpr int64_t kLineSteps = 256;

/// `size` in equal parts of at most `most`, each a multiple of `unit`.
static int64_t balance(int64_t size, int64_t most, int64_t unit) {
  most = std::max(most, unit);
  return alignTo(divideCeil(size, divideCeil(size, most)), unit);
}

/// A multiple of `unit` that a run of the operand, which may be computed along
/// k, divides: parts of the contraction start where runs do.
static int64_t alignToRuns(const GemmOperand &operand, int64_t unit) {
  return std::lcm(unit, std::max<int64_t>(operand.run, 1));
}

/// Whether vectors may be read along k.
static bool isDeep(const GemmSpec &spec, const GemmOperand &operand,
                   int64_t lanes) {
  return operand.k.back() == 1 &&
         (spec.k.size() == 1 || spec.k.back() % lanes == 0);
}

static void planCopyOfA(const GemmSpec &spec, GemmPlan &plan) {
  const GemmOperand &a = spec.a;
  if (a.isComputed()) {
    plan.copyA = GemmCopy::lines;
    plan.aColumns = a.free == 1 && a.k.back() != 1 && plan.kind != GemmPlan::rows;
    if (plan.aColumns)
      plan.lda = alignTo(plan.mc, plan.lanes);
  } else if (spec.k.size() == 1 && a.k[0] == 1 && a.element == spec.compute) {
    plan.copyA = GemmCopy::none;
  } else if (isDeep(spec, a, plan.lanes)) {
    plan.copyA = GemmCopy::lines;
  } else if (a.free == 1 && plan.kind != GemmPlan::rows) {
    plan.copyA = GemmCopy::lines;
    plan.aColumns = true;
    plan.lda = alignTo(plan.mc, plan.lanes);
  } else {
    plan.copyA = GemmCopy::scalar;
  }
  // Rows an odd number of vectors apart use all sets of a cache.
  if (plan.copyA != GemmCopy::none && !plan.aColumns)
    plan.lda = (divideCeil(plan.ks, plan.lanes) | 1) * plan.lanes;
}

/// Vectors of columns in a register tile: few lanes wasted, wide enough.
static int64_t tileVectors(int64_t columns) {
  if (columns <= 4)
    return columns;
  int64_t best = 2;
  for (int64_t v : {3, 4})
    if (alignTo(columns, v) < alignTo(columns, best))
      best = v;
  return best;
}

static void planPacked(const GemmSpec &spec, GemmPlan &plan,
                       int64_t accumulators, int64_t bytes) {
  int64_t depth = spec.depth();
  plan.nv = std::min(tileVectors(divideCeil(spec.n, plan.lanes)), accumulators);
  int64_t most = std::min<int64_t>(accumulators / plan.nv, 16);
  plan.mr = balance(spec.m, std::min(most, spec.m), 1);
  int64_t nr = plan.nr();

  int64_t unit = alignToRuns(spec.b, alignToRuns(spec.a, plan.lanes));
  plan.ks = depth <= kDepth ? depth : balance(depth, kDepth / 2, unit);
  plan.kc = balance(plan.ks, kL1BytesB / (nr * bytes) * 5 / 4, 8);
  int64_t mc = std::clamp<int64_t>(kL2BytesA / (plan.ks * bytes), plan.mr, 192);
  int64_t nc = std::clamp<int64_t>(kL2BytesB / (plan.ks * bytes), nr, 512);
  plan.mc = balance(spec.m, mc, plan.mr);
  plan.nc = balance(spec.n, nc, nr);

  int64_t outer = product(spec.outer);
  auto blocks = [&] {
    return outer * divideCeil(spec.m, plan.mc) * divideCeil(spec.n, plan.nc);
  };
  while (blocks() < kEnoughBlocks && plan.mc * plan.nc * depth > kBlockWork &&
         (plan.mc > plan.mr || plan.nc > nr)) {
    if (plan.nc > nr && (plan.nc >= plan.mc || plan.mc == plan.mr))
      plan.nc = balance(plan.nc, plan.nc / 2, nr);
    else
      plan.mc = balance(plan.mc, plan.mc / 2, plan.mr);
  }

  plan.copyB = spec.b.free == 1                   ? GemmCopy::lines
               : isDeep(spec, spec.b, plan.lanes) ? GemmCopy::transpose
                                                  : GemmCopy::scalar;
  plan.panel = alignTo(plan.ks, plan.lanes) * nr;
  if (spec.b.isComputed() && plan.copyB != GemmCopy::lines) {
    plan.copyB = GemmCopy::transpose;
    int64_t run = std::max(spec.b.run, plan.lanes);
    plan.lineSteps = std::max<int64_t>(kLineSteps / run, 1) * run;
  }
}

static void planDirect(const GemmSpec &spec, GemmPlan &plan,
                       int64_t accumulators) {
  int64_t columns = divideCeil(spec.n, plan.lanes);
  int64_t most = std::min<int64_t>({accumulators / spec.m, columns, 16});
  // Enough blocks to share among threads, and no part of a tile wasted.
  if (columns / most < kEnoughBlocks)
    most = std::max<int64_t>({1, most / 2, std::min<int64_t>(most, 4)});
  plan.nv = most;
  for (int64_t v = most; v > most / 2; --v)
    if (columns % v == 0) {
      plan.nv = v;
      break;
    }
  plan.mr = plan.mc = spec.m;
  plan.nc = plan.nr();
  plan.ks = spec.depth();
  plan.kc = 1024;
  plan.copyB = GemmCopy::none;
}

static void planRows(const GemmSpec &spec, GemmPlan &plan) {
  plan.nv = 1;
  plan.mr = plan.mc = spec.m;
  int64_t columns = divideCeil(spec.n, plan.lanes);
  plan.nc = plan.lanes * std::clamp<int64_t>(columns / kEnoughBlocks, 1, 8);
  plan.ks = plan.kc = spec.depth();
  plan.copyB = GemmCopy::none;
}

/// A computed B is copied too, in parts that stay in the first cache.
static void planComputedColumns(const GemmSpec &spec, GemmPlan &plan,
                                int64_t bytes) {
  plan.kind = GemmPlan::packed;
  plan.copyB = GemmCopy::lines;
  // B is computed line by line of n, so its runs may be cut.
  int64_t unit = alignToRuns(spec.a, plan.lanes);
  int64_t most = std::max(kL1BytesB / (plan.nr() * bytes) / unit, int64_t(1));
  plan.ks = plan.kc = std::min(most * unit, spec.depth());
  plan.panel = alignTo(plan.ks, plan.lanes) * plan.nr();
}

GemmPlan tsp::planGemm(const GemmSpec &spec, const VectorTarget &target) {
  GemmPlan plan;
  plan.lanes = target.lanes(spec.compute);
  int64_t bytes = spec.compute.getIntOrFloatBitWidth() / 8;
  int64_t accumulators = target.registers * 3 / 4;
  int64_t mostRows = accumulators / 2;

  if (spec.m <= kFewRowsOfDots && spec.k.size() == 1 && spec.b.k[0] == 1 &&
      spec.b.free != 1) {
    plan.kind = GemmPlan::rows;
    planRows(spec, plan);
  } else if (spec.m <= mostRows && spec.k.size() == 1 && spec.b.free == 1) {
    plan.kind = GemmPlan::direct;
    planDirect(spec, plan, accumulators);
    if (spec.b.isComputed())
      planComputedColumns(spec, plan, bytes);
  } else {
    planPacked(spec, plan, accumulators, bytes);
  }
  planCopyOfA(spec, plan);

  plan.rowChunks = divideCeil(spec.m, plan.mc);
  plan.columnChunks = divideCeil(spec.n, plan.nc);
  plan.grid = product(spec.outer) * plan.rowChunks * plan.columnChunks;

  int64_t sizeA = 0, sizeB = 0, sizeC = plan.mc * plan.nr();
  if (plan.copyA != GemmCopy::none)
    sizeA = plan.lda * (plan.aColumns ? plan.ks : plan.mc);
  if (plan.copyB != GemmCopy::none)
    sizeB = plan.panel * (plan.nc / plan.nr());
  if (plan.steps(spec) > 1)
    sizeC *= plan.nc / plan.nr();
  plan.scratchB = 0;
  plan.scratchA = alignTo(sizeB * bytes, 64);
  plan.scratchC = plan.scratchA + alignTo(sizeA * bytes, 64);
  plan.scratchLines = plan.scratchC + alignTo(sizeC * bytes, 64);
  int64_t sizeLines = plan.lineSteps ? plan.lanes * plan.linePitch() : 0;
  plan.scratchBytes = plan.scratchLines + alignTo(sizeLines * bytes, 64);
  return plan;
}
