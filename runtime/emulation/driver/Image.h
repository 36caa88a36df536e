//===- Image.h - PTX within what modules are loaded from --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_IMAGE_H
#define TSP_EMULATION_DRIVER_IMAGE_H

#include <cuda.h>
#include <string>

namespace tsp::emulation {

/// Finds the PTX that the emulated device takes in an image: PTX text, a fatbin
/// (its PTX plain or compressed), or the wrapper that
/// nvcc puts around a fatbin. Of several it takes the newest that the device
/// can run. On an error `why` tells what the image holds instead.
CUresult findPtx(const void *image, std::string &ptx, std::string &why);

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_IMAGE_H
