//===- Image.h - PTX within what modules are loaded from --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_IMAGE_H
#define TSP_EMULATION_DRIVER_IMAGE_H

#include "driver/Capability.h"

#include <cuda.h>
#include <vector>

namespace tsp::emulation {

/// What the emulation can run of PTX text, of a fatbin (its PTX plain or
/// compressed), or of the wrapper that nvcc puts around a fatbin.
class Image {
public:
  /// On an error `why` tells what the image holds instead.
  CUresult read(const void *image, std::string &why);

  /// Of the PTX that a device can run the newest, and of one generation that of
  /// its "a" or "f" variant: PTX of a plain architecture runs on it and all
  /// later ones, an "a" variant on exactly its own, an "f" variant on its
  /// family.
  CUresult choose(const Capability &device, const std::string *&ptx,
                  std::string &why) const;

private:
  /// `sm_90a` as 90 and 'a'.
  struct Target {
    int number = 0;
    char variant = 0;

    static Target of(const std::string &ptx);
    std::string str() const;
    bool runsOn(const Capability &device) const;
  };
  struct Code {
    Target target;
    std::string ptx;
  };

  CUresult readFatbin(const char *data, std::string &why);

  std::vector<Code> codes;
  std::string contents; ///< all images of a fatbin, for messages
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_IMAGE_H
