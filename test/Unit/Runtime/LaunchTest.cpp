//===- LaunchTest.cpp - what launchers say in the environment -------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Launch.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <map>

using namespace tsp::runtime;

namespace {
/// The environment of a launched process, and nothing else of its kind.
class LaunchTest : public testing::Test {
protected:
  ProcessLaunch with(const std::map<std::string, std::string> &variables) {
    static const char *const all[] = {"RANK",
                                      "WORLD_SIZE",
                                      "LOCAL_RANK",
                                      "MASTER_ADDR",
                                      "MASTER_PORT",
                                      "TORCHELASTIC_USE_AGENT_STORE",
                                      "TSP_PORT",
                                      "OMPI_COMM_WORLD_RANK",
                                      "OMPI_COMM_WORLD_SIZE",
                                      "OMPI_COMM_WORLD_LOCAL_RANK",
                                      "PMI_RANK",
                                      "PMI_SIZE",
                                      "MPI_LOCALRANKID",
                                      "PALS_LOCAL_RANKID",
                                      "MV2_COMM_WORLD_LOCAL_RANK",
                                      "PMIX_RANK",
                                      "SLURM_PROCID",
                                      "SLURM_NTASKS",
                                      "SLURM_STEP_NUM_TASKS",
                                      "SLURM_LOCALID",
                                      "SLURM_STEP_NODELIST",
                                      "SLURM_JOB_ID",
                                      "SLURM_STEP_ID"};
    for (const char *name : all)
      unsetenv(name);
    for (const auto &[name, value] : variables)
      setenv(name.c_str(), value.c_str(), 1);
    return findLaunch();
  }
};
} // namespace

TEST_F(LaunchTest, OneProcess) {
  EXPECT_TRUE(with({}).alone());
  // An interactive shell of a job of one task.
  EXPECT_TRUE(with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}).alone());
  // A batch script of a job of four tasks, which srun would start.
  EXPECT_TRUE(with({{"SLURM_PROCID", "0"},
                    {"SLURM_NTASKS", "4"},
                    {"SLURM_LOCALID", "0"},
                    {"SLURM_JOB_ID", "42"}})
                  .alone());
}

TEST_F(LaunchTest, Torchrun) {
  std::map<std::string, std::string> variables = {
      {"RANK", "5"},           {"WORLD_SIZE", "8"},
      {"LOCAL_RANK", "1"},     {"MASTER_ADDR", "node3"},
      {"MASTER_PORT", "1234"}, {"SLURM_PROCID", "0"},
      {"SLURM_NTASKS", "2"},   {"SLURM_STEP_NUM_TASKS", "2"}};
  ProcessLaunch launch = with(variables);
  EXPECT_EQ(launch.launcher, "torchrun");
  EXPECT_EQ(launch.index, 5);
  EXPECT_EQ(launch.count, 8);
  EXPECT_EQ(launch.localIndex, 1);
  EXPECT_EQ(launch.host, "node3");
  EXPECT_EQ(launch.port, 1234);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(with(variables).port, 1235);
  variables["TSP_PORT"] = "777";
  EXPECT_EQ(with(variables).port, 777);
}

TEST_F(LaunchTest, MpirunLeavesTheAddressToMpi) {
  ProcessLaunch launch = with({{"OMPI_COMM_WORLD_RANK", "1"},
                               {"OMPI_COMM_WORLD_SIZE", "2"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}});
  EXPECT_EQ(launch.launcher, "mpirun");
  EXPECT_EQ(launch.localIndex, 0);
  EXPECT_EQ(launch.host, "");
}

/// Which device a process takes hangs on its number on the machine.
TEST_F(LaunchTest, NumbersOnTheMachineUnderPmi) {
  std::map<std::string, std::string> variables = {{"PMI_RANK", "6"},
                                                  {"PMI_SIZE", "8"}};
  EXPECT_EQ(with(variables).localIndex, 6);
  for (const char *name : {"SLURM_LOCALID", "MV2_COMM_WORLD_LOCAL_RANK",
                           "PALS_LOCAL_RANKID", "MPI_LOCALRANKID"}) {
    std::map<std::string, std::string> more = variables;
    more[name] = "3";
    EXPECT_EQ(with(more).localIndex, 3) << name;
  }
}

TEST_F(LaunchTest, SrunMeetsOnTheFirstHost) {
  std::map<std::string, std::string> variables = {
      {"SLURM_PROCID", "3"},
      {"SLURM_NTASKS", "8"},
      {"SLURM_LOCALID", "1"},
      {"SLURM_STEP_NODELIST", "gpu[07-09,12],login"},
      {"SLURM_JOB_ID", "42"},
      {"SLURM_STEP_ID", "0"},
      {"SLURM_STEP_NUM_TASKS", "4"}};
  ProcessLaunch launch = with(variables);
  EXPECT_EQ(launch.launcher, "srun");
  EXPECT_EQ(launch.count, 4);
  EXPECT_EQ(launch.localIndex, 1);
  EXPECT_EQ(launch.host, "gpu07");
  int port = launch.port;
  EXPECT_GE(port, 20000);
  EXPECT_LT(port, 40000);
  variables["SLURM_STEP_ID"] = "1";
  EXPECT_NE(with(variables).port, port);
}

TEST_F(LaunchTest, FirstHosts) {
  EXPECT_EQ(firstHost("a"), "a");
  EXPECT_EQ(firstHost("a,b"), "a");
  EXPECT_EQ(firstHost("n[1-3]"), "n1");
  EXPECT_EQ(firstHost("n[08,11]"), "n08");
  EXPECT_EQ(firstHost("login,n[08,11]"), "login");
  EXPECT_EQ(firstHost("n[08,11]-ib,login"), "n08-ib");
  EXPECT_EQ(firstHost("rack[2-3]n[08-11]"), "rack2n08");
}

TEST_F(LaunchTest, Contradictions) {
  EXPECT_THROW(with({{"RANK", "4"}, {"WORLD_SIZE", "4"}}), Error);
  EXPECT_THROW(with({{"RANK", "x"}, {"WORLD_SIZE", "4"}}), Error);
}
