//===- DynamicLibrary.cpp - libraries that are opened when needed ---------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/DynamicLibrary.h"

using namespace tsp::runtime;

DynamicLibrary::DynamicLibrary(const std::vector<std::string> &names,
                               int flags) {
  for (const std::string &candidate : names) {
    handle = dlopen(candidate.c_str(), RTLD_NOW | flags);
    if (handle) {
      name = candidate;
      return;
    }
    const char *text = dlerror();
    reason += (reason.empty() ? "" : "; ") +
              std::string(text ? text : candidate + " cannot be opened");
  }
}
