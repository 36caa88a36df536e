//===- Meeting.cpp - how processes find each other ------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/mpi/Mpi.h"
#include "core/Processes.h"
#include "core/Sockets.h"

#include <climits>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace tsp::runtime;

/// MPI carries the address of process 0, which chooses any free port; returns
/// its socket.
static int exchangeAddress(ProcessLaunch &launch) {
  const mpi::Mpi &mpi = mpi::Mpi::get();
  struct {
    char host[256];
    int port;
  } address = {};
  int listening = -1;
  if (launch.index == 0) {
    listening = listenOn(launch.port);
    address.port = launch.port;
    gethostname(address.host, sizeof(address.host) - 1);
  }
  mpi.check(mpi.bcast(&address, int(sizeof(address)), mpi.byte, 0, mpi.world),
            "MPI_Bcast");
  char here[256] = "";
  gethostname(here, sizeof(here) - 1);
  // The own name need not be known to the resolver.
  launch.host = strcmp(here, address.host) == 0 ? "localhost" : address.host;
  launch.port = address.port;
  return listening;
}

std::unique_ptr<Processes> tsp::runtime::meetProcesses(double timeoutSeconds) {
  ProcessLaunch launch = findLaunch();
  if (launch.alone())
    return nullptr;
  int listening = launch.host.empty() ? exchangeAddress(launch) : -1;
  return std::make_unique<Processes>(launch, timeoutSeconds, listening);
}
