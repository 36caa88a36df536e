# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs cut into kernels, run launch by launch, against JAX.

A result that may share the buffer of an argument always does here, on a copy of it, so that a wrong `tsp.tied` shows.
"""
import re
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kernel_runner import DTYPES, TSP_OPT, aligned, available, compile_kernels

pytestmark = pytest.mark.skipif(not available(), reason="needs tsp-opt and clang-22")
IMPORT = ["--tsp-inline-calls", "--symbol-dce", "--tsp-drop-annotations", "--canonicalize", "--cse"]


def parse_type(text):
    *dims, dtype = text[len("tensor<"):-1].split("x")
    return [int(d) for d in dims], DTYPES[dtype]


def formed(function, arguments):
    """A function after tsp-form-kernels: its text, and that of each kernel."""
    text = jax.jit(function).lower(*arguments).as_text()
    text = subprocess.run([TSP_OPT, *IMPORT, "--tsp-form-kernels", "--cse", "-"], input=text, check=True, capture_output=True, text=True).stdout
    return text, re.findall(r"  func\.func private @.*?\n  }\n", text, re.S)


class Program:
    """A function of one block after tsp-form-kernels, with its compiled kernels."""

    def __init__(self, function, arguments, directory):
        text, kernels = formed(function, arguments)
        self.host = text.split("func.func public @main(", 1)[1].split("\n  }", 1)[0].splitlines()
        self.tied = {name: ([int(i) for i in tied.split(",")], must) for name, must, tied in
                     re.findall(r"func private @([\w.]+)\(.*?tsp\.kernel, (tsp\.must_tie, )?tsp\.tied = array<i64: ([-\d, ]+)>", "".join(kernels))}
        lower = ["--tsp-lower-gemm-kernels", "--tsp-lower-sdpa-kernels", "--tsp-lower-fused-kernels"]
        self.kernels = compile_kernels("".join(kernels), lower, directory)

    def launches(self):
        return [re.search(r"tsp\.launch @([\w.]+)", line)[1] for line in self.host if "tsp.launch" in line]

    def run(self, arguments):
        values = {f"%arg{i}": aligned(np.asarray(a)) for i, a in enumerate(jax.tree_util.tree_leaves(arguments))}
        for line in self.host[1:]:
            if match := re.match(r"\s*return (.*?) :", line):
                return [values[name.strip()] for name in match[1].split(",")]
            names, op = line.strip().split(" = ", 1)
            types = [parse_type(t) for t in re.findall(r"tensor<[^>]*>", op.rsplit("->", 1)[-1])]
            if match := re.match(r"tsp\.launch @([\w.]+)\((.*?)\)", op):
                results = self.launch(match[1], [values[v.strip()] for v in match[2].split(",") if v.strip()], types)
                base = names.split(":")[0]
                values.update({base if len(results) == 1 else f"{base}#{i}": r for i, r in enumerate(results)})
            elif match := re.match(r"stablehlo\.reshape (%\S+)", op):
                values[names] = values[match[1]].reshape(types[0][0])
            elif match := re.match(r"stablehlo\.constant dense<(.*)> :", op):
                shape, dtype = types[-1]
                values[names] = aligned(np.broadcast_to(np.array(eval(match[1], {"true": True, "false": False})), shape).astype(dtype))
            else:
                raise ValueError(f"the host does not know: {line}")

    def launch(self, name, inputs, types):
        kernel, (tied, _) = self.kernels[name], self.tied[name]
        inputs, outputs = list(inputs), []
        for (shape, dtype), argument in zip(types, tied):
            if argument >= 0:
                inputs[argument] = aligned(inputs[argument])
                outputs.append(inputs[argument])
            else:
                outputs.append(aligned(np.zeros(shape, dtype)))
                outputs[-1].reshape(-1).view(np.uint8)[...] = 0xFF
        kernel.run(inputs + outputs, cuts=[kernel.grid // 3])
        return outputs


def normal(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(dtype)


def rms_norm(x, w):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * w


def layer_norm(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)


def rotate_half(x, sin, cos):
    a, b = jnp.split(x, 2, axis=-1)
    return x * cos + jnp.concatenate([-b, a], -1) * sin


def gated_mlp(x, wg, wu, wd):
    return x + (jax.nn.silu(x @ wg) * (x @ wu)) @ wd


def mixed_mlp(x, w, v):
    h = jax.nn.gelu((x @ w.astype(jnp.float32)).reshape(7, 3, 11).transpose(1, 0, 2))
    return jnp.einsum("abc,cd->abd", h, v) + 1


def cache_step(cache, new, at):
    cache = jax.lax.dynamic_update_slice(cache, jnp.tanh(new)[None], (at, 0))
    return cache, cache.sum(axis=0)


def shift(x):
    return jax.lax.dynamic_update_slice(x, x[:-1] * 2, (1,))


def embed_and_loss(table, ids, targets):
    x = table[ids].astype(jnp.float32)
    logits = x @ table.astype(jnp.float32).T
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), targets[:, None], axis=-1).mean()


def both_dims(x):
    return x / x.sum(0, keepdims=True) + x.max(1, keepdims=True), x.T.reshape(-1)[::2]


# function, arguments, number of launches (None: not looked at)
CASES = {
    "rms_norm": (rms_norm, (normal(33, 57), normal(57)), 1),
    "rms_norm_one_row": (rms_norm, (normal(1, 577), normal(577)), 1),
    "layer_norm": (layer_norm, (normal(3, 19, 41),), 1),
    "softmax": (lambda x: jax.nn.softmax(x, axis=-1), (normal(37, 53),), 1),
    "softmax_first": (lambda x: jax.nn.softmax(x * 2, axis=0), (normal(37, 53),), 1),
    "rotate_half": (rotate_half, (normal(13, 5, 16), normal(13, 1, 16), normal(13, 1, 16)), 1),
    "gated_mlp": (gated_mlp, (normal(19, 23), normal(23, 31), normal(23, 31), normal(31, 23)), 3),
    "mixed_mlp": (mixed_mlp, (normal(7, 13), normal(13, 33, dtype=DTYPES["bf16"]), normal(11, 5)), None),
    "cache": (cache_step, (normal(9, 17), normal(17), np.int32(4)), None),
    "shift": (shift, (normal(29),), 1),
    "loss": (embed_and_loss, (normal(43, 8, dtype=DTYPES["bf16"]), np.arange(6, dtype=np.int32), np.arange(6, dtype=np.int32)[::-1].copy()), None),
    "both_dims": (both_dims, (normal(32, 48),), None),
}


@pytest.mark.parametrize("name", CASES)
def test_program(name, tmp_path):
    function, arguments, launches = CASES[name]
    program = Program(function, arguments, tmp_path)
    if launches is not None:
        assert len(program.launches()) == launches, program.launches()
    expected = jax.tree_util.tree_leaves(jax.jit(function)(*arguments))
    for found, wanted in zip(program.run(arguments), expected, strict=True):
        np.testing.assert_allclose(found.astype(np.float64), np.asarray(wanted).astype(np.float64), rtol=2e-5, atol=2e-5)
