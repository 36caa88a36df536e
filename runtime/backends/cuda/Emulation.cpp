//===- Emulation.cpp - where the emulation's libraries are ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/Emulation.h"
#include "core/Types.h"

#include <climits>
#include <cstdlib>
#include <unistd.h>

using namespace tsp::runtime;

static const char *variable = "TSP_EMULATION";

static std::string executableFolder() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  std::string text(path, length > 0 ? size_t(length) : 0);
  size_t slash = text.rfind('/');
  return slash == std::string::npos ? "." : text.substr(0, slash);
}

void tsp::runtime::useEmulation(const std::string &folder) {
  std::vector<std::string> places = {folder};
  if (folder.empty()) {
    std::string here = executableFolder();
    const char *set = getenv(variable);
    places = {set ? set : "", here + "/emulation", here + "/../lib/emulation",
              TSP_EMULATION_FOLDER};
  }
  std::string looked;
  for (const std::string &place : places) {
    if (place.empty())
      continue;
    if (access((place + "/libcuda.so.1").c_str(), R_OK) == 0) {
      setenv(variable, place.c_str(), 1);
      return;
    }
    looked += (looked.empty() ? "" : ", ") + place;
  }
  throw Error("--emulate: there is no emulation (libcuda.so.1) in " + looked +
              "\nIt is built into build/lib/emulation of tsp; say where it is "
              "with --emulate=DIR");
}

std::vector<std::string> tsp::runtime::libraryNames(const std::string &name) {
  const char *folder = getenv(variable);
  if (folder && *folder)
    return {std::string(folder) + "/" + name};
  return {name};
}
