# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tsp.attention and tsp.gated_mlp, written by hand, compiled and run for several ranks."""
import subprocess

import numpy as np
import pytest

import tsp

SHAPES = {"wq": (16, 24), "wk": (16, 12), "wv": (16, 15), "wo": (30, 16), "wg": (16, 44), "wu": (16, 44), "wd": (44, 16)}
X = (2, 9, 16)


def tensor(shape):
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def program(ranks):
    weights = ", ".join(f'%{name}: {tensor(shape)} {{tsp.kind = "parameter", tsp.name = "{name}"}}' for name, shape in SHAPES.items())
    types = {name: tensor(shape) for name, shape in SHAPES.items()}
    return f"""
module attributes {{tsp.mesh = #tsp.mesh<["t"] sizes [{ranks}]>}} {{
func.func public @main(%x: {tensor(X)} {{tsp.name = "x", tsp.kind = "input"}}, {weights}) -> {tensor(X)} {{
  %a = tsp.attention %x, %wq, %wk, %wv, %wo over "t" {{heads = 6 : i64, kv_heads = 3 : i64, causal, window = 5 : i64}}
      : ({tensor(X)}, {types["wq"]}, {types["wk"]}, {types["wv"]}, {types["wo"]}) -> {tensor(X)}
  %h = stablehlo.add %x, %a : {tensor(X)}
  %m = tsp.gated_mlp %h, %wg, %wu, %wd over "t" : ({tensor(X)}, {types["wg"]}, {types["wu"]}, {types["wd"]}) -> {tensor(X)}
  %y = stablehlo.add %h, %m : {tensor(X)}
  return %y : {tensor(X)}
}}
}}
"""


def reference(x, w):
    """The formulas of both ops in f64."""
    q = (x @ w["wq"]).reshape(2, 9, 6, 4)
    k, v = ((x @ w[name]).reshape(2, 9, 3, width).repeat(2, 2) for name, width in (("wk", 4), ("wv", 5)))
    i, j = np.arange(9)[:, None], np.arange(9)[None]
    s = np.where((j <= i) & (i - j < 5), np.einsum("bshd,bthd->bhst", q, k) / 2, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    h = x + np.einsum("bhst,bthd->bshd", p, v).reshape(2, 9, 30) @ w["wo"]
    gate = h @ w["wg"]
    return h + (gate / (1 + np.exp(-gate)) * (h @ w["wu"])) @ w["wd"]


@pytest.mark.parametrize("strategy", ["tsp", "tp"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_blocks_run(tmp_path, ranks, strategy):
    try:
        compiler = tsp.find_tool("tsp-compile")
    except FileNotFoundError:
        pytest.skip("tsp-compile is not built")
    random = np.random.default_rng(0)
    w = {name: (random.standard_normal(shape) / 4).astype(np.float32) for name, shape in SHAPES.items()}
    x = random.standard_normal(X).astype(np.float32)
    tsp.save_tensors(tmp_path / "w.safetensors", w)
    np.savez(tmp_path / "in.npz", x=x)
    (tmp_path / "blocks.mlir").write_text(program(ranks))
    subprocess.run([compiler, tmp_path / "blocks.mlir", "-o", tmp_path / "blocks", f"--strategy={strategy}"], check=True)
    subprocess.run([tmp_path / "blocks", f"--args={tmp_path / 'w.safetensors'}", f"--args={tmp_path / 'in.npz'}", f"--out={tmp_path / 'out.npz'}"], check=True)
    with np.load(tmp_path / "out.npz") as results:
        got = results[results.files[0]]
    want = reference(x.astype(np.float64), {name: value.astype(np.float64) for name, value in w.items()})
    assert np.linalg.norm(got - want) <= 1e-6 * np.linalg.norm(want)
