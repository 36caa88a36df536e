# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scripts for a day with a GPU do their work: executables in a folder, run there (emulated) beside the peers (on the CPU)."""
import os
import pathlib
import subprocess
import sys

import pytest

from Integration import harness

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")
ROOT = pathlib.Path(__file__).parents[2]


def script(name, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run([sys.executable, ROOT / "test/Benchmark/gpu" / name, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_tiny_workloads(tmp_path):
    script("build.py", tmp_path / "carried", "--only=tiny", "--ranks=1,2", "--target=cuda:sm_80")
    script("run.py", tmp_path / "carried", "--repeat=1", "--emulate", "--peers=cpu", f"--out={tmp_path / 'table.md'}")
    lines = (tmp_path / "table.md").read_text().splitlines()
    rows = {cells[1]: cells for cells in ([cell.strip() for cell in line.split("|")] for line in lines[4:])}
    assert list(rows) == ["gemm tiny", "attention tiny", "block tiny", "block tiny, tp on 2", "block tiny, tsp on 2"]
    for name, cells in rows.items():
        assert [peer.rsplit(" ", 1)[0] for peer in cells[5].split(", ") if peer.startswith("JAX")] == (["JAX tp", "JAX tp+sp"] if " on 2" in name else ["JAX"])
        assert float(cells[7]) < 0.01, cells  # bf16 results
