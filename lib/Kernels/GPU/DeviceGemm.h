//===- DeviceGemm.h - matrix products on a GPU ------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The product of tsp/Kernels/Gemm.h on a GPU. A block of threads computes a
// tile of C for one choice of the outer dims; the contraction goes in tiles of
// bk, which do not straddle the contracted dims but the last.
//
// `tensorCore`: 16-bit floats, f8 (as f16 where tensor cores do not take it, or
//   a side does not lie along k), 8-bit integers that lie along k, f64 where
//   tensor cores have it, and f32 that may be rounded to tf32. Tiles of A
//   and B come through shared memory in a pipeline of `stages`, by cp.async
//   where memory is aligned for it, else through registers: read at the start
//   of a step, converted or computed (DevicePrologue) and written at its end.
//   They lie there as in global memory, with the chunks of 16 bytes of a line
//   permuted, so that neither the copies nor the reads of fragments meet a bank
//   twice.
// `vectorUnit`: all else; exact f32 or f64 products of register tiles.
// `rows`:       few rows, bound by reading B: dot products by warps, or columns
//   by threads with k split over the warps, as B lies.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_DEVICEGEMM_H
#define TSP_LIB_KERNELS_GPU_DEVICEGEMM_H

#include "../GemmResults.h"
#include "DevicePrologue.h"
#include "tsp/Kernels/GPU/TargetDescription.h"

namespace tsp {

/// How one side of the product is read.
struct DeviceRead {
  bool alongK = true; ///< lines of memory run along k; else along m or n
  int64_t width = 1;  ///< elements that can be read at a time
  bool isComputed = false;
  mlir::Type loaded;  ///< element read: of a computed side, most of them
  bool async = false; ///< by cp.async
};

struct DeviceGemmPlan {
  enum Kind { tensorCore, vectorUnit, rows } kind = vectorUnit;
  DeviceRead a, b;
  mlir::Type element, elementB;   ///< of the tiles in shared memory
  int64_t bm = 1, bn = 1, bk = 1; ///< tile of a block
  int64_t wm = 1, wn = 1;         ///< of a warp (tensorCore)
  int64_t tm = 1, tn = 1;         ///< of a thread (vectorUnit, rows)
  int64_t threads = 128, stages = 1;
  int64_t tilesM = 1, tilesN = 1;
  int64_t tiles = 1; ///< for all choices of the outer dims
  int64_t grid = 1;  ///< blocks
  /// Tiles below each other that come before those beside them, so that blocks
  /// that run at the same time read the same rows and columns.
  int64_t group = 1;
  int64_t run = 1; ///< elements of a row that a thread stores at a time
  /// Part of a warp's sums that is staged at a time, and as what: the sums, or,
  /// where a kernel only rounds them to 16 bits, what they are rounded to, two
  /// by one instruction.
  int64_t slabRows = 16, slabColumns = 0;
  mlir::Type staged;
  int64_t sharedBytes = 0;
  double time = 0; ///< that the kernel is expected to take, in ns

  int64_t warpsN() const { return bn / wn; }
  bool roundsFirst() const { return staged.getIntOrFloatBitWidth() == 16; }
  bool multipliesF8() const {
    return kind == tensorCore && llvm::isa<mlir::FloatType>(element) &&
           element.getIntOrFloatBitWidth() == 8;
  }
};

/// Elements between lines of a tile that is not permuted: a vector more, so
/// that lines start in different banks.
inline constexpr int64_t kLinePadding = 4;

/// Tiles of bk that the contraction takes.
int64_t countTiles(const GemmSpec &spec, int64_t bk);

/// Outer places of the product.
int64_t countOuter(const GemmSpec &spec);

/// Whether the program lets f32 operands be rounded to tf32.
bool allowsTf32(stablehlo::DotGeneralOp dot);

/// What a step of one of the contraction takes on a multiprocessor.
struct StepCost {
  double operations;  ///< two for each product
  double rate;        ///< of operations, of the whole device, per ns
  double sharedBytes; ///< read from shared memory
  double globalBytes; ///< read from the second cache
};

/// Its time in ns: that of the slowest resource.
double estimateStep(const StepCost &step, const TargetDescription &target);

/// Time of a product in tiles of bm x bn, in ns: waves of blocks.
double estimateProduct(const GemmSpec &spec, int64_t bm, int64_t bn,
                       const StepCost &step, const TargetDescription &target);

/// Fills what follows from the tile of a block: tiles and their order, a block
/// for each, and how results are stored.
void completePlan(DeviceGemmPlan &plan, const GemmKernel &kernel,
                  int64_t resultBytes, const TargetDescription &target);

/// Chooses from the shapes and the architecture. `resultBytes`: size of the
/// widest element that the kernel stores. None: no generator takes the product.
std::optional<DeviceGemmPlan> planDeviceGemm(const GemmKernel &kernel,
                                             int64_t resultBytes,
                                             const TargetDescription &target);

/// What the generators share: one block's part of the product.
struct DeviceGemm {
  DeviceEmitter &e;
  const GemmKernel &kernel;
  const DeviceGemmPlan &plan;
  GemmResults &results;
  /// Pointers to the elements of the block's outer dims, of sides in memory; the
  /// others are computed.
  mlir::Value a, b;
  DevicePrologue *computeA, *computeB;
  mlir::Value output;          ///< pointer to the first result
  mlir::Value shared, staging; ///< pointers; where results are staged
  mlir::Value m, n;            ///< first row and column of the tile, i32
  DeviceEmitter::Values outer; ///< i32

  const GemmSpec &spec() const { return kernel.product.spec; }
};

/// Sets place and outer dims to those of the tile of this number.
void placeTile(DeviceGemm &gemm, mlir::Value number);

/// An element as memory holds it, as one of type `to` that can represent it.
mlir::Value readElement(DeviceEmitter &e, mlir::Value stored,
                        mlir::Type element, mlir::Type to);

void emitTensorCoreGemm(DeviceGemm &gemm);
void emitVectorUnitGemm(DeviceGemm &gemm);
void emitRowsGemm(DeviceGemm &gemm);

/// Sums in shared memory that wait to become results: rows x columns of them, or
/// of 32 or 64 columns of results of 16 bits. Fragments are written and runs are
/// read without conflicts.
struct StagedSums {
  mlir::Value pointer;
  int64_t rows, columns;
  int64_t run; ///< of the plan
  mlir::Type type;

  /// Elements between rows.
  static int64_t lineOf(int64_t columns, mlir::Type type) {
    bool isPadded = columns >= 8 && type.getIntOrFloatBitWidth() > 16;
    return columns + (isPadded ? 8 : 0);
  }
  int64_t line() const { return lineOf(columns, type); }
  int64_t bytes() const {
    return rows * line() * type.getIntOrFloatBitWidth() / 8;
  }
  /// Pointer to an element; the one after it follows where `column` is even.
  mlir::Value at(DeviceEmitter &e, mlir::Value row, mlir::Value column) const;
};

/// Stores the results of staged sums, the first being that of row m and column
/// n, by `group` threads of which this one is number `rank`.
void storeStaged(DeviceGemm &gemm, const StagedSums &sums, mlir::Value m,
                 mlir::Value n, mlir::Value rank, int64_t group);

/// Two sums as a register of the 16-bit results that the kernel rounds them to.
mlir::Value roundPair(DeviceGemm &gemm, mlir::ValueRange sums);

/// Stores the sums of a warp: `rows` x plan.wn, the first being that of row
/// `row` and column `column` of the tile, in fragments of 16 x 8
/// (TensorCore.h). Staging is used from `warp` times what is staged on.
void storeFragments(DeviceGemm &gemm, mlir::ValueRange sums, int64_t rows,
                    mlir::Value warp, mlir::Value row, mlir::Value column);

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_DEVICEGEMM_H
