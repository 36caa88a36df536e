//===- Mpi.cpp - MPI, opened at run time ----------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/mpi/Mpi.h"

#include <algorithm>
#include <cstdlib>

using namespace tsp::runtime;
using namespace tsp::runtime::mpi;

static void useOpenMpi(const DynamicLibrary &library, Mpi &mpi) {
  mpi.world = library.find("ompi_mpi_comm_world");
  mpi.byte = library.find("ompi_mpi_byte");
  mpi.errorsReturn = library.find("ompi_mpi_errors_return");
  mpi.statusIgnore = nullptr;
}

/// The numbers are part of the ABI that MPICH, Intel MPI and MVAPICH share.
static void useMpich(Mpi &mpi) {
  mpi.world = reinterpret_cast<Handle>(uintptr_t(0x44000000));
  mpi.byte = reinterpret_cast<Handle>(uintptr_t(0x4c00010d));
  mpi.errorsReturn = reinterpret_cast<Handle>(uintptr_t(0x54000001));
  mpi.statusIgnore = reinterpret_cast<Handle>(uintptr_t(1));
}

static bool isAbandoned = false;

static void finalizeAtExit() {
  int done = 0;
  const Mpi &mpi = Mpi::get();
  if (!isAbandoned && mpi.finalized(&done) == 0 && !done)
    mpi.finalize();
}

static Mpi openMpi() {
  // The launcher's MPI first, where there are several. Open MPI's own plug-ins
  // look for its symbols.
  std::vector<std::string> names = {"libmpi.so.40", "libmpi.so.12",
                                    "libmpich.so.12", "libmpi.so"};
  if (getenv("PMI_RANK") && !getenv("OMPI_COMM_WORLD_RANK"))
    std::rotate(names.begin(), names.begin() + 1, names.end());
  DynamicLibrary library(names, RTLD_GLOBAL);
  if (!library.isOpen())
    throw Error("this run was started as several processes and needs MPI, "
                "which cannot be opened (" +
                library.error() + ")");
  Mpi mpi;
  library.get("MPI_Initialized", mpi.initialized);
  library.get("MPI_Finalized", mpi.finalized);
  library.get("MPI_Init_thread", mpi.initThread);
  library.get("MPI_Finalize", mpi.finalize);
  library.get("MPI_Comm_rank", mpi.commRank);
  library.get("MPI_Comm_size", mpi.commSize);
  library.get("MPI_Comm_dup", mpi.commDup);
  library.get("MPI_Comm_set_errhandler", mpi.commSetErrhandler);
  library.get("MPI_Isend", mpi.isend);
  library.get("MPI_Irecv", mpi.irecv);
  library.get("MPI_Test", mpi.test);
  library.get("MPI_Bcast", mpi.bcast);
  library.get("MPI_Error_string", mpi.errorString);
  if (library.find("ompi_mpi_comm_world"))
    useOpenMpi(library, mpi);
  else
    useMpich(mpi);
  int running = 0, provided = 0;
  mpi.check(mpi.initialized(&running), "MPI_Initialized");
  if (!running) {
    mpi.check(mpi.initThread(nullptr, nullptr, threadMultiple, &provided),
              "MPI_Init_thread");
    if (provided < threadMultiple)
      throw Error("this MPI does not allow calls from several threads");
    atexit(finalizeAtExit);
  }
  mpi.check(mpi.commSetErrhandler(mpi.world, mpi.errorsReturn),
            "MPI_Comm_set_errhandler");
  return mpi;
}

const Mpi &Mpi::get() {
  static const Mpi mpi = openMpi();
  return mpi;
}

void Mpi::abandon() { isAbandoned = true; }

void Mpi::check(int result, const char *what) const {
  if (result == 0)
    return;
  char text[1024] = "";
  int length = 0;
  errorString(result, text, &length);
  throw Error(std::string(what) + ": " + text);
}
