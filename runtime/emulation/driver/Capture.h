//===- Capture.h - streams whose work becomes a graph -----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_CAPTURE_H
#define TSP_EMULATION_DRIVER_CAPTURE_H

#include "driver/Stream.h"

namespace tsp::emulation {

/// Marks a capture as spoilt and returns `error`.
CUresult invalidate(Capture &capture, CUresult error);

/// Makes a node of work on streams of which at least one is captured; the
/// others join.
CUresult enqueueCaptured(const CaptureRef &capture,
                         const std::vector<CUstream> &streams, StreamWork work);

/// An error if the stream is the legacy default one and another stream, with
/// which it would keep order, is captured.
CUresult checkLegacyCapture(CUstream stream);

/// Lets a stream come after nodes of a capture, which it joins.
CUresult joinCapture(CUstream stream, const CaptureRef &capture,
                     const NodeList &after);
/// The stream is destroyed: its capture is spoilt.
void leaveCapture(CUstream stream);

/// Whether a capture has not ended.
bool isActive(const CaptureRef &capture);

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_CAPTURE_H
