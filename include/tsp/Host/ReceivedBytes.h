//===- ReceivedBytes.h - what transfers will move ---------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_HOST_RECEIVEDBYTES_H
#define TSP_HOST_RECEIVEDBYTES_H

#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace tsp {

/// Bytes that a rank receives in one run of an entry, by collective and by the
/// definition of the runtime's counters: the mean of all ranks. Folds count with
/// all their steps; how often a `while` turns is not known, and its body counts
/// once.
std::map<std::string, int64_t> countReceivedBytes(mlir::func::FuncOp entry,
                                                  MeshAttr mesh);

} // namespace tsp

#endif // TSP_HOST_RECEIVEDBYTES_H
