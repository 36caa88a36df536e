//===- FragmentSdpa.h - attention with fragments in registers ---*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What attention on tensor cores does with S, P and O, whichever instruction
// multiplies. Products of a warp (mma) and of a warpgroup (wgmma) leave the
// same fragments to a warp: of 16 rows and 8 columns a lane holds, with g =
// lane / 4 and t = lane % 4,
//
//   (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1)
//
// so a lane has two rows of each 16, and four lanes share a row. (PTX ISA,
// "Matrix Fragments for mma.m16n8k16" and "Register Fragments for
// wgmma.mma_async.m64nNk16".)
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_FRAGMENTSDPA_H
#define TSP_LIB_KERNELS_GPU_FRAGMENTSDPA_H

#include "DeviceSdpa.h"

namespace tsp {

class FragmentSdpa : public DeviceSdpaEmitter {
public:
  FragmentSdpa(DeviceEmitter &e, const SdpaSpec &spec,
               const DeviceSdpaPlan &plan)
      : DeviceSdpaEmitter(e, spec, plan), quad(e.rem(lane, 4)) {}

protected:
  /// What a lane carries from tile to tile for 16 rows of its warp: of its two
  /// rows the maxima and its part of the sums, and fragments of O.
  struct State {
    Values maxima, sums, output;
    explicit State(mlir::ValueRange values)
        : maxima(values.take_front(2)), sums(values.slice(2, 2)),
          output(values.drop_front(4)) {}
    void appendTo(Values &all) const {
      all.append(maxima);
      all.append(sums);
      all.append(output);
    }
  };
  int64_t stateSize() const { return 4 + outputSize(); }
  int64_t outputSize() const { return spec.valueWidth / 8 * 4; }
  /// Of a row that has seen no key.
  State emptyState();

  /// Describes the lane's two rows of 16 from `first` on.
  void describeRows(Value first);

  /// Factors, softcap, bias and masks of the scores of 16 rows each. `seen`
  /// says whether the rows see all keys of the tile; null: they do.
  void maskScores(llvm::MutableArrayRef<Values> scores, Value tile, Value seen);
  /// P = exp(S - maximum) in place of S. The state's maxima and sums move to
  /// the new maximum; returns what O is to be multiplied with, row by row.
  Values weigh(Values &scores, State &state);
  void rescale(Values &output, mlir::ValueRange corrections);
  /// Rounds P to registers of two elements. Fragments of S as a result are
  /// those of P as an operand: four registers each 16 keys.
  Values packWeights(mlir::ValueRange weights);
  /// Stores the lane's part of O and LSE of 16 rows.
  void storeRows(const State &state, llvm::ArrayRef<Row> rows);

  /// Of each of four times eight columns, lane t of the four that share a row
  /// has word t; gives it all words of the t-th eight.
  void gatherColumns(Values &words);
  /// Two columns of O, the n-th eight's, of one of the lane's rows.
  Value roundPair(const State &state, int64_t n, int64_t half, Value factor);

  Value quad;
  llvm::SmallVector<Row, 4> rows; ///< of the lane: two for each 16 of the warp
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_FRAGMENTSDPA_H
