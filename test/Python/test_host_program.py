# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host code on its own: a program of hand-written kernels, compiled and run on two ranks."""
import json
import pathlib
import subprocess

import numpy as np
import pytest

import tsp
from Integration import harness

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")
TOY = pathlib.Path(__file__).parents[1] / "Host" / "Inputs" / "toy.mlir"


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    output = tmp_path_factory.mktemp("toy") / "toy"
    subprocess.run([tsp.find_tool("tsp-compile"), TOY, "--from=mlir-codegen", "-o", output], check=True)
    return output


def test_folds_and_gather(toy, tmp_path):
    x, w = np.array([2, 3], np.float32), np.array([[1, 10], [100, 1000]], np.float32)
    np.savez(tmp_path / "in.npz", x=x, w=w)
    subprocess.run([toy, f"--args={tmp_path / 'in.npz'}", f"--out={tmp_path / 'out.npz'}",
                    f"--stats={tmp_path / 'stats.json'}"], check=True)
    out = np.load(tmp_path / "out.npz")
    for name in ("broadcast", "ring"):
        np.testing.assert_array_equal(out[name], x @ w)
    np.testing.assert_array_equal(out["result2"], x)

    stats = json.loads((tmp_path / "stats.json").read_text())
    for rank in stats["ranks"]:
        received = {item["collective"]: item["bytes_received"] for item in rank["collectives"]}
        assert received == {"all_gather": 4, "broadcast": 8, "send_recv": 8}
        assert rank["peak_bytes"] <= rank["planned_peak_bytes"]


def test_missing_argument(toy):
    run = subprocess.run([toy], capture_output=True, text=True)
    assert run.returncode == 1
    assert "x" in run.stderr
