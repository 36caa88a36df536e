//===- Toolkit.h - the programs of a CUDA toolkit ---------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ptxas, fatbinary, nvdisasm and libdevice, of an installed toolkit (CUDA_ROOT,
// CUDA_HOME, PATH, /usr/local/cuda) or of the Python packages that ./bootstrap
// installs where there is none.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_GPU_TOOLKIT_H
#define TSP_KERNELS_GPU_TOOLKIT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace tsp {

/// Path of a program ("ptxas"), or "" when there is none.
std::string findToolkitProgram(llvm::StringRef name);

/// Path of libdevice.10.bc, or "".
std::string findLibdevice();

/// Says that `name` is missing, where it was looked for, and how to get it.
std::string describeMissingTool(llvm::StringRef name);

} // namespace tsp

#endif // TSP_KERNELS_GPU_TOOLKIT_H
