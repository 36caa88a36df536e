//===- Link.cpp - object files to a binary --------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Host/Link.h"
#include "tsp/Support/RunProgram.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <vector>

using namespace llvm;
using namespace tsp;

static std::string findFirst(ArrayRef<StringRef> names) {
  for (StringRef name : names)
    if (ErrorOr<std::string> path = sys::findProgramByName(name))
      return *path;
  return "";
}

std::string tsp::linkBinary(LinkKind kind, ArrayRef<std::string> objects,
                            StringRef runtimeDirectory, StringRef output) {
  std::string printed;
  std::string driver = findFirst({"clang++-22", "clang++", "c++", "g++"});
  if (driver.empty())
    return "no C++ compiler found to link with: install clang-22 or g++";
  std::vector<std::string> command{driver, "-o", output.str()};
  if (!findFirst({"ld.lld"}).empty() || !findFirst({"ld.lld-22"}).empty())
    command.push_back("-fuse-ld=lld");
  command.insert(command.end(), objects.begin(), objects.end());
  if (kind == LinkKind::Object) {
    command.insert(command.end(), {"-r", "-nostdlib"});
    return runProgram(command, printed);
  }
  auto library = [&](StringRef name) {
    SmallString<128> path(runtimeDirectory);
    sys::path::append(path, name);
    return path.str().str();
  };
  for (StringRef name : {"libtsp_runtime.a", "libtsp_main.a"})
    if (!sys::fs::exists(library(name)))
      return library(name) + " is missing: build the runtime, or pass --runtime-dir";
  if (kind == LinkKind::Executable)
    command.insert(command.end(), {library("libtsp_main.a"), library("libtsp_runtime.a")});
  else
    command.insert(command.end(), {"-shared", "-Wl,-z,defs", "-Wl,--whole-archive",
                                   library("libtsp_runtime.a"), "-Wl,--no-whole-archive"});
  command.insert(command.end(), {"-static-libstdc++", "-static-libgcc", "-pthread", "-ldl", "-lm"});
  return runProgram(command, printed);
}
