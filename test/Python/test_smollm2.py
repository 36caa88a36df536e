# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SmolLM2 in JAX: tokenizer, caches, and that the real weights speak sense."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tsp.models import smollm2
from tsp.models.gguf_file import GgufFile, smollm2_path

SMALL = smollm2.Config(layers=2, width=24, heads=6, kv_heads=2, ffn=41, vocab=61)


@pytest.fixture(scope="module")
def tokenizer():
    return GgufFile(smollm2_path()).tokenizer()


@pytest.mark.parametrize("text", ["Hello, world! It's 2024.\n\n  def f(x):\n\treturn x  ", "naïve café 日本語 ½ ² 😀 _a_ can't we'll", "",
                                  smollm2.chat("hi")])
def test_tokenizer_round_trip(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_tokenizer_splits_digits_and_knows_special_tokens(tokenizer):
    assert len(tokenizer.encode("2024")) == 4
    assert tokenizer.encode("<|im_start|>user") == [1, 4093]
    assert tokenizer.encode(" the") == [260]


def test_prefill_and_decode_equal_forward():
    params = smollm2.random_params(SMALL)
    ids = np.random.default_rng(1).integers(0, SMALL.vocab, (2, 11)).astype(np.int32)
    expected = smollm2.forward(SMALL, params, ids)
    logits, cache = smollm2.prefill(SMALL, params, ids[:, :7], jnp.int32(5), smollm2.new_cache(SMALL, 2, 13))
    np.testing.assert_allclose(logits, expected[:, 4], atol=1e-4)
    for position in range(5, 11):
        logits, cache = smollm2.decode(SMALL, params, ids[:, position], jnp.int32(position), cache)
        np.testing.assert_allclose(logits, expected[:, position], atol=1e-4)


def test_generation_is_the_greedy_loop():
    params = smollm2.random_params(SMALL)
    ids = np.random.default_rng(1).integers(0, SMALL.vocab, (1, 7)).astype(np.int32)
    generated = np.asarray(jax.jit(functools.partial(smollm2.generate, SMALL, 5))(params, ids))
    for _ in range(5):
        following = np.argmax(smollm2.forward(SMALL, params, ids)[:, -1], axis=-1).astype(np.int32)
        ids = np.concatenate([ids, following[:, None]], axis=1)
    np.testing.assert_array_equal(generated, ids[:, 7:])


def test_the_real_model_speaks(tokenizer):
    config, params = smollm2.load()
    assert (config.layers, config.width, config.heads, config.kv_heads, config.vocab) == (30, 576, 9, 3, 49152)
    ids = np.array([tokenizer.encode(smollm2.chat("What is the capital of France?"))], np.int32)
    generated = np.asarray(jax.jit(functools.partial(smollm2.generate, config, 8))(params, ids))[0]
    assert tokenizer.decode(generated).startswith("The capital of France is Paris.<|im_end|>")
