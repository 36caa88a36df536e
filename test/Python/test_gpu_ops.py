# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every op as a kernel of a GPU, emulated, beside XLA: the tables of test_ops.py. A family is one module, loaded once."""
import os

import jax
import ml_dtypes
import pytest

import cuda_driver
import tsp
from Integration.cache import cached
from test_ops import FAMILIES, OPS, Family
from tsp.runtime import RuntimeFailure

pytestmark = pytest.mark.skipif(not os.path.exists(cuda_driver.library_path()), reason="the emulation is not built")


class DeviceFamily:
    """The ops of a table in one process, on one device."""

    def __init__(self, table, folder):
        cuda_driver.driver()  # the runtime's own search then finds this library
        library = folder / "libops.so"
        with jax.enable_x64(True):
            program = Family.program(table)
            values = [x for op in table for x in op.args]
            self.expected = cached(program.text, values, lambda: {f"{op.name}/{i}": x for op in table for i, x in enumerate(op.by_xla())})
            tsp.compile_program(program, library, emit="so", options=["--target=cuda:sm_80"])
        self.model = tsp.Model(library)

    def check(self, op):
        results = self.model.call({f"x{i}": x for i, x in enumerate(op.args)}, entry=op.name)
        expected = [self.expected[f"{op.name}/{i}"] for i in range(len(results))]
        # The cache keeps 4-bit integers as bytes.
        results = [r.astype(e.dtype) if r.dtype == ml_dtypes.int4 else r for r, e in zip(results, expected)]
        op.judge(results, expected)


@pytest.fixture(scope="module")
def families(tmp_path_factory):
    """families(name) -> DeviceFamily; its launches are checked for races and for reads of what nobody wrote."""
    made = {}
    patch = pytest.MonkeyPatch()
    patch.setenv("TSP_EMULATION_CHECK", "1")

    def get(name):
        if name not in made:
            made[name] = DeviceFamily(FAMILIES[name], tmp_path_factory.mktemp(name))
        return made[name]
    yield get
    for family in made.values():
        family.model.close()
    patch.undo()


@pytest.mark.parametrize("name, op", OPS)
def test_op(families, name, op):
    family = families(name)
    try:
        family.check(op)
    except RuntimeFailure as failure:
        pytest.fail(str(failure))
