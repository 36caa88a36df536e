# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transfers run under compute: folds of the MLP and of attention on links as slow as the compute.

Links are simulated by a timer, which uses no CPU. All times are the best of several runs, and a machine that
does something else meanwhile gets more than one try."""
import os

import numpy as np
import pytest

from Integration import harness
from Integration.case import Case

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")
LAYERS, TRIES = 8, 6
# A body that waits for its own K/V leaves the link to the next part only then: two parts ahead fill both halves.
PREFETCH = {"mlp=ring": 1, "mlp=broadcast": 1, "attention=broadcast": 2}


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


PROGRAMS = {
    "mlp=ring": (mlp, {"wg": (512, 1536), "wu": (512, 1536), "wd": (1536, 512)}, (1, 384, 512)),
    "mlp=broadcast": (mlp, {"wg": (512, 1536), "wu": (512, 1536), "wd": (1536, 512)}, (1, 384, 512)),
    "attention=broadcast": (attention, {"wq": (1024, 1024), "wk": (1024, 256), "wv": (1024, 256), "wo": (1024, 1024)}, (1, 512, 1024)),
}


def seconds(exported, executable, *options):
    stats = harness.run(exported, executable, "--repeat=7", "--threads=1", *options).stats
    return min(max(times) for times in zip(*(rank["run_seconds"] for rank in stats["ranks"])))


@pytest.mark.parametrize("schedule", PROGRAMS)
def test_overlap(schedule, tmp_path):
    if os.getloadavg()[0] > os.cpu_count():
        pytest.skip("other work keeps this machine busy: times would say nothing")
    function, shapes, tokens = PROGRAMS[schedule]
    case = Case(function, (weights(shapes), np.random.default_rng(1).standard_normal(tokens).astype(np.float32)))
    exported = harness.export(case, "f32", tmp_path)
    executables = {}
    for prefetch in (0, PREFETCH[schedule]):
        folder = tmp_path / str(prefetch)
        folder.mkdir()
        executables[prefetch] = harness.compile_case(exported, folder, "t=2", "tsp", (f"--schedule={schedule}", f"--prefetch={prefetch}"))
    # Bytes over the busier link: of two ranks one receives each byte of a broadcast, both receive their half of a
    # ring and of the gathered K/V.
    moved = LAYERS * sum(4 * a * b for a, b in shapes.values()) / (2 if "ring" in schedule else 1)
    moved += LAYERS * sum(4 * tokens[1] * shapes[name][1] / 2 for name in ("wk", "wv") if name in shapes)
    tried = []
    for _ in range(TRIES):
        compute = seconds(exported, executables[PREFETCH[schedule]])
        link = f"--link={moved / compute / 1e9:.6f},1"
        apart, together = seconds(exported, executables[0], link), seconds(exported, executables[PREFETCH[schedule]], link)
        tried.append((together / compute, apart / (2 * compute)))
        # K and V of attention queue on the link behind the part that is under way, which a prefetch cannot hide:
        # there it has to take at least a tenth off.
        hidden = together <= 0.9 * apart if schedule.startswith("attention") else together <= 1.2 * compute
        if hidden and apart >= 0.8 * 2 * compute:
            return
    pytest.fail(f"with prefetch over max(compute, link), without over their sum: {tried}")
