# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""200 random snippets of each family of instructions on the emulation against a reference that goes lane by lane."""
import numpy as np
import pytest

import cuda_driver
import random_machine
import random_matrices
import random_snippets
from test_emulation_ptx import HEADER, check

EACH, TOGETHER = 200, 50
MACHINE = {**random_machine.SNIPPETS, "matrices": random_matrices.Matrices}


@pytest.mark.parametrize("first", range(0, EACH, TOGETHER))
@pytest.mark.parametrize("family", random_snippets.FAMILIES)
def test_chains(family, first):
    chains = [random_snippets.Chain(family, first + i) for i in range(TOGETHER)]
    module = cuda_driver.Device().module(HEADER + "".join(chain.kernel(f"k{i}") for i, chain in enumerate(chains)))
    for i, chain in enumerate(chains):
        outputs = [(array.shape, array.dtype) for array, _ in chain.expected]
        found = module.run(f"k{i}", random_snippets.BLOCKS, random_snippets.LANES, chain.inputs, outputs)
        for (wanted, tag), actual, tolerance in zip(chain.expected, found, chain.tolerances):
            try:
                if tag:
                    halves = [np.stack(random_snippets.ptx_reference.halves(words, random_snippets.packed_type(tag))) for words in (actual, wanted)]
                    check(halves[0].ravel(), halves[1].ravel(), tolerance, [])
                else:
                    check(actual, wanted, tolerance, [])
            except AssertionError as error:
                raise AssertionError(f"snippet {first + i} of {family}:\n{chain.kernel('k')}\n{error}") from None


@pytest.mark.parametrize("first", range(0, EACH, TOGETHER))
@pytest.mark.parametrize("family", MACHINE)
def test_beyond_a_lane(family, first):
    snippets = [MACHINE[family](first + i) for i in range(TOGETHER)]
    module = cuda_driver.Device().module(HEADER + "".join(snippet.kernel(f"k{i}") for i, snippet in enumerate(snippets)), checker=True)
    for i, snippet in enumerate(snippets):
        wanted = snippet.expected
        [found] = module.run(f"k{i}", 1, random_machine.COUNT, snippet.inputs, [(wanted.shape, wanted.dtype)])
        wrong = np.argwhere(found != wanted)
        for result, thread in wrong[:1]:
            pytest.fail(f"snippet {first + i} of {family}:\n{snippet.kernel('k')}\nresult {result} of thread {thread}: "
                        f"{found[result, thread]:#x}, not {wanted[result, thread]:#x}")
