# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Zigzag tokens, and tokens over several mesh axes: numbers, bytes."""
import pytest

from Integration import cases, harness, llama
from test_bytes_and_memory import PARTS, SIZES

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")

ZIGZAG = "tsp(zigzag)@t"
NESTED = "sp_gather@d,tsp@t"
NESTED_ZIGZAG = "sp_gather(zigzag)@d,tsp(zigzag)@t"


@pytest.mark.parametrize("name", cases.FORWARD)
def test_zigzag(run_case, name):
    run_case(name, "t=4", ZIGZAG)


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("name", ["llama", "llama_packed", "llama_generate"])
def test_zigzag_on_other_meshes(run_case, name, ranks):
    run_case(name, f"t={ranks}", ZIGZAG)


@pytest.mark.parametrize("strategy", [NESTED, NESTED_ZIGZAG, "data@d,tsp(zigzag)@t"])
@pytest.mark.parametrize("mesh", ["d=2,t=2", "d=2,t=4", "d=1,t=3", "d=2,t=1"])
@pytest.mark.parametrize("name", ["llama", "llama_packed"])
def test_two_axes(run_case, name, mesh, strategy):
    run_case(name, mesh, strategy)


@pytest.mark.parametrize("name", ["llama_generate", "llama_decode_step", "gemma", "moe_dispatch", "llama_scan"])
def test_two_axes_of_other_programs(run_case, name):
    run_case(name, "d=2,t=2", NESTED_ZIGZAG)


@pytest.mark.parametrize("part", PARTS)
def test_zigzag_receives_the_closed_form(exported, executable, part):
    case, formula = PARTS[part]
    program = exported(case)
    result = harness.run(program, executable(program, "t=4", ZIGZAG))
    received = [sum(result.bytes_received(rank).values()) for rank in range(4)]
    assert received == [formula(4, SIZES)] * 4, result.bytes_received(0)
