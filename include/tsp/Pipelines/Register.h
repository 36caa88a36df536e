//===- Register.h - dialects and passes of the compiler ---------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_PIPELINES_REGISTER_H
#define TSP_PIPELINES_REGISTER_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tsp {

/// Registers every dialect that the compiler reads, makes or writes, with the
/// interfaces that other libraries attach to them.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers every pass and pipeline under its command-line name.
void registerPasses();

} // namespace tsp

#endif // TSP_PIPELINES_REGISTER_H
