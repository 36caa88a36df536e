//===- LocalOps.h - expressions the partitioner writes ----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_SHARDING_LOCALOPS_H
#define TSP_LIB_SHARDING_LOCALOPS_H

#include "tsp/Sharding/ShardingRule.h"

#include "mlir/IR/Builders.h"

// Small StableHLO expressions that the partitioner writes: scalar i32
// arithmetic of offsets, splats, masks, slices at an offset.
namespace tsp {

mlir::RankedTensorType scalarI32Type(mlir::OpBuilder &builder);
mlir::Value constantI32(mlir::OpBuilder &builder, mlir::Location loc,
                        int64_t value);
/// a * factor for tensor<i32>.
mlir::Value multiplyI32(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value a, int64_t factor);
/// First element of part number `part` of a fold, of a dim of `total` elements.
mlir::Value partOffset(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value part, const DimShard &shard, int64_t total);
mlir::Value add(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a,
                mlir::Value b);
mlir::Value subtract(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value a, mlir::Value b);
/// A constant of `type` all of whose elements are `value`; of element type
/// float, int or bool.
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::RankedTensorType type, double value);
/// A scalar (rank 0) as a tensor of `shape`.
mlir::Value broadcastScalar(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value scalar, llvm::ArrayRef<int64_t> shape);
/// `value` along dim `dims[i]` of a tensor of `shape`, for each of its dims i.
mlir::Value broadcast(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<int64_t> dims);
mlir::Value reshape(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, llvm::ArrayRef<int64_t> shape);
mlir::Value select(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value pred, mlir::Value onTrue, mlir::Value onFalse);
/// Elements [offset, offset + size) along `dim`.
mlir::Value sliceAt(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, int64_t dim, mlir::Value offset,
                    int64_t size);
/// Values of equal shapes but for `dim`, one after the other along it.
mlir::Value concatenate(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::ValueRange values, int64_t dim);
/// Zeros before and after along `dim`.
mlir::Value padWithZeros(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, int64_t dim, int64_t low,
                         int64_t high);

/// The pieces of a sharded dim that this rank holds.
Pieces piecesOf(mlir::OpBuilder &builder, mlir::Location loc,
                const DimShard &shard, MeshAttr mesh);
/// The pieces cut out of `value`, whose dim `dim` is whole.
mlir::Value slicePieces(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, int64_t dim, const Pieces &pieces);
/// i32 tensor of `shape`: index along `dim` in the whole of which it holds
/// `pieces`.
mlir::Value indexAlong(mlir::OpBuilder &builder, mlir::Location loc,
                       llvm::ArrayRef<int64_t> shape, int64_t dim,
                       const Pieces &pieces);
/// Where that index is below `limit`, as i1 of `shape`.
mlir::Value isBelow(mlir::OpBuilder &builder, mlir::Location loc,
                    llvm::ArrayRef<int64_t> shape, int64_t dim,
                    const Pieces &pieces, int64_t limit);
/// Where that index is in [low, high), as i1 of `shape`.
mlir::Value inRange(mlir::OpBuilder &builder, mlir::Location loc,
                    llvm::ArrayRef<int64_t> shape, int64_t dim,
                    const Pieces &pieces, int64_t low, int64_t high);
/// Indices of the whole dim (i32) as local ones; not in [0, local size) where
/// the rank does not hold the element.
mlir::Value localIndex(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value index, const Pieces &pieces);

} // namespace tsp

#endif // TSP_LIB_SHARDING_LOCALOPS_H
