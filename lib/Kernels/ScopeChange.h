//===- ScopeChange.h - code in another scope for a while --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_SCOPECHANGE_H
#define TSP_LIB_KERNELS_SCOPECHANGE_H

#include "tsp/Kernels/ElementEmitter.h"

namespace tsp {

/// Makes code in `scope` until the end of its own life.
struct ScopeChange {
  ScopeChange(ElementEmitter &emitter, Scope *scope)
      : emitter(emitter), previous(emitter.current), loc(emitter.loc) {
    emitter.moveTo(scope);
  }
  ~ScopeChange() {
    emitter.moveTo(previous);
    emitter.loc = loc;
  }

  ElementEmitter &emitter;
  Scope *previous;
  mlir::Location loc;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_SCOPECHANGE_H
