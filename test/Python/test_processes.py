# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs as several processes: results, merged reports, and errors that end them all."""
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import time

import numpy as np
import pytest
import tsp

from Integration import harness
from ports import free_port
from test_manual_sharding import MANUAL, shard_map

BIN = pathlib.Path(os.environ.get("TSP_BIN", pathlib.Path(__file__).resolve().parents[2] / "build" / "bin"))
MODEL = BIN / "tsp-process-model-host"
CUDA_MODEL = BIN / "tsp-process-model-cuda"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-q"]
X = np.arange(30, dtype=np.float32).reshape(10, 3)
ALL_REDUCE = "all_reduce of f32 [1][9][4 bytes] sum, number 0 of axis 't'"


@pytest.fixture
def x_file(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, x=X)
    return path


def mpirun(processes, command, fault=""):
    return subprocess.run([*MPIRUN, "-n", str(processes), *map(str, command)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "TSP_TEST_FAULT": fault})


def torchrun(processes, command, fault="", **variables):
    """What torchrun does: one process a rank, which finds the others by its environment."""
    common = {**os.environ, "TSP_TEST_FAULT": fault, "WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()),
              **variables}
    started = [subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE, text=True,
                                env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(processes)]
    return [subprocess.CompletedProcess(command, process.wait(), stderr=text)
            for process, text in [(process, process.communicate(timeout=60)[1]) for process in started]]


def started_by(launcher, processes, command):
    if launcher == "mpirun":
        run = mpirun(processes, command)
        assert run.returncode == 0, run.stderr
    else:
        runs = torchrun(processes, command)
        assert all(run.returncode == 0 for run in runs), runs


def check_results(path):
    results = np.load(path)
    parts = np.concatenate([X, np.zeros((2, 3), np.float32)]).reshape(4, 3, 3)
    np.testing.assert_array_equal(results["total"], parts.sum(0))
    np.testing.assert_array_equal(results["whole"], X)
    np.testing.assert_array_equal(results["head"], X[:3])
    np.testing.assert_array_equal(results["y"], np.roll(parts, 1, axis=0).reshape(12, 3)[:10])
    np.testing.assert_array_equal(results["fourfold"], 4 * X)
    np.testing.assert_array_equal(results["turned"], X)


def test_mpirun_results_stats_and_trace(x_file, tmp_path):
    run = mpirun(4, [MODEL, f"--args={x_file}", f"--out={tmp_path}/out.npz", f"--stats={tmp_path}/stats.json",
                     f"--trace={tmp_path}/trace.json", "--threads=1", "--repeat=3"])
    assert run.returncode == 0, run.stderr
    check_results(tmp_path / "out.npz")
    ranks = json.loads((tmp_path / "stats.json").read_text())["ranks"]
    assert [rank["rank"] for rank in ranks] == [0, 1, 2, 3]
    for rank in ranks:
        assert len(rank["run_seconds"]) == 3
        received = {entry["collective"]: entry["bytes_received"] for entry in rank["collectives"]}
        rows, columns = min(3, 10 - 3 * rank["rank"]), int(rank["rank"] < 3)
        assert received == {"all_gather": (10 - rows) * 12, "all_reduce": 54, "send_recv": 36, "reduce_scatter": (10 - rows) * 12,
                            "all_to_all": (10 - rows) * columns * 4}
        assert rank["peak_bytes"] <= rank["planned_peak_bytes"]
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["pid"] for event in trace} == {0, 1, 2, 3}
    assert sum(event["name"] == "all_gather" for event in trace) == 12


@pytest.mark.parametrize("launcher", ["mpirun", "torchrun"])
@pytest.mark.parametrize("mesh, strategy", [("t=4", "tsp"), ("t=4", "tp"), ("t=3", "tsp")])
def test_a_compiled_block_gives_the_same_bits(exported, executable, tmp_path, mesh, strategy, launcher):
    program = exported("llama_block")
    block = executable(program, mesh, strategy)
    expected = harness.run(program, block, "--threads=1")
    started_by(launcher, int(mesh[2:]), [block, f"--args={program.parameters}", f"--args={program.inputs}", f"--out={tmp_path}/out.safetensors",
                                         f"--stats={tmp_path}/stats.json", "--threads=1"])
    found = list(tsp.load_tensors(tmp_path / "out.safetensors").values())
    assert [value.tobytes() for value in found] == [value.tobytes() for value in expected.results]
    ranks = json.loads((tmp_path / "stats.json").read_text())["ranks"]
    assert all(rank["peak_bytes"] <= rank["planned_peak_bytes"] for rank in ranks), ranks
    assert [rank["collectives"] for rank in ranks] == [rank["collectives"] for rank in expected.stats["ranks"]]


@pytest.mark.parametrize("launcher", ["mpirun", "torchrun"])
@pytest.mark.parametrize("name", ["psum_scatter", "all_to_all"])
def test_compiled_collectives(tmp_path, name, launcher):
    function, inputs, outputs, whole, values = MANUAL[name]
    program = tsp.export(shard_map(function, inputs, outputs), *values, mesh="t=4")
    tsp.compile_program(program, tmp_path / "model", mesh="t=4")
    tsp.save_tensors(tmp_path / "values.safetensors", program.signature().named(*values))
    started_by(launcher, 4, [tmp_path / "model", f"--args={tmp_path}/values.safetensors", f"--out={tmp_path}/out.safetensors",
                             f"--stats={tmp_path}/stats.json", "--threads=1"])
    result, = tsp.load_tensors(tmp_path / "out.safetensors").values()
    np.testing.assert_allclose(result, whole(*values), rtol=1e-5, atol=1e-5)
    ranks = json.loads((tmp_path / "stats.json").read_text())["ranks"]
    assert all(rank["peak_bytes"] <= rank["planned_peak_bytes"] for rank in ranks), ranks


def test_a_compiled_block_on_devices_gives_the_same_bits(exported, executable, tmp_path):
    """Threads on one device, which read from each other, against two processes of two ranks over NCCL."""
    program = exported("llama_block", "bf16")
    block = executable(program, "t=4", "tp", "--target=cuda:sm_80")
    expected = harness.run(program, block, "--emulate", "--device=0")
    runs = torchrun(2, [block, "--emulate", f"--args={program.parameters}", f"--args={program.inputs}",
                                f"--out={tmp_path}/out.safetensors"])
    assert all(run.returncode == 0 for run in runs), runs
    found = list(tsp.load_tensors(tmp_path / "out.safetensors").values())
    assert [value.tobytes() for value in found] == [value.tobytes() for value in expected.results]


FAULTS = {
    "killed": f"rank 2 ended without a word (killed?); it had started no transfer; rank # waits in {ALL_REDUCE}",
    "stuck": f"rank 1 is late: for #.# s it has not joined {ALL_REDUCE}, in which rank # waits for it; it computes",
    "ends": f"rank 1 has ended the program but has not joined {ALL_REDUCE}, in which rank # waits for it",
    "fails": "rank 3: no such token",
    "forgotten": "rank 1: entry 'main' ended with 1 transfers it did not wait for",
    "removed": "ranks # and # disagree on transfer number 0 of axis 't': rank # does all_",
    "swapped": "ranks # and # disagree on transfer number 0 of axis 't': rank # does all_",
}
DIGITS = str.maketrans("0123456789", "#" * 10)


def check_fault(errors, fault):
    assert any(line.translate(DIGITS).startswith("error: " + FAULTS[fault].translate(DIGITS)) for line in errors.splitlines()), errors
    number = {"killed": "rank 2 ended", "stuck": "rank 1 is late", "ends": "rank 1 has ended", "forgotten": "rank 1: entry"}.get(fault, "")
    assert number in errors


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_one_rank_ends_all(x_file, fault):
    begin = time.monotonic()
    run = mpirun(4, [MODEL, f"--args={x_file}", "--threads=1", "--watchdog=2"], fault)
    assert run.returncode != 0
    assert time.monotonic() - begin < 20
    check_fault(run.stderr, fault)


def test_a_wrong_shape_on_one_rank_ends_all(x_file, tmp_path):
    np.savez(tmp_path / "short.npz", x=X[:9])
    script = f'file={x_file}; [ $OMPI_COMM_WORLD_RANK = 2 ] && file={tmp_path}/short.npz; exec {MODEL} --args=$file --threads=1'
    begin = time.monotonic()
    run = mpirun(4, ["sh", "-c", script])
    assert run.returncode != 0
    assert time.monotonic() - begin < 20
    errors = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
    assert errors and all(error.startswith("error: rank 2: argument 'x': expected 10x3xf32, found 9x3xfloat32 in") for error in errors), run.stderr


def test_processes_must_divide_the_ranks(x_file):
    run = mpirun(3, [MODEL, f"--args={x_file}"])
    assert run.returncode != 0
    assert "mpirun started 3 processes for a model of 4 ranks; their number must divide the ranks'" in run.stderr


def test_torchrun_connects_host_ranks_by_tcp(x_file, tmp_path):
    runs = torchrun(4, [MODEL, f"--args={x_file}", f"--out={tmp_path}/out.npz", "--threads=1", "--repeat=3"])
    assert all(run.returncode == 0 for run in runs), runs
    check_results(tmp_path / "out.npz")


def test_a_process_that_comes_early_does_not_meet_itself(x_file, tmp_path):
    """A connection that the system gives the port of process 0, before that listens there, would end at itself and take the port."""
    script = f"""ip link set lo up && echo 40000 40015 >/proc/sys/net/ipv4/ip_local_port_range || exit 77
export WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=40000
start() {{ RANK=$1 LOCAL_RANK=$1 {MODEL} --args={x_file} --out={tmp_path}/out.npz --threads=1 & }}
start 1; start 2; start 3
sleep 1
start 0
for process in $(jobs -p); do wait $process || exit 1; done"""
    run = subprocess.run(["unshare", "--net", "sh", "-c", script], capture_output=True, text=True, timeout=60)
    if run.returncode == 77 or run.stderr.startswith("unshare"):
        pytest.skip("needs a network of its own: " + run.stderr.strip())
    assert run.returncode == 0, run.stderr
    check_results(tmp_path / "out.npz")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_one_rank_ends_all_over_tcp(x_file, fault):
    begin = time.monotonic()
    runs = torchrun(4, [MODEL, f"--args={x_file}", "--threads=1", "--watchdog=2"], fault)
    assert all(run.returncode != 0 for run in runs)
    assert time.monotonic() - begin < 20
    for run in runs:
        if run.returncode != -signal.SIGKILL:
            check_fault(run.stderr, fault)


@pytest.mark.parametrize("processes", [4, 2, 1])
def test_devices_of_several_processes(x_file, tmp_path, processes):
    """Over NCCL; with two processes each has two ranks."""
    runs = torchrun(processes, [CUDA_MODEL, "--emulate", f"--args={x_file}", f"--out={tmp_path}/out.npz",
                                f"--stats={tmp_path}/stats.json", f"--trace={tmp_path}/trace.json", "--repeat=2"])
    assert all(run.returncode == 0 for run in runs), runs
    check_results(tmp_path / "out.npz")
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert [rank["rank"] for rank in stats["ranks"]] == [0, 1, 2, 3]
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(event["name"] == "all_gather" and event["ph"] == "X" for event in trace) == 8


@pytest.mark.parametrize("how", ["mpirun", "agent store", "TSP_PORT"])
def test_devices_are_met_through(x_file, tmp_path, how):
    command = [CUDA_MODEL, "--emulate", f"--args={x_file}", f"--out={tmp_path}/out.npz"]
    if how == "mpirun":
        run = mpirun(4, command)
        assert run.returncode == 0, run.stderr
    else:
        # torchrun's own store listens on MASTER_PORT; TSP_PORT goes before both, and port 1 is nobody's.
        variables = {"TORCHELASTIC_USE_AGENT_STORE": "True"} if how == "agent store" else {"MASTER_PORT": "1", "TSP_PORT": str(free_port())}
        runs = torchrun(4, command, **variables)
        assert all(run.returncode == 0 for run in runs), runs
    check_results(tmp_path / "out.npz")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_one_device_process_ends_all(x_file, fault):
    begin = time.monotonic()
    runs = torchrun(4, [CUDA_MODEL, "--emulate", f"--args={x_file}", "--watchdog=2"], fault)
    assert all(run.returncode != 0 for run in runs)
    assert time.monotonic() - begin < 25
    for run in runs:
        if run.returncode != -signal.SIGKILL:
            check_fault(run.stderr, fault)


def test_a_process_that_ends_before_nccl_has_connected_the_ranks(x_file):
    """The ranks that wait for its ranks in NCCL's initialisation cannot be brought back."""
    port = free_port()
    first = subprocess.Popen([CUDA_MODEL, "--emulate", f"--args={x_file}"], stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "WORLD_SIZE": "2", "RANK": "0", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1",
                                  "MASTER_PORT": str(port)})
    deadline = time.monotonic() + 30
    while True:
        try:
            other = socket.create_connection(("127.0.0.1", port))
            break
        except ConnectionRefusedError:
            assert time.monotonic() < deadline and first.poll() is None
    with other:
        other.sendall(struct.pack("<IIQ", 0x74737031, 0, 1) + b"1")
        assert other.recv(16 + 128, socket.MSG_WAITALL)[:8] == struct.pack("<II", 0x74737031, 1)  # NCCL's id
    # The emulation gives up after five minutes, NCCL never.
    error = first.communicate(timeout=60)[1]
    assert first.returncode == 1
    assert "error: ranks 2 to 3 ended without a word (killed?); it had started no transfer" in error


def test_an_error_of_nccl_ends_all(x_file):
    """The emulated NCCL gives up on a rank that does not come, before the watchdog does."""
    begin = time.monotonic()
    runs = torchrun(4, [CUDA_MODEL, "--emulate", f"--args={x_file}", "--watchdog=30"], "stuck", TSP_EMULATION_TIMEOUT="1")
    assert all(run.returncode != 0 for run in runs)
    assert time.monotonic() - begin < 20
    errors = [line for line in runs[0].stderr.splitlines() if line.startswith("error: ")]
    assert errors and errors[0].translate(DIGITS).startswith("error: rank #: NCCL reports "), runs
    assert f"it was at {ALL_REDUCE}".replace(" sum", "") in errors[0], runs


def test_communicators_that_do_not_block_are_refused(x_file):
    run = subprocess.run([CUDA_MODEL, "--emulate", f"--args={x_file}"], capture_output=True, text=True, timeout=60,
                         env={**os.environ, "NCCL_COMM_BLOCKING": "0"})
    assert run.returncode == 1
    assert "error: ncclCommInitRank: communicators that do not block are not supported; unset NCCL_COMM_BLOCKING" in run.stderr


def test_a_missing_wait_shows_under_some_order(x_file, tmp_path):
    """A kernel that does not wait for a transfer gives wrong numbers when streams run in another order, and only then."""
    def head(seed, fault):
        out = tmp_path / f"{fault}{seed}.npz"
        run = subprocess.run([CUDA_MODEL, "--emulate", f"--args={x_file}", f"--out={out}"], capture_output=True, text=True, timeout=60,
                             env={**os.environ, "TSP_EMULATION_SEED": str(seed), "TSP_TEST_FAULT": fault})
        assert run.returncode == 0, run.stderr
        return np.load(out)["head"]
    assert any(not np.array_equal(head(seed, "unwaited"), X[:3]) for seed in range(1, 20))
    assert all(np.array_equal(head(seed, ""), X[:3]) for seed in range(1, 6))


@pytest.mark.parametrize("model", [[MODEL, "--threads=1"], [CUDA_MODEL, "--emulate"], [CUDA_MODEL, "--emulate", "--device=0"]])
def test_check_names_what_was_not_waited_for(x_file, model):
    for fault in ("", "unwaited"):
        run = subprocess.run([*model, f"--args={x_file}", "--check"], capture_output=True, text=True, timeout=60,
                             env={**os.environ, "TSP_TEST_FAULT": fault})
        assert run.returncode == (1 if fault else 0), run.stderr
    assert ": tsp_copy uses the target of all_gather of f32 [1][10][12 bytes], number 1 of axis 't', which was not waited for" in run.stderr


@pytest.mark.parametrize("model, flags, code, message", [
    (CUDA_MODEL, ["--emulate=/nowhere"], 1, "--emulate: there is no emulation (libcuda.so.1) in /nowhere"),
    (CUDA_MODEL, ["--emulate", "--device=0,99"], 1, "--device=0,99: '99' is no device; this machine has numbers 0 to"),
    (CUDA_MODEL, ["--emulate", "--device=0", "--graphs"], 1, "--graphs needs a device for each rank: 4 ranks share 1 devices"),
    (MODEL, ["--emulate"], 2, "are for models that are compiled for cuda; this one runs on the host"),
])
def test_wrong_flags_are_explained(x_file, model, flags, code, message):
    run = subprocess.run([model, f"--args={x_file}", *flags], capture_output=True, text=True, timeout=60)
    assert run.returncode == code
    assert message in run.stderr


def test_without_a_driver_the_model_says_what_is_missing(x_file):
    run = subprocess.run([CUDA_MODEL, f"--args={x_file}"], capture_output=True, text=True, timeout=60,
                         env={name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "TSP_EMULATION")})
    if run.returncode == 0:
        pytest.skip("this machine has a CUDA driver")
    assert "there is no CUDA driver on this machine (libcuda.so.1: " in run.stderr
    assert "--emulate" in run.stderr
    libraries = subprocess.run(["ldd", CUDA_MODEL], capture_output=True, text=True).stdout
    assert not any(name in libraries for name in ("libcuda", "libnccl", "libmpi")), libraries


@pytest.mark.parametrize("fault", ["stuck", "ends", "swapped"])
def test_a_fault_where_processes_have_several_ranks(x_file, fault):
    """Rank 1 shares its process with rank 0, who sees it directly; the other process hears of it."""
    runs = torchrun(2, [CUDA_MODEL, "--emulate", f"--args={x_file}", "--watchdog=2"], fault)
    assert all(run.returncode == 1 for run in runs), runs
    for run in runs:
        assert "rank 1" in run.stderr or "and 1 disagree on transfer number 0" in run.stderr, run.stderr
        assert "number 0 of axis 't'" in run.stderr
