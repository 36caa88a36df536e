# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models for cuda inside Python, on the emulation: the same calls as on the host, on chosen devices, as graphs."""
import pathlib

import numpy as np
import pytest
import tsp

from Integration import harness

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")
EMULATION = pathlib.Path(__file__).resolve().parents[2] / "build" / "lib" / "emulation"


def count(state, w, x):
    """A state that grows, and a product that sums over what the ranks hold."""
    return state + 1, (x @ w) * state


@pytest.mark.parametrize("devices, graphs", [("0", False), ("0,1", False), ("0,1", True)])
def test_states_parameters_and_graphs(monkeypatch, capfd, devices, graphs):
    """At the end graphs go before the communicators whose calls they hold, as NCCL waits for that."""
    monkeypatch.setenv("TSP_EMULATION", str(EMULATION))
    random = np.random.default_rng(0)
    w, x = (random.standard_normal(shape).astype(np.float32) for shape in ((24, 7), (5, 24)))
    state = np.full((1,), 2, np.float32)
    with tsp.compile(count, state, w, x, params=(1,), state=(0,), mesh="t=2", strategy="tp", options=["--target=cuda:sm_80"],
                     devices=devices, graphs=graphs) as model:
        kept = state
        for call in range(4):
            x = x + np.float32(1)
            kept, y = model(kept, w, x)
            np.testing.assert_allclose(np.asarray(y), (x @ w) * (2 + call), rtol=1e-5, atol=1e-4)
        np.testing.assert_array_equal(np.asarray(kept), [6])
    assert "a CUDA graph holds calls" not in capfd.readouterr().err
