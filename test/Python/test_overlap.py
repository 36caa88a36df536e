# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transfers run under compute: folds of the MLP and of attention on links as slow as the compute.

Two judges. The schedule: the order of launches, starts and waits of a real run, replayed with one time a kernel, does
not depend on what else the machine does. And the clock: the same binary on links that a timer simulates, the best of
several runs, as a busy machine gets more than one try."""
import numpy as np
import pytest

from Integration import harness
from Integration.case import Case
from Integration.replay import kernel_times, replay

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")
LAYERS, TRIES = 8, 20


def mlp(layers, x):
    import jax
    for layer in layers:
        x = x + (jax.nn.silu(x @ layer["wg"]) * (x @ layer["wu"])) @ layer["wd"]
    return x


def attention(layers, x):
    import jax
    batch, tokens, width = x.shape
    for layer in layers:
        q, k, v = ((x @ layer[name]).reshape(batch, tokens, -1, 64) for name in ("wq", "wk", "wv"))
        x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(batch, tokens, -1) @ layer["wo"]
    return x


def weights(shapes):
    random = np.random.default_rng(0)
    return [{name: (random.standard_normal(shape) * 0.02).astype(np.float32) for name, shape in shapes.items()} for _ in range(LAYERS)]


MLP = (mlp, {"wg": (512, 1536), "wu": (512, 1536), "wd": (1536, 512)}, (1, 384, 512))
ATTENTION = (attention, {"wq": (1024, 1024), "wk": (1024, 256), "wv": (1024, 256), "wo": (1024, 1024)}, (1, 512, 1024))
PROGRAMS = {"mlp=ring": MLP, "mlp=broadcast": MLP, "attention=broadcast": ATTENTION}


def seconds(exported, executable, *options):
    stats = harness.run(exported, executable, "--repeat=7", "--threads=1", *options).stats
    return min(max(times) for times in zip(*(rank["run_seconds"] for rank in stats["ranks"])))


@pytest.mark.alone
@pytest.mark.parametrize("schedule", PROGRAMS)
def test_overlap(schedule, tmp_path):
    function, shapes, tokens = PROGRAMS[schedule]
    case = Case(function, (weights(shapes), np.random.default_rng(1).standard_normal(tokens).astype(np.float32)))
    exported = harness.export(case, "f32", tmp_path)
    executables, traces = [], []
    for prefetch in (0, 1):
        folder = tmp_path / str(prefetch)
        folder.mkdir()
        executables.append(harness.compile_case(exported, folder, "t=2", "tsp", (f"--schedule={schedule}", f"--prefetch={prefetch}")))
        traces.append(folder / "trace.json")
        harness.run(exported, executables[prefetch], "--threads=1", f"--trace={traces[prefetch]}")

    times = kernel_times(traces)
    apart, together = (replay(trace, times) for trace in traces)
    assert together.seconds <= 1.2 * max(together.compute, together.link)
    assert apart.seconds >= 0.8 * (apart.compute + apart.link)

    # The same bounds by the clock, on links that are as slow as the kernels really were.
    tried = []
    for _ in range(TRIES):
        compute = seconds(exported, executables[1])
        link = f"--link={together.moved / compute / 1e9:.6f},1"
        tried.append((seconds(exported, executables[1], link) / compute, seconds(exported, executables[0], link) / (2 * compute)))
        if tried[-1][0] <= 1.2 and tried[-1][1] >= 0.8:
            return
    pytest.fail(f"with prefetch over max(compute, link), without over their sum: {tried}")
