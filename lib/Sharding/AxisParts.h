//===- AxisParts.h - axes that a program uses in parts ----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shardy's shardings may name a part of an axis: `"t":(1)2` of `"t"=4`. The
// mesh then gets an axis for each part, major to minor: "t.0" = 2, "t.1" = 2,
// and "t" stands for both. Behind the import there are only whole axes.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_SHARDING_AXISPARTS_H
#define TSP_LIB_SHARDING_AXISPARTS_H

#include "tsp/Dialect/Sdy/IR/SdyDialect.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace tsp {

/// `mesh` with the axes that the program uses in parts split into these.
/// Reports parts of one axis that overlap without dividing each other.
mlir::FailureOr<MeshAttr> splitAxes(mlir::ModuleOp module, MeshAttr mesh);

/// The axes of a split mesh that an axis or a part of one stands for, major to
/// minor.
llvm::SmallVector<mlir::StringAttr> axesOf(sdy::AxisRefAttr axis,
                                           MeshAttr mesh);

} // namespace tsp

#endif // TSP_LIB_SHARDING_AXISPARTS_H
