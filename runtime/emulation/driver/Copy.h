//===- Copy.h - copies and fills --------------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_COPY_H
#define TSP_EMULATION_DRIVER_COPY_H

#include "driver/Stream.h"

namespace tsp::emulation {

/// One side of a copy of boxes: the first byte, and the distances of rows and
/// of planes.
struct Side {
  uintptr_t begin = 0;
  size_t pitch = 0;
  size_t planePitch = 0;
};

/// A copy of `depth` planes of `height` rows of `width` bytes.
struct Box {
  Side from, to;
  size_t width = 0;
  size_t height = 1;
  size_t depth = 1;
};

/// Work of a node of a graph. (Copies on streams also have rules for host
/// memory that is not pinned.)
CUresult makeCopy(CUcontext context, const CUDA_MEMCPY3D &params,
                  StreamWork &work);
CUresult makeMemset(CUcontext context, const CUDA_MEMSET_NODE_PARAMS &params,
                    StreamWork &work);

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_COPY_H
