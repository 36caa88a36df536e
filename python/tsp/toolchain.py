# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds and runs the command line tools."""
from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence

from tsp.program import Program


class CompileError(RuntimeError):
    """`tsp-compile` refused the program; the text is its diagnostic."""


def find_tool(name: str) -> str:
    """Path of the tool `name`: in $TSP_BIN, on the PATH, or in `build/bin` of the
    source tree that holds this file. FileNotFoundError if it is in none."""
    places = [os.environ["TSP_BIN"]] if "TSP_BIN" in os.environ else []
    places.append(os.environ.get("PATH", ""))
    places.append(str(pathlib.Path(__file__).resolve().parents[2] / "build" / "bin"))
    for place in places:
        found = shutil.which(name, path=place)
        if found:
            return found
    raise FileNotFoundError(f"{name} not found in $TSP_BIN, $PATH or build/bin: run ./bootstrap build, or set TSP_BIN")


def mesh_text(mesh: str | Mapping[str, int] | None) -> str:
    """A mesh as the command line spells it: {"d": 2, "t": 4} is d=2,t=4; None is one rank."""
    if mesh is None:
        return ""
    return mesh if isinstance(mesh, str) else ",".join(f"{axis}={size}" for axis, size in mesh.items())


def compile_program(program: Program | str | os.PathLike, output: str | os.PathLike, *, mesh: str | Mapping[str, int] | None = None,
                    strategy: str = "none", emit: str = "exe", options: Sequence[str] = ()) -> str:
    """Runs `tsp-compile` on a program, the path of a .mlir file or that of a portable
    StableHLO artifact (bytecode, as other frameworks write it), and returns what it
    printed (remarks, reports). CompileError with its diagnostic if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        source = program
        if isinstance(program, Program):
            source = os.path.join(folder, "program.mlir")
            program.save(source)
        elif (data := _portable_artifact(program)) is not None:
            from tsp.artifacts import portable_to_text
            source = os.path.join(folder, "program.mlir")
            pathlib.Path(source).write_text(portable_to_text(data))
        command = [find_tool("tsp-compile"), os.fspath(source), "-o", os.fspath(output), f"--emit={emit}", f"--strategy={strategy}"]
        if mesh_text(mesh):
            command.append(f"--mesh={mesh_text(mesh)}")
        command += options
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CompileError(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stderr}")
    return done.stdout + done.stderr


def _portable_artifact(path: str | os.PathLike) -> bytes | None:
    """The bytes of a file if they are a portable StableHLO artifact, else None."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        if file.read(4) == b"ML\xefR":
            return b"ML\xefR" + file.read()
    return None
