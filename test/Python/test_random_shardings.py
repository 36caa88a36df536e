# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of random ops whose values are placed at random, against JAX."""
import numpy as np
import pytest

import random_shardings
import tsp
from Integration import harness


@pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")
@pytest.mark.parametrize("seed", range(16))
def test_random_program(seed):
    program, mesh, args, known = random_shardings.program(seed)
    with tsp.compile(program, mesh=mesh) as model:
        results = model(*args)
    for result, value in zip(results, known, strict=True):
        np.testing.assert_array_equal(result, value)
