# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transformer blocks as StableHLO composites with plain-JAX bodies.

A composite names what its body computes, so the compiler need not recognise it;
any other compiler takes the body. Both blocks are differentiable: their primal is
the composite, their derivative that of the body.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array


def attention(x: Array, wq: Array, wk: Array, wv: Array, wo: Array, *, heads: int, kv_heads: int | None = None, causal: bool = True,
              scale: float | None = None, rope_theta: float | None = None, window: int | None = None, softcap: float | None = None) -> Array:
    """Self-attention with its projections: softmax(mask(softcap(scale q k^T))) v wo.

    x [B,S,h]; wq [h,heads*E]; wk, wv [h,kv_heads*E]; wo [heads*E,h]; result [B,S,h].
    Query head i reads KV head i // (heads / kv_heads). The softmax is in float32 at least.
    causal     position i sees keys j <= i
    window     and, if given, only j > i - window
    scale      default E ** -0.5
    rope_theta base of rotary positions (rotate-half, positions 0..S-1); none if None
    softcap    c * tanh(s / c) of the scaled scores; none if None
    ValueError if heads do not divide, TypeError for operands of unlike types.
    """
    kv_heads = heads if kv_heads is None else kv_heads
    if heads % kv_heads or wq.shape[1] % heads or wk.shape[1] != wq.shape[1] // heads * kv_heads or wv.shape[1] != wk.shape[1]:
        raise ValueError(f"{heads} heads over {kv_heads} KV heads do not fit wq {wq.shape}, wk {wk.shape}, wv {wv.shape}")
    width = wq.shape[1] // heads
    if rope_theta is not None and width % 2:
        raise ValueError(f"rotary positions need an even head width, found {width}")
    attributes: dict[str, Any] = {"heads": heads, "kv_heads": kv_heads, "causal": causal, "scale": width ** -0.5 if scale is None else scale}
    optional = {"rope_theta": rope_theta, "window": window, "softcap": softcap}
    attributes |= {name: value for name, value in optional.items() if value is not None}
    return _composite("tsp.attention", _attention, attributes)(x, wq, wk, wv, wo)


def gated_mlp(x: Array, wg: Array, wu: Array, wd: Array, *, activation: str = "silu") -> Array:
    """Gated feed-forward block: (activation(x wg) * (x wu)) wd.

    x [B,S,h]; wg, wu [h,f]; wd [f,h]; result [B,S,h]. `activation` is one of silu,
    gelu (exact), gelu_tanh, relu; ValueError for any other.
    """
    if activation not in _ACTIVATIONS:
        raise ValueError(f"activation {activation!r}: expected one of {sorted(_ACTIVATIONS)}")
    return _composite("tsp.gated_mlp", _gated_mlp, {"activation": activation})(x, wg, wu, wd)


def wide(x: Array) -> Any:
    """The type in which norms and softmax of `x` are computed: at least float32."""
    return jnp.promote_types(x.dtype, jnp.float32)


def rope(x: Array, positions: Array, theta: float) -> Array:
    """Rotary positions, rotate-half: x [B,S,H,E], positions [S] or [B,S], base theta.
    Computed in float32 at least, result in the type of x."""
    half = x.shape[-1] // 2
    frequencies = theta ** (-jnp.arange(half, dtype=wide(x)) / half)
    angles = positions[..., None].astype(wide(x)) * frequencies
    cos = jnp.cos(angles)[..., None, :]
    sin = jnp.sin(angles)[..., None, :]
    a, b = x[..., :half].astype(wide(x)), x[..., half:].astype(wide(x))
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1).astype(x.dtype)


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "silu": jax.nn.silu, "gelu": functools.partial(jax.nn.gelu, approximate=False),
    "gelu_tanh": functools.partial(jax.nn.gelu, approximate=True), "relu": jax.nn.relu,
}


def _composite(name: str, body: Callable[..., Array], attributes: dict[str, Any]) -> Callable[..., Array]:
    plain = functools.partial(body, **attributes)
    composite = lax.composite(body, name, version=1)

    @jax.custom_jvp
    def call(*operands: Array) -> Array:
        return composite(*operands, **attributes)

    @call.defjvp
    def _derivative(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
        return jax.jvp(plain, primals, tangents)

    return call


def _attention(x: Array, wq: Array, wk: Array, wv: Array, wo: Array, *, heads: int, kv_heads: int, causal: bool, scale: float,
               rope_theta: float | None = None, window: int | None = None, softcap: float | None = None) -> Array:
    batch, length, _ = x.shape
    width = wq.shape[1] // heads
    q = (x @ wq).reshape(batch, length, heads, width)
    k = (x @ wk).reshape(batch, length, kv_heads, width)
    v = (x @ wv).reshape(batch, length, kv_heads, width)
    positions = jnp.arange(length)
    if rope_theta is not None:
        q, k = rope(q, positions, rope_theta), rope(k, positions, rope_theta)
    q = q.reshape(batch, length, kv_heads, heads // kv_heads, width)
    scores = jnp.einsum("bqkgd,btkd->bkgqt", q, k, preferred_element_type=wide(x)) * scale
    if softcap is not None:
        scores = softcap * jnp.tanh(scores / softcap)
    if causal or window is not None:
        distance = positions[:, None] - positions[None, :]
        mask = distance >= 0 if causal else jnp.full((length, length), True)
        if window is not None:
            mask = mask & (distance < window)
        scores = jnp.where(mask, scores, -1e30)
    weights = jax.nn.softmax(scores, axis=-1).astype(x.dtype)
    return jnp.einsum("bkgqt,btkd->bqkgd", weights, v).reshape(batch, length, heads * width) @ wo


def _gated_mlp(x: Array, wg: Array, wu: Array, wd: Array, *, activation: str) -> Array:
    return (_ACTIVATIONS[activation](x @ wg) * (x @ wu)) @ wd
