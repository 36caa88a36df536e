# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The attention core against NumPy in f64."""
from dataclasses import dataclass, field

import numpy as np
import pytest

from kernel_runner import DTYPES, available, compile_kernels, tensor

pytestmark = pytest.mark.skipif(not available(), reason="needs tsp-opt and clang-22")
LIMITS = {"f64": 3e-14, "f32": 2e-6, "f16": 6e-4, "bf16": 5e-3}


@dataclass
class Attention:
    """One attention core: shapes and what is masked."""
    batch: int = 1
    queries: int = 37
    keys: int = 37
    heads: int = 3
    kv_heads: int = 1
    width: int = 16
    value_width: int = 16
    dtype: str = "f32"
    scale: float = 0.25
    softcap: float = None
    causal: bool = False
    window: int = None
    positions: str = None  # shape: "s" or "bs", or "zigzag": those of a rank of two
    position_type: str = "i32"
    query_start: int = 0
    segments: str = None
    bias: tuple = None     # which of batch, heads, queries are whole
    mask: tuple = None
    empty: str = "nan"
    arrays: dict = field(default_factory=dict)

    def make(self, seed=0):
        rng = np.random.default_rng(seed)
        b, sq, sk = self.batch, self.queries, self.keys
        made = {"q": (rng.standard_normal((b, sq, self.heads, self.width)).astype(DTYPES[self.dtype]), self.dtype),
                "k": (rng.standard_normal((b, sk, self.kv_heads, self.width)).astype(DTYPES[self.dtype]), self.dtype),
                "v": (rng.standard_normal((b, sk, self.kv_heads, self.value_width)).astype(DTYPES[self.dtype]), self.dtype)}
        if self.bias:
            shape = [n if whole else 1 for n, whole in zip((b, self.heads, sq), self.bias)] + [sk]
            made["bias"] = rng.standard_normal(shape).astype(DTYPES[self.dtype]), self.dtype
        if self.mask:
            shape = [n if whole else 1 for n, whole in zip((b, self.heads, sq), self.mask)] + [sk]
            mask = rng.random(shape) < 0.5
            mask[..., : min(3, shape[2]), :] = False  # rows that see no key
            made["mask"] = mask, "i1"
        if self.positions:
            qp = np.arange(sq) + self.query_start
            kp = np.arange(sk)
            if self.positions == "bs":
                qp, kp = qp[None] + np.arange(b)[:, None], np.repeat(kp[None], b, 0)
            if self.positions == "zigzag":
                kp = np.concatenate([np.array_split(kp, 4)[piece] for piece in (0, 3, 1, 2)])
                qp = kp[:sq]
            made["qp"] = qp.astype(DTYPES[self.position_type]), self.position_type
            made["kp"] = kp.astype(DTYPES[self.position_type]), self.position_type
        if self.segments:
            qs = np.arange(sq) * 3 // sq
            ks = np.arange(sk) * 4 // sk + 1
            if self.segments == "bs":
                qs, ks = np.repeat(qs[None], b, 0), np.repeat(ks[None], b, 0)
            made["qs"], made["ks"] = (qs.astype(np.int32), "i32"), (ks.astype(np.int32), "i32")
        return made

    def text(self, made, name="k", results=("o", "lse")):
        o = (self.batch, self.queries, self.heads, self.value_width), self.dtype
        lse = (self.batch, self.queries, self.heads), "f64" if self.dtype == "f64" else "f32"
        types = {key: tensor(array.shape, dtype) for key, (array, dtype) in made.items()}
        clauses = ""
        for clause, *keys in (("bias", "bias"), ("mask", "mask"), ("positions", "qp", "kp"), ("segments", "qs", "ks")):
            if keys[0] in made:
                clauses += f" {clause}({', '.join('%' + k for k in keys)} : {', '.join(types[k] for k in keys)})"
        attributes = [f"scale = {self.scale:e} : f64"]
        if self.softcap:
            attributes.append(f"softcap = {self.softcap:e} : f64")
        if self.causal:
            attributes.append("causal")
        if self.window:
            attributes.append(f"window = {self.window} : i64")
        if self.empty != "nan":
            attributes.append(f"empty = #tsp.empty_rows<{self.empty}>")
        outs = {"o": o, "lse": lse}
        arguments = ", ".join(f"%{k}: {t}" for k, t in types.items())
        returned = ", ".join(tensor(*outs[r]) for r in results)
        text = f"""
func.func private @{name}({arguments}) -> ({returned}) attributes {{tsp.kernel}} {{
  %o, %lse = tsp.sdpa %q, %k, %v{clauses} {{{", ".join(attributes)}}}
    : ({types["q"]}, {types["k"]}, {types["v"]}) -> ({tensor(*o)}, {tensor(*lse)})
  return {", ".join("%" + r for r in results)} : {returned}
}}
"""
        return text, [outs[r] for r in results]

    def expected(self, made):
        a = {key: array.astype(np.float64) for key, (array, _) in made.items()}
        group = self.heads // self.kv_heads
        k, v = np.repeat(a["k"], group, 2), np.repeat(a["v"], group, 2)
        s = np.einsum("bqhe,bkhe->bhqk", a["q"], k) * self.scale
        if self.softcap:
            s = self.softcap * np.tanh(s / self.softcap)
        if self.bias:
            s = s + a["bias"]
        see = np.ones(s.shape, bool)
        if self.positions:
            qp, kp = (np.broadcast_to(a[n], (self.batch, a[n].shape[-1])) for n in ("qp", "kp"))
            apart = qp[:, None, :, None] - kp[:, None, None, :]
            if self.causal:
                see = see & (apart >= 0)
            if self.window:
                see = see & (apart < self.window)
        if self.segments:
            qs, ks = (np.broadcast_to(a[n], (self.batch, a[n].shape[-1])) for n in ("qs", "ks"))
            see = see & (qs[:, None, :, None] == ks[:, None, None, :])
        if self.mask:
            see = see & made["mask"][0]
        s = np.where(see, s, -np.inf)
        with np.errstate(invalid="ignore", divide="ignore"):
            top = s.max(-1, keepdims=True)
            p = np.exp(s - np.where(np.isinf(top), 0, top))
            total = p.sum(-1, keepdims=True)
            o = np.einsum("bhqk,bkhe->bqhe", p / total, v)
            lse = (np.where(np.isinf(top), -np.inf, top) + np.log(total))[..., 0].transpose(0, 2, 1)
        empty = np.isinf(lse)
        if self.empty == "zero":
            o[empty] = 0
        if self.empty == "mean":
            o = np.where(empty[..., None], v.mean(1)[:, None], o)
        return o, lse


CASES = {
    "plain": Attention(),
    "causal": Attention(queries=150, keys=150, causal=True, positions="s"),
    "llama": Attention(queries=131, keys=131, heads=9, kv_heads=3, width=64, value_width=64, scale=0.125, causal=True, positions="s"),
    "batch": Attention(batch=2, queries=70, keys=90, heads=4, kv_heads=2, causal=True, positions="bs", query_start=20),
    "decode": Attention(queries=1, keys=300, heads=9, kv_heads=3, width=64, value_width=64, causal=True, positions="s", query_start=100),
    "one_key": Attention(queries=5, keys=1),
    "one_of_each": Attention(queries=1, keys=1, heads=1, width=1, value_width=1),
    "odd": Attention(batch=2, queries=67, keys=129, heads=6, kv_heads=2, width=37, value_width=67),
    "wide": Attention(queries=50, keys=70, heads=2, kv_heads=2, width=256, value_width=128, scale=0.06),
    "softcap": Attention(queries=40, keys=70, softcap=5.0, scale=1.0),
    "small_softcap": Attention(queries=40, keys=70, softcap=50.0, scale=0.01),
    "zigzag": Attention(queries=150, keys=299, heads=4, kv_heads=2, causal=True, positions="zigzag"),
    "zigzag_window": Attention(queries=150, keys=299, causal=True, window=40, positions="zigzag"),
    "window": Attention(queries=200, keys=200, causal=True, window=31, positions="s"),
    "window_only": Attention(queries=200, keys=200, window=31, positions="s", position_type="i64"),
    "bytes": Attention(queries=90, keys=90, causal=True, positions="s", position_type="i8"),
    "segments": Attention(batch=2, queries=90, keys=130, segments="bs", empty="zero"),
    "segments_causal": Attention(queries=150, keys=150, segments="s", causal=True, positions="s", empty="mean"),
    "bias": Attention(batch=2, queries=37, keys=70, heads=4, kv_heads=2, bias=(1, 1, 1)),
    "bias_of_head": Attention(batch=2, queries=37, keys=70, heads=4, kv_heads=2, bias=(0, 1, 0)),
    "bias_of_key": Attention(batch=2, queries=37, keys=70, bias=(1, 0, 0), softcap=3.0),
    "mask": Attention(batch=2, queries=70, keys=133, heads=4, kv_heads=2, mask=(1, 1, 1)),
    "mask_zero": Attention(batch=2, queries=70, keys=133, mask=(1, 0, 1), empty="zero"),
    "mask_mean": Attention(batch=2, queries=70, keys=128, mask=(0, 0, 1), empty="mean"),
    "mask_of_key": Attention(batch=2, queries=70, keys=128, mask=(1, 0, 0), empty="mean"),
    "everything": Attention(batch=2, queries=61, keys=97, heads=4, kv_heads=2, bias=(1, 0, 1), mask=(0, 1, 1), segments="s", causal=True,
                            window=50, positions="bs", query_start=30, softcap=4.0, scale=1.0, empty="mean", position_type="i64"),
    "no_key_at_all": Attention(queries=9, keys=20, causal=True, positions="s", query_start=-100, empty="zero"),
    "power_of_two": Attention(queries=40, keys=100, heads=8, kv_heads=8, width=64, value_width=64),
}


def close(found, expected, limit):
    found = found.astype(np.float64)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(expected))
    finite = np.isfinite(expected)
    if finite.any():
        wrong = np.linalg.norm(found[finite] - expected[finite]) / max(np.linalg.norm(expected[finite]), 1e-300)
        assert wrong < limit


@pytest.fixture(scope="module", params=[("native", 512, "f32"), ("native", 512, "bf16"), ("native", 512, "f64"), ("native", 512, "f16"),
                                        ("haswell", 256, "f32"), ("haswell", 256, "bf16"), ("x86-64", 128, "f32")], ids=lambda p: f"{p[0]}-{p[2]}")
def kernels(request, tmp_path_factory):
    cpu, bits, dtype = request.param
    text = ""
    for name, case in CASES.items():
        case.dtype = dtype
        text += case.text(case.make(), name)[0]
    return dtype, compile_kernels(text, [f"--tsp-lower-sdpa-kernels=vector-bits={bits}"], tmp_path_factory.mktemp("sdpa"), cpu)


@pytest.mark.parametrize("name", CASES)
def test_case(kernels, name):
    dtype, compiled = kernels
    case = CASES[name]
    case.dtype = dtype
    made = case.make()
    found = compiled[name]([array for array, _ in made.values()], case.text(made)[1])
    expected = case.expected(made)
    close(found[0], expected[0], LIMITS[dtype])
    close(found[1], expected[1], LIMITS["f64" if dtype == "f64" else "f32"])


def test_one_result(tmp_path):
    case = Attention()
    made = case.make()
    text, outputs = case.text(made, results=("o",))
    found, = compile_kernels(text, ["--tsp-lower-sdpa-kernels"], tmp_path)["k"]([a for a, _ in made.values()], outputs)
    close(found, case.expected(made)[0], LIMITS["f32"])


def check_masked_keys_have_no_influence(compiled, dtype="f32"):
    """`compiled` makes a kernel of a module's text. What a masked key holds, NaN even, changes no bit of the scores; large scores do not overflow."""
    case = Attention(queries=20, keys=80, mask=(1, 0, 0), scale=40.0, dtype=dtype)
    made = case.make()
    mask = np.zeros((1, 1, 1, 80), bool)
    mask[..., :41] = True
    made["mask"] = mask, "i1"
    text, outputs = case.text(made)
    kernel = compiled(text)["k"]
    one = kernel([a for a, _ in made.values()], outputs)
    made["k"][0][:, 41:] = np.nan
    made["v"][0][:, 41:] = 1e30
    other = kernel([a for a, _ in made.values()], outputs)
    for x, y in zip(one, other):
        np.testing.assert_array_equal(x, y)
        assert np.isfinite(x.astype(np.float64)).all()


def test_masked_keys_have_no_influence(tmp_path):
    check_masked_keys_have_no_influence(lambda text: compile_kernels(text, ["--tsp-lower-sdpa-kernels"], tmp_path))
