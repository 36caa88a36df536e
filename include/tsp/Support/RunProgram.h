//===- RunProgram.h - programs of other tool chains -------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SUPPORT_RUNPROGRAM_H
#define TSP_SUPPORT_RUNPROGRAM_H

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace tsp {

/// Runs a command, its program as a path; `output` gets what it prints. Returns
/// "" or the text of an error, which holds the command and what it printed.
std::string runProgram(llvm::ArrayRef<std::string> command,
                       std::string &output);

} // namespace tsp

#endif // TSP_SUPPORT_RUNPROGRAM_H
