//===- Emulation.h - where the emulation's libraries are --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_CUDA_EMULATION_H
#define TSP_RUNTIME_BACKENDS_CUDA_EMULATION_H

#include <string>
#include <vector>

namespace tsp::runtime {

/// Makes this process open the emulation's libcuda.so.1 and libnccl.so.2, from
/// `folder`, or from where they were built or lie beside the executable. To be
/// called before the driver is opened. Throws an Error when there are none.
void useEmulation(const std::string &folder);

/// The names under which to look for a library: only the emulation's one after
/// useEmulation, also in a parent process (TSP_EMULATION).
std::vector<std::string> libraryNames(const std::string &name);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_BACKENDS_CUDA_EMULATION_H
