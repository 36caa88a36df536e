# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fixtures: exports and executables of the integration cases, made once."""
import pytest

from Integration import harness
from Integration.cases import case

_exported, _executables = {}, {}


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """exported(name or Case, dtype) -> harness.Exported"""
    def get(one, dtype="f32"):
        key = (one, dtype) if isinstance(one, str) else (id(one), dtype)
        if key not in _exported:
            _exported[key] = harness.export(case(one) if isinstance(one, str) else one, dtype, tmp_path_factory.mktemp("export"))
        return _exported[key]
    return get


@pytest.fixture(scope="session")
def executable(tmp_path_factory):
    """executable(exported, mesh, strategy, *options) -> path"""
    def get(one, mesh, strategy, *options):
        key = (id(one), mesh, strategy, options)
        if key not in _executables:
            _executables[key] = harness.compile_case(one, tmp_path_factory.mktemp("compile"), mesh, strategy, options)
        return _executables[key]
    return get


@pytest.fixture(scope="session")
def run_case(exported, executable):
    """run_case(name, mesh, strategy, dtype) -> harness.Run, judged by numbers and memory"""
    def get(one, mesh="", strategy="none", dtype="f32", *options):
        program = exported(one, dtype)
        result = harness.run(program, executable(program, mesh, strategy, *options))
        harness.judge(program, result.results, dtype)
        harness.judge_memory(result)
        return result
    return get
