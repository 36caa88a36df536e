# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs compiled for cuda: the real executables, on the emulated driver and NCCL."""
import functools
import re

import jax.numpy as jnp
import numpy as np
import pytest

from Integration import harness, llama
from Integration.case import Case
from tsp.models import smollm2

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")


AMPERE = ("--target=cuda:sm_80",)
HOPPER = ("--target=cuda:sm_80,sm_90a", "--embed-ptx=all")


@pytest.fixture(scope="session")
def run_emulated(exported, executable):
    """run_emulated(case, mesh, strategy, dtype, *flags of the executable, target=its options) -> harness.Run, judged"""
    def get(one, mesh="", strategy="none", dtype="f32", *flags, target=AMPERE):
        program = exported(one, dtype)
        result = harness.run(program, executable(program, mesh, strategy, *target), "--emulate", *flags)
        harness.judge(program, result.results, dtype)
        harness.judge_memory(result)
        return result
    return get


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("mesh, strategy", [("", "none"), ("t=2", "tsp"), ("t=4", "tsp"), ("t=2", "tp"), ("t=4", "tp")])
def test_block(run_emulated, mesh, strategy, dtype):
    run_emulated("llama_block", mesh, strategy, dtype)


@pytest.mark.parametrize("mesh, strategy", [("t=2", "tsp(zigzag)"), ("t=3", "sp_gather"), ("d=2,t=2", "data@d,tsp@t")])
def test_strategies(run_emulated, mesh, strategy):
    run_emulated("llama", mesh, strategy)


# One executable: its general kernels on devices of 8.0, its variants on those of 9.0, and both at once.
@pytest.mark.parametrize("name, mesh, strategy, capabilities", [
    ("llama_block", "", "none", "8.0"), ("llama_block", "", "none", "9.0"), ("llama_block", "t=2", "tsp", "9.0"), ("llama_block", "t=4", "tsp", "9.0"),
    ("llama_block", "t=2", "tp", "9.0"), ("llama_block", "t=4", "tp", "9.0"), ("llama_block", "t=2", "tsp", "8.0,9.0"),
    ("llama", "t=2", "tsp(zigzag)", "9.0"), ("llama", "t=4", "sp_gather", "9.0"), ("llama", "d=2,t=2", "data@d,tsp@t", "9.0")])
def test_variants(run_emulated, monkeypatch, tmp_path, name, mesh, strategy, capabilities):
    monkeypatch.setenv("TSP_EMULATED_CAPABILITY", capabilities)
    run_emulated(name, mesh, strategy, "bf16", f"--trace={tmp_path / 'trace.json'}", target=HOPPER)
    assert ("_sm_90a" in (tmp_path / "trace.json").read_text()) == ("9.0" in capabilities)


@functools.cache
def wide_heads():
    """A block whose heads tensor cores take."""
    return llama.block(smollm2.Config(layers=1, width=96, heads=6, kv_heads=3, ffn=160, vocab=72, theta=1e4), batch=2, length=72)


ALL_STRATEGIES = [("", "none"), *((f"t={ranks}", strategy) for strategy in ("tsp", "tp", "tsp(zigzag)", "sp_gather", "data") for ranks in (1, 2, 4)),
                  ("d=2,t=2", "data@d,tsp@t")]
# Each strategy once with variants, too.
BY_WARPGROUPS = [("", "none"), ("t=2", "tsp"), ("t=4", "tp"), ("t=4", "tsp(zigzag)"), ("t=2", "sp_gather"), ("t=2", "data"), ("d=2,t=2", "data@d,tsp@t")]


@pytest.fixture(scope="module")
def machine_code(tmp_path_factory):
    """A folder that keeps the machine code of kernels, which programs on one rank share."""
    return tmp_path_factory.mktemp("machine_code")


def run_checked(run_emulated, monkeypatch, tmp_path, machine_code, mesh, strategy, capability, target):
    """Runs the block with wide heads under the checker; the attention kernels that were launched."""
    for name, value in (("TSP_EMULATED_CAPABILITY", capability), ("TSP_EMULATION_CHECK", "1"), ("TSP_EMULATION_CACHE", str(machine_code))):
        monkeypatch.setenv(name, value)
    run_emulated(wide_heads(), mesh, strategy, "bf16", f"--trace={tmp_path / 'trace.json'}", target=target)
    return set(re.findall(r"k_sdpa\w*", (tmp_path / "trace.json").read_text()))


@pytest.mark.parametrize("mesh, strategy", ALL_STRATEGIES)
def test_attention_on_tensor_cores(run_emulated, exported, executable, monkeypatch, tmp_path, machine_code, mesh, strategy):
    target = HOPPER if (mesh, strategy) in BY_WARPGROUPS else AMPERE
    launched = run_checked(run_emulated, monkeypatch, tmp_path, machine_code, mesh, strategy, "8.0", target)
    code = executable(exported(wide_heads(), "bf16"), mesh, strategy, *target).read_bytes()
    for name in launched:
        [kernel] = re.findall(rb"\.entry %s\(.*?\n}" % name.encode(), code, re.DOTALL)
        assert b"mma.sync" in kernel, name
    assert launched


@pytest.mark.parametrize("mesh, strategy", BY_WARPGROUPS)
def test_attention_by_warpgroups(run_emulated, monkeypatch, tmp_path, machine_code, mesh, strategy):
    launched = run_checked(run_emulated, monkeypatch, tmp_path, machine_code, mesh, strategy, "9.0", HOPPER)
    assert launched and all(name.endswith("_sm_90a") for name in launched)


# Loops with predicates read back, scatters and sorts, windows and softcaps, lookups.
@pytest.mark.parametrize("name", ["llama_generate", "moe_dispatch", "gemma", "gpt2"])
def test_models(run_emulated, name):
    run_emulated(name, "t=2", "tsp")


def test_graph_with_a_fold(run_emulated):
    """Captured once, launched again."""
    run_emulated("llama_block", "t=2", "tsp", "bf16", "--graphs", "--repeat=3")


@pytest.mark.parametrize("mesh, strategy", [("", "none"), ("t=2", "tsp")])
def test_training(run_emulated, mesh, strategy):
    run_emulated("llama_block_grad", mesh, strategy)


# Streams in another order; ranks that share devices, whose buffers kernels combine.
@pytest.mark.parametrize("strategy", ["tsp", "tp"])
def test_bits_depend_on_nothing(run_emulated, monkeypatch, strategy):
    bits = []
    for seed, devices in ((1, 8), (2, 8), (3, 2), (4, 1)):
        monkeypatch.setenv("TSP_EMULATION_SEED", str(seed))
        monkeypatch.setenv("TSP_EMULATED_DEVICES", str(devices))
        bits.append([result.tobytes() for result in run_emulated("llama_block", "t=4", strategy, "bf16").results])
    assert all(other == bits[0] for other in bits)


def test_checker_finds_nothing(run_emulated, monkeypatch):
    monkeypatch.setenv("TSP_EMULATION_CHECK", "1")
    for dtype in ("f32", "bf16"):
        run_emulated("llama_block", "t=2", "tsp", dtype, "--check")


def test_programs_without_kernels(run_emulated):
    """What is returned as it came, data of the program, and values without elements."""
    constant = np.arange(6, dtype=np.float32)
    run_emulated(Case(lambda x, empty: (x, jnp.asarray(constant), empty), (np.ones((2, 3), np.float32), np.zeros((0, 4), np.float32)), params=()))


def test_bytes_are_those_of_the_host(run_emulated, run_case):
    device, host = run_emulated("llama_block", "t=4", "tsp"), run_case("llama_block", "t=4", "tsp")
    assert [device.bytes_received(rank) for rank in range(4)] == [host.bytes_received(rank) for rank in range(4)]
