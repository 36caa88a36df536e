# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models as callables that keep parameters and states loaded."""
from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tsp.export import export
from tsp.program import Program, Signature
from tsp.runtime import Context
from tsp.toolchain import compile_program


class Kept:
    """A state that stays with the ranks: what a call returns in place of its new
    value. Give it to the next call, or read it with np.asarray(state)."""

    def __init__(self, model: Model, entry: str, number: int, name: str, version: int):
        self._model, self._entry, self._number, self._name, self._version = model, entry, number, name, version

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        self._model._check_current(self)
        value = self._model._read_argument(self._entry, self._number)
        return value if dtype is None else value.astype(dtype)

    def __repr__(self) -> str:
        return f"Kept({self._name})"


class Model:
    """A shared object made by `tsp-compile --emit=so`, with its ranks running.

    model(*args, entry="main") takes the pytrees that the exported function took
    and returns the one it returned, as NumPy arrays. Parameters are copied to the
    ranks when they are new objects (an array changed in place is not noticed);
    None for a parameter or state argument means what the ranks hold or its files
    give. New values of states stay with the ranks: see `Kept`.

    threads of a rank (0: cores / ranks); link_gbps and link_us simulate links.
    For models compiled for cuda: devices, as in "0,1" (the ranks in turn; all there
    are by default), and graphs (record an entry once, then run the graph). With
    TSP_EMULATION=build/lib/emulation in the environment they run on the CPU.
    Errors of the runtime are tsp.runtime.RuntimeFailure.
    """

    def __init__(self, library: str | os.PathLike, signatures: Sequence[Signature] = (), *, threads: int = 0, trace: bool = False,
                 link_gbps: float = 0, link_us: float = 0, devices: str | None = None, graphs: bool = False):
        self._context = Context(library, threads=threads, trace=trace, link_gbps=link_gbps, link_us=link_us, devices=devices, graphs=graphs)
        self._signatures = {signature.name: signature for signature in signatures}
        self._entries = {entry["name"]: entry for entry in self._context.description["entries"]}
        self._loaded: dict[str, Any] = {}  # parameter name -> the object that the ranks hold
        self._versions: dict[str, int] = {}  # state name -> how often it was changed
        self.remarks = ""
        self._folder: tempfile.TemporaryDirectory | None = None

    def load(self, *paths: str | os.PathLike) -> None:
        """Adds files (.safetensors, .npz, .npy) that give arguments by name."""
        for path in paths:
            self._context.add_file(path)

    def __call__(self, *args: Any, entry: str = "main") -> Any:
        """Runs `entry` on pytrees. TypeError if they are not those of the export."""
        import jax
        if entry not in self._entries:
            raise ValueError(f"the model has no entry {entry!r}; it has {list(self._entries)}")
        signature = self._signatures.get(entry)
        if signature is None:
            raise ValueError(f"no signature of entry {entry!r}: use call(), or compile what tsp.export() returned")
        leaves = self._leaves(signature, args)
        for number, (argument, k) in enumerate(zip(signature.arguments, signature.kept)):
            self._give(entry, number, argument.name, argument.kind, leaves[k])
        self._context.call(entry)
        results = self._results(entry, {a.alias: (number, a.name) for number, a in enumerate(signature.arguments) if a.alias is not None})
        return jax.tree_util.tree_unflatten(signature.out_tree, results)

    def call(self, arguments: Mapping[str, Any], entry: str = "main") -> list[np.ndarray]:
        """Runs `entry` on arrays by argument name (`argN` works too), for models whose
        pytrees are not known. Returns all results, states too, as arrays."""
        if entry not in self._entries:
            raise ValueError(f"the model has no entry {entry!r}; it has {list(self._entries)}")
        for name, value in arguments.items():
            self._context.set(entry, self._described(entry, name), name, np.asarray(value))
        self._context.call(entry)
        return self._results(entry, {})

    def zero_state(self, entry: str = "main") -> None:
        """Fills the states of `entry` with zeros."""
        for argument in self._entries[entry]["args"]:
            if argument["kind"] == "state":
                self._context.set_zero(entry, argument["name"])
                self._versions[argument["name"]] = self._versions.get(argument["name"], 0) + 1

    @property
    def description(self) -> dict[str, Any]:
        """Mesh, entries, arguments with their placements: JSON of tsp_runtime.h."""
        return self._context.description

    def stats(self) -> dict[str, Any]:
        """Times, bytes received and peaks of each rank: JSON of tsp_runtime.h."""
        return self._context.stats()

    def write_trace(self, path: str | os.PathLike) -> None:
        """Writes a Chrome trace; needs trace=True."""
        self._context.write_trace(path)

    def close(self) -> None:
        """Ends the ranks and frees what they hold."""
        self._context.close()
        if self._folder:
            self._folder.cleanup()
            self._folder = None

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _leaves(self, signature: Signature, args: Sequence[Any]) -> list[Any]:
        """The leaves of `args`; None for each leaf of an argument that is None."""
        import jax
        trees = signature.in_tree.children()
        if len(args) != len(trees):
            raise TypeError(f"entry {signature.name} takes {len(trees)} arguments, found {len(args)}")
        leaves: list[Any] = []
        for number, (arg, tree) in enumerate(zip(args, trees)):
            if arg is None:
                leaves += [None] * tree.num_leaves
                continue
            flat, found = jax.tree_util.tree_flatten(arg)
            if found != tree:
                raise TypeError(f"entry {signature.name}, argument {number}: expected the structure {tree}, found {found}")
            leaves += flat
        return leaves

    def _give(self, entry: str, number: int, name: str, kind: str, leaf: Any) -> None:
        if isinstance(leaf, Kept):
            self._check_current(leaf)
            if leaf._name != name:
                raise ValueError(f"entry {entry}: {name} was given the kept state {leaf._name}")
            return
        if leaf is None:
            if kind == "input":
                raise TypeError(f"entry {entry}: input {name} is missing")
            return
        if kind == "parameter" and self._loaded.get(name) is leaf:
            return
        self._context.set(entry, self._entries[entry]["args"][number], f"arg{number}", np.asarray(leaf))
        if kind == "parameter":
            self._loaded[name] = leaf
        if kind == "state":
            self._versions[name] = self._versions.get(name, 0) + 1

    def _results(self, entry: str, states: Mapping[int, tuple[int, str]]) -> list[Any]:
        results = []
        for k, result in enumerate(self._entries[entry]["results"]):
            if k in states:
                number, name = states[k]
                self._versions[name] = self._versions.get(name, 0) + 1
                results.append(Kept(self, entry, number, name, self._versions[name]))
            else:
                results.append(self._context.read_result(entry, result, f"result{k}"))
        return results

    def _described(self, entry: str, name: str) -> dict[str, Any]:
        arguments = self._entries[entry]["args"]
        for number, argument in enumerate(arguments):
            if name in (argument.get("name"), f"arg{number}"):
                return argument
        raise ValueError(f"entry {entry} has no argument {name!r}; it has {[a.get('name') for a in arguments]}")

    def _read_argument(self, entry: str, number: int) -> np.ndarray:
        return self._context.read_argument(entry, self._entries[entry]["args"][number], f"arg{number}")

    def _check_current(self, state: Kept) -> None:
        if state._model is not self or self._versions.get(state._name) != state._version:
            raise ValueError(f"{state!r} is no longer what the ranks hold: a later call or value replaced it")


def compile(program: Program | str | os.PathLike | Callable, *args: Any, mesh: str | Mapping[str, int] | None = None, strategy: str = "none",
            options: Sequence[str] = (), output: str | os.PathLike | None = None, threads: int = 0, trace: bool = False, link_gbps: float = 0,
            link_us: float = 0, devices: str | None = None, graphs: bool = False, **export_options: Any) -> Model:
    """Compiles a program and loads it.

    program  what `tsp.export` returned, the path of a .mlir file or of a portable
             StableHLO artifact, or a function, which is exported with `args` and
             `export_options` (params, state, ..)
    mesh     "d=2,t=4" or {"d": 2, "t": 4}: the ranks, threads of this process
    strategy none, tp, tsp, .. as in `tsp-compile --help`
    options  further options of tsp-compile, such as "--remarks" (printed text is
             in the model's `remarks`)
    output   keeps the shared object there
    The rest is as in `Model`. tsp.CompileError if the program is refused.
    """
    if callable(program):
        program = export(program, *args, **export_options)
    folder = None if output else tempfile.TemporaryDirectory()
    library = os.fspath(output) if output else os.path.join(folder.name, "model.so")
    remarks = compile_program(program, library, mesh=mesh, strategy=strategy, emit="so", options=options)
    signatures = program.signatures if isinstance(program, Program) else ()
    model = Model(library, signatures, threads=threads, trace=trace, link_gbps=link_gbps, link_us=link_us, devices=devices, graphs=graphs)
    model.remarks, model._folder = remarks, folder
    return model
