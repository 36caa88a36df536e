# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes that a rank receives in a forward pass, and holds, by formula.

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


def tsp_attention(ranks: int, s: Sizes, outer: int = 1) -> int:
    """(D-1)/D (2 h q + 2 h kv) e of weights and (D-1)/D 2 B S kv e of keys and values.
    With the tokens over `outer` times as many ranks as the weights, all of these for
    keys and values."""
    weights = _received(ranks, (2 * s.width * s.q + 2 * s.width * s.kv) * s.element)
    return weights + _received(ranks * outer, 2 * s.batch * s.tokens * s.kv * s.element)


def tsp_gated_mlp(ranks: int, s: Sizes) -> int:
    """(D-1)/D 3 h f e."""
    return _received(ranks, 3 * s.width * s.ffn * s.element)


def tsp_head(ranks: int, s: Sizes) -> int:
    """(D-1)/D V h e."""
    return _received(ranks, s.vocab * s.width * s.element)


def tsp_embedding(ranks: int, s: Sizes, outer: int = 1) -> int:
    """(D-1)/D of the smaller of V h e, the table streamed past the tokens, and
    B S (h e + id bytes): ids gathered, looked up where the rows are, reduce-scattered."""
    tokens = s.batch * s.tokens // outer
    rows = _received(ranks, tokens * s.width * s.element) + _received(ranks, tokens * s.id_bytes)
    return min(_received(ranks, s.vocab * s.width * s.element), rows)


def tsp_forward(ranks: int, s: Sizes, outer: int = 1) -> int:
    """Embedding, layers and head under the strategy `tsp`."""
    layer = tsp_attention(ranks, s, outer) + tsp_gated_mlp(ranks, s)
    return tsp_embedding(ranks, s, outer) + s.layers * layer + tsp_head(ranks, s)


def tsp_buffers(ranks: int, s: Sizes, steps: int, head_width: int, outer: int = 1, zigzag: bool = False) -> int:
    """What a rank holds beside its weights at the peak of `tsp_forward`, for 16-bit
    types, `steps` being those of attention's folds; all but the keys and values of
    one step's heads falls with the ranks.

    In a layer: the tokens as they came (the first layer's as a sum in f32), their
    norm, the sum of attention in f32, of two steps keys and values (of all tokens,
    and as they were sent), queries twice, the weights of two steps of attention and
    of the MLP behind it, cosines and sines. In the last MLP: the tokens, their norm
    and the sum, columns of a step, two steps' weights of it and of the head. In the
    head: logits of a step, the tokens, two steps' weights."""
    tokens, e = s.batch * s.tokens // (ranks * outer), s.element
    width = tokens * s.width
    group = 2 * s.kv // steps * e  # keys and values of a token in a step
    kv = 2 * (s.batch * s.tokens + tokens) * group
    if outer > 1:  # gathered axis by axis, the second time when they are needed
        kv = (s.batch * s.tokens + 2 * s.batch * s.tokens // outer + 2 * tokens) * group
    if zigzag:  # keys, or values, first come rank by rank
        kv += s.batch * s.tokens // outer * group // 2
    weights = 2 * (2 * s.width * s.q + 2 * s.width * s.kv) // steps * e + 2 * 3 * s.width * s.ffn // ranks * e
    layer = width * (4 + e + 4) + kv + 2 * tokens * s.q // steps * e + weights + 4 * tokens * head_width
    words = 2 * s.vocab * s.width // ranks * e
    last = width * (e + e + 4) + tokens * s.ffn // ranks * e + 2 * 3 * s.width * s.ffn // ranks * e + words
    head = tokens * s.vocab // ranks * e + width * e + words
    return max(layer, last, head)


def tp_forward(ranks: int, s: Sizes) -> int:
    """The same under `tp`: an all-reduce of B S h after the embedding, after each
    attention and after each MLP, 2 (D-1)/D of it received."""
    return (1 + 2 * s.layers) * 2 * s.batch * s.tokens * s.width * s.element * (ranks - 1) // ranks


def sp_gather_forward(ranks: int, s: Sizes) -> int:
    """Under `sp_gather` only keys and values move: (D-1)/D 2 B S kv e a layer."""
    return s.layers * _received(ranks, 2 * s.batch * s.tokens * s.kv * s.element)
