//===- Launch.cpp - what a launcher says in the environment ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Launch.h"

#include <cstdlib>

using namespace tsp::runtime;

static bool isSet(const char *name) {
  const char *value = getenv(name);
  return value && *value;
}

static int64_t number(const char *name, int64_t missing) {
  if (!isSet(name))
    return missing;
  char *end = nullptr;
  const char *text = getenv(name);
  int64_t value = strtoll(text, &end, 10);
  if (*end || value < 0)
    throw Error(
        format("the launcher's variable %s='%s' is not a number", name, text));
  return value;
}

std::string tsp::runtime::firstHost(const std::string &nodeList) {
  std::string host;
  bool isInside = false; // of brackets
  bool isPast = false;   // behind the first number in them
  for (char c : nodeList) {
    if (c == '[' || c == ']') {
      isInside = c == '[';
      isPast = false;
    } else if (c == ',' && !isInside) {
      break;
    } else if (isInside && (c == ',' || c == '-')) {
      isPast = true;
    } else if (!isPast) {
      host.push_back(c);
    }
  }
  return host;
}

/// Host and port of process 0, if the environment has them.
static void findMeetingPoint(ProcessLaunch &launch) {
  if (isSet("MASTER_ADDR")) {
    launch.host = getenv("MASTER_ADDR");
    launch.port = int(number("MASTER_PORT", 29500));
    // torchrun's agent keeps listening on the port itself.
    const char *agent = getenv("TORCHELASTIC_USE_AGENT_STORE");
    if (agent && std::string(agent) == "True")
      ++launch.port;
  } else if (launch.launcher == "srun" && isSet("SLURM_STEP_NODELIST")) {
    launch.host = firstHost(getenv("SLURM_STEP_NODELIST"));
    // One port a job and step, so that steps side by side do not meet; below
    // those that the system gives to connections.
    launch.port = int(
        20000 +
        (number("SLURM_JOB_ID", 0) * 31 + number("SLURM_STEP_ID", 0)) % 12000);
  }
  launch.port = int(number("TSP_PORT", launch.port));
}

namespace {
/// The variables of a launcher.
struct Variables {
  const char *launcher, *index, *count;
  /// Number on the machine; the first one that is set counts.
  std::vector<const char *> local;
};
} // namespace

ProcessLaunch tsp::runtime::findLaunch() {
  static const Variables known[] = {
      {"torchrun", "RANK", "WORLD_SIZE", {"LOCAL_RANK"}},
      {"mpirun",
       "OMPI_COMM_WORLD_RANK",
       "OMPI_COMM_WORLD_SIZE",
       {"OMPI_COMM_WORLD_LOCAL_RANK"}},
      // PMI itself does not tell; Hydra, Cray's PALS, MVAPICH and Slurm do.
      {"mpirun",
       "PMI_RANK",
       "PMI_SIZE",
       {"MPI_LOCALRANKID", "PALS_LOCAL_RANKID", "MV2_COMM_WORLD_LOCAL_RANK",
        "SLURM_LOCALID"}},
      // SLURM_NTASKS is also that of a batch script or a shell, which is one
      // process.
      {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", {"SLURM_LOCALID"}},
  };
  ProcessLaunch launch;
  for (const Variables &names : known) {
    if (!isSet(names.index) || !isSet(names.count))
      continue;
    launch.launcher = names.launcher;
    // Under torchrun, PMIx would be that of the srun around it.
    launch.hasMpi = launch.launcher == "mpirun" ||
                    (launch.launcher == "srun" && isSet("PMIX_RANK"));
    launch.index = number(names.index, 0);
    launch.count = number(names.count, 1);
    launch.localIndex = launch.index;
    for (size_t i = names.local.size(); i-- > 0;)
      launch.localIndex = number(names.local[i], launch.localIndex);
    break;
  }
  if (launch.count < 1 || launch.index >= launch.count)
    throw Error(format("%s says that this is process %lld of %lld",
                       launch.launcher.c_str(), (long long)launch.index,
                       (long long)launch.count));
  if (!launch.alone())
    findMeetingPoint(launch);
  return launch;
}
