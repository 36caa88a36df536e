//===- DynamicLibrary.h - libraries that are opened when needed -*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_DYNAMICLIBRARY_H
#define TSP_RUNTIME_CORE_DYNAMICLIBRARY_H

#include "core/Types.h"

#include <dlfcn.h>

namespace tsp::runtime {

/// A shared library opened at run time, so that programs start without it. It
/// stays open until the process ends.
class DynamicLibrary {
public:
  /// Opens the first of these names that there is.
  explicit DynamicLibrary(const std::vector<std::string> &names, int flags = 0);

  bool isOpen() const { return handle != nullptr; }
  /// Why it could not be opened.
  const std::string &error() const { return reason; }

  /// The address of a symbol, or null.
  void *find(const char *symbol) const {
    return handle ? dlsym(handle, symbol) : nullptr;
  }

  /// Sets a function pointer; throws an Error when the library lacks it.
  template <typename Function>
  void get(const char *symbol, Function &function) const {
    function = reinterpret_cast<Function>(find(symbol));
    if (!function)
      throw Error(name + " has no function " + symbol +
                  ": it is too old for this program");
  }

private:
  void *handle = nullptr;
  std::string name, reason;
};

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_DYNAMICLIBRARY_H
