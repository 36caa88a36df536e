//===- SdyPlacement.h - shardings of Shardy as placements -------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SHARDING_SDYPLACEMENT_H
#define TSP_SHARDING_SDYPLACEMENT_H

#include "tsp/Dialect/Sdy/IR/SdyDialect.h"
#include "tsp/Sharding/Placement.h"

namespace tsp {

/// The placement that a sharding of Shardy says; null after an error was
/// reported at `loc` (unreduced axes are not supported). `mesh` has axes for
/// the parts of axes that the program uses.
PlacementAttr placementOfSharding(sdy::TensorShardingAttr sharding,
                                  MeshAttr mesh, mlir::Location loc);

} // namespace tsp

#endif // TSP_SHARDING_SDYPLACEMENT_H
