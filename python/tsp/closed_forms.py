# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes that a rank receives in a forward pass, by formula.

D ranks, B batch, S tokens, h width, q and kv the widths of all query and KV heads,
f FFN width, V vocabulary, e bytes of an element. To the byte where D divides the
elements of what moves.
"""
from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Sizes of a Llama-like model and its input."""
    layers: int
    width: int  # h
    q: int
    kv: int
    ffn: int  # f
    vocab: int  # V
    batch: int = 1  # B
    tokens: int = 1  # S
    element: int = 4  # e
    id_bytes: int = 4


def _received(ranks: int, whole: int) -> int:
    """(D-1)/D of a value: what a rank gets of what the others hold."""
    return whole * (ranks - 1) // ranks


def tsp_attention(ranks: int, s: Sizes) -> int:
    """(D-1)/D (2 h q + 2 h kv) e of weights and (D-1)/D 2 B S kv e of keys and values."""
    return _received(ranks, (2 * s.width * s.q + 2 * s.width * s.kv) * s.element) + _received(ranks, 2 * s.batch * s.tokens * s.kv * s.element)


def tsp_gated_mlp(ranks: int, s: Sizes) -> int:
    """(D-1)/D 3 h f e."""
    return _received(ranks, 3 * s.width * s.ffn * s.element)


def tsp_head(ranks: int, s: Sizes) -> int:
    """(D-1)/D V h e."""
    return _received(ranks, s.vocab * s.width * s.element)


def tsp_embedding(ranks: int, s: Sizes) -> int:
    """(D-1)/D B S (h e + id bytes): ids gathered, looked up where the rows are, reduce-scattered."""
    return _received(ranks, s.batch * s.tokens * s.width * s.element) + _received(ranks, s.batch * s.tokens * s.id_bytes)


def tsp_forward(ranks: int, s: Sizes) -> int:
    """Embedding, layers and head under the strategy `tsp`."""
    return tsp_embedding(ranks, s) + s.layers * (tsp_attention(ranks, s) + tsp_gated_mlp(ranks, s)) + tsp_head(ranks, s)


def tp_forward(ranks: int, s: Sizes) -> int:
    """The same under `tp`: an all-reduce of B S h after the embedding, after each
    attention and after each MLP, 2 (D-1)/D of it received."""
    return (1 + 2 * s.layers) * 2 * s.batch * s.tokens * s.width * s.element * (ranks - 1) // ranks
