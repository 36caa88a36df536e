//===- Nccl.cpp - NCCL, opened at run time --------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/nccl/Nccl.h"
#include "backends/cuda/Emulation.h"

using namespace tsp::runtime;
using namespace tsp::runtime::nccl;

static Nccl openNccl() {
  DynamicLibrary library(libraryNames("libnccl.so.2"));
  if (!library.isOpen())
    throw Error("ranks on several devices need NCCL, which is not on this "
                "machine (" +
                library.error() +
                ")\nInstall it, add its folder to LD_LIBRARY_PATH, or run all "
                "ranks on one device with --device=0");
  Nccl nccl;
#define TSP_OPEN(member, symbol, parameters) library.get(#symbol, nccl.member);
  TSP_NCCL_FUNCTIONS(TSP_OPEN)
#undef TSP_OPEN
#define TSP_FIND(member, symbol, parameters)                                   \
  nccl.member = reinterpret_cast<Result(*) parameters>(library.find(#symbol));
  TSP_NCCL_LATER_FUNCTIONS(TSP_FIND)
#undef TSP_FIND
  library.get("ncclGetErrorString", nccl.getErrorString);
  library.get("ncclGetLastError", nccl.getLastError);
  nccl.check(nccl.getVersion(&nccl.version), "ncclGetVersion");
  return nccl;
}

const Nccl &Nccl::get() {
  static const Nccl nccl = openNccl();
  return nccl;
}

std::string Nccl::text(Result result, Comm comm) const {
  std::string out = getErrorString(result);
  const char *last = getLastError(comm);
  return last && *last ? out + " (" + last + ")" : out;
}
