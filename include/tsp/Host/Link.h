//===- Link.h - object files to a binary ------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_HOST_LINK_H
#define TSP_HOST_LINK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace tsp {

/// What the linker makes of a model's objects: one object, an executable, or a
/// shared object that exports the runtime's whole C API.
enum class LinkKind { Object, Executable, SharedObject };

/// Links with the system's C++ driver. `runtimeDirectory` holds libtsp_runtime.a
/// and libtsp_main.a. Returns the text of an error, which shows the command, or "".
std::string linkBinary(LinkKind kind, llvm::ArrayRef<std::string> objects,
                       llvm::StringRef runtimeDirectory, llvm::StringRef output);

} // namespace tsp

#endif // TSP_HOST_LINK_H
