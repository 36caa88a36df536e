# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The integration cases as executables, on one rank and on several."""
import pytest

from Integration import cases, harness

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")
MESHES = [("t=3", "tsp"), ("t=4", "tsp"), ("t=3", "tp")]


@pytest.mark.parametrize("name", cases.FORWARD)
def test_one_rank(run_case, name):
    run_case(name)


@pytest.mark.parametrize("name", cases.TRAINING)
def test_training_on_one_rank(run_case, name):
    run_case(name)


@pytest.mark.parametrize("name", ["llama_block", "llama", "gemma", "bert", "llama_decode_step"])
def test_one_rank_bf16(run_case, name):
    run_case(name, dtype="bf16")


@pytest.mark.parametrize("mesh, strategy", MESHES)
@pytest.mark.parametrize("name", cases.FORWARD)
def test_ranks(run_case, name, mesh, strategy):
    run_case(name, mesh, strategy)


@pytest.mark.parametrize("mesh, strategy", [("t=1", "tp"), ("t=1", "tsp"), ("t=2", "tp"), ("t=2", "tsp"), ("t=4", "tp"), ("t=8", "tp"), ("t=8", "tsp"),
                                            ("t=4", "none")])
@pytest.mark.parametrize("name", ["llama", "gemma"])
def test_other_meshes(run_case, name, mesh, strategy):
    run_case(name, mesh, strategy)


@pytest.mark.parametrize("name", ["llama", "gemma"])
@pytest.mark.parametrize("strategy", ["tp", "tsp"])
def test_ranks_bf16(run_case, name, strategy):
    run_case(name, "t=4", strategy, "bf16")
