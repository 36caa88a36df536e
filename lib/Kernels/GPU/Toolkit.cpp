//===- Toolkit.cpp - the programs of a CUDA toolkit -----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/GPU/Toolkit.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

#include <vector>

using namespace llvm;
using namespace tsp;

static std::string under(StringRef directory, const Twine &rest) {
  SmallString<256> path(directory);
  sys::path::append(path, rest);
  return path.str().str();
}

/// nvidia/cu13 of a virtual environment, or "".
static std::string findPackages(StringRef environment) {
  std::error_code code;
  for (sys::fs::directory_iterator it(under(environment, "lib"), code), end;
       !code && it != end; it.increment(code)) {
    std::string root = under(it->path(), "site-packages/nvidia/cu13");
    if (sys::path::filename(it->path()).starts_with("python") &&
        sys::fs::is_directory(root))
      return root;
  }
  return "";
}

/// Directories that hold bin/ and nvvm/ of a toolkit, best first.
static std::vector<std::string> getToolkitRoots() {
  std::vector<std::string> roots;
  for (const char *variable : {"CUDA_ROOT", "CUDA_HOME"})
    if (std::optional<std::string> root = sys::Process::GetEnv(variable);
        root && !root->empty())
      roots.push_back(*root);
  if (ErrorOr<std::string> path = sys::findProgramByName("ptxas"))
    roots.push_back(
        sys::path::parent_path(sys::path::parent_path(*path)).str());
  roots.push_back("/usr/local/cuda");
  if (std::optional<std::string> environment =
          sys::Process::GetEnv("VIRTUAL_ENV"))
    roots.push_back(findPackages(*environment));
  // .venv of the source tree, above the build directory that this program is
  // in.
  std::string program = sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&getToolkitRoots));
  for (StringRef at = sys::path::parent_path(program); !at.empty();
       at = sys::path::parent_path(at))
    roots.push_back(findPackages(under(at, ".venv")));
  erase_if(roots, [](const std::string &root) { return root.empty(); });
  return roots;
}

/// The first of the roots that has this file.
static std::string findFile(const Twine &name) {
  for (const std::string &root : getToolkitRoots())
    if (std::string path = under(root, name); sys::fs::exists(path))
      return path;
  return "";
}

std::string tsp::findToolkitProgram(StringRef name) {
  if (std::string path = findFile("bin/" + name); !path.empty())
    return path;
  ErrorOr<std::string> path = sys::findProgramByName(name);
  return path ? *path : "";
}

std::string tsp::findLibdevice() {
  return findFile("nvvm/libdevice/libdevice.10.bc");
}

std::string tsp::describeMissingTool(StringRef name) {
  return (name + " of the CUDA toolkit was not found (looked in CUDA_ROOT, "
                 "CUDA_HOME, PATH, "
                 "/usr/local/cuda and the Python environment): run "
                 "./bootstrap, or install "
                 "CUDA 13 and set CUDA_ROOT")
      .str();
}
