# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products on the host and on a (possibly emulated) GPU against NumPy in f64."""
import numpy as np
import pytest

import device_runner
from kernel_runner import DTYPES, available, compile_kernels, tensor

pytestmark = pytest.mark.skipif(not available(), reason="needs tsp-opt and clang-22")
LIMITS = {"f64": 1e-14, "f32": 1e-6, "f16": 6e-4, "bf16": 5e-3}


def dot_text(name, lhs, rhs, batch, contract, dtype, result=None, extra="", tail=None):
    """Text of a kernel that is one dot_general; `tail` = (ops on %r giving %s, shape, dtype)."""
    result = result or dtype
    free = [[d for i, d in enumerate(shape) if i not in batch[s] and i not in contract[s]]
            for s, shape in enumerate((lhs, rhs))]
    shape = [lhs[i] for i in batch[0]] + free[0] + free[1]
    out_shape, out_type = (tail[1], tail[2]) if tail else (shape, result)
    batching = f"batching_dims = {list(batch[0])} x {list(batch[1])}, " if batch[0] else ""
    text = f"""
func.func private @{name}(%a: {tensor(lhs, dtype)}, %b: {tensor(rhs, dtype)}) -> {tensor(out_shape, out_type)} attributes {{tsp.kernel}} {{
  %r = stablehlo.dot_general %a, %b, {batching}contracting_dims = {list(contract[0])} x {list(contract[1])}{extra}
    : ({tensor(lhs, dtype)}, {tensor(rhs, dtype)}) -> {tensor(shape, result)}
  {tail[0] if tail else ""}
  return {"%s" if tail else "%r"} : {tensor(out_shape, out_type)}
}}
"""
    return text, shape, out_shape, out_type


def reference(a, b, batch, contract):
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left = [next(letters) for _ in a.shape]
    right = [None] * b.ndim
    for dims in (batch, contract):
        for l, r in zip(*dims):
            right[r] = left[l]
    right = [x or next(letters) for x in right]
    out = [left[i] for i in batch[0]] + [x for i, x in enumerate(left) if i not in batch[0] and i not in contract[0]] \
        + [x for i, x in enumerate(right) if i not in batch[1] and i not in contract[1]]
    return np.einsum("".join(left) + "," + "".join(right) + "->" + "".join(out), a.astype(np.float64), b.astype(np.float64))


def random(rng, shape, dtype):
    return rng.standard_normal(shape).astype(DTYPES[dtype])


def error(found, expected):
    return np.linalg.norm(found.astype(np.float64) - expected) / max(np.linalg.norm(expected), 1e-300)


# lhs, rhs, batching, contracting
FORMS = {
    "matrix": ((67, 43), (43, 101), ((), ()), ((1,), (0,))),
    "weight_rows": ((67, 43), (101, 43), ((), ()), ((1,), (1,))),
    "gradient": ((43, 67), (43, 101), ((), ()), ((0,), (0,))),
    "both_turned": ((43, 67), (101, 43), ((), ()), ((0,), (1,))),
    "decode": ((1, 577), (577, 101), ((), ()), ((1,), (0,))),
    "decode_rows": ((1, 577), (101, 577), ((), ()), ((1,), (1,))),
    "three_rows": ((3, 77), (101, 77), ((), ()), ((1,), (1,))),
    "seven_rows": ((7, 77), (77, 131), ((), ()), ((1,), (0,))),
    "vector": ((131, 77), (77,), ((), ()), ((1,), (0,))),
    "inner": ((77,), (77,), ((), ()), ((0,), (0,))),
    "outer": ((13,), (17,), ((), ()), ((), ())),
    "projection": ((2, 11, 37), (37, 3, 5), ((), ()), ((2,), (0,))),
    "output_projection": ((2, 11, 3, 5), (3, 5, 37), ((), ()), ((2, 3), (0, 1))),
    "turned_contraction": ((2, 11, 3, 5), (5, 3, 37), ((), ()), ((3, 2), (0, 1))),
    "scores": ((2, 19, 3, 8), (2, 23, 3, 8), ((0, 2), (0, 2)), ((3,), (3,))),
    "values": ((2, 3, 19, 23), (2, 23, 3, 8), ((0, 1), (0, 2)), ((3,), (1,))),
    "weight_gradient": ((2, 11, 37), (2, 11, 3, 5), ((), ()), ((0, 1), (0, 1))),
    "batch_inside": ((5, 7, 3), (11, 5, 3), ((2,), (2,)), ((0,), (1,))),
    "long": ((31, 5003), (5003, 100), ((), ()), ((1,), (0,))),
    "wide": ((25, 33), (33, 1031), ((), ()), ((1,), (0,))),
    "aligned": ((96, 1024), (1024, 256), ((), ()), ((1,), (0,))),
}


def on_host(text, directory):
    return compile_kernels(text, ["--tsp-lower-gemm-kernels"], directory)


def on_device(text, directory):
    if not device_runner.available():
        pytest.skip("needs the emulation")
    return device_runner.compile_kernels(text, directory)


@pytest.fixture(params=[on_host, on_device], ids=["host", "device"])
def compiled(request):
    return request.param


@pytest.fixture(scope="module", params=[("native", 512), ("haswell", 256), ("x86-64", 128), ("device", 0)], ids=lambda p: p[0])
def kernels(request, tmp_path_factory):
    cpu, bits = request.param
    dtypes = {"native": ("f32", "bf16", "f64", "f16"), "haswell": ("f32", "bf16"),
              "device": ("f32", "bf16", "f64", "f16")}.get(cpu, ("f32",))
    text = "".join(dot_text(f"{form}_{dtype}", *FORMS[form], dtype)[0] for form in FORMS for dtype in dtypes)
    if cpu == "device":
        return on_device(text, tmp_path_factory.mktemp("gemm"))
    return compile_kernels(text, [f"--tsp-lower-gemm-kernels=vector-bits={bits}"], tmp_path_factory.mktemp("gemm"), cpu)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64", "f16"])
@pytest.mark.parametrize("form", FORMS)
def test_form(kernels, form, dtype):
    kernel = kernels.get(f"{form}_{dtype}")
    if kernel is None:
        pytest.skip("this CPU runs f32 only")
    lhs, rhs, batch, contract = FORMS[form]
    rng = np.random.default_rng(0)
    a, b = random(rng, lhs, dtype), random(rng, rhs, dtype)
    expected = reference(a, b, batch, contract)
    found, = kernel([a, b], [(expected.shape, dtype)])
    limit = LIMITS[dtype] * (4 if form == "inner" else 1)  # one number: its terms cancel
    assert error(found, expected) < limit


TAILS = {
    "turned": ("%s = stablehlo.transpose %r, dims = [1, 0, 2] : (tensor<11x3x5xf32>) -> tensor<3x11x5xf32>", (3, 11, 5), "f32",
               lambda r: r.transpose(1, 0, 2)),
    "fully_turned": ("%s = stablehlo.transpose %r, dims = [2, 1, 0] : (tensor<11x3x5xf32>) -> tensor<5x3x11xf32>", (5, 3, 11), "f32",
                     lambda r: r.transpose(2, 1, 0)),
    "rows_inside": ("%s = stablehlo.transpose %r, dims = [1, 2, 0] : (tensor<11x3x5xf32>) -> tensor<3x5x11xf32>", (3, 5, 11), "f32",
                    lambda r: r.transpose(1, 2, 0)),
    "reshaped": ("%s = stablehlo.reshape %r : (tensor<11x3x5xf32>) -> tensor<11x15xf32>", (11, 15), "f32", lambda r: r.reshape(11, 15)),
    "split_and_turned": ("""%p = stablehlo.reshape %r : (tensor<11x3x5xf32>) -> tensor<11x3x5x1xf32>
  %q = stablehlo.transpose %p, dims = [1, 3, 2, 0] : (tensor<11x3x5x1xf32>) -> tensor<3x1x5x11xf32>
  %s = stablehlo.reshape %q : (tensor<3x1x5x11xf32>) -> tensor<15x11xf32>""", (15, 11), "f32",
                         lambda r: r.reshape(11, 15).T),
    "converted": ("%s = stablehlo.convert %r : (tensor<11x3x5xf32>) -> tensor<11x3x5xbf16>", (11, 3, 5), "bf16", lambda r: r),
}


@pytest.mark.parametrize("name", TAILS)
def test_tail(compiled, tmp_path, name):
    ops, shape, dtype, function = TAILS[name]
    form = (11, 37), (37, 3, 5), ((), ()), ((1,), (0,))
    text, *_ = dot_text("k", *form, "f32", tail=(ops, shape, dtype))
    kernel = compiled(text, tmp_path)["k"]
    rng = np.random.default_rng(0)
    a, b = random(rng, form[0], "f32"), random(rng, form[1], "f32")
    found, = kernel([a, b], [(shape, dtype)])
    assert error(found, function(reference(a, b, *form[2:]))) < LIMITS[dtype]


def test_split_result(compiled, tmp_path):
    """A reshape that splits a dim of the product, and a transpose that moves the parts."""
    text = """
func.func private @k(%a: tensor<2x17x35xf32>, %w: tensor<48x35xf32>) -> tensor<2x2x8x3x17xf32> attributes {tsp.kernel} {
  %0 = stablehlo.dot_general %a, %w, contracting_dims = [2] x [1] : (tensor<2x17x35xf32>, tensor<48x35xf32>) -> tensor<2x17x48xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x17x48xf32>) -> tensor<2x17x2x3x8xf32>
  %2 = stablehlo.transpose %1, dims = [0, 2, 4, 3, 1] : (tensor<2x17x2x3x8xf32>) -> tensor<2x2x8x3x17xf32>
  return %2 : tensor<2x2x8x3x17xf32>
}
"""
    kernel = compiled(text, tmp_path)["k"]
    rng = np.random.default_rng(0)
    a, w = random(rng, (2, 17, 35), "f32"), random(rng, (48, 35), "f32")
    expected = (a.astype(np.float64) @ w.astype(np.float64).T).reshape(2, 17, 2, 3, 8).transpose(0, 2, 4, 3, 1)
    found, = kernel([a, w], [(expected.shape, "f32")])
    assert error(found, expected) < LIMITS["f32"]


@pytest.mark.parametrize("dtype", ["f8E4M3FN", "f8E5M2", "bf16"])
def test_narrow_operands_wide_result(compiled, tmp_path, dtype):
    form = (33, 40), (50, 40), ((), ()), ((1,), (1,))
    text, *_ = dot_text("k", *form, dtype, result="f32")
    kernel = compiled(text, tmp_path)["k"]
    rng = np.random.default_rng(0)
    a, b = random(rng, form[0], dtype), random(rng, form[1], dtype)
    found, = kernel([a, b], [((33, 50), "f32")])
    assert error(found, reference(a, b, *form[2:])) < LIMITS["f32"]


def test_all_bytes_of_f8(compiled, tmp_path):
    """Every f8 value is converted exactly: the product with 1."""
    for dtype in ("f8E4M3FN", "f8E5M2"):
        form = (256, 1), (1, 17), ((), ()), ((1,), (0,))
        text, *_ = dot_text("k", *form, dtype, result="f32")
        kernel = compiled(text, tmp_path)["k"]
        a = np.arange(256, dtype=np.uint8).view(DTYPES[dtype]).reshape(256, 1)
        found, = kernel([a, np.ones((1, 17), DTYPES[dtype])], [((256, 17), "f32")])
        np.testing.assert_array_equal(found, np.repeat(a.astype(np.float32), 17, axis=1))


def test_accumulation_type(compiled, tmp_path):
    """An algorithm that accumulates in f64 is exact where f32 sums are not."""
    algorithm = (", algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f64, lhs_component_count = 1, "
                 "rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>")
    form = (5, 3001), (3001, 7), ((), ()), ((1,), (0,))
    text, *_ = dot_text("k", *form, "f32", extra=algorithm)
    kernel = compiled(text, tmp_path)["k"]
    rng = np.random.default_rng(0)
    a, b = random(rng, form[0], "f32"), random(rng, form[1], "f32")
    found, = kernel([a, b], [((5, 7), "f32")])
    np.testing.assert_array_equal(found, reference(a, b, *form[2:]).astype(np.float32))


def test_operand_views(compiled, tmp_path):
    """Slices, transposes, repeats and conversions of operands are read in place."""
    text = """
func.func private @k(%a: tensor<4x20x6xbf16>, %w: tensor<7x2x6xf32>) -> tensor<4x10x28xf32> attributes {tsp.kernel} {
  %s = stablehlo.slice %a [0:4, 3:13, 0:6] : (tensor<4x20x6xbf16>) -> tensor<4x10x6xbf16>
  %x = stablehlo.convert %s : (tensor<4x10x6xbf16>) -> tensor<4x10x6xf32>
  %t = stablehlo.transpose %w, dims = [1, 0, 2] : (tensor<7x2x6xf32>) -> tensor<2x7x6xf32>
  %g = stablehlo.broadcast_in_dim %t, dims = [1, 2, 3] : (tensor<2x7x6xf32>) -> tensor<2x2x7x6xf32>
  %r = stablehlo.dot_general %x, %g, contracting_dims = [2] x [3] : (tensor<4x10x6xf32>, tensor<2x2x7x6xf32>) -> tensor<4x10x2x2x7xf32>
  %y = stablehlo.reshape %r : (tensor<4x10x2x2x7xf32>) -> tensor<4x10x28xf32>
  return %y : tensor<4x10x28xf32>
}
"""
    kernel = compiled(text, tmp_path)["k"]
    rng = np.random.default_rng(0)
    a, w = random(rng, (4, 20, 6), "bf16"), random(rng, (7, 2, 6), "f32")
    turned = np.broadcast_to(w.transpose(1, 0, 2).astype(np.float64), (2, 2, 7, 6))
    expected = np.einsum("bse,hgne->bshgn", a[:, 3:13].astype(np.float64), turned).reshape(4, 10, 28)
    found, = kernel([a, w], [((4, 10, 28), "f32")])
    assert error(found, expected) < LIMITS["f32"]


# The dims of the product that each further operand %x has, ops from the product %r (of type {r}) to %y, type of %y, the same in NumPy.
EPILOGUES = {
    "accumulate": ([(0, 1, 2, 3)], "%y = stablehlo.add %x, %r : {r}", "f32", lambda r, x: x + r),
    "silu_times": ([(0, 1, 2, 3)], """
  %l = stablehlo.logistic %x : {r}
  %s = stablehlo.multiply %l, %x : {r}
  %y = stablehlo.multiply %s, %r : {r}""", "f32", lambda r, x: x / (1 + np.exp(-x)) * r),
    "bias_tanh": ([(2, 3)], """
  %c = stablehlo.broadcast_in_dim %x, dims = [2, 3] : ({x}) -> {r}
  %t = stablehlo.add %r, %c : {r}
  %h = stablehlo.tanh %t : {r}
  %y = stablehlo.convert %h : ({r}) -> {y}""", "bf16", lambda r, b: np.tanh(r + b)),
    "row_scale": ([(0, 1)], """
  %c = stablehlo.broadcast_in_dim %x, dims = [0, 1] : ({x}) -> {r}
  %y = stablehlo.multiply %r, %c : {r}""", "f32", lambda r, b: r * b[:, :, None, None]),
    "position": ([], """
  %i = stablehlo.iota dim = 3 : {r}
  %y = stablehlo.subtract %r, %i : {r}""", "f32", lambda r: r - np.arange(r.shape[3])),
}


def check_epilogue(compiled, directory, name, lhs, rhs, contract, dtype):
    """Elementwise ops on the product of lhs [B,S,k] and rhs (k in dim `contract`, beside two others) are part of its kernel."""
    dims, ops, result, function = EPILOGUES[name]
    shape = (*lhs[:2], *(d for i, d in enumerate(rhs) if i != contract))
    extra = [tuple(shape[i] for i in one) for one in dims]
    types = {"r": tensor(shape, "f32"), "y": tensor(shape, result), "x": tensor(extra[0], "f32") if extra else ""}
    text = f"""
func.func private @k(%a: {tensor(lhs, dtype)}, %w: {tensor(rhs, dtype)}{", %x: " + types["x"] if extra else ""}) -> {types["y"]}
    attributes {{tsp.kernel}} {{
  %r = stablehlo.dot_general %a, %w, contracting_dims = [2] x [{contract}] : ({tensor(lhs, dtype)}, {tensor(rhs, dtype)}) -> {types["r"]}
  {ops.format(**types)}
  return %y : {types["y"]}
}}
"""
    kernel = compiled(text, directory)["k"]
    rng = np.random.default_rng(0)
    a, w = random(rng, lhs, dtype), random(rng, rhs, dtype)
    values = [random(rng, one, "f32") for one in extra]
    expected = function(reference(a, w, ((), ()), ((2,), (contract,))), *[x.astype(np.float64) for x in values])
    found, = kernel([a, w, *values], [(shape, result)])
    assert error(found, expected) < LIMITS[result]


@pytest.mark.parametrize("rows", ["w", "wt"])
@pytest.mark.parametrize("name", EPILOGUES)
def test_epilogue(compiled, tmp_path, name, rows):
    weight, contract = ((40, 3, 17), 0) if rows == "w" else ((3, 17, 40), 2)
    check_epilogue(compiled, tmp_path, name, (2, 33, 40), weight, contract, "f32")


def test_two_results(compiled, tmp_path):
    """A product is stored and used: the fold of a bf16 product rounds it first."""
    text = """
func.func private @k(%a: tensor<20x40xbf16>, %w: tensor<40x50xbf16>, %c: tensor<20x50xf32>) -> (tensor<20x50xbf16>, tensor<20x50xf32>)
    attributes {tsp.kernel} {
  %r = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<20x40xbf16>, tensor<40x50xbf16>) -> tensor<20x50xbf16>
  %x = stablehlo.convert %r : (tensor<20x50xbf16>) -> tensor<20x50xf32>
  %y = stablehlo.add %c, %x : tensor<20x50xf32>
  return %r, %y : tensor<20x50xbf16>, tensor<20x50xf32>
}
"""
    kernel = compiled(text, tmp_path)["k"]
    rng = np.random.default_rng(0)
    a, w, c = random(rng, (20, 40), "bf16"), random(rng, (40, 50), "bf16"), random(rng, (20, 50), "f32")
    product, total = kernel([a, w, c], [((20, 50), "bf16"), ((20, 50), "f32")])
    assert error(product, reference(a, w, ((), ()), ((1,), (0,)))) < LIMITS["bf16"]
    np.testing.assert_array_equal(total, c + product.astype(np.float32))
