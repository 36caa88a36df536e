# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a workload of build.py is measured against: the same computation by torch and by JAX, as far as this machine has them.

A peer is a function (work, arguments, device) -> call, where a call runs once to its end on the device and returns a function that
fetches the result as float32. A peer raises Unavailable where the library, the device or its form of the workload is missing.
"""
from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np

Work = dict[str, Any]
Call = Callable[[], Callable[[], np.ndarray]]
Peer = Callable[[Work, dict[str, np.ndarray], str], Call]

# JAX would take most of the memory at once, and the executables under test and torch need theirs.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


class Unavailable(Exception):
    pass


def _leaf(name: str) -> str:
    """wq of layer['wq']"""
    return re.findall(r"\w+", name)[-1]


def _torch(device: str) -> Any:
    try:
        import torch
    except ImportError as error:
        raise Unavailable(str(error)) from error
    if device == "cuda" and not torch.cuda.is_available():
        raise Unavailable("torch finds no GPU")
    return torch


def _torch_peer(function: Callable[..., Any], work: Work, arguments: dict[str, np.ndarray], device: str, context: Callable[[], Any]) -> Call:
    """`function(torch, work, *values)` under `context()`; without gradients."""
    torch = _torch(device)
    types = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
    values = {name: torch.from_numpy(a.astype(np.float32)).to(device, types[a.dtype.name]) for name, a in arguments.items()}

    def call() -> Callable[[], np.ndarray]:
        with torch.no_grad(), context():
            result = function(torch, work, values)
        if device == "cuda":
            torch.cuda.synchronize()
        return lambda: result.float().cpu().numpy()
    return call


def _torch_gemm(library: str) -> Peer:
    def peer(work: Work, arguments: dict[str, np.ndarray], device: str) -> Call:
        torch = _torch(device)

        @contextlib.contextmanager
        def by_library() -> Any:
            before = torch.backends.cuda.preferred_blas_library(library)
            try:
                yield
            finally:
                torch.backends.cuda.preferred_blas_library(before)

        def product(_: Any, __: Work, values: dict[str, Any]) -> Any:
            x, w = values.values()
            return x @ w
        return _torch_peer(product, work, arguments, device, by_library if device == "cuda" else contextlib.nullcontext)
    return peer


def _sdpa(torch: Any, q: Any, k: Any, v: Any, causal: bool) -> Any:
    """Attention of [B,S,H,E] on [B,S,K,E]."""
    q, k, v = (value.transpose(1, 2) for value in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1]).transpose(1, 2)


def _torch_attention(backend: str | None) -> Peer:
    def peer(work: Work, arguments: dict[str, np.ndarray], device: str) -> Call:
        torch = _torch(device)

        def only() -> Any:
            from torch.nn.attention import SDPBackend, sdpa_kernel
            return sdpa_kernel(getattr(SDPBackend, backend)) if backend else contextlib.nullcontext()
        return _torch_peer(lambda torch, work, values: _sdpa(torch, *values.values(), work["causal"]), work, arguments, device, only)
    return peer


def _torch_block(torch: Any, work: Work, values: dict[str, Any]) -> Any:
    """A layer of tsp.models.smollm2 on x [B,S,h], written as one would in torch."""
    config = work["config"]
    layer = {_leaf(name): value for name, value in values.items()}
    x = values[work["input"]]
    batch, length, width = x.shape
    size = width // config["heads"]

    def norm(x: Any, weight: Any) -> Any:
        return torch.nn.functional.rms_norm(x, (width,), weight, config["epsilon"])

    angles = torch.outer(torch.arange(length, device=x.device, dtype=torch.float32),
                         config["theta"] ** (-torch.arange(size // 2, device=x.device, dtype=torch.float32) / (size // 2)))
    cos, sin = angles.cos()[:, None, :], angles.sin()[:, None, :]

    def rope(x: Any) -> Any:
        a, b = x.float().chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).to(x.dtype)

    y = norm(x, layer["ln1"])
    q, k, v = ((y @ layer[name]).view(batch, length, -1, size) for name in ("wq", "wk", "wv"))
    x = x + _sdpa(torch, rope(q), rope(k), v, True).reshape(batch, length, -1) @ layer["wo"]
    y = norm(x, layer["ln2"])
    return x + (torch.nn.functional.silu(y @ layer["wg"]) * (y @ layer["wu"])) @ layer["wd"]


def _eager_block(work: Work, arguments: dict[str, np.ndarray], device: str) -> Call:
    return _torch_peer(_torch_block, work, arguments, device, contextlib.nullcontext)


def _compiled_block(work: Work, arguments: dict[str, np.ndarray], device: str) -> Call:
    torch = _torch(device)
    compiled = torch.compile(lambda values: _torch_block(torch, work, values))
    return _torch_peer(lambda torch, work, values: compiled(values), work, arguments, device, contextlib.nullcontext)


# Dims of a layer's weights that tensor parallelism shards.
_TENSOR_PARALLEL = {"wq": 1, "wk": 1, "wv": 1, "wo": 0, "wg": 1, "wu": 1, "wd": 0}


def _jax(strategy: str) -> Peer:
    """The compiled function by XLA; for several ranks with weights sharded as tensor parallelism does, and tokens whole ("tp") or
    sharded too ("tp+sp")."""
    def peer(work: Work, arguments: dict[str, np.ndarray], device: str) -> Call:
        try:
            import jax
            from jax.sharding import Mesh, NamedSharding, PartitionSpec
            devices = jax.devices({"cuda": "gpu"}.get(device, device))[: work["ranks"]]
        except (ImportError, RuntimeError) as error:
            raise Unavailable(str(error)) from error
        if len(devices) < work["ranks"]:
            raise Unavailable(f"{len(devices)} devices for {work['ranks']} ranks")
        import build
        made = build.workloads([work["ranks"]])[work["name"]]
        mesh = Mesh(np.array(devices), ("t",))

        def spec(name: str, rank: int) -> Any:
            dim = _TENSOR_PARALLEL.get(_leaf(name)) if work["ranks"] > 1 else None
            if name == work["input"] and strategy == "tp+sp":
                dim = 1
            return NamedSharding(mesh, PartitionSpec(*("t" if i == dim else None for i in range(rank))))
        values = [jax.device_put(a, spec(name, a.ndim)) for name, a in arguments.items()]
        values = jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(made["args"]), values)
        function = jax.jit(made["fn"], out_shardings=spec(work["input"], made["out_rank"]))

        def call() -> Callable[[], np.ndarray]:
            result = jax.block_until_ready(function(*values))
            return lambda: np.asarray(result, np.float32)
        return call
    return peer


def peers(work: Work) -> dict[str, Peer]:
    """Name -> peer of a workload. torch's have one rank."""
    if work["ranks"] > 1:
        return {"JAX tp": _jax("tp"), "JAX tp+sp": _jax("tp+sp")}
    torch: dict[str, dict[str, Peer]] = {
        "gemm": {"cuBLASLt": _torch_gemm("cublaslt"), "cuBLAS": _torch_gemm("cublas")},
        "attention": {"cuDNN": _torch_attention("CUDNN_ATTENTION"), "FlashAttention": _torch_attention("FLASH_ATTENTION"),
                      "torch's choice": _torch_attention(None)},
        "block": {"torch": _eager_block, "torch.compile": _compiled_block},
    }
    return {**torch[work["kind"]], "JAX": _jax("tp")}
