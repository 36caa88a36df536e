//===- RunProgram.cpp - programs of other tool chains ---------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Support/RunProgram.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <vector>

using namespace llvm;

std::string tsp::runProgram(ArrayRef<std::string> command,
                            std::string &output) {
  SmallString<128> log;
  if (std::error_code code =
          sys::fs::createTemporaryFile("tsp-tool", "log", log))
    return "cannot make a temporary file: " + code.message();
  FileRemover remover(log);
  std::vector<StringRef> arguments(command.begin(), command.end());
  std::optional<StringRef> redirects[] = {StringRef(""), log.str(), log.str()};
  std::string problem;
  int code = sys::ExecuteAndWait(command[0], arguments, std::nullopt, redirects,
                                 0, 0, &problem);
  if (auto text = MemoryBuffer::getFile(log))
    output = (*text)->getBuffer().str();
  if (code == 0)
    return "";
  return "this command failed (exit code " + std::to_string(code) + "):\n  " +
         llvm::join(command, " ") + "\n" + problem + output;
}
