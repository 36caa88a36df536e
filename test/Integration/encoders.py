# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""BERT-like, GPT-2-like and Gemma-like cases, and mixtures of experts."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from Integration.case import Case, random_ids, random_tree, random_values
from tsp.blocks import rope, wide
from tsp.models.smollm2 import rms_norm

BATCH, LENGTH, WIDTH, HEADS, FFN, VOCAB = 2, 17, 35, 5, 53, 61


def layer_norm(x: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
    """(x - mean) / sqrt(variance + eps) * weight + bias."""
    y = x.astype(wide(x))
    y = (y - y.mean(-1, keepdims=True)) * lax.rsqrt(jnp.var(y, axis=-1, keepdims=True) + 1e-5)
    return y.astype(x.dtype) * weight + bias


def heads_of(x: jax.Array, heads: int) -> jax.Array:
    """[B,S,H*E] -> [B,S,H,E]"""
    return x.reshape(*x.shape[:2], heads, -1)


def softmax_attention(q: jax.Array, k: jax.Array, v: jax.Array, mask: jax.Array) -> jax.Array:
    """Heads [B,S,H,E], mask that broadcasts to [B,H,S,S]; result [B,S,H*E]."""
    scores = jnp.einsum("bqhd,bthd->bhqt", q, k, preferred_element_type=wide(q)) / np.sqrt(q.shape[-1]).astype(np.float32)
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e30), axis=-1).astype(q.dtype)
    return jnp.einsum("bhqt,bthd->bqhd", weights, v).reshape(*q.shape[:2], -1)


def bert() -> Case:
    """Two post-norm encoder layers with biases, exact GELU and a padding mask; mean pooling."""
    layer = {name: (WIDTH, WIDTH) for name in ["wq", "wk", "wv", "wo"]} | {name: (WIDTH,) for name in ["bq", "bk", "bv", "bo", "b2"]}
    layer |= {name: (WIDTH,) for name in ["n1", "c1", "n2", "c2"]} | {"w1": (WIDTH, FFN), "b1": (FFN,), "w2": (FFN, WIDTH)}
    params = random_tree({"embed": (VOCAB, WIDTH), "positions": (LENGTH, WIDTH), "n": (WIDTH,), "c": (WIDTH,), "layers": [layer, layer]}, 0)
    valid = np.arange(LENGTH) < np.array([[LENGTH], [11]])

    def fn(params: Any, ids: jax.Array, valid: jax.Array) -> jax.Array:
        x = layer_norm(params["embed"][ids] + params["positions"], params["n"], params["c"])
        for p in params["layers"]:
            q, k, v = (heads_of(x @ p["w" + name] + p["b" + name], HEADS) for name in "qkv")
            y = softmax_attention(q, k, v, valid[:, None, None, :]) @ p["wo"] + p["bo"]
            x = layer_norm(x + y, p["n1"], p["c1"])
            y = jax.nn.gelu(x @ p["w1"] + p["b1"], approximate=False) @ p["w2"] + p["b2"]
            x = layer_norm(x + y, p["n2"], p["c2"])
        weights = valid[..., None].astype(x.dtype)
        return (x * weights).sum(1) / weights.sum(1)
    return Case(fn, (params, random_ids(VOCAB, (BATCH, LENGTH)), valid))


def gpt2() -> Case:
    """Two pre-norm layers with fused QKV, biases, tanh GELU, learned positions, tied head."""
    layer = {"n1": (WIDTH,), "c1": (WIDTH,), "n2": (WIDTH,), "c2": (WIDTH,), "qkv": (WIDTH, 3 * WIDTH), "bqkv": (3 * WIDTH,),
             "wo": (WIDTH, WIDTH), "bo": (WIDTH,), "w1": (WIDTH, FFN), "b1": (FFN,), "w2": (FFN, WIDTH), "b2": (WIDTH,)}
    params = random_tree({"embed": (VOCAB, WIDTH), "positions": (LENGTH, WIDTH), "n": (WIDTH,), "c": (WIDTH,), "layers": [layer, layer]}, 1)

    def fn(params: Any, ids: jax.Array) -> jax.Array:
        x = params["embed"][ids] + params["positions"]
        mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
        for p in params["layers"]:
            fused = layer_norm(x, p["n1"], p["c1"]) @ p["qkv"] + p["bqkv"]
            q, k, v = (heads_of(part, HEADS) for part in jnp.split(fused, 3, axis=-1))
            x = x + softmax_attention(q, k, v, mask) @ p["wo"] + p["bo"]
            x = x + jax.nn.gelu(layer_norm(x, p["n2"], p["c2"]) @ p["w1"] + p["b1"], approximate=True) @ p["w2"] + p["b2"]
        return layer_norm(x, params["n"], params["c"]) @ params["embed"].T
    return Case(fn, (params, random_ids(VOCAB, (BATCH, LENGTH))))


def gemma() -> Case:
    """A sliding-window and a full layer: QK-norm, softcaps, GeGLU, four norms of 1 + weight."""
    heads, kv_heads, width, window = 6, 2, 8, 5
    layer = {"pre": (WIDTH,), "post": (WIDTH,), "pre_ffn": (WIDTH,), "post_ffn": (WIDTH,), "nq": (width,), "nk": (width,),
             "wq": (WIDTH, heads * width), "wk": (WIDTH, kv_heads * width), "wv": (WIDTH, kv_heads * width), "wo": (heads * width, WIDTH),
             "wg": (WIDTH, FFN), "wu": (WIDTH, FFN), "wd": (FFN, WIDTH)}
    params = random_tree({"embed": (VOCAB, WIDTH), "norm": (WIDTH,), "layers": [layer, layer]}, 2)

    def norm(x: jax.Array, weight: jax.Array) -> jax.Array:
        return rms_norm(x, 1 + weight, 1e-6)

    def fn(params: Any, ids: jax.Array) -> jax.Array:
        x = params["embed"][ids] * jnp.sqrt(jnp.float32(WIDTH)).astype(params["embed"].dtype)
        positions = jnp.arange(LENGTH)
        distance = positions[:, None] - positions[None, :]
        for i, p in enumerate(params["layers"]):
            y = norm(x, p["pre"])
            q = rope(norm(heads_of(y @ p["wq"], heads), p["nq"]), positions, 1e4)
            k = rope(norm(heads_of(y @ p["wk"], kv_heads), p["nk"]), positions, 1e4)
            v = heads_of(y @ p["wv"], kv_heads)
            q = q.reshape(*q.shape[:2], kv_heads, heads // kv_heads, width)
            scores = jnp.einsum("bqkgd,btkd->bkgqt", q, k, preferred_element_type=wide(q)) * width ** -0.5
            scores = 5.0 * jnp.tanh(scores / 5.0)
            mask = (distance >= 0) & (distance < window) if i == 0 else distance >= 0
            weights = jax.nn.softmax(jnp.where(mask, scores, -2.3819763e38), axis=-1).astype(x.dtype)
            y = jnp.einsum("bkgqt,btkd->bqkgd", weights, v).reshape(*x.shape[:2], -1) @ p["wo"]
            x = x + norm(y, p["post"])
            y = norm(x, p["pre_ffn"])
            x = x + norm((jax.nn.gelu(y @ p["wg"], approximate=True) * (y @ p["wu"])) @ p["wd"], p["post_ffn"])
        logits = jnp.einsum("bsh,vh->bsv", norm(x, params["norm"]), params["embed"], preferred_element_type=wide(x))
        return 30.0 * jnp.tanh(logits / 30.0)
    return Case(fn, (params, random_ids(VOCAB, (BATCH, LENGTH))))


def _experts(count: int) -> Any:
    shapes = {"router": (WIDTH, count), "wg": (count, WIDTH, FFN), "wu": (count, WIDTH, FFN), "wd": (count, FFN, WIDTH)}
    return random_tree(shapes, 3)


def moe_dense(count: int = 7, chosen: int = 2) -> Case:
    """Every expert computes every token; the router's top two are mixed by one-hot weights."""
    def fn(params: Any, x: jax.Array) -> jax.Array:
        values, experts = lax.top_k(x @ params["router"], chosen)
        mixture = (jax.nn.one_hot(experts, count, dtype=x.dtype) * jax.nn.softmax(values, axis=-1)[..., None]).sum(-2)
        inner = jax.nn.silu(jnp.einsum("bsh,ehf->bsef", x, params["wg"])) * jnp.einsum("bsh,ehf->bsef", x, params["wu"])
        return x + jnp.einsum("bse,bsef,efh->bsh", mixture, inner, params["wd"])
    return Case(fn, (_experts(count), random_values((BATCH, LENGTH, WIDTH))))


def moe_dispatch(count: int = 7, chosen: int = 2, capacity: int = 11) -> Case:
    """Tokens are scattered to the slots of their experts and gathered back; those over
    an expert's capacity are dropped."""
    def fn(params: Any, x: jax.Array) -> jax.Array:
        tokens = x.reshape(-1, WIDTH)
        values, experts = lax.top_k(tokens @ params["router"], chosen)
        weights = jax.nn.softmax(values, axis=-1)
        hot = jax.nn.one_hot(experts.reshape(-1), count, dtype=jnp.int32)
        slots = ((jnp.cumsum(hot, axis=0) - 1) * hot).sum(-1)
        owner = jnp.repeat(jnp.arange(tokens.shape[0]), chosen)
        buffer = jnp.zeros((count, capacity, WIDTH), x.dtype).at[experts.reshape(-1), slots].set(tokens[owner], mode="drop")
        inner = jax.nn.silu(jnp.einsum("ech,ehf->ecf", buffer, params["wg"])) * jnp.einsum("ech,ehf->ecf", buffer, params["wu"])
        outputs = jnp.einsum("ecf,efh->ech", inner, params["wd"]).at[experts.reshape(-1), slots].get(mode="fill", fill_value=0)
        mixed = (outputs.reshape(-1, chosen, WIDTH) * weights[..., None]).sum(1)
        return x + mixed.reshape(x.shape)
    return Case(fn, (_experts(count), random_values((BATCH, LENGTH, WIDTH))))
