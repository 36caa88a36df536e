# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All cases by name."""
from __future__ import annotations

import functools

from Integration import encoders, llama
from Integration.case import Case, training

_FORWARD = {
    "llama_block": llama.block, "llama_quantised_block": llama.quantised_block, "llama_attention": llama.attention_only,
    "llama_mlp": llama.mlp_only, "llama": llama.model,
    "llama_top_tokens": llama.top_tokens, "llama_loss": llama.loss, "llama_scan": llama.scan, "llama_packed": llama.packed,
    "llama_repeated_heads": llama.repeated_heads, "llama_library_attention": llama.library_attention, "llama_composites": llama.composites,
    "llama_decode_step": llama.decode_step, "llama_generate": llama.generate, "bert": encoders.bert, "gpt2": encoders.gpt2,
    "gemma": encoders.gemma, "moe_dense": encoders.moe_dense, "moe_dispatch": encoders.moe_dispatch,
}
_TRAINED = ["llama_block", "llama_loss", "llama_scan", "llama_packed", "bert", "gpt2", "gemma", "moe_dense", "moe_dispatch"]

FORWARD = tuple(_FORWARD)
TRAINING = tuple(f"{name}_grad" for name in _TRAINED)


@functools.cache
def case(name: str) -> Case:
    """The case of that name; those in TRAINING are value_and_grad of another."""
    if name in TRAINING:
        return training(_FORWARD[name.removesuffix("_grad")]())
    return _FORWARD[name]()
