//===- Mpi.h - MPI, opened at run time --------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_MPI_MPI_H
#define TSP_RUNTIME_BACKENDS_MPI_MPI_H

#include "core/DynamicLibrary.h"

namespace tsp::runtime::mpi {

/// Communicators, data types and error handlers: pointers in Open MPI, 32-bit
/// numbers in MPICH and its relatives, which fit in a pointer's place where
/// arguments are in registers.
using Handle = void *;

/// A message in flight; large enough for both kinds.
struct Request {
  void *value = nullptr;
};

constexpr int threadMultiple = 3;

/// The few functions of MPI that the runtime uses.
struct Mpi {
  int (*initialized)(int *);
  int (*finalized)(int *);
  int (*initThread)(int *, char ***, int, int *);
  int (*finalize)();
  int (*commRank)(Handle, int *);
  int (*commSize)(Handle, int *);
  int (*commDup)(Handle, Handle *);
  int (*commSetErrhandler)(Handle, Handle);
  int (*isend)(const void *, int, Handle, int, int, Handle, Request *);
  int (*irecv)(void *, int, Handle, int, int, Handle, Request *);
  int (*test)(Request *, int *, Handle);
  int (*bcast)(void *, int, Handle, int, Handle);
  int (*errorString)(int, char *, int *);
  Handle world = nullptr, byte = nullptr, errorsReturn = nullptr;
  Handle statusIgnore = nullptr;

  /// Opens and initialises MPI once; it ends with the process. Throws an Error
  /// that says what is missing.
  static const Mpi &get();

  /// After an error: MPI is not finalised at the end of this process, which
  /// would wait for the others.
  static void abandon();

  /// Throws an Error "what: ..." unless the call succeeded.
  void check(int result, const char *what) const;
};

} // namespace tsp::runtime::mpi

#endif // TSP_RUNTIME_BACKENDS_MPI_MPI_H
