//===- Clones.h - functions compiled for several processors -*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_CLONES_H
#define TSP_EMULATION_EXEC_CLONES_H

/// Before a function: it is compiled for several levels of the processor, and
/// the best is chosen when the library is loaded.
#if defined(__x86_64__)
#define TSP_CLONES                                                             \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TSP_CLONES
#endif

/// For what such functions call with vectors: one definition cannot serve all
/// levels.
#define TSP_ALWAYS_INLINE __attribute__((always_inline)) inline

#endif // TSP_EMULATION_EXEC_CLONES_H
