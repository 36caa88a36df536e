# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of models of full size over long sequences: nothing of them runs here."""
import json
import subprocess

import pytest

import tsp
from Integration import harness, large
from tsp import closed_forms

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")

LENGTH = 131072


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The file of a model's program."""
    folder, known = tmp_path_factory.mktemp("large"), {}

    def get(name):
        if name not in known:
            known[name] = folder / f"{name}.mlir"
            large.program(large.CONFIGS[name], LENGTH).save(known[name])
        return known[name]
    return get


# Steps of attention: whole KV heads, at least as many as ranks where there are so many.
@pytest.mark.parametrize("name, mesh, strategy, ranks, outer, steps", [
    ("7B", "t=8", "tsp", 8, 1, 8), ("7B", "t=64", "tsp(zigzag)", 64, 1, 32), ("8B", "t=64", "tsp", 64, 1, 8), ("8B", "d=8,t=8", "sp_gather@d,tsp@t", 8, 8, 8),
    ("7B", "d=8,t=8", "sp_gather@d,tsp@t", 8, 8, 8)])
def test_bytes_and_peak_of_128k_tokens(programs, tmp_path, name, mesh, strategy, ranks, outer, steps):
    config, report = large.CONFIGS[name], tmp_path / "report.json"
    subprocess.run([tsp.find_tool("tsp-compile"), programs(name), "-o", tmp_path / "plan.mlir", "--emit=mlir-buffers", f"--report={report}",
                    f"--mesh={mesh}", f"--strategy={strategy}"], check=True, timeout=300)
    entry, sizes = json.loads(report.read_text())["entries"][0], large.sizes(config, LENGTH)
    assert sum(entry["received_bytes"].values()) == closed_forms.tsp_forward(ranks, sizes, outer), entry["received_bytes"]
    expected = closed_forms.tsp_buffers(ranks, sizes, steps, config.head_width, outer, "zigzag" in strategy)
    assert expected * 0.97 < entry["peak_bytes"] < expected * 1.03, entry["at_peak"]
