# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Zigzag tokens, and tokens over several mesh axes: numbers, bytes, padding."""
import dataclasses
import subprocess

import numpy as np
import pytest

import tsp
from Integration import cases, harness, llama
from tsp import closed_forms
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


@pytest.mark.parametrize("mesh, strategy", [("d=2,t=2", NESTED), ("d=2,t=4", NESTED_ZIGZAG), ("d=2,t=4", "data@d,tsp(zigzag)@t"), ("d=1,t=3", NESTED_ZIGZAG),
                                            ("d=2,t=1", NESTED_ZIGZAG), ("d=2,t=3", "tsp@t,sp_gather@d")])
@pytest.mark.parametrize("name", ["llama", "llama_packed"])
def test_two_axes(run_case, name, mesh, strategy):
    run_case(name, mesh, strategy)


@pytest.mark.parametrize("name", ["llama_generate", "llama_decode_step", "gemma", "moe_dispatch", "llama_scan"])
def test_two_axes_of_other_programs(run_case, name):
    run_case(name, "d=2,t=2", NESTED_ZIGZAG)


@pytest.mark.parametrize("strategy", [NESTED, "sp_gather@d,tsp(zigzag)@t"])
def test_nested_axes_receive_the_closed_form(exported, executable, strategy):
    """Weights come along t alone, keys and values along both axes."""
    program = exported(PARTS["attention"][0])
    result = harness.run(program, executable(program, "d=2,t=2", strategy))
    weights = closed_forms.tsp_attention(2, dataclasses.replace(SIZES, tokens=0))
    tokens = closed_forms.tsp_attention(4, dataclasses.replace(SIZES, width=0))
    received = [sum(result.bytes_received(rank).values()) for rank in range(4)]
    assert received == [weights + tokens] * 4, result.bytes_received(0)


@pytest.mark.parametrize("part", PARTS)
def test_zigzag_receives_the_closed_form(exported, executable, part):
    case, size, formula = PARTS[part]
    program = exported(case)
    result = harness.run(program, executable(program, "t=4", ZIGZAG))
    received = [sum(result.bytes_received(rank).values()) for rank in range(4)]
    assert received == [formula(4, size)] * 4, result.bytes_received(0)


@pytest.mark.parametrize("mesh, strategy", [("t=4", "tsp"), ("t=3", ZIGZAG), ("d=2,t=2", "data@d,tsp(zigzag)@t")])
def test_tokens_behind_the_batch_stay_where_they_are(exported, executable, mesh, strategy):
    """An MLP on [B S, h]: only weights move."""
    case = dataclasses.replace(PARTS["mlp"][0])
    flat = dataclasses.replace(case, fn=lambda params, x: case.fn(params, x.reshape(-1, x.shape[-1])).reshape(x.shape))
    program = exported(flat)
    result = harness.run(program, executable(program, mesh, strategy))
    harness.judge(program, result.results, "f32")
    ranks = int(mesh[-1])
    received = [sum(one.values()) for one in map(result.bytes_received, range(len(result.stats["ranks"])))]
    assert received == [closed_forms.tsp_gated_mlp(ranks, SIZES)] * len(received), result.bytes_received(0)


def _pipe(tool, *options, text):
    done = subprocess.run([tsp.find_tool(tool), "-", "-o", "-", *options], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("mesh, strategy", [("t=4", "tsp"), ("t=4", ZIGZAG), ("t=4", "tp"), ("d=2,t=2", NESTED_ZIGZAG)])
@pytest.mark.parametrize("name", ["llama", "llama_packed", "llama_generate", "moe_dispatch"])
def test_padding_is_never_read(exported, tmp_path, name, mesh, strategy):
    """All that padding could hold is overwritten by NaN after each op: results stay."""
    program = exported(name)
    raised = _pipe("tsp-compile", f"--mesh={mesh}", "--emit=mlir-raised", text=program.program.text)
    local = _pipe("tsp-opt", "--tsp-import-shardings", f"--tsp-partition=strategy={strategy} poison=true", "--canonicalize", "--cse",
                  "--tsp-check-placements", text=raised)
    assert "0x7FC00000" in local  # NaN
    (tmp_path / "local.mlir").write_text(local)
    _pipe("tsp-compile", "--from=mlir-local", f"-o={tmp_path / 'model'}", text=local)
    harness.judge(program, harness.run(program, tmp_path / "model").results, "f32")


@pytest.mark.parametrize("mesh, strategy", [("t=3", ZIGZAG), ("d=2,t=2", NESTED_ZIGZAG)])
def test_one_token_changes_only_what_may_see_it(exported, mesh, strategy):
    """Causal: nothing before it, no other row; packed: no other segment. To the bit."""
    changed = 6
    program = exported("llama")
    params, ids = program.case.args
    other = ids.copy()
    other[0, changed] = (ids[0, changed] + 1) % llama.CONFIG.vocab
    with tsp.compile(program.program, mesh=mesh, strategy=strategy) as model:
        before, after = model(params, ids), model(params, other)
    np.testing.assert_array_equal(before[0, :changed], after[0, :changed])
    np.testing.assert_array_equal(before[1], after[1])
    assert (before[0, changed:] != after[0, changed:]).any(-1).all()

    program = exported("llama_packed")
    params, x, segments, positions = program.case.args
    other = x.copy()
    other[0, changed] += 1
    with tsp.compile(program.program, mesh=mesh, strategy=strategy) as model:
        before, after = model(params, x, segments, positions), model(params, other, segments, positions)
    may_see = (segments == segments[0, changed]) & (np.arange(x.shape[1]) >= changed)
    may_see[1] = False
    np.testing.assert_array_equal(before[~may_see], after[~may_see])
    assert (before[may_see] != after[may_see]).any(-1).all()
