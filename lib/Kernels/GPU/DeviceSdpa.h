//===- DeviceSdpa.h - attention on a device ---------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention with online softmax (FlashAttention-2, arXiv 2307.08691). As on the
// host, the rows of a key/value head are the queries of all heads of its group,
// row i * group + g, so that K and V are read once for the group. A block of
// threads has a tile of rows and walks over tiles of keys; those that positions
// or segments prove masked are skipped. Grid: (tiles of rows, key/value heads,
// batch).
//
//   warpgroup    sm_90a; 16-bit inputs, widths in multiples of 16, K and V as
//                tensor maps can read them: a warp copies, warpgroups have 64
//                rows each
//   tensor core  16-bit inputs, widths in multiples of 16: a warp has 16 or 32
//                rows, S and O are fragments in registers, P goes from one to
//                the other without leaving them
//   vector       everything else: some lanes share a row, K and V are f32 or
//                f64 in shared memory
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_DEVICESDPA_H
#define TSP_LIB_KERNELS_GPU_DEVICESDPA_H

#include "DeviceEmitter.h"
#include "tsp/Kernels/GPU/DeviceForm.h"
#include "tsp/Kernels/GPU/TargetDescription.h"
#include "tsp/Kernels/Sdpa.h"

namespace tsp {

enum class DeviceSdpaForm { Vector, TensorCore, Warpgroup };

struct DeviceSdpaPlan {
  DeviceSdpaForm form = DeviceSdpaForm::Vector;
  int64_t warps = 4;
  int64_t rows = 64;              ///< of a block
  int64_t keys = 64;              ///< of a tile
  int64_t rowTiles = 1;           ///< tensor core form: of 16 rows, in a warp
  int64_t lanesPerRow = 1;        ///< vector form
  int64_t pitchK = 0, pitchV = 0; ///< bytes from key to key in shared memory
  int64_t pitchQ = 0;             ///< from row to row; 0: Q is in registers

  // Warpgroup form.
  int64_t consumers = 1; ///< warpgroups with rows
  int64_t stages = 2;    ///< of K and of V

  /// The grid has a dim each for tiles of rows, heads of keys and the batch;
  /// where that is too large all three in one.
  bool isFlat = false;
  DeviceLaunch launch;
};

/// The general form. `aligned`: the buffers of Q, K and V start at multiples of
/// 16 bytes.
DeviceSdpaPlan planDeviceSdpa(const SdpaSpec &spec, bool aligned,
                              const TargetDescription &target);
/// The form for sm_90a alone. None when the kernel does not suit it; `reason`
/// says what its tensors lack, if it is that.
std::optional<DeviceSdpaPlan> planWarpgroupSdpa(const SdpaSpec &spec,
                                                bool aligned,
                                                const TargetDescription &target,
                                                std::string &reason);

/// How the warpgroup form reads K or V, whose heads have `width` elements;
/// without the buffer's number and offset.
DeviceTensorMap describeSdpaMap(const SdpaSpec &spec, const SdpaTensor &tensor,
                                int64_t width, const DeviceSdpaPlan &plan);
/// Tensor maps of the kernel; null but in the warpgroup form.
struct SdpaMaps {
  mlir::Value k, v;
};

/// Writes the kernel; the buffers of `spec` are pointers to global memory.
void emitDeviceSdpa(DeviceEmitter &e, const SdpaSpec &spec,
                    const DeviceSdpaPlan &plan, const SdpaMaps &maps);

/// What both forms share: rows, masks, results.
class DeviceSdpaEmitter {
public:
  using Value = mlir::Value;
  using Values = DeviceEmitter::Values;

  DeviceSdpaEmitter(DeviceEmitter &e, const SdpaSpec &spec,
                    const DeviceSdpaPlan &plan);

protected:
  /// Of a row as masks see it.
  struct Row {
    Value number;            ///< i32, clamped to the last
    Value exists;            ///< i1
    Value position, segment; ///< null where the op has none
  };
  Row describeRow(Value number);
  Value query(Value row) { return e.div(row, spec.group()); }
  /// Elements from the start of a tensor to the one of a row (i64).
  Value rowOffset(const SdpaTensor &tensor, Value row);
  Value keyOffset(const SdpaTensor &tensor, Value key);
  /// Pointer to an element `offset` (of any width) of a tensor.
  Value at(const SdpaTensor &tensor, Value offset);

  /// Finds which positions and segments the block's rows have, for the two
  /// below.
  void findRanges();
  /// The first tile of keys from `tile` on of which a row may see something;
  /// all threads of a warp together.
  Value findTile(Value tile);
  /// Whether the block's rows see all keys of the tile (i1, or null: always).
  Value seesAll(Value tile);
  /// The scores that softmax takes the maximum of, before the factor
  /// `exponent`; and what is left of them after masks.
  Value finishScore(Value score, const Row &row, Value key);
  Value maskScore(Value score, const Row &row, Value key);
  /// Whether finishScore does anything: softcap or bias, or a factor that is
  /// not positive.
  bool changesScores() const;
  /// exp(score) is 2^(exponent * finished score).
  double exponent() const;
  /// Whether the row's sum is that of no key.
  Value isEmpty(Value sum);
  /// Whether the row has results that come from its sums.
  Value storesSums(const Row &row, Value sum);
  /// Where `empty` asks for it, stores the mean of V in every `step`th column
  /// from `first` on, if the row sees no key.
  void storeMeans(const Row &row, Value sum, Value first, int64_t step);
  /// 1 / sum, or 0 where the row sees no key and `empty` asks for zeros.
  Value inverseOf(Value sum);
  /// Stores LSE; `maximum` in units of finished scores.
  void storeLse(const Row &row, Value maximum, Value sum);
  int64_t numTiles() const { return llvm::divideCeil(spec.keys, plan.keys); }
  bool isRagged() const { return spec.keys % plan.keys != 0; }

  DeviceEmitter &e;
  const SdpaSpec &spec;
  const DeviceSdpaPlan &plan;
  mlir::Type real;
  Value thread, lane, warp, rowTile, keyHead, batch;

private:
  Value loadInteger(const SdpaTensor &tensor, Value offset);
  /// Least and greatest of a tensor over `count` rows or keys from `first` on.
  std::pair<Value, Value> rangeOf(const SdpaTensor &tensor, int64_t count,
                                  Value first, int64_t limit,
                                  llvm::function_ref<Value(Value)> offset);
  std::pair<Value, Value> keyRange(const SdpaTensor &tensor, Value tile);

  mlir::Type integers; ///< of positions and segments
  std::pair<Value, Value> rowPositions, rowSegments; ///< of the block
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_DEVICESDPA_H
