//===- SdpaEmit.h - pieces of the code for attention ------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_SDPAEMIT_H
#define TSP_LIB_KERNELS_SDPAEMIT_H

#include "tsp/Kernels/Sdpa.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tsp {

/// Writes one attention kernel. The loops, from outside in: units of the grid,
/// blocks of keys, panels of rows.
class SdpaEmitter {
public:
  using Values = VectorEmitter::Values;
  using Value = mlir::Value;

  SdpaEmitter(VectorEmitter &e, const SdpaSpec &spec, const SdpaPlan &plan,
              Value scratch);
  void emit(Value begin, Value end);
  int64_t scratchBytes() const { return used; }

private:
  //===-- Rows of a panel (SdpaRows.cpp)
  //------------------------------------===//

  /// The row in a lane of a panel, the last row where there is none.
  Value laneRow(Value panel, Value lane);
  Value query(Value row) { return e.div(row, spec.group()); }
  Value headInGroup(Value row) { return e.rem(row, spec.group()); }
  Value headOf(Value row) {
    return e.add(e.mul(keyHead, spec.group()), headInGroup(row));
  }
  /// Offset of a row's elements in a tensor with rows.
  Value rowOffset(const SdpaTensor &tensor, Value row);
  /// Q turned and scaled, positions and segments of rows, empty sums.
  void preparePanel(Value panel);
  /// O divided, turned and stored, and LSE.
  void finishPanel(Value panel);
  void storeRow(Value panel, Value lane);
  /// The mean of V over all keys, for rows that see none.
  void emitMean(Value panel);

  //===-- Scores of a block of keys (SdpaScores.cpp)
  //--------------------------===//

  /// What a block of keys and a panel have to do with each other.
  struct Visibility {
    Value some; ///< null: always
    Value all;  ///< null: always
  };
  /// Least and greatest of the positions (segments) of a block.
  std::pair<Value, Value> keyRange(const SdpaTensor &tensor);
  Visibility visibility(Value panel);
  /// S of the block at hand, before masks: scores, softcap, bias.
  void emitScores(Value panel);
  void addTurned(const SdpaTensor &tensor, Value panel, bool isMask);
  /// Puts -inf where a key is not seen.
  void maskScores(Value panel);

  //===-- Blocks (SdpaEmit.cpp)
  //-----------------------------------------------===//

  void emitUnit(Value unit);
  void emitBlock();
  void copyBlock(const SdpaTensor &tensor, int64_t width, int64_t line,
                 Value to);
  /// Softmax of S and the sum with V.
  void emitUpdate(Value panel);
  void emitValues(Value panel, llvm::ArrayRef<Value> corrections);

  //===-- Helpers
  //-------------------------------------------------------------===//

  Value allocate(mlir::Type element, int64_t count);
  /// An integer of memory as one of `integers`.
  Value loadInteger(const SdpaTensor &tensor, Value at);
  /// The position before the first that a window lets a query see.
  Value windowStart(Value positions);
  Value compare(mlir::arith::CmpIPredicate predicate, Value x, Value y);
  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y);
  /// Vector v of a panel's part of a buffer of rows.
  Value loadRows(Value buffer, Value panel, int64_t v);
  void storeRows(Value vector, Value buffer, Value panel, int64_t v);
  /// Offset of row 0 of the scores of a key of the block.
  Value scoreLine(Value key) { return e.mul(e.add(key, plan.mrKeys), nr); }
  Value scaledBase(const SdpaTensor &tensor) {
    return e.add(e.mul(batch, tensor.batch), e.mul(keyHead, tensor.head));
  }
  mlir::VectorType vector() { return e.vectorOf(spec.compute, plan.lanes); }
  Value minusInfinity(mlir::Type type);

  VectorEmitter &e;
  const SdpaSpec &spec;
  const SdpaPlan &plan;
  Value scratch;
  int64_t used = 0;
  int64_t nr;
  mlir::Type integers; ///< of positions and segments: i32 or i64

  // Scratch, by panel where the comment says so.
  Value bufferQ;                   ///< panel: [width][nr]
  Value bufferO;                   ///< panel: [value width][nr]
  Value maxima, sums;              ///< panel: [nr]
  Value rowPositions, rowSegments; ///< panel: [nr]
  Value leastPosition, greatestPosition, leastSegment,
      greatestSegment;    ///< panel
  Value bufferS;          ///< [keys][nr], with mrKeys keys before and after
  Value bufferK, bufferV; ///< [keys][line]
  Value turned;           ///< [nr][value width]
  Value bufferMean;       ///< [value width]

  // Of the unit and the block at hand.
  Value batch, keyHead, firstPanel, panelCount;
  Value firstKey, keyCount;
  std::pair<Value, Value> positionRange, segmentRange;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_SDPAEMIT_H
