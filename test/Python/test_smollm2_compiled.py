# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SmolLM2-135M with its real weights: errors, argmax, bytes, time to compile, text."""
import functools
import time

import numpy as np
import pytest

import tsp
from Integration import harness
from Integration.case import Case, error
from tsp import closed_forms
from tsp.models import smollm2
from tsp.models.gguf_file import GgufFile, smollm2_path

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")
LENGTH = 512


@pytest.fixture(scope="module")
def model():
    return smollm2.load()


@pytest.fixture(scope="module")
def tokenizer():
    return GgufFile(smollm2_path()).tokenizer()


@pytest.fixture(scope="module")
def forward(model, tokenizer, tmp_path_factory):
    """forward(dtype) -> the exported forward pass over 512 tokens of text"""
    config, params = model
    text = tokenizer.encode(smollm2.__doc__ + open(smollm2.__file__).read())
    case = Case(functools.partial(smollm2.forward, config), (params, np.array([text[:LENGTH]], np.int32)))
    return functools.cache(lambda dtype: harness.export(case, dtype, tmp_path_factory.mktemp("smollm2")))


def judge(exported, result, dtype):
    harness.judge_memory(result)
    judge_logits(exported, result, dtype)


def judge_logits(exported, result, dtype):
    harness.judge(exported, result.results, dtype)
    logits, reference = result.results[0].astype(np.float64), exported.reference[0]
    largest = np.sort(reference, axis=-1)[..., -2:]
    decided = largest[..., 1] - largest[..., 0] > 2 * np.abs(logits - reference).max(axis=-1)
    np.testing.assert_array_equal(logits.argmax(-1)[decided], reference.argmax(-1)[decided])
    assert decided.mean() > 0.9 if dtype == "f32" else decided.any()


@pytest.mark.parametrize("ranks, strategy", [(1, "none"), (2, "tsp"), (3, "tsp"), (4, "tsp"), (8, "tsp"), (2, "tp"), (3, "tp"), (4, "tp"), (8, "tp")])
def test_forward(forward, model, tmp_path, ranks, strategy):
    exported = forward("f32")
    begin = time.perf_counter()
    executable = harness.compile_case(exported, tmp_path, f"t={ranks}", strategy)
    print(f"compiled in {time.perf_counter() - begin:.1f} s")
    result = harness.run(exported, executable)
    judge(exported, result, "f32")
    config, _ = model
    if strategy == "tsp":
        sizes = closed_forms.Sizes(config.layers, config.width, config.width, config.kv_heads * config.head_width, config.ffn, config.vocab, tokens=LENGTH)
        if ranks in (2, 4, 8):  # these divide all that moves
            assert [sum(result.bytes_received(r).values()) for r in range(ranks)] == [closed_forms.tsp_forward(ranks, sizes)] * ranks
        whole = sum(np.prod(a.shape) * 4 for a in exported.program.signature().arguments if a.kind == "parameter")
        assert all(abs(rank["parameter_bytes"] - whole / ranks) < 0.001 * whole for rank in result.stats["ranks"])


@pytest.mark.parametrize("ranks, strategy", [(1, "none"), (4, "tsp")])
def test_forward_bf16(forward, tmp_path, ranks, strategy):
    exported = forward("bf16")
    judge(exported, harness.run(exported, harness.compile_case(exported, tmp_path, f"t={ranks}", strategy)), "bf16")


@pytest.mark.parametrize("ranks, capability, options", [(2, "8.0", ("--target=cuda:sm_80",)), (4, "8.0", ("--target=cuda:sm_80",)),
                                                        (2, "9.0", ("--target=cuda:sm_80,sm_90a", "--embed-ptx=all"))])
def test_forward_on_emulated_gpus(forward, monkeypatch, tmp_path, ranks, capability, options):
    monkeypatch.setenv("TSP_EMULATED_CAPABILITY", capability)
    exported = forward("bf16")
    executable = harness.compile_case(exported, tmp_path, f"t={ranks}", "tsp", options)
    judge(exported, harness.run(exported, executable, "--emulate", timeout=180), "bf16")


@pytest.mark.parametrize("mesh, strategy", [("", "none"), ("t=4", "tsp"), ("t=4", "tp")])
def test_generation_equals_jax(model, tokenizer, tmp_path, mesh, strategy):
    import jax
    config, params = model
    prompt = np.array([tokenizer.encode(smollm2.chat("What is the capital of France?"))], np.int32)
    case = Case(functools.partial(smollm2.generate, config, 12), (params, prompt))
    exported = harness.export(case, "f32", tmp_path)
    tokens, = harness.run(exported, harness.compile_case(exported, tmp_path, mesh, strategy)).results
    np.testing.assert_array_equal(tokens, np.asarray(jax.jit(case.fn)(*case.args)))
    assert tokenizer.decode(tokens[0]).startswith("The capital of France is Paris.")


def test_serving_keeps_states_sharded(model, tokenizer, tmp_path):
    config, params = model
    prompt = np.array([tokenizer.encode(smollm2.chat("What is the capital of France?"))], np.int32)
    length = prompt.shape[1]
    cache = smollm2.new_cache(config, 1, length + 8)
    program = tsp.export({
        "prefill": tsp.Entry(functools.partial(smollm2.prefill, config), (params, prompt, np.int32(length), cache), params=(0,), state=(3,)),
        "decode": tsp.Entry(functools.partial(smollm2.decode, config), (params, prompt[:, 0], np.int32(length), cache), params=(0,), state=(3,)),
    })
    import jax
    expected = np.asarray(jax.jit(functools.partial(smollm2.generate, config, 8))(params, prompt))[0]
    with tsp.compile(program, mesh="t=4", strategy="tsp") as served:
        served.zero_state("prefill")
        logits, kept = served(params, prompt, np.int32(length), None, entry="prefill")
        tokens = [int(logits.argmax())]
        for position in range(length, length + 7):
            logits, kept = served(None, np.array(tokens[-1:], np.int32), np.int32(position), kept, entry="decode")
            tokens.append(int(logits.argmax()))
    assert tokens == list(expected)


def test_error_measure_sees_a_wrong_token(forward):
    exported = forward("f32")
    wrong = exported.jax[0].copy()
    wrong[0, 100] = wrong[0, 101]
    assert error(wrong, exported.reference[0]) > 1e-3
