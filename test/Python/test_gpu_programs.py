# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs compiled for cuda: the real executables, on the emulated driver and NCCL."""
import jax.numpy as jnp
import numpy as np
import pytest

from Integration import harness
from Integration.case import Case

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


# Loops with predicates read back, scatters and sorts, windows and softcaps, lookups.
@pytest.mark.parametrize("name", ["llama_generate", "moe_dispatch", "gemma", "gpt2"])
def test_models(run_emulated, name):
    run_emulated(name, "t=2", "tsp")


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
