//===- DiagnosticPrinter.h - diagnostics on standard error -*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_PIPELINES_DIAGNOSTICPRINTER_H
#define TSP_LIB_PIPELINES_DIAGNOSTICPRINTER_H

#include "mlir/IR/Diagnostics.h"

namespace tsp {

/// Prints a context's diagnostics with the line of the source. What has no
/// place in a file is told by the name of its location, such as that of an
/// argument.
class DiagnosticPrinter : public mlir::SourceMgrDiagnosticHandler {
public:
  DiagnosticPrinter(llvm::SourceMgr &sources, mlir::MLIRContext *context);

private:
  void print(mlir::Diagnostic &diagnostic);
  void printUnplaced(mlir::Diagnostic &diagnostic);
};

} // namespace tsp

#endif // TSP_LIB_PIPELINES_DIAGNOSTICPRINTER_H
