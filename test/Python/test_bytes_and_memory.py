# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes received to the byte, parameters held, peaks."""
import dataclasses

import pytest

from Integration import harness, llama
from Integration.case import Case, random_ids, random_values
from tsp import closed_forms
from tsp.models import smollm2

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")

EVEN, BATCH, LENGTH = llama.EVEN, 2, 24
# As many KV heads as query heads.
EQUAL = dataclasses.replace(EVEN, kv_heads=EVEN.heads)


def sizes(config: smollm2.Config, length: int = LENGTH) -> closed_forms.Sizes:
    return closed_forms.Sizes(config.layers, config.width, config.heads * config.head_width, config.kv_heads * config.head_width, config.ffn, config.vocab,
                              BATCH, length)


def embedding(vocab: int, length: int) -> Case:
    """Rows of a table."""
    return Case(lambda table, ids: table[ids], (random_values((vocab, EVEN.width)), random_ids(vocab, (1, length))))


SIZES = sizes(EVEN)
PARTS = {
    "attention": (llama.attention_only(EVEN, BATCH, LENGTH), SIZES, closed_forms.tsp_attention),
    "equal heads": (llama.attention_only(EQUAL, BATCH, LENGTH), sizes(EQUAL), closed_forms.tsp_attention),
    "mlp": (llama.mlp_only(EVEN, BATCH, LENGTH), SIZES, closed_forms.tsp_gated_mlp),
    "model": (llama.model(EVEN, BATCH, LENGTH), SIZES, closed_forms.tsp_forward),
    # More tokens than words: the table is streamed.
    "long model": (llama.model(EVEN, BATCH, 2 * LENGTH), sizes(EVEN, 2 * LENGTH), closed_forms.tsp_forward),
}


@pytest.mark.parametrize("ranks", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("part", PARTS)
def test_tsp_receives_the_closed_form(exported, executable, part, ranks):
    case, size, formula = PARTS[part]
    program = exported(case)
    result = harness.run(program, executable(program, f"t={ranks}", "tsp"))
    harness.judge(program, result.results, "f32")
    received = [sum(result.bytes_received(rank).values()) for rank in range(ranks)]
    assert received == [formula(ranks, size)] * ranks, result.bytes_received(0)


# Of 9000 rows of a rank as many at once as a MiB holds: equal slices, or one and a rest.
@pytest.mark.parametrize("strategy", ["tsp", "tsp(zigzag)"])
@pytest.mark.parametrize("ranks, length", [(2, 18000), (4, 35848), (8, 71984)])
def test_rows_are_looked_up_for_others_in_steps(exported, executable, ranks, length, strategy):
    """No rank holds the rows of all tokens, and the bytes are those of one reduce-scatter."""
    program = exported(embedding(96000, length))
    result = harness.run(program, executable(program, f"t={ranks}", strategy))
    harness.judge(program, result.results, "f32")
    harness.judge_memory(result)
    size = closed_forms.Sizes(1, EVEN.width, 0, 0, 0, 96000, 1, length)
    received = [sum(result.bytes_received(rank).values()) for rank in range(ranks)]
    assert received == [closed_forms.tsp_embedding(ranks, size)] * ranks
    assert result.stats["ranks"][0]["collectives"], "nothing was streamed"
    held, rows = 96000 * EVEN.width * 4 // ranks, length * EVEN.width * 4
    # Slices: what is looked up and what came in; ids, and the result.
    assert result.stats["ranks"][0]["planned_peak_bytes"] - held < rows // ranks + 5 * max(rows // ranks, 2 ** 20) + 2 ** 16


@pytest.mark.parametrize("options, flags", [((), ()), (("--target=cuda:sm_80",), ("--emulate",))], ids=["host", "cuda"])
def test_rows_are_looked_up_in_steps_of_lengths_that_do_not_divide(exported, executable, options, flags):
    program = exported(embedding(40000, 27001))
    result = harness.run(program, executable(program, "t=3", "tsp", *options), *flags)
    harness.judge(program, result.results, "f32")


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_tp_receives_the_closed_form(exported, executable, ranks):
    program = exported(PARTS["model"][0])
    result = harness.run(program, executable(program, f"t={ranks}", "tp"))
    received = [sum(result.bytes_received(rank).values()) for rank in range(ranks)]
    assert received == [closed_forms.tp_forward(ranks, SIZES)] * ranks, result.bytes_received(0)


@pytest.mark.parametrize("ranks", [2, 4])
def test_quantised_weights_are_moved_as_they_are(exported, executable, ranks):
    """int8, and the scales of the columns that are sharded."""
    program = exported(llama.quantised(PARTS["mlp"][0]))
    result = harness.run(program, executable(program, f"t={ranks}", "tsp"))
    harness.judge(program, result.results, "f32")
    held = 3 * EVEN.width * EVEN.ffn + 2 * 4 * EVEN.ffn
    assert sum(result.bytes_received(0).values()) == held - held // ranks, result.bytes_received(0)


def test_quantised_weights_stay_so(exported, executable):
    """On a device, where no kernel needs scratch: the arena holds three quarters of the bytes of the matrix less, and the scales more."""
    dense = Case(lambda w, x: x @ w, (random_values((256, 512)), random_values((8, 256))))
    small = llama.quantised(Case(lambda params, x: x @ params["w"], ({"w": dense.args[0]}, dense.args[1])))
    peaks = []
    for case in (dense, small):
        program = exported(case)
        result = harness.run(program, executable(program, "", "none", "--target=cuda:sm_80"), "--emulate")
        harness.judge(program, result.results, "f32")
        peaks.append(result.stats["ranks"][0]["planned_peak_bytes"])
    assert abs(peaks[0] - peaks[1] - (3 * 256 * 512 - 4 * 512)) <= 8192, peaks


def test_one_rank_receives_nothing(exported, executable):
    program = exported(PARTS["model"][0])
    result = harness.run(program, executable(program, "t=1", "tsp"))
    assert sum(result.bytes_received(0).values()) == 0


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6, 8])
def test_each_rank_holds_its_part_of_the_matrices(exported, executable, ranks):
    program = exported(PARTS["model"][0])
    result = harness.run(program, executable(program, f"t={ranks}", "tsp"))
    shapes = [argument.shape for argument in program.program.signature().arguments if argument.kind == "parameter"]
    matrices = sum(4 * rows * columns for rows, columns in (shape for shape in shapes if len(shape) == 2))
    norms = sum(4 * shape[0] for shape in shapes if len(shape) == 1)  # every rank needs these whole
    assert [rank["parameter_bytes"] for rank in result.stats["ranks"]] == [matrices // ranks + norms] * ranks


@pytest.mark.parametrize("mesh, strategy", [("", "none"), ("t=4", "tsp")])
def test_peak_grows_linearly_with_the_sequence(exported, executable, mesh, strategy):
    peaks = []
    for length in (2048, 4096, 8192):
        program = exported(llama.attention_only(EVEN, 1, length))
        result = harness.run(program, executable(program, mesh, strategy))
        harness.judge_memory(result)
        peaks.append(max(rank["peak_bytes"] for rank in result.stats["ranks"]))
    assert peaks[2] - peaks[1] < 2.2 * (peaks[1] - peaks[0]), peaks
