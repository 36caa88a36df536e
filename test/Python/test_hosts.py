# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs on two machines (hosts.py), two ranks on each, as torchrun and srun start them."""
import os
import signal
import subprocess
import time

import numpy as np
import pytest

from hosts import Hosts
from ports import free_port
from test_processes import ALL_REDUCE, CUDA_MODEL, DIGITS, FAULTS, MODEL, X, check_fault, check_results

PLACES = [("a", 0), ("a", 1), ("b", 0), ("b", 1)]  # of the ranks: machine and number there
MODELS = {"host": [MODEL, "--threads=1"], "cuda": [CUDA_MODEL, "--emulate"]}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    made = Hosts(tmp_path_factory.mktemp("hosts"))
    print(f"the machines share a network: {made.reason}" if made.reason else "two network namespaces")
    yield made
    made.close()


@pytest.fixture
def x_file(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, x=X)
    return path


def torchrun_variables(hosts, port, rank, host, local):
    """With the agent's own store on MASTER_PORT."""
    return {"RANK": rank, "WORLD_SIZE": 4, "LOCAL_RANK": local, "LOCAL_WORLD_SIZE": 2, "NODE_RANK": "ab".index(host),
            "GROUP_RANK": "ab".index(host), "MASTER_ADDR": hosts.address, "MASTER_PORT": port, "TORCHELASTIC_USE_AGENT_STORE": "True"}


def srun_variables(hosts, job, rank, host, local):
    return {"SLURM_PROCID": rank, "SLURM_NTASKS": 4, "SLURM_STEP_NUM_TASKS": 4, "SLURM_LOCALID": local, "SLURM_NODEID": "ab".index(host),
            "SLURM_JOB_ID": job,
            "SLURM_STEP_ID": 0, "SLURM_STEP_NODELIST": hosts.nodes, "SLURM_NTASKS_PER_NODE": 2}


LAUNCHERS = {"torchrun": torchrun_variables, "srun": srun_variables}


def run(hosts, launcher, commands, **common):
    """One process a rank; commands[rank] or one for all."""
    started, number = [], free_port()  # of a port, or of a job
    for rank, (host, local) in enumerate(PLACES):
        # The emulation's devices are those of one machine: two for each of the hosts.
        variables = {**common, "CUDA_VISIBLE_DEVICES": "0,1" if host == "a" else "2,3", **LAUNCHERS[launcher](hosts, number, rank, host, local)}
        command = commands[rank] if isinstance(commands[0], list) else commands
        started.append(subprocess.Popen(hosts.command(host, command), stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **{name: str(value) for name, value in variables.items()}}))
    return [subprocess.CompletedProcess(process.args, process.wait(), stderr=text)
            for process, text in [(process, process.communicate(timeout=60)[1]) for process in started]]


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("target", MODELS)
def test_results(hosts, x_file, tmp_path, launcher, target):
    runs = run(hosts, launcher, [*MODELS[target], f"--args={x_file}", f"--out={tmp_path}/out.npz", "--repeat=2"])
    assert all(each.returncode == 0 for each in runs), runs
    check_results(tmp_path / "out.npz")


@pytest.mark.parametrize("fault", ["killed", "stuck", "swapped"])
@pytest.mark.parametrize("target", MODELS)
def test_a_fault_ends_all_ranks_on_both(hosts, x_file, target, fault):
    begin = time.monotonic()
    runs = run(hosts, "torchrun", [*MODELS[target], f"--args={x_file}", "--watchdog=2"], TSP_TEST_FAULT=fault)
    assert all(each.returncode != 0 for each in runs), runs
    assert time.monotonic() - begin < 25
    for each in runs:
        if each.returncode != -signal.SIGKILL:
            check_fault(each.stderr, fault)


@pytest.mark.parametrize("target", MODELS)
def test_a_wrong_shape_on_one_ends_all(hosts, x_file, tmp_path, target):
    np.savez(tmp_path / "short.npz", x=X[:9])
    files = [tmp_path / "short.npz" if rank == 3 else x_file for rank in range(4)]
    runs = run(hosts, "torchrun", [[*MODELS[target], f"--args={file}"] for file in files])
    for each in runs:
        assert each.returncode == 1
        assert "error: rank 3: argument 'x': expected 10x3xf32, found 9x3xfloat32 in" in each.stderr, runs


def test_an_error_of_nccl_ends_all(hosts, x_file):
    runs = run(hosts, "torchrun", [*MODELS["cuda"], f"--args={x_file}", "--watchdog=30"], TSP_TEST_FAULT="stuck", TSP_EMULATION_TIMEOUT=1)
    for each in runs:
        assert each.returncode != 0
        errors = [line for line in each.stderr.splitlines() if line.startswith("error: ")]
        assert errors and errors[0].translate(DIGITS).startswith("error: rank #: NCCL reports "), runs
        assert f"it was at {ALL_REDUCE}".replace(" sum", "") in errors[0], runs


@pytest.mark.parametrize("version, flags, warns", [("2.28.9", ["--graphs"], True), ("2.28.9", [], False), ("2.28.7", ["--graphs"], False),
                                                  ("2.18.5", [], False)])  # which registers no buffers
def test_a_release_that_hangs_in_graphs_over_machines_is_named(hosts, x_file, tmp_path, version, flags, warns):
    runs = run(hosts, "torchrun", [*MODELS["cuda"], f"--args={x_file}", f"--out={tmp_path}/out.npz", "--repeat=3", *flags],
               TSP_EMULATED_NCCL_VERSION=version)
    assert all(each.returncode == 0 for each in runs), runs
    check_results(tmp_path / "out.npz")
    warned = [each.stderr.count("warning: NCCL 2.28.9 is known to hang in CUDA graphs over several machines") for each in runs]
    assert warned == ([0, 0, 1, 0] if warns else [0] * 4), runs
