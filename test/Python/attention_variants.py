# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention as JAX programs write it: name -> (function, arguments, what raising says).

Every size is a different prime where it can be, so that a swapped layout cannot
pass. In VARIANTS the last entry is the tail of the remark, in NEAR_MISSES why
raising leaves the program alone.
"""
import jax
import jax.numpy as jnp
import numpy as np

B, S, T, K, G, E, F = 2, 7, 11, 3, 2, 5, 13  # batch, queries, keys, key heads, group, features
H = K * G
NEG = -1e30
_rng = np.random.default_rng(0)


def array(*shape, dtype="float32"):
    return jnp.asarray(_rng.standard_normal(shape), dtype)


def ints(low, high, *shape):
    return jnp.asarray(_rng.integers(low, high, shape), jnp.int32)


def bools(*shape):
    return jnp.asarray(_rng.random(shape) < 0.6)


def qkv(s=S, t=S, h=H, k=K, dtype="float32"):
    return array(B, s, h, E, dtype=dtype), array(B, t, k, E, dtype=dtype), array(B, t, k, F, dtype=dtype)


def qkv_same(s=S, t=S, h=H, k=K, dtype="float32"):
    return array(B, s, h, E, dtype=dtype), array(B, t, k, E, dtype=dtype), array(B, t, k, E, dtype=dtype)


def grouped(q):
    return q.reshape(*q.shape[:2], K, G, E)


def causal(s, t, offset=0):
    return jnp.arange(t)[None, :] <= jnp.arange(s)[:, None] + offset


def einsum_gqa(q, k, v, mask=None, fill=NEG, scale=E**-0.5):
    s = jnp.einsum("bskgd,btkd->bkgst", grouped(q), k) * scale
    if mask is not None:
        s = jnp.where(mask, s, fill)
    p = jax.nn.softmax(s, axis=-1)
    o = jnp.einsum("bkgst,btkd->bskgd", p, v)
    return o.reshape(*q.shape[:2], -1)


def heads_first(q, k, v, mask=None, bias=None, repeat=True, fill=-jnp.inf, safe=False):
    """[B,H,S,E] with K and V repeated, as PyTorch and GPT-2 write it."""
    if repeat:
        k, v = jnp.repeat(k, G, 2), jnp.repeat(v, G, 2)
    q, k, v = (jnp.swapaxes(t, 1, 2) for t in (q, k, v))
    s = (q @ jnp.swapaxes(k, -1, -2)) / jnp.sqrt(jnp.float32(E))
    if bias is not None:
        s = s + bias
    if mask is not None:
        s = jnp.where(mask, s, fill)
    p = jax.nn.softmax(s, axis=-1)
    if safe:
        p = jnp.where(jnp.all(s == -jnp.inf, axis=-1, keepdims=True), 0, p)
    return jnp.swapaxes(p @ v, 1, 2)



def dpa_named(*names, **kw):
    return lambda q, k, v, *more: jax.nn.dot_product_attention(q, k, v, **dict(zip(names, more)), **kw)


def gemma(q, k, v):
    q = q * 0.3
    s = jnp.einsum("bskgd,btkd->bkgst", grouped(q), k)
    s = jnp.tanh(s / 2.0) * 2.0
    i, j = jnp.arange(S)[:, None], jnp.arange(S)[None, :]
    s = jnp.where((j <= i) & (i - j < 4), s, -2.3819763e38)
    return jnp.einsum("bkgst,btkd->bskgd", jax.nn.softmax(s, axis=-1), v)


def bert(x, wq, wk, wv, padding):
    """Projections as one matrix each, additive mask of finfo.min."""
    split = lambda t: t.reshape(B, S, H, E).transpose(0, 2, 1, 3)
    q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
    s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(E)
    s = s + jnp.where(padding[:, None, None, :], 0.0, jnp.finfo(jnp.float32).min)
    o = jax.nn.softmax(s, axis=-1) @ v
    return o.transpose(0, 2, 1, 3).reshape(B, S, H * E)


def additive(value):
    def f(q, k, v, padding):
        s = jnp.einsum("bshd,bthd->bhst", q, k) * E**-0.5
        s = s + jnp.where(padding[:, None, None, :], 0.0, value)
        return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(s, axis=-1), v)
    return f


def divide_after(q, k, v):
    s = jnp.einsum("bshd,bthd->bhst", q, k) * E**-0.5
    s = jnp.where(causal(S, S), s, -jnp.inf)
    e = jnp.exp(s - jax.lax.stop_gradient(jnp.max(s, axis=-1, keepdims=True)))
    o = jnp.einsum("bhst,bthd->bshd", e, v)
    return o / jnp.swapaxes(jnp.sum(e, axis=-1), 1, 2)[..., None]


def torch_style(q, k, v):
    """Both sides scaled by the root, -inf fill, a guard against rows without keys."""
    k, v = jnp.repeat(k, G, 2), jnp.repeat(v, G, 2)
    q, k, v = (jnp.swapaxes(t, 1, 2) for t in (q, k, v))
    root = jnp.sqrt(jnp.sqrt(jnp.float32(E)))
    s = (q / root) @ jnp.swapaxes(k / root, -1, -2)
    s = s + jnp.where(causal(S, S), 0.0, -jnp.inf)
    p = jax.nn.softmax(s, axis=-1)
    p = jnp.where(~jnp.any(~(s == -jnp.inf), axis=-1, keepdims=True), jnp.zeros_like(p), p)
    return jnp.swapaxes(p @ v, 1, 2)


def decode(q, k, v, pos):
    mask = jnp.arange(T)[None, None, None, :] <= pos
    return heads_first(q, k, v, mask)


def decode_cache(x, wq, wk, wv, kc, vc, pos):
    """One token into a cache: projections, update, attention over it."""
    q = (x @ wq).reshape(B, 1, H, E)
    kc = jax.lax.dynamic_update_slice(kc, (x @ wk).reshape(B, 1, K, E), (0, pos, 0, 0))
    vc = jax.lax.dynamic_update_slice(vc, (x @ wv).reshape(B, 1, K, F), (0, pos, 0, 0))
    o = einsum_gqa(q, kc, vc, jnp.arange(T) <= pos)
    return o, kc, vc


def flax_decode(q, k, v, pos):
    """A row of the whole causal mask, cut out at the position."""
    mask = jax.lax.dynamic_slice(causal(T, T), (pos, 0), (1, T))
    return heads_first(q, k, v, mask[None, None], fill=jnp.finfo(jnp.float32).min)


def buffer_mask(q, k, v):
    """GPT-2's mask buffer, sliced to the lengths."""
    buffer = jnp.tril(jnp.ones((1, 1, 32, 32), bool))
    return heads_first(q, k, v, buffer[:, :, T - S:T, :T], fill=-1e10)


def packed(q, k, v, segments):
    same = segments[:, :, None] == segments[:, None, :]
    return einsum_gqa(q, k, v, (same & causal(S, S))[:, None, None])


def rope_model(x, wq, wk, wv):
    """Projections, rotary embedding, norms of queries and keys, GQA."""
    q, k, v = (x @ wq).reshape(B, S, H, 4), (x @ wk).reshape(B, S, K, 4), (x @ wv).reshape(B, S, K, F)
    norm = lambda t: t * jax.lax.rsqrt(jnp.mean(t * t, -1, keepdims=True) + 1e-6)
    angle = jnp.arange(S, dtype=jnp.float32)[:, None] * jnp.asarray([1.0, 0.1])
    cos, sin = (f(jnp.concatenate([angle, angle], -1))[None, :, None] for f in (jnp.cos, jnp.sin))
    turn = lambda t: jnp.concatenate([-t[..., 2:], t[..., :2]], -1)
    rope = lambda t: t * cos + turn(t) * sin
    q, k = rope(norm(q)), rope(norm(k))
    s = jnp.einsum("bskgd,btkd->bkgst", q.reshape(B, S, K, G, 4), k) * 0.5
    p = jax.nn.softmax(jnp.where(causal(S, S), s, NEG), axis=-1)
    return jnp.einsum("bkgst,btkd->bskgd", p, v).reshape(B, S, H * F)


def bf16_f32_softmax(q, k, v):
    s = jnp.einsum("bskgd,btkd->bkgst", grouped(q), k, preferred_element_type=jnp.float32) * E**-0.5
    p = jax.nn.softmax(jnp.where(causal(S, S), s, NEG), axis=-1).astype(jnp.bfloat16)
    return jnp.einsum("bkgst,btkd->bskgd", p, v)


def chunked(q, k, v):
    i, j = jnp.arange(S)[:, None] // 3, jnp.arange(S)[None, :] // 3
    return einsum_gqa(q, k, v, (i == j) & causal(S, S))


def prefix_lm(q, k, v, prefix):
    mask = causal(S, S)[None] | (jnp.arange(S)[None, None, :] < prefix[:, None, None])
    return einsum_gqa(q, k, v, mask[:, None, None])


def alibi(q, k, v, slopes):
    distance = (jnp.arange(S)[None, :] - jnp.arange(S)[:, None]).astype(jnp.float32)
    return heads_first(q, k, v, causal(S, S), slopes[:, None, None] * distance)


def symmetric_window(q, k, v):
    i, j = jnp.arange(S)[:, None], jnp.arange(S)[None, :]
    return einsum_gqa(q, k, v, (i - j <= 2) & (j - i <= 2))


def positions_argument(q, k, v, qpos, kpos):
    return einsum_gqa(q, k, v, (kpos[:, None, :] <= qpos[:, :, None])[:, None, None])


def empty_rows(fill):
    return lambda q, k, v: einsum_gqa(q, k, v, causal(S, S, -2), fill)


def flash_guard(q, k, v):
    return heads_first(q, k, v, causal(S, S, -2), safe=True)


def sq_first(q, k, v):
    """[S,B,H,E], sequence first, and probabilities on the left of v."""
    q, k, v = (jnp.swapaxes(t, 0, 1) for t in (q, k, v))
    s = jnp.einsum("sbhd,tbhd->bhst", q, k) * E**-0.5
    return jnp.einsum("bhst,tbhd->sbhd", jax.nn.softmax(s, axis=-1), v)


def no_batch(q, k, v):
    return jax.vmap(lambda q, k, v: jax.nn.softmax(q @ k.T, axis=-1) @ v, (1, 1, 1), 1)(q[0], k[0], v[0])


def mqa(q, k, v):
    s = jnp.einsum("bshd,btd->bhst", q, k[:, :, 0]) * E**-0.5
    return jnp.einsum("bhst,btd->bshd", jax.nn.softmax(s, axis=-1), v[:, :, 0])


# What must not be raised.

def no_max(q, k, v):
    s = jnp.einsum("bshd,bthd->bhst", q, k) * E**-0.5
    e = jnp.exp(s)
    return jnp.einsum("bhst,bthd->bshd", e / jnp.sum(e, -1, keepdims=True), v)


def wrong_sum(q, k, v):
    """The sum runs over the queries."""
    s = jnp.einsum("bshd,bthd->bhst", q, k) * E**-0.5
    e = jnp.exp(s - jnp.max(s, -1, keepdims=True))
    return jnp.einsum("bhst,bthd->bshd", e / jnp.sum(e, -2, keepdims=True), v)


def softmax_over_queries(q, k, v):
    s = jnp.einsum("bshd,bthd->bhst", q, k) * E**-0.5
    return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(s, axis=-2), v)


def weak_fill(q, k, v):
    return einsum_gqa(q, k, v, causal(S, S), -3.0)


def keeps_probabilities(q, k, v):
    s = jnp.einsum("bshd,bthd->bhst", q, k) * E**-0.5
    p = jax.nn.softmax(s, axis=-1)
    return jnp.einsum("bhst,bthd->bshd", p, v), p


def gradient(q, k, v):
    return jax.grad(lambda q: jnp.sum(einsum_gqa(q, k, v, causal(S, S)) ** 2))(q)


def scaled_by_key(q, k, v):
    s = jnp.einsum("bshd,bthd->bhst", q, k) * jnp.arange(1.0, S + 1)
    return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(s, axis=-1), v)


def capped_after_mask(q, k, v):
    s = jnp.einsum("bshd,bthd->bhst", q, k) * E**-0.5
    s = jnp.tanh(jnp.where(causal(S, S), s, -1e30))
    return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(s, axis=-1), v)


def two_fills(q, k, v):
    s = jnp.einsum("bshd,bthd->bhst", q, k) * E**-0.5
    s = jnp.where(causal(S, S), jnp.where(causal(S, S, -2), s, -1e20), -1e30)
    return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(s, axis=-1), v)


same = qkv(h=H, k=H)
VARIANTS = {
    "dpa_causal": (dpa_named(is_causal=True), qkv_same(), "causal, rows without keys give mean"),
    "dpa_cross": (dpa_named(), qkv_same(t=T), "scale 0.447214"),
    "dpa_mask_bias": (dpa_named("mask", "bias"), (*qkv_same(t=T), bools(B, 1, S, T), array(1, H, S, T)), "bias, mask, rows without keys give mean"),
    "dpa_key_mask": (dpa_named("mask"), (*qkv_same(t=T), bools(B, 1, 1, T)), "mask"),
    "dpa_window": (dpa_named(local_window_size=(2, 1)), qkv_same(), "causal, window 4"),
    "dpa_window_causal": (dpa_named(local_window_size=3, is_causal=True), qkv_same(), "causal, window 4"),
    "dpa_lengths": (dpa_named("query_seq_lengths", "key_value_seq_lengths", is_causal=True), (*qkv_same(), ints(1, S, B), ints(1, S, B)), "causal, segments"),
    "dpa_bf16": (dpa_named(is_causal=True), qkv_same(dtype="bfloat16"), "causal"),
    "einsum_gqa": (lambda q, k, v: einsum_gqa(q, k, v, causal(S, S)), qkv(), "causal"),
    "gpt2": (lambda q, k, v: heads_first(q, k, v, jnp.tril(jnp.ones((S, S), bool)), fill=-1e10), qkv(), "causal"),
    "gemma": (gemma, qkv(), "softcap 2, causal, window 4"),
    "bert": (bert, (array(B, S, 17), array(17, H * E), array(17, H * E), array(17, H * E), bools(B, S)), "mask, rows without keys give mean"),
    "additive_inf": (additive(-jnp.inf), (*same, bools(B, S)), "mask"),
    "additive_1e9": (additive(-1e9), (*same, bools(B, S)), "bias"),
    "divide_after": (divide_after, same, "causal"),
    "torch_style": (torch_style, qkv(), "causal, rows without keys give zero"),
    "decode": (decode, (*qkv(s=1, t=T), jnp.int32(4)), "causal"),
    "decode_cache": (decode_cache, (array(B, 1, 17), array(17, H * E), array(17, K * E), array(17, K * F), array(B, T, K, E), array(B, T, K, F), jnp.int32(4)), "causal"),
    "flax_decode": (flax_decode, (*qkv(s=1, t=T), jnp.int32(4)), "causal, rows without keys give mean"),
    "buffer_mask": (buffer_mask, qkv(t=T), "causal"),
    "packed": (packed, (*qkv(), ints(0, 3, B, S)), "causal, segments"),
    "rope_model": (rope_model, (array(B, S, 17), array(17, H * 4), array(17, K * 4), array(17, K * F)), "causal"),
    "bf16_f32_softmax": (bf16_f32_softmax, qkv(dtype="bfloat16"), "causal"),
    "chunked": (chunked, qkv(), "causal, segments"),
    "prefix_lm": (prefix_lm, (*qkv(), ints(1, S, B)), "mask"),
    "alibi": (alibi, (*qkv(), array(H)), "bias, causal"),
    "symmetric_window": (symmetric_window, qkv(), "causal, window 5"),
    "positions_argument": (positions_argument, (*qkv(t=T), ints(0, 9, B, S), ints(0, 9, B, T)), "causal"),
    "empty_nan": (empty_rows(-jnp.inf), qkv(), "causal"),
    "empty_mean": (empty_rows(-1e30), qkv(), "causal, rows without keys give mean"),
    "flash_guard": (flash_guard, qkv(), "causal, rows without keys give zero"),
    "sq_first": (sq_first, same, "scale"),
    "no_batch": (no_batch, same, "scale 1"),
    "mqa": (mqa, qkv(k=1), "scale"),
}
NEAR_MISSES = {
    "no_max": (no_max, same, "exponential of scores from which no maximum was subtracted"),
    "wrong_sum": (wrong_sum, same, "division by a sum that is not that of the exponentials over the keys"),
    "softmax_over_queries": (softmax_over_queries, same, "a softmax over other dims than the product contracts"),
    "weak_fill": (weak_fill, qkv(), "the fill -3 is not negative enough to be a mask"),
    "keeps_probabilities": (keeps_probabilities, same, "scores or probabilities are also used elsewhere, as by a gradient"),
    "gradient": (gradient, qkv(), "scores or probabilities are also used elsewhere, as by a gradient"),
    "scaled_by_key": (scaled_by_key, same, "scores times what is no constant"),
    "capped_after_mask": (capped_after_mask, same, "a mask before the softcap"),
    "two_fills": (two_fills, same, "masks with different fill values"),
}
