//===- DiagnosticPrinter.cpp - diagnostics on standard error -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DiagnosticPrinter.h"

#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace tsp;

DiagnosticPrinter::DiagnosticPrinter(llvm::SourceMgr &sources,
                                     MLIRContext *context)
    : SourceMgrDiagnosticHandler(sources, context, llvm::errs()) {
  setHandler([this](Diagnostic &diagnostic) { print(diagnostic); });
}

/// A module as a whole is at line 0 of its file.
static bool isInFile(Diagnostic &diagnostic) {
  auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
  return place && place.getLine() > 0;
}

void DiagnosticPrinter::print(Diagnostic &diagnostic) {
  if (isInFile(diagnostic))
    return emitDiagnostic(diagnostic); // and its notes
  printUnplaced(diagnostic);
  for (Diagnostic &note : diagnostic.getNotes()) {
    if (isInFile(note))
      emitDiagnostic(note.getLocation(), note.str(), note.getSeverity());
    else
      printUnplaced(note);
  }
}

static llvm::raw_ostream &printSeverity(llvm::raw_ostream &os,
                                        DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return llvm::WithColor::error(os);
  case DiagnosticSeverity::Warning:
    return llvm::WithColor::warning(os);
  case DiagnosticSeverity::Note:
    return llvm::WithColor::note(os);
  case DiagnosticSeverity::Remark:
    return llvm::WithColor::remark(os);
  }
  llvm_unreachable("all severities are handled");
}

void DiagnosticPrinter::printUnplaced(Diagnostic &diagnostic) {
  printSeverity(os, diagnostic.getSeverity());
  if (auto name = diagnostic.getLocation()->findInstanceOf<NameLoc>())
    os << name.getName().getValue() << ": ";
  os << diagnostic.str() << "\n";
}
