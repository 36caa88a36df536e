//===- Mesh.h - the mesh that a program is compiled for ---------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_PIPELINES_MESH_H
#define TSP_PIPELINES_MESH_H

#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace tsp {

/// Splits "d=2,t=4" into names and sizes. Returns the text of an error, or "".
std::string parseMesh(llvm::StringRef text,
                      llvm::SmallVectorImpl<std::pair<std::string, int64_t>> &axes);

/// Sets the module's `tsp.mesh` from the flag, else from the program's one
/// sdy.mesh; both must agree on the axes that they share.
mlir::LogicalResult setMesh(mlir::ModuleOp module, llvm::StringRef text);

} // namespace tsp

#endif // TSP_PIPELINES_MESH_H
