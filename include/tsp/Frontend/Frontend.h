//===- Frontend.h - from the text of JAX to flat functions ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_FRONTEND_FRONTEND_H
#define TSP_FRONTEND_FRONTEND_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include <string>
#include <vector>

namespace tsp {

/// Names of the attributes of arguments and results of public functions.
inline constexpr llvm::StringLiteral kNameAttr = "tsp.name";
/// "parameter", "input" or "state".
inline constexpr llvm::StringLiteral kKindAttr = "tsp.kind";
/// Of a state: the number of the result that is its new value (i64).
inline constexpr llvm::StringLiteral kAliasAttr = "tsp.alias";

struct ImportOptions : mlir::PassPipelineOptions<ImportOptions> {
  ListOption<std::string> params{
      *this, "params",
      llvm::cl::desc("patterns of the names of arguments that are parameters")};
};

/// Import: afterwards each public function is one flat block of supported ops
/// (with the regions of while, case, reduce and the like), its arguments have
/// names and kinds, and nothing else is in the module but meshes.
void buildImportPipeline(mlir::OpPassManager &manager,
                         const ImportOptions &options);

} // namespace tsp

#endif // TSP_FRONTEND_FRONTEND_H
