# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of docs/Benchmarks-GPU-kernels.md."""
from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from kernel_runner import DTYPES
from test_form_kernels import formed
from tsp.blocks import rope


@dataclasses.dataclass(frozen=True)
class Variant:
    """A kernel in tensor form: its values as (shape, dtype), and the work of a product or of attention."""
    title: str
    body: str
    inputs: tuple
    outputs: tuple
    flops: float = 0.0
    tied: tuple = ()

    @property
    def bytes(self) -> float:
        return sum(math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize for shape, dtype in self.inputs + self.outputs)

    def text(self, name: str) -> str:
        arguments = ", ".join(f"%arg{i}: {tensor(*value)}" for i, value in enumerate(self.inputs))
        results = ", ".join(tensor(*value) for value in self.outputs)
        tied = ", ".join(map(str, self.tied or [-1] * len(self.outputs)))
        return f"func.func private @{name}({arguments}) -> ({results}) attributes {{tsp.kernel, tsp.tied = array<i64: {tied}>}} {{\n{self.body}}}\n"


def tensor(shape: tuple[int, ...], dtype: str) -> str:
    return f"tensor<{'x'.join([*map(str, shape), dtype])}>"


def product(m: int, n: int, k: int, dtype: str, rows_of_weights: bool = False) -> Variant:
    values = ((m, k), dtype), ((n, k) if rows_of_weights else (k, n), dtype)
    x, w, y = tensor(*values[0]), tensor(*values[1]), tensor((m, n), dtype)
    body = f"  %r = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [{1 if rows_of_weights else 0}] : ({x}, {w}) -> {y}\n  return %r : {y}\n"
    return Variant(f"product {m} x {n} x {k} {dtype}", body, values, (((m, n), dtype),), 2.0 * m * n * k)


def attention(tokens: int, heads: int, kv_heads: int, width: int, dtype: str, causal: bool = False) -> Variant:
    q, k, lse = (1, tokens, heads, width), (1, tokens, kv_heads, width), (1, tokens, heads)
    types, positions = (tensor(q, dtype), tensor(k, dtype), tensor(lse, "f32")), tensor((tokens,), "i32")
    clause, mask = (f" positions(%arg3, %arg4 : {positions}, {positions})", "causal, ") if causal else ("", "")
    body = (f"  %o, %l = tsp.sdpa %arg0, %arg1, %arg2{clause} {{{mask}scale = {width ** -0.5}}}\n"
            f"    : ({types[0]}, {types[1]}, {types[1]}) -> ({types[0]}, {types[2]})\n  return %o, %l : {types[0]}, {types[2]}\n")
    return Variant(f"{'causal ' * causal}attention {tokens} tokens, {heads}/{kv_heads} heads of {width} {dtype}", body,
                   ((q, dtype), (k, dtype), (k, dtype), *[((tokens,), "i32")] * (2 * causal)), ((q, dtype), (lse, "f32")),
                   4.0 * tokens * tokens * heads * width / (1 + causal))


def elementwise(rows: int, width: int, dtype: str) -> Variant:
    t = tensor((rows, width), dtype)
    body = f"  %0 = stablehlo.logistic %arg0 : {t}\n  %1 = stablehlo.multiply %arg0, %0 : {t}\n  %2 = stablehlo.multiply %1, %arg1 : {t}\n  return %2 : {t}\n"
    value = ((rows, width), dtype)
    return Variant(f"gated activation {rows} x {width} {dtype}", body, (value, value), (value,))


def norm(rows: int, width: int) -> Variant:
    t, r, s = tensor((rows, width), "f32"), tensor((rows,), "f32"), tensor((), "f32")
    body = f"""  %zero = stablehlo.constant dense<0.0> : {s}
  %eps = stablehlo.constant dense<1.0e-05> : {r}
  %0 = stablehlo.multiply %arg0, %arg0 : {t}
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : ({t}, {s}) -> {r}
  %2 = stablehlo.add %1, %eps : {r}
  %3 = stablehlo.rsqrt %2 : {r}
  %4 = stablehlo.broadcast_in_dim %3, dims = [0] : ({r}) -> {t}
  %5 = stablehlo.multiply %arg0, %4 : {t}
  return %5 : {t}
"""
    return Variant(f"norm of rows {rows} x {width} f32", body, (((rows, width), "f32"),), (((rows, width), "f32"),))


def transpose(rows: int, width: int, dtype: str) -> Variant:
    before, after = tensor((rows, width), dtype), tensor((width, rows), dtype)
    body = f"  %0 = stablehlo.transpose %arg0, dims = [1, 0] : ({before}) -> {after}\n  return %0 : {after}\n"
    return Variant(f"transpose {rows} x {width} {dtype}", body, (((rows, width), dtype),), (((width, rows), dtype),))


def values_of(types: str) -> tuple:
    return tuple((tuple(map(int, dims.split("x")[:-1])), dtype) for dims, dtype in re.findall(r"tensor<((?:\d+x)*)(\w+)>", types))


def of_program(title: str, op: str, function: Callable[..., Any], *arguments: tuple[tuple[int, ...], str]) -> Variant:
    """Of the kernels of a program the one named after an op."""
    _, kernels = formed(function, [jax.ShapeDtypeStruct(shape, DTYPES[dtype]) for shape, dtype in arguments])
    [text] = [kernel for kernel in kernels if f"@k_{op}_" in kernel]
    inputs, outputs, tied, body = re.search(r"\((.*?)\) -> (.*?) attributes .*?tsp\.tied = array<i64: (.*?)>\} \{\n(.*)  \}\n$", text, re.DOTALL).groups()
    return Variant(title, body, values_of(inputs), values_of(outputs), tied=tuple(map(int, tied.split(", "))))


def merge(parts: jax.Array, lse: jax.Array) -> jax.Array:
    """Attention over parts of the keys as one, as tsp-split-attention has it."""
    lse = jnp.broadcast_to(lse[..., None], parts.shape)
    top = jnp.max(lse, axis=0)
    weights = jnp.exp(lse - jnp.where(jnp.isneginf(top), 0, top))
    return (jnp.sum(parts * weights, axis=0) / jnp.sum(weights, axis=0)).astype(jnp.bfloat16)


PRODUCTS = [product(4096, 4096, 4096, "bf16"), product(512, 1536, 576, "bf16"), product(512, 576, 1536, "bf16"),
            product(512, 49152, 576, "bf16", rows_of_weights=True), product(4096, 4096, 4096, "f16"), product(1, 14336, 4096, "bf16"),
            product(2048, 2048, 2048, "f32")]
ATTENTIONS = [attention(4096, 16, 16, 64, "bf16"), attention(4096, 32, 8, 128, "bf16"), attention(2048, 8, 8, 256, "bf16"),
              attention(4096, 32, 8, 128, "bf16", causal=True), attention(512, 9, 3, 64, "f32")]
# Those whose traffic is looked at.
TENSOR_CORES = PRODUCTS[:5] + ATTENTIONS[:3]


@functools.cache
def all_variants() -> list[Variant]:
    others = [elementwise(4096, 4096, "bf16"), norm(4096, 4096), transpose(4096, 4096, "bf16"),
              of_program("softmax of rows 4096 x 4096 f32", "divide", functools.partial(jax.nn.softmax, axis=-1), ((4096, 4096), "f32")),
              of_program("rotary 4096 tokens, 32 heads of 128 bf16", "convert", lambda x, i: rope(x, i, 1e4), ((1, 4096, 32, 128), "bf16"), ((1, 4096), "i32")),
              of_program("merge of 8 parts, 32 heads of 128 bf16", "convert", merge, ((8, 1, 32, 128), "f32"), ((8, 1, 32), "f32")),
              of_program("gather of 4096 of 49152 rows of 4096 bf16", "gather", lambda table, i: table[i], ((49152, 4096), "bf16"), ((4096,), "i32")),
              of_program("scatter of 4096 to 49152 rows of 1024 f32", "scatter", lambda table, i, x: table.at[i].add(x),
                         ((49152, 1024), "f32"), ((4096,), "i32"), ((4096, 1024), "f32")),
              of_program("sort of rows 64 x 4096 f32", "sort", functools.partial(jnp.sort, axis=-1), ((64, 4096), "f32")),
              of_program("8 greatest of rows 64 x 49152 f32", "top_k", lambda x: jax.lax.top_k(x, 8), ((64, 49152), "f32"))]
    return PRODUCTS + ATTENTIONS + others
