//===- Report.h - what the compiler has planned, as JSON --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_PIPELINES_REPORT_H
#define TSP_LIB_PIPELINES_REPORT_H

#include "tsp/Kernels/GPU/DeviceCode.h"

#include "mlir/IR/BuiltinOps.h"

namespace tsp {

/// {strategy, mesh, kernels, entries: [{name, arena_bytes, peak_bytes,
/// staging_bytes, copies, launches, collectives: {name: count}, received_bytes:
/// {name: bytes} (ReceivedBytes.h), at_peak: [{bytes, buffer}]}]} of a module on
/// buffers. For a device also device:
/// {fatbin_bytes, constant_bytes, workspace_bytes, kernels: [{name,
/// architecture, grid, block, registers, stack_bytes, spill_bytes,
/// shared_bytes, workspace_bytes, blocks_per_processor, occupancy}]}.
void writeReport(mlir::ModuleOp module, llvm::StringRef strategy,
                 const std::optional<DeviceCode> &device,
                 llvm::raw_ostream &os);

} // namespace tsp

#endif // TSP_LIB_PIPELINES_REPORT_H
