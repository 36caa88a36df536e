# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases themselves: they export, and JAX in float32 is near float64."""
import pytest

from Integration import cases
from Integration.case import error, rms


@pytest.mark.parametrize("name", cases.FORWARD + cases.TRAINING)
def test_case_is_well_conditioned(exported, name):
    case = exported(name)
    assert case.program.signature().arguments
    size = max(rms(reference) for reference in case.reference) * 1e-3
    for by_jax, reference in zip(case.jax, case.reference, strict=True):
        assert error(by_jax, reference, size) < 1e-5
