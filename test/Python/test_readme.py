# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of README.md run as they stand, one after the other."""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

import pytest

import tsp
from Integration import harness

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")
def test_examples_run(tmp_path):
    blocks = re.findall(r"```(python|bash)\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert [kind for kind, _ in blocks] == ["python", "bash", "bash"]
    path = os.pathsep.join([str(ROOT / "build/bin"), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "python")}
    for kind, text in blocks:
        command = [sys.executable, "-c", text] if kind == "python" else ["bash", "-e", "-c", text]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "y.npz").exists() and (tmp_path / "y-gpu.npz").exists() and (tmp_path / "trace.json").exists() and (tmp_path / "stats.json").exists()


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


@pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-opt is not built")
def test_architecture_names_the_passes_of_each_phase():
    table = re.findall(r"^\| `(\w+)` \| (.*?) \|", (ROOT / "docs/Architecture.md").read_text(), re.M)
    assert len(table) == 9
    for phase, row in table:
        named, found = set(re.findall(r"`(tsp-[\w*-]+)`", row)), set()
        for options in ("", "=architectures=sm_80"):
            done = subprocess.run([tsp.find_tool("tsp-opt"), f"--tsp-phase-{phase}{options}", "--dump-pass-pipeline", "-o", os.devnull],
                                  input="module {}", capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            found |= set(re.findall(r"\btsp-[\w-]+", done.stderr))
        assert all(any(fnmatch.fnmatch(name, pattern) for pattern in named) for name in found), (phase, found - named)
        assert all(any(fnmatch.fnmatch(name, pattern) for name in found) for pattern in named), (phase, named - found)
