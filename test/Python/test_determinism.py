# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What results may not depend on: threads, runs, tokens of the future."""
import numpy as np
import pytest

import tsp
from Integration import harness
from Integration.cases import case

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")


@pytest.mark.parametrize("mesh, strategy", [("", "none"), ("t=4", "tsp"), ("t=3", "tp")])
@pytest.mark.parametrize("name", ["llama", "gemma"])
def test_bits_do_not_depend_on_threads_or_runs(exported, executable, name, mesh, strategy):
    program = exported(name)
    model = executable(program, mesh, strategy)
    first, *others = [harness.run(program, model, f"--threads={threads}", f"--repeat={repeat}").results
                      for threads, repeat in [(1, 1), (1, 3), (2, 1), (3, 1), (7, 1)]]
    for other in others:
        for a, b in zip(first, other):
            np.testing.assert_array_equal(a.view(np.uint8), b.view(np.uint8))


@pytest.mark.parametrize("mesh, strategy", [("", "none"), ("t=4", "tsp"), ("t=3", "tp")])
def test_a_token_does_not_change_what_is_before_it(exported, executable, tmp_path, mesh, strategy):
    program = exported("llama")
    model = executable(program, mesh, strategy)
    before = harness.run(program, model).results[0]
    ids = case("llama").args[1].copy()
    ids[0, 9] += 1
    tsp.save_tensors(tmp_path / "changed.safetensors", {"ids": ids})
    after = harness.run(program, model, f"--args={tmp_path / 'changed.safetensors'}").results[0]
    np.testing.assert_array_equal(before[0, :9], after[0, :9])
    np.testing.assert_array_equal(before[1], after[1])
    assert (before[0, 9:] != after[0, 9:]).any(axis=-1).all()
