# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Llama-like models of full size, as shapes: nothing of them fits here."""
from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

import tsp
from tsp import closed_forms
from tsp.models import smollm2

CONFIGS = {
    "7B": smollm2.Config(layers=32, width=4096, heads=32, kv_heads=32, ffn=11008, vocab=32000, theta=1e4),
    "8B": smollm2.Config(layers=32, width=4096, heads=32, kv_heads=8, ffn=14336, vocab=128256, theta=5e5),
}


def forward(config: smollm2.Config, params: Any, ids: jax.Array) -> jax.Array:
    """The most likely token at every position. The layers are a list, or stacked."""
    x = params["embed"][ids]
    if isinstance(params["layers"], list):
        for layer in params["layers"]:
            x, _ = smollm2.block(config, layer, x, 0, None)
    else:
        x, _ = lax.scan(lambda x, layer: (smollm2.block(config, layer, x, 0, None)[0], None), x, params["layers"])
    return jnp.argmax(smollm2.rms_norm(x, params["norm"], config.epsilon) @ params["head"], axis=-1)


def program(config: smollm2.Config, length: int, stacked: bool = False) -> tsp.Program:
    """Forward pass over one sequence, in bf16."""
    shapes, h = smollm2.layer_shapes(config), config.width

    def shape(*dims: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(dims, jnp.bfloat16)

    if stacked:
        layers: Any = {name: shape(config.layers, *dims) for name, dims in shapes.items()}
    else:
        layers = [{name: shape(*dims) for name, dims in shapes.items()} for _ in range(config.layers)]
    params = {"embed": shape(config.vocab, h), "layers": layers, "norm": shape(h), "head": shape(h, config.vocab)}
    return tsp.export(functools.partial(forward, config), params, jax.ShapeDtypeStruct((1, length), jnp.int32), params=(0,), names=("params", "ids"))


def sizes(config: smollm2.Config, length: int) -> closed_forms.Sizes:
    """What closed forms want to know."""
    return closed_forms.Sizes(config.layers, config.width, config.heads * config.head_width, config.kv_heads * config.head_width, config.ffn, config.vocab,
                              1, length, element=2)
