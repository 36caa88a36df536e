# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folds whose units no number of steps divides run steps of two sizes, one after the other, in the same slots."""
import numpy as np
import pytest

from Integration import harness
from Integration.case import Case

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")
TOKENS, WIDTH = 24, 40


def mlp(ffn):
    def fn(weights, x):
        import jax
        return x + (jax.nn.silu(x @ weights["gate"]) * (x @ weights["up"])) @ weights["down"]
    return fn, {"gate": (WIDTH, ffn), "up": (WIDTH, ffn), "down": (ffn, WIDTH)}


def attention(heads):
    def fn(weights, x):
        import jax
        q, k, v = ((x @ weights[name]).reshape(*x.shape[:2], -1, 4) for name in ("q", "k", "v"))
        return x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(*x.shape[:2], -1) @ weights["out"]
    return fn, {"q": (WIDTH, 4 * heads), "k": (WIDTH, 4 * heads), "v": (WIDTH, 4 * heads), "out": (4 * heads, WIDTH)}


def cached(heads):
    """Results that keep the folded dim."""
    def fn(weights, x):
        y, q = attention(heads)[0](weights, x), (x @ weights["k"]).reshape(*x.shape[:2], -1, 4)
        return y, q
    return fn, attention(heads)[1]


def vocabulary(size):
    def fn(weights, x):
        import jax.numpy as jnp
        logits = x @ weights["head"]
        return jnp.argmax(logits, axis=-1), jnp.max(logits, axis=-1)
    return fn, {"head": (WIDTH, size)}


BLOCKS = {"mlp": (mlp, 509, 512), "attention": (attention, 19, 20), "cached": (cached, 19, 20), "vocabulary": (vocabulary, 1021, 1024)}


def case(block, units):
    fn, shapes = BLOCKS[block][0](units)
    random = np.random.default_rng(0)
    weights = {name: (random.standard_normal(shape) / shape[0] ** 0.5).astype(np.float32) for name, shape in shapes.items()}
    return Case(fn, (weights, random.standard_normal((1, TOKENS, WIDTH)).astype(np.float32)))


def received(shapes, units, ranks, rank):
    """Bytes of all weights but what the rank holds of each: elements in even chunks along the folded dim."""
    total = 0
    for shape in shapes.values():
        dim = max(shape) if max(shape) % units == 0 else min(shape)
        chunk = -(-dim // ranks)
        held = max(0, min(dim, (rank + 1) * chunk) - rank * chunk)
        total += 4 * (dim - held) * (shape[0] * shape[1] // dim)
    return total


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("block", BLOCKS)
def test_steps_of_two_sizes(exported, executable, block, ranks):
    units, even = BLOCKS[block][1:]
    peaks = []
    for count in (units, even):
        program = exported(case(block, count))
        result = harness.run(program, executable(program, f"t={ranks}", "tsp", "--schedule=broadcast"))
        harness.judge(program, result.results, "f32")
        harness.judge_memory(result)
        peaks.append(result.stats["ranks"][0]["planned_peak_bytes"])
        shapes = BLOCKS[block][0](count)[1]
        for rank in range(ranks):
            assert result.bytes_received(rank)["broadcast", "t"] == received(shapes, count, ranks, rank)
    # No more parts in flight than where all steps are equal; a page for the second loop's own values.
    assert peaks[0] <= peaks[1] + 4096


@pytest.mark.parametrize("block", ["mlp", "attention"])
def test_sums_of_16_bits_are_rounded_once(exported, executable, block):
    program = exported(case(block, BLOCKS[block][1]), "bf16")
    harness.judge(program, harness.run(program, executable(program, "t=4", "tsp")).results, "bf16")


@pytest.mark.parametrize("options", [("--prefetch=0",), ("--prefetch=2",), ("--schedule=gather",)])
def test_other_schedules(exported, executable, options):
    for block in ("mlp", "attention"):
        program = exported(case(block, BLOCKS[block][1]))
        result = harness.run(program, executable(program, "t=4", "tsp", *options))
        harness.judge(program, result.results, "f32")
        harness.judge_memory(result)
