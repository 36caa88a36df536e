# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Llama-like cases: block, whole model, scan, caches, packed batch, composites."""
from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tsp
from Integration.case import Case, random_ids, random_values
from tsp.blocks import rope, wide
from tsp.models import smollm2

BATCH, LENGTH = 2, 17
CONFIG = smollm2.Config(layers=2, width=40, heads=10, kv_heads=5, ffn=53, vocab=61, theta=1e4)
# Sizes that 1, 2, 3, 4, 6 and 8 ranks divide, heads aside: for closed forms of bytes.
EVEN = smollm2.Config(layers=1, width=48, heads=6, kv_heads=3, ffn=96, vocab=72, theta=1e4)


def block(config: smollm2.Config = CONFIG, batch: int = BATCH, length: int = LENGTH) -> Case:
    """One block on activations."""
    layer = smollm2.random_params(config)["layers"][0]
    return Case(lambda params, x: smollm2.block(config, params, x, 0, None)[0], (layer, random_values((batch, length, config.width))))


def quantised(case: Case) -> Case:
    """A case whose matrices are int8 and multiplied by a scale for each column where they are used."""
    def quantise(w: np.ndarray) -> Any:
        w = np.asarray(w)
        if w.ndim < 2:
            return w
        scale = np.abs(w).max(0) / 127
        return {"q": np.round(w / scale).astype(np.int8), "scale": scale.astype(np.float32)}

    def fn(params: Any, x: jax.Array) -> jax.Array:
        return case.fn({name: w["q"].astype(x.dtype) * w["scale"] if isinstance(w, dict) else w for name, w in params.items()}, x)
    params, x = case.args
    return Case(fn, ({name: quantise(w) for name, w in params.items()}, x))


def quantised_block() -> Case:
    """One block of quantised matrices."""
    return quantised(block())


def _some(layer: Any, *names: str) -> Any:
    return {name: layer[name] for name in names}


def attention_only(config: smollm2.Config = CONFIG, batch: int = BATCH, length: int = LENGTH) -> Case:
    """The attention half of a block."""
    params = _some(smollm2.random_params(config)["layers"][0], "ln1", "wq", "wk", "wv", "wo")
    return Case(lambda params, x: smollm2.attention(config, params, x, 0, None)[0], (params, random_values((batch, length, config.width))))


def mlp_only(config: smollm2.Config = CONFIG, batch: int = BATCH, length: int = LENGTH) -> Case:
    """The MLP half of a block."""
    params = _some(smollm2.random_params(config)["layers"][0], "ln2", "wg", "wu", "wd")
    return Case(lambda params, x: smollm2.gated_mlp(config, params, x), (params, random_values((batch, length, config.width))))


def model(config: smollm2.Config = CONFIG, batch: int = BATCH, length: int = LENGTH) -> Case:
    """Embedding, layers, tied head: logits."""
    return Case(functools.partial(smollm2.forward, config), (smollm2.random_params(config), random_ids(config.vocab, (batch, length))))


def top_tokens(config: smollm2.Config = CONFIG) -> Case:
    """The most likely token at every position: argmax over the vocabulary."""
    return Case(lambda params, ids: jnp.argmax(smollm2.forward(config, params, ids), axis=-1),
                (smollm2.random_params(config), random_ids(config.vocab, (BATCH, LENGTH))))


def loss(config: smollm2.Config = CONFIG) -> Case:
    """Mean cross entropy of the next token: log-sum-exp over the vocabulary."""
    def fn(params: Any, ids: jax.Array) -> jax.Array:
        logits = smollm2.forward(config, params, ids[:, :-1])
        chosen = jnp.take_along_axis(logits, ids[:, 1:, None], axis=-1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - chosen)
    return Case(fn, (smollm2.random_params(config), random_ids(config.vocab, (BATCH, LENGTH + 1))))


def scan(config: smollm2.Config = CONFIG) -> Case:
    """Layers with stacked weights under lax.scan."""
    layers = smollm2.random_params(config)["layers"]
    stacked = jax.tree_util.tree_map(lambda *leaves: np.stack(leaves), *layers)

    def fn(params: Any, x: jax.Array) -> jax.Array:
        return lax.scan(lambda x, layer: (smollm2.block(config, layer, x, 0, None)[0], None), x, params)[0]
    return Case(fn, (stacked, random_values((BATCH, LENGTH, config.width))))


def packed(config: smollm2.Config = CONFIG) -> Case:
    """A packed batch: tokens see their own segment only, positions start anew in each."""
    layer = _some(smollm2.random_params(config)["layers"][0], "wq", "wk", "wv", "wo")
    segments = np.stack([np.sort(random_ids(4, (LENGTH,), seed)) for seed in range(BATCH)])
    starts = np.stack([np.searchsorted(row, row) for row in segments])
    positions = (np.arange(LENGTH) - starts).astype(np.int32)

    def fn(params: Any, x: jax.Array, segments: jax.Array, positions: jax.Array) -> jax.Array:
        groups = config.heads // config.kv_heads
        q, k, v = ((x @ params[name]).reshape(*x.shape[:2], -1, config.head_width) for name in ["wq", "wk", "wv"])
        q, k = rope(q, positions, config.theta), rope(k, positions, config.theta)
        q = q.reshape(*x.shape[:2], config.kv_heads, groups, config.head_width)
        scores = jnp.einsum("bqkgd,btkd->bkgqt", q, k, preferred_element_type=wide(x)) * config.head_width ** -0.5
        same = segments[:, :, None] == segments[:, None, :]
        mask = same & (positions[:, :, None] >= positions[:, None, :])
        weights = jax.nn.softmax(jnp.where(mask[:, None, None], scores, -1e30), axis=-1).astype(x.dtype)
        return x + jnp.einsum("bkgqt,btkd->bqkgd", weights, v).reshape(*x.shape[:2], -1) @ params["wo"]
    return Case(fn, (layer, random_values((BATCH, LENGTH, config.width)), segments.astype(np.int32), positions))


def repeated_heads(config: smollm2.Config = CONFIG) -> Case:
    """GQA by repeating K and V, masks as an added bias of -inf, scale on the queries."""
    layer = _some(smollm2.random_params(config)["layers"][0], "wq", "wk", "wv", "wo")

    def fn(params: Any, x: jax.Array) -> jax.Array:
        q, k, v = ((x @ params[name]).reshape(*x.shape[:2], -1, config.head_width) for name in ["wq", "wk", "wv"])
        k, v = (jnp.repeat(y, config.heads // config.kv_heads, axis=2) for y in (k, v))
        positions = jnp.arange(x.shape[1])
        bias = jnp.where(positions[:, None] >= positions[None, :], 0.0, -jnp.inf)
        scores = jnp.einsum("bqhd,bthd->bhqt", q * config.head_width ** -0.5, k) + bias.astype(x.dtype)
        weights = jax.nn.softmax(scores.astype(wide(x)), axis=-1).astype(x.dtype)
        return x + jnp.einsum("bhqt,bthd->bqhd", weights, v).reshape(*x.shape[:2], -1) @ params["wo"]
    return Case(fn, (layer, random_values((BATCH, LENGTH, config.width))))


def library_attention(config: smollm2.Config = CONFIG) -> Case:
    """jax.nn.dot_product_attention, causal."""
    layer = _some(smollm2.random_params(config)["layers"][0], "wq", "wk", "wv", "wo")

    def fn(params: Any, x: jax.Array) -> jax.Array:
        q, k, v = ((x @ params[name]).reshape(*x.shape[:2], -1, config.head_width) for name in ["wq", "wk", "wv"])
        return x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(*x.shape[:2], -1) @ params["wo"]
    return Case(fn, (layer, random_values((BATCH, LENGTH, config.width))))


def composites(config: smollm2.Config = CONFIG) -> Case:
    """tsp.attention and tsp.gated_mlp."""
    layer = _some(smollm2.random_params(config)["layers"][0], "wq", "wk", "wv", "wo", "wg", "wu", "wd")

    def fn(params: Any, x: jax.Array) -> jax.Array:
        x = x + tsp.attention(x, *(params[name] for name in ["wq", "wk", "wv", "wo"]), heads=config.heads, kv_heads=config.kv_heads, rope_theta=1e4)
        return x + tsp.gated_mlp(x, params["wg"], params["wu"], params["wd"])
    return Case(fn, (layer, random_values((BATCH, LENGTH, config.width))))


def decode_step(config: smollm2.Config = CONFIG) -> Case:
    """One token against a cache of 17, of which 11 are filled."""
    params = smollm2.random_params(config)
    cache = smollm2.new_cache(config, BATCH, LENGTH)
    cache = jax.tree_util.tree_map(np.asarray, smollm2.prefill(config, params, random_ids(config.vocab, (BATCH, 11)), jnp.int32(11), cache)[1])
    return Case(functools.partial(smollm2.decode, config), (params, random_ids(config.vocab, (BATCH,)), np.int32(11), cache), state=(3,))


def generate(config: smollm2.Config = CONFIG) -> Case:
    """Prefill and a loop of greedy steps as one program."""
    return Case(functools.partial(smollm2.generate, config, 5), (smollm2.random_params(config), random_ids(config.vocab, (1, 7))))
