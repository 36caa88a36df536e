# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fused kernels of a GPU at sizes that fill teams, tiles, widths and workspaces, beside XLA, on the emulation with its checker;
and what they cost: no spills, no bank conflicts, no memory read in vain."""
import ctypes
import json
import os

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import cuda_driver
import tsp

pytestmark = pytest.mark.skipif(not os.path.exists(cuda_driver.library_path()), reason="the emulation is not built")
BF16, F16, F32, F64 = ml_dtypes.bfloat16, np.float16, np.float32, np.float64
RANDOM = np.random.default_rng(0)


def normal(dtype, *shape):
    return RANDOM.normal(size=shape).astype(dtype)


def below(bound, *shape, dtype=np.int32):
    return RANDOM.integers(0, bound, shape).astype(dtype)


def rms_norm(x, w):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * w


def group_norm(x):
    """Sums that keep the groups, and sums that keep the channels: more loops than the rows."""
    mean = x.mean((1, 3), keepdims=True)
    return (x - mean) / (x.max(1, keepdims=True) + 10)


def rotary(x, angles):
    a, b = jnp.split(x, 2, -1)
    c, s = jnp.cos(angles), jnp.sin(angles)
    return jnp.concatenate([a * c - b * s, b * c + a * s], -1)


def matrix_product_monoid(x):
    """A reduction that is associative and not commutative: products of upper triangular 2 x 2 matrices."""
    return jax.lax.reduce((x[0], x[1]), (F32(1), F32(0)), lambda p, q: (p[0] * q[0], p[0] * q[1] + p[1]), (1,))


# name: (function, arguments, relative tolerance; 0: the same bits)
CASES = {
    "width_8": (lambda x, y: x * y + x, (normal(BF16, 512, 1024), normal(BF16, 512, 1024)), 0),
    "width_4": (lambda x, y: jnp.exp(x) * y, (normal(F32, 300, 520), normal(F32, 520)), 1e-6),
    "tail": (lambda x: x + 1, (normal(F32, 7, 1001),), 0),
    "mixed_types": (lambda x, y: (x.astype(F32) + y).astype(F16), (normal(BF16, 33, 4096), normal(F32, 33, 4096)), 0),
    "masked": (lambda x: jnp.where(jnp.arange(130)[:, None] >= jnp.arange(200), x, -1e9), (normal(F32, 3, 130, 200),), 0),
    "padded": (lambda x: jnp.pad(x, ((1, 2), (3, 5))), (normal(F32, 61, 120),), 0),
    "rotary": (rotary, (normal(F32, 2, 128, 3, 64), normal(F32, 128, 1, 32)), 4e-6),
    "embedding": (lambda table, ids: table[ids], (normal(BF16, 1000, 576), below(1000, 2, 100)), 0),
    "cache_write": (lambda cache, new, at: jax.lax.dynamic_update_slice(cache, new, (0, at, 0)),
                    (normal(BF16, 2, 64, 96), normal(BF16, 2, 1, 96), np.int64(37)), 0),
    "norm_f32": (rms_norm, (normal(F32, 37, 2048), normal(F32, 2048)), 4e-6),
    "norm_bf16": (rms_norm, (normal(BF16, 37, 576), normal(BF16, 576)), 2e-2),
    "norm_odd": (rms_norm, (normal(F32, 5, 1001), normal(F32, 1001)), 4e-6),
    "norm_short": (rms_norm, (normal(F32, 333, 64), normal(F32, 64)), 4e-6),
    "norm_long": (rms_norm, (normal(F32, 3, 40000), normal(F32, 40000)), 4e-6),
    "softmax": (lambda x: jax.nn.softmax(x, -1), (normal(F32, 65, 1000),), 4e-6),
    "softmax_f64": (lambda x: jax.nn.softmax(x, -1), (normal(F64, 9, 300),), 1e-12),
    "softmax_middle": (lambda x: jax.nn.softmax(x, 1), (normal(F32, 3, 50, 70),), 4e-6),
    "argmax": (lambda x: jnp.argmax(x, -1), (normal(F32, 4, 49152),), 0),
    "argmax_ties": (lambda x: jnp.argmax(x, -1), (below(7, 9, 1003).astype(F32),), 0),
    "columns": (lambda x: x.sum(0), (normal(F32, 512, 576),), 1e-4),
    "columns_few": (lambda x: x.max(0), (normal(F32, 1000, 5),), 0),
    "everything": (lambda x: jnp.sum(x, dtype=np.int64), (below(1000, 300, 333),), 0),
    "in_order": (matrix_product_monoid, ((1 + 0.01 * RANDOM.normal(size=(2, 6, 777))).astype(F32),), 1e-5),
    "own_loops": (group_norm, (normal(F32, 4, 30, 8, 20),), 4e-6),
    "one_block": (lambda x: x.sum(1) + x.sum(1)[::-1], (below(100, 300, 77),), 0),
    "transpose": (lambda x: x.T + 1, (normal(F32, 128, 96),), 0),
    "transpose_ragged": (lambda x, y: x.T * y, (normal(F32, 100, 77), normal(F32, 77, 100)), 0),
    "transpose_bf16": (lambda x: jnp.transpose(x, (0, 2, 1)), (normal(BF16, 3, 65, 130),), 0),
    "transpose_f64": (lambda x: jnp.transpose(x, (2, 1, 0)), (normal(F64, 40, 5, 33),), 0),
    "transpose_i8": (lambda x: x.T, (below(100, 64, 256, dtype=np.int8),), 0),
    "transpose_parts": (lambda x: jnp.concatenate([x.T, -x.T], 1)[3:], (normal(F32, 64, 80),), 0),
    "sort": (lambda x: jnp.sort(x, -1), (normal(F32, 7, 1000),), 0),
    "sort_workspace": (lambda x: jnp.sort(x), (normal(F64, 9000),), 0),
    "sort_stable": (lambda x: jnp.argsort(x, 0), (below(20, 333, 3),), 0),
    "top_k": (lambda x: jax.lax.top_k(x, 40), (normal(F32, 2, 5000),), 0),
    "cumsum": (lambda x: jnp.cumsum(x, -1), (below(100, 9, 1000),), 0),
    "cummax_columns": (lambda x: jax.lax.cummax(x, 0), (normal(F32, 300, 45),), 0),
    "cumsum_back": (lambda x: jax.lax.cumsum(x, 0, reverse=True), (below(100, 777),), 0),
    "scatter_rows": (lambda x, i, u: x.at[i].add(u), (below(100, 1000, 48), below(1000, 300), below(9, 300, 48)), 0),
    "scatter_elements": (lambda x, i, u: x.at[i].set(u), (normal(F32, 5000), below(5000, 700), normal(F32, 700)), 0),
    "scatter_float_order": (lambda x, i, u: x.at[i].add(u), (normal(F32, 10, 40), below(10, 200), normal(F32, 200, 40)), 1e-5),
    # Divided into two steps each (tsp-gpu-split-reductions).
    "split_product": (lambda x, w, r: r + x @ w, (normal(BF16, 16, 8192), normal(BF16, 8192, 256), normal(BF16, 16, 256)), 2e-2),
    "split_one_row": (lambda x, w: x @ w.T, (below(8, 1, 16384).astype(F32), below(8, 256, 16384).astype(F32)), 0),
    "split_columns": (lambda x, y: (x * y).sum((0, 1)), (below(8, 8, 512, 96).astype(F32), below(8, 8, 512, 96).astype(F32)), 0),
    "split_mean": (lambda x: jnp.mean(x * x), (below(4, 600, 1000).astype(F32),), 1e-7),
    "split_argmax": (lambda x: jnp.argmax(x, -1), (below(100000, 2, 128256).astype(F32),), 0),
    "split_softmax": (lambda x: jax.nn.softmax(x, -1), (normal(F32, 1, 128256),), 4e-6),
    "split_top_k": (lambda x: jax.lax.top_k(x, 40), (below(20000, 2, 50257).astype(F32),), 0),
    "product_f64": (lambda x, y: x @ y, (normal(F64, 33, 65), normal(F64, 65, 40)), 1e-12),
    "product_i32": (lambda x, y: x @ y, (below(9, 33, 65), below(9, 65, 40)), 0),
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """(Model, resources of its kernels)"""
    folder = tmp_path_factory.mktemp("fused")
    cuda_driver.driver()
    with jax.enable_x64(True):
        program = tsp.export({name: tsp.Entry(fn, args, names=[f"x{i}" for i in range(len(args))]) for name, (fn, args, _) in CASES.items()})
        tsp.compile_program(program, folder / "lib.so", emit="so", options=["--target=cuda:sm_80", f"--report={folder / 'report.json'}"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TSP_EMULATION_CHECK", "1")
        with tsp.Model(folder / "lib.so") as model:
            yield model, json.loads((folder / "report.json").read_text())["device"]["kernels"]


@pytest.mark.parametrize("name", CASES)
def test_numbers(compiled, name):
    fn, args, tolerance = CASES[name]
    results = compiled[0].call({f"x{i}": x for i, x in enumerate(args)}, entry=name)
    with jax.enable_x64(True):
        expected = [np.asarray(x) for x in jax.tree_util.tree_leaves(jax.jit(fn)(*args))]
    for result, wanted in zip(results, expected, strict=True):
        assert result.dtype == wanted.dtype
        if tolerance == 0:
            np.testing.assert_array_equal(result.astype(np.float64), wanted.astype(np.float64))
        else:
            scale = np.abs(wanted.astype(np.float64)).max()
            np.testing.assert_allclose(result.astype(np.float64), wanted.astype(np.float64), rtol=tolerance, atol=tolerance * scale / 8)


def test_resources(compiled):
    """After the tests above: counts of a kernel are sums over its launches."""
    model, kernels = compiled
    for name, (_, args, _) in CASES.items():
        model.call({f"x{i}": x for i, x in enumerate(args)}, entry=name)
    library = ctypes.CDLL(cuda_driver.library_path())
    sectors = ideal = 0
    for kernel in kernels:
        assert kernel["spill_bytes"] == 0, kernel
        counts = (ctypes.c_uint64 * 5)()
        library.tspEmulationCounters(kernel["name"].encode(), counts)
        name = kernel["name"]
        if name.startswith(("k_sort", "k_top_k", "k_dot_general")):
            continue  # networks take what they must; products are not fused kernels
        assert counts[1] <= 1.05 * counts[0], f"{name}: bank conflicts, {counts[1]} passes of {counts[0]} requests"
        sectors, ideal = sectors + counts[3], ideal + counts[4]
    assert 0 < sectors <= 1.3 * ideal, f"{sectors} sectors moved, {ideal} would do"
