# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a case, runs the executable as a user would, judges numbers and bytes."""
from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
import subprocess
from typing import Any

import numpy as np

import tsp
from Integration.cache import cached
from Integration.case import Case, error, rms

# Errors under this are rounding of the result itself.
FLOOR = {"f32": 1e-6, "bf16": 4e-3}
# How much worse than JAX on one device, against float64, a result may be.
FACTOR = {"f32": 2.0, "bf16": 1.5}


@dataclasses.dataclass
class Exported:
    """A case in one type: program and files of its values."""
    case: Case
    dtype: str
    program: tsp.Program
    parameters: pathlib.Path
    inputs: pathlib.Path

    @property
    def jax(self) -> list[np.ndarray]:
        """Results of JAX in that type."""
        return self._known("jax")

    @property
    def reference(self) -> list[np.ndarray]:
        """Results of JAX in float64."""
        return self._known("reference")

    def _known(self, which: str) -> list[np.ndarray]:
        return [self._numbers[f"{which}{i}"] for i in range(len(self.program.signature().results))]

    @functools.cached_property
    def _numbers(self) -> dict[str, np.ndarray]:
        def compute() -> dict[str, np.ndarray]:
            numbers = {f"jax{i}": value for i, value in enumerate(self.case.by_jax(self.dtype))}
            return numbers | {f"reference{i}": value for i, value in enumerate(self.case.reference(self.dtype))}
        return cached(self.program.text, self.program.signature().named(*self.case.cast(self.dtype)).values(), compute)


@dataclasses.dataclass
class Run:
    """What one run of an executable gave."""
    results: list[np.ndarray]
    stats: dict[str, Any]

    def bytes_received(self, rank: int) -> dict[tuple[str, str], int]:
        """By collective and axis."""
        return {(c["collective"], c["axis"]): c["bytes_received"] for c in self.stats["ranks"][rank]["collectives"]}


def export(case: Case, dtype: str, folder: pathlib.Path) -> Exported:
    """Writes program and values of a case to `folder`."""
    args = case.cast(dtype)
    program = tsp.export(case.fn, *args, params=case.params, state=case.state, path=folder / f"{dtype}.mlir")
    values = program.signature().named(*args)
    kinds = {argument.name: argument.kind for argument in program.signature().arguments}
    parameters, inputs = folder / f"{dtype}-parameters.safetensors", folder / f"{dtype}-inputs.safetensors"
    tsp.save_tensors(parameters, {name: value for name, value in values.items() if kinds[name] == "parameter"})
    tsp.save_tensors(inputs, {name: value for name, value in values.items() if kinds[name] != "parameter"})
    return Exported(case, dtype, program, parameters, inputs)


def compile_case(exported: Exported, folder: pathlib.Path, mesh: str, strategy: str, options: tuple[str, ...] = ()) -> pathlib.Path:
    """The executable of a case."""
    executable = folder / "model"
    tsp.compile_program(exported.program, executable, mesh=mesh, strategy=strategy, options=("--target-cpu=native", *options))
    return executable


def run(exported: Exported, executable: pathlib.Path, *options: str, timeout: float = 300) -> Run:
    """Runs the executable on the values of the case; seconds after which that has failed."""
    out, stats = executable.parent / "out.safetensors", executable.parent / "stats.json"
    command = [executable, f"--args={exported.parameters}", f"--args={exported.inputs}", f"--out={out}", f"--stats={stats}", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\nexit code {done.returncode}\n{done.stderr}"
    tensors = tsp.load_tensors(out)
    signature = exported.program.signature()
    # Results come under their names, or as resultN where they have none.
    results = [tensors[result.name] if result.name in tensors else tensors[f"result{i}"] for i, result in enumerate(signature.results)]
    return Run(results, json.loads(stats.read_text()))


def judge(exported: Exported, results: list[np.ndarray], dtype: str) -> None:
    """Asserts types and shapes, and errors against float64 beside those of JAX."""
    # A result far smaller than the others, such as a gradient that is zero but for
    # rounding, is measured against a thousandth of their size.
    size = max((rms(reference) for reference in exported.reference), default=0.0) * 1e-3
    for declared, result, by_jax, reference in zip(exported.program.signature().results, results, exported.jax, exported.reference, strict=True):
        assert (result.shape, result.dtype) == (declared.shape, declared.dtype), declared.name
        if result.dtype.kind in "iub":
            np.testing.assert_array_equal(result, reference, err_msg=declared.name)
            continue
        ours, theirs = error(result, reference, size), error(by_jax, reference, size)
        allowed = max(FACTOR[dtype] * theirs, FLOOR[dtype])
        assert ours <= allowed, f"{declared.name}: error {ours:.2e} against float64, JAX has {theirs:.2e}, allowed {allowed:.2e}"


def judge_memory(result: Run) -> None:
    """Asserts that every rank's measured peak is within the planned one."""
    for rank, stats in enumerate(result.stats["ranks"]):
        assert stats["peak_bytes"] <= stats["planned_peak_bytes"], f"rank {rank}: {stats['peak_bytes']} bytes measured, {stats['planned_peak_bytes']} planned"


@functools.cache
def tools_are_built() -> bool:
    """Whether there is a compiler to test."""
    try:
        tsp.find_tool("tsp-compile")
        return True
    except FileNotFoundError:
        return False
