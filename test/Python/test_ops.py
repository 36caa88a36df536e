# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every op beside XLA: a family is one module with an entry an op."""
import subprocess

import jax
import pytest

import tsp
from Integration import harness
from Integration.cache import cached
from Integration.ops import elementwise, reductions, shapes

FAMILIES = {"elementwise": elementwise.ops(), "shapes": shapes.ops(), "reductions": reductions.ops()}
OPS = [pytest.param(family, op, id=op.name) for family, table in FAMILIES.items() for op in table]

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")


class Family:
    """Executable and expected results of a table of ops."""

    def __init__(self, table, folder):
        self.folder = folder
        with jax.enable_x64(True):
            program = self.program(table)
            values = [x for op in table for x in op.args]
            self.expected = cached(program.text, values, lambda: {f"{op.name}/{i}": x for op in table for i, x in enumerate(op.by_xla())})
        self.executable = folder / "model"
        try:
            tsp.compile_program(program, self.executable)
        except tsp.CompileError:
            self.executable = None  # then each op is compiled alone, and the one at fault fails

    @staticmethod
    def program(table):
        return tsp.export({op.name: tsp.Entry(op.fn, op.args, names=[f"x{i}" for i in range(len(op.args))]) for op in table})

    def executable_of(self, op):
        if self.executable:
            return self.executable
        alone = self.folder / op.name
        with jax.enable_x64(True):
            tsp.compile_program(self.program([op]), alone)
        return alone

    def expected_of(self, op):
        found = [name for name in self.expected if name.rsplit("/", 1)[0] == op.name]
        return [self.expected[f"{op.name}/{i}"] for i in range(len(found))]


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    made = {}

    def get(name):
        if name not in made:
            made[name] = Family(FAMILIES[name], tmp_path_factory.mktemp(name))
        return made[name]
    return get


@pytest.mark.parametrize("name, op", OPS)
def test_op(family, tmp_path, name, op):
    table = family(name)
    tsp.save_tensors(tmp_path / "in.safetensors", {f"x{i}": x for i, x in enumerate(op.args)})
    command = [table.executable_of(op), f"--entry={op.name}", f"--args={tmp_path / 'in.safetensors'}", f"--out={tmp_path / 'out.safetensors'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    op.judge(list(tsp.load_tensors(tmp_path / "out.safetensors").values()), table.expected_of(op))
