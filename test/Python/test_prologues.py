# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with computed operands on the host and on a (possibly emulated) GPU: quantised weights and normalised rows.

The identity as other operand shows every computed element, with all roundings of the program, bit for bit.
"""
import re

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import cuda_driver
import device_code
import device_runner
from kernel_runner import DTYPES, available, compile_kernels
from test_form_kernels import formed
from test_kernels_gemm import LIMITS, error

pytestmark = pytest.mark.skipif(not available(), reason="needs tsp-opt and clang-22")
BF16 = DTYPES["bf16"]


def values(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype == ml_dtypes.int4:
        return rng.integers(-8, 8, shape).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def scales(shape, dtype, seed=1):
    return np.random.default_rng(seed).uniform(0.01, 0.03, shape).astype(dtype)


def per_channel(dtype, q=np.int8):
    """A scale for each column, in the type of the product."""
    def weight(w, s):
        return w.astype(dtype) * s
    return weight, lambda k, n: (values((k, n), q), scales((n,), dtype))


def per_row(dtype, q=np.int8):
    """Weights as rows of k, a scale for each."""
    def weight(w, s):
        return (w.astype(dtype) * s[:, None]).T
    return weight, lambda k, n: (values((n, k), q), scales((n,), dtype))


def grouped(group, q, rows=False):
    """A scale and a zero point for each group of k, computed in f32."""
    def weight(w, s, z):
        if rows:
            n, k = w.shape
            w = (w.reshape(n, k // group, group).astype(jnp.float32) - z[:, :, None]) * s[:, :, None]
            return w.astype(BF16).reshape(n, k).T
        k, n = w.shape
        w = (w.reshape(k // group, group, n).astype(jnp.float32) - z[:, None]) * s[:, None]
        return w.astype(BF16).reshape(k, n)

    def arguments(k, n):
        shape = (n, k // group) if rows else (k // group, n)
        return values((n, k) if rows else (k, n), q), scales(shape, np.float32), values(shape, np.float32)
    return weight, arguments


def converted(dtype, q):
    return lambda w: w.astype(dtype), lambda k, n: (values((k, n), q),)


# How weights are computed, what from; and the type of the other operand.
WEIGHTS = {
    "i8_channels": (*per_channel(BF16), BF16),
    "i8_rows": (*per_row(BF16), BF16),
    "i8_to_f32": (*per_channel(np.float32), np.float32),
    "i8_rows_to_f32": (*per_row(np.float32), np.float32),
    "i8_groups": (*grouped(32, np.int8), BF16),
    "u8_groups_of_rows": (*grouped(16, np.uint8, rows=True), BF16),
    "i4_groups": (*grouped(16, ml_dtypes.int4), BF16),
    "f8_channels": (*per_channel(np.float16, ml_dtypes.float8_e4m3fn), np.float16),
    "i8_converted": (*converted(BF16, np.int8), BF16),
    "f8_converted": (*converted(BF16, ml_dtypes.float8_e5m2), BF16),
}
# (m, k, n): none that needs a whole tile, few rows of each kind, and ragged tiles. m = 0: the identity.
SHAPES = {"identity": (0, 64, 96), "ragged_identity": (0, 96, 35), "one": (1, 96, 136), "three": (3, 96, 131), "seven": (7, 96, 136), "many": (70, 160, 136)}
NAMES = [*WEIGHTS, "rows"]
TARGETS = {"host": lambda text, directory: compile_kernels(text, ["--tsp-lower-gemm-kernels"], directory),
           "device": lambda text, directory: device_runner.compile_kernels(text, directory)}


def kernel_text(name, function, arguments):
    """A program as its one kernel, by that name; and the arguments that its inputs are."""
    given = jax.tree_util.tree_map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), arguments)
    text, [kernel] = formed(function, given)
    views = dict(re.findall(r"(%\w+) = stablehlo.reshape (%\w+)", text.split("func.func private")[0]))
    inputs = re.search(r"tsp.launch @\w+\((.*?)\)", text)[1].split(", ")
    return kernel.replace("@k_dot_general_0", f"@{name}"), [int(views.get(i, i).removeprefix("%arg")) for i in inputs]


def multiply(weight):
    return lambda x, *w: x @ weight(*w)


def scaled_rows(x, root, *gain):
    """What is left of an RMSNorm when the root of each row is known."""
    x = (x.astype(jnp.float32) * root).astype(x.dtype)
    return x * gain[0] if gain else x


def case(name, shape):
    """A program, its arguments, its type; and the computed operand, before or after the other one."""
    m, k, n = SHAPES[shape]
    if name == "rows":
        # One tile of columns; for one row a gain would be as much to read as the row.
        # Of three neighbours LLVM reads four, which in a program are in one arena, but not here: two rows.
        m, n = (2 if m == 3 else m, n - 31) if m else (n, k)
        rows = values((m, k), BF16), scales((m, 1), np.float32), *([values((k,), BF16)] if m > 1 else [])
        w = values((k, n), BF16, seed=2) if n != k else np.eye(k, dtype=BF16)
        return lambda *given: scaled_rows(*given[:-1]) @ given[-1], (*rows, w), BF16, lambda given: (scaled_rows(*given[:-1]), given[-1])
    weight, arguments, dtype = WEIGHTS[name]
    x = values((m, k), dtype, seed=2) if m else np.eye(k, dtype=dtype)
    return multiply(weight), (x, *arguments(k, n)), dtype, lambda given: (given[0], weight(*given[1:]))


@pytest.fixture(scope="module", params=TARGETS)
def run(request, tmp_path_factory):
    """Runs a case on a target: all kernels are compiled at once."""
    texts = {(name, shape): kernel_text(f"{name}_{shape}", *case(name, shape)[:2]) for name in NAMES for shape in SHAPES}
    kernels = TARGETS[request.param]("".join(text for text, _ in texts.values()), tmp_path_factory.mktemp("prologues"))

    def call(name, shape, shape_of_result, dtype):
        arguments = case(name, shape)[1]
        [dtype_name] = [key for key, value in DTYPES.items() if value == dtype]
        [found] = kernels[f"{name}_{shape}"]([arguments[i] for i in texts[name, shape][1]], [(shape_of_result, dtype_name)])
        return found
    return call


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_product(name, shape, run):
    """Beside the identity the computed operand itself, bit for bit; other products are near the exact one of the same operand."""
    _, arguments, dtype, operands = case(name, shape)
    left, right = (np.asarray(side) for side in operands(tuple(map(jnp.asarray, arguments))))
    found = run(name, shape, (left.shape[0], right.shape[1]), dtype)
    if "identity" in shape:
        np.testing.assert_array_equal(found, left if name == "rows" else right)
    else:
        assert error(found, left.astype(np.float64) @ right.astype(np.float64)) < LIMITS[{BF16: "bf16", np.float16: "f16", np.float32: "f32"}[dtype]]


def test_largest_tile(tmp_path):
    """128 x 128, with ragged edges."""
    weight, arguments, dtype = WEIGHTS["i8_groups"]
    given = values((1790, 128), dtype, seed=2), *arguments(128, 2040)
    text, inputs = kernel_text("k", multiply(weight), given)
    kernel = device_runner.compile_kernels(text, tmp_path)["k"]
    assert (kernel.how.grid, kernel.how.block, kernel.how.shared) == ((224, 1, 1), (256, 1, 1), 48 * 1024)
    found, = kernel([given[i] for i in inputs], [((1790, 2040), "bf16")])
    assert error(found, given[0].astype(np.float64) @ np.asarray(weight(*map(jnp.asarray, given[1:]))).astype(np.float64)) < LIMITS["bf16"]


@pytest.mark.parametrize("m, k, n, group", [(3, 960, 512, 40), (5, 2400, 512, 24), (40, 960, 512, 40)])
@pytest.mark.parametrize("target", TARGETS)
def test_both_sides(target, m, k, n, group, tmp_path):
    """Groups of k on the left, columns on the right; parts of the contraction start where groups do."""
    def left(x, s):
        return (x.reshape(m, k // group, group).astype(jnp.float32) * s[:, :, None]).reshape(m, k)
    weight, arguments = per_channel(np.float32)
    given = (values((m, k), np.int8), scales((m, k // group), np.float32), *arguments(k, n))
    text, inputs = kernel_text("both", lambda x, s, *w: left(x, s) @ weight(*w), given)
    found, = TARGETS[target](text, tmp_path)["both"]([given[i] for i in inputs], [((m, n), "f32")])
    sides = left(*map(jnp.asarray, given[:2])), weight(*map(jnp.asarray, given[2:]))
    assert error(found, np.matmul(*[np.asarray(side).astype(np.float64) for side in sides])) < LIMITS["f32"]


# Rows of a product for which a tile is chosen, and the blocks of k = 512, n = 2048; on few rows there are no tiles.
TILES = {"128x128": (1792, 224), "64x64": (192, 96), "32x64": (16, 32), "rows": (3, None)}


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_no_spills(architecture, tmp_path):
    if not device_code.find_tool("ptxas"):
        pytest.skip("needs ptxas (./bootstrap)")
    text = ""
    for name, (weight, arguments, dtype) in WEIGHTS.items():
        given = arguments(512, 2048)
        for tile, (m, _) in TILES.items():
            text += kernel_text(f"{name}_{tile}", multiply(weight), (np.zeros((m, 512), dtype), *given))[0]
    ptx, launches = device_runner.compile_ptx(text, tmp_path, architecture)
    found = device_code.resources(ptx, architecture)
    assert found.keys() == {how.name for how in launches.values()} and len(found) == len(WEIGHTS) * len(TILES)
    for kernel, resources in found.items():
        assert resources.spills == 0 and resources.stack == 0, (kernel, resources)
        blocks = TILES[kernel.rsplit("_", 1)[1]][1]
        if blocks and "f32" not in kernel:  # f32 has no tensor cores
            assert launches[kernel].grid == (blocks, 1, 1), (kernel, launches[kernel])


SCRIPT = """
import ctypes, tempfile
import cuda_driver
from test_prologues import *
for name in {names}:
    weight, arguments, dtype = WEIGHTS[name]
    given = values(({m}, 64), dtype), *arguments(64, 256)
    text, inputs = kernel_text(name, multiply(weight), given)
    kernels = device_runner.compile_kernels(text, tempfile.mkdtemp())
    kernels[name]([given[i] for i in inputs], [(({m}, 256), "bf16")])
    counters = (ctypes.c_uint64 * 5)()
    cuda_driver.driver().tspEmulationCounters(name.encode(), counters)
    print(name, *counters)
"""


@pytest.mark.parametrize("m", [1, 16, 128])
def test_memory(m):
    """No race and no bank conflict in shared memory. Tiles read no more sectors of global memory than their bytes take, but for scales."""
    names = ["i8_channels", "i8_rows", "i8_groups", "u8_groups_of_rows", "f8_converted"]
    run = cuda_driver.run_script(SCRIPT.format(names=names, m=m), TSP_EMULATION_CHECK=1)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("\n") == len(names)
    for line in run.stdout.splitlines():
        name, requests, passes, _, sectors, ideal = line.split()
        assert int(requests) == int(passes) > 0, line
        if m > 4 and "groups" not in name:
            assert int(sectors) <= 1.1 * int(ideal), line
