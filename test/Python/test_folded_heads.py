# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses and most likely tokens fold over the vocabulary: numbers, bytes, and no rank with a whole row of logits."""
import numpy as np
import pytest

from Integration import harness
from Integration.case import Case

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")
BATCH, TOKENS, WIDTH, VOCAB = 2, 96, 8, 3072


def log_softmax_taken(logits, labels):
    import jax
    import jax.numpy as jnp
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], axis=-1))


def log_softmax_one_hot(logits, labels):
    import jax
    return -(jax.nn.one_hot(labels, logits.shape[-1]) * jax.nn.log_softmax(logits)).sum(-1).mean()


def one_hot_summed_at_once(logits, labels):
    import jax
    return -(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, logits.shape[-1])).sum() / labels.size


def logsumexp_taken(logits, labels):
    import jax
    import jax.numpy as jnp
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0])


def shifted_by_hand(logits, labels):
    """As optax writes it."""
    import jax
    import jax.numpy as jnp
    logits -= jax.lax.stop_gradient(logits.max(-1, keepdims=True))
    return (jnp.log(jnp.exp(logits).sum(-1)) - jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]).mean()


def softcapped(logits, labels):
    import jax.numpy as jnp
    return log_softmax_taken(30 * jnp.tanh(logits / 30), labels)


def argmax(logits, labels):
    import jax.numpy as jnp
    return jnp.argmax(logits, axis=-1)


def argmin(logits, labels):
    import jax.numpy as jnp
    return jnp.argmin(logits, axis=-1)


def argmax_and_score(logits, labels):
    import jax.numpy as jnp
    return jnp.argmax(logits, axis=-1), jnp.max(logits, axis=-1)


HEADS = [log_softmax_taken, log_softmax_one_hot, one_hot_summed_at_once, logsumexp_taken, shifted_by_hand, softcapped, argmax, argmin, argmax_and_score]


def head(function):
    random = np.random.default_rng(0)
    weight = random.standard_normal((VOCAB, WIDTH)).astype(np.float32)
    tokens = random.standard_normal((BATCH, TOKENS, WIDTH)).astype(np.float32)
    labels = random.integers(0, VOCAB, (BATCH, TOKENS)).astype(np.int32)
    return Case(lambda weight, x, labels: function(x @ weight.T, labels), (weight, tokens, labels))


@pytest.mark.parametrize("function", HEADS)
def test_folds_over_the_vocabulary(exported, executable, function):
    program, ranks = exported(head(function)), 4
    result = harness.run(program, executable(program, f"t={ranks}", "tsp"))
    harness.judge(program, result.results, "f32")
    logits = BATCH * TOKENS // ranks * VOCAB * 4
    for rank, stats in enumerate(result.stats["ranks"]):
        # Two parts of the weights, and of logits one step's, are less than half of the rank's rows.
        assert stats["planned_peak_bytes"] < 0.5 * logits
        received = result.bytes_received(rank)
        sums = received.pop(("all_reduce", "t"), 0)
        assert sum(received.values()) == (ranks - 1) * VOCAB * WIDTH * 4 // ranks
        assert sums <= 16  # of the mean


@pytest.mark.parametrize("mesh, strategy", [("t=3", "tsp"), ("t=7", "tsp"), ("t=3", "tp"), ("t=4", "tp"), ("", "none")])
@pytest.mark.parametrize("function", [log_softmax_taken, shifted_by_hand, argmax_and_score])
def test_other_meshes(exported, executable, function, mesh, strategy):
    program = exported(head(function))
    harness.judge(program, harness.run(program, executable(program, mesh, strategy)).results, "f32")


def test_first_of_equal_tokens(exported, executable):
    """Each token's best score comes twice, in different parts of the vocabulary; a row of one token is NaN."""
    random = np.random.default_rng(1)
    weight = random.standard_normal((VOCAB, WIDTH)).astype(np.float32)
    weight[VOCAB // 2:] = weight[:VOCAB // 2]
    tokens = random.standard_normal((1, TOKENS, WIDTH)).astype(np.float32)
    tokens[0, 3] = np.nan
    import jax.numpy as jnp
    program = exported(Case(lambda weight, x: jnp.argmax(x @ weight.T, axis=-1), (weight, tokens)))
    for mesh, strategy in [("t=4", "tsp"), ("t=3", "tp")]:
        best, = harness.run(program, executable(program, mesh, strategy)).results
        expected = np.argmax(tokens @ weight.T, axis=-1)
        assert np.array_equal(best, expected) and best[0, 3] == 0 and best.max() < VOCAB // 2
