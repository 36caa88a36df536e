# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tsp.export`: JAX functions to the text of one module."""
from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax._src import config
from jax.sharding import AbstractMesh

from tsp import artifacts, module_text
from tsp.names import argument_names, leaf_names, roots
from tsp.program import Argument, Program, Result, Signature


@dataclasses.dataclass(frozen=True)
class Entry:
    """One entry of a module: a function, example arguments and their roles.

    fn      a function of pytrees of arrays, jitted or not; or a `jax.export`
            artifact (an Exported, its bytes, or the path of a file of them)
    args    example positional arguments; arrays or jax.ShapeDtypeStruct leaves
    params  argument numbers that are parameters: loaded once, kept by name
    state   argument numbers that are states (donated): kept by the ranks between
            calls and updated in place; or a mapping from argument number to the
            number of the top-level result that is the new value
    names   root name of every positional argument, else those of `fn`
    """
    fn: Any
    args: Sequence[Any]
    params: Iterable[int] = ()
    state: Iterable[int] | Mapping[int, int] = ()
    names: Sequence[str] | None = None


def export(fn: Any, *args: Any, path: str | os.PathLike | None = None, entry: str = "main", params: Iterable[int] = (),
           state: Iterable[int] | Mapping[int, int] = (), names: Sequence[str] | None = None,
           mesh: str | Mapping[str, int] | None = None) -> Program:
    """Lowers `fn(*args)` to StableHLO text that `tsp-compile` reads.

    `params`, `state` and `names` are as in `Entry`. For several entries in one
    module give a dict of `Entry` by name instead of a function and arguments.
    `mesh` ("d=2,t=4" or {"d": 2, "t": 4}) is in scope while tracing, for programs
    that place values on its axes themselves; no devices are needed.
    `path` also writes the text. Arguments carry their pytree path as tsp.name and
    their role as tsp.kind. An artifact with symbolic sizes is made static by `args`.

    ValueError if a state has no result of its structure, or several, or if there is
    no argument of a number in `params` or `state`.
    """
    entries = fn if isinstance(fn, Mapping) else {entry: Entry(fn, args, params, state, names)}
    if isinstance(fn, Mapping) and args:
        raise ValueError("several entries carry their own arguments; give none to export()")
    texts, signatures = {}, []
    # One frame, the innermost of the user's, is what a diagnostic should point at.
    with _mesh_scope(mesh), config.traceback_in_locations_limit(1):
        for name, one in entries.items():
            texts[name], signature = _lower(name, one)
            signatures.append(signature)
    program = Program(module_text.merge(texts), tuple(signatures))
    if path is not None:
        program.save(path)
    return program


def _mesh_scope(mesh: str | Mapping[str, int] | None) -> Any:
    if not mesh:
        return contextlib.nullcontext()
    if isinstance(mesh, str):
        parts = [part.partition("=") for part in mesh.split(",")]
        if not all(axis and size.isdecimal() for axis, _, size in parts):
            raise ValueError(f"mesh {mesh!r}: expected AXIS=SIZE,..., as in 'd=2,t=4'")
        mesh = {axis: int(size) for axis, _, size in parts}
    return jax.sharding.use_abstract_mesh(AbstractMesh(tuple(mesh.values()), tuple(mesh)))


def _lower(name: str, entry: Entry) -> tuple[str, Signature]:
    exported = None if callable(entry.fn) else artifacts.read(entry.fn)
    fn: Callable = exported.call if exported is not None else entry.fn
    jitted = fn if hasattr(fn, "trace") else jax.jit(fn, keep_unused=True)
    args = tuple(entry.args)
    for role, numbers in (("params", entry.params), ("state", entry.state)):
        for number in numbers:
            if number not in range(len(args)):
                raise ValueError(f"entry {name}: {role} names argument {number!r}, but the arguments are numbered 0 to {len(args) - 1}")
    lowered = jitted.trace(*args).lower(lowering_platforms=("cpu",))
    text = module_text.make_static(lowered.as_text(debug_info=True))

    names = entry.names or roots(fn, len(args))
    if len(names) != len(args):
        raise ValueError(f"entry {name}: {len(names)} names for {len(args)} arguments")
    flat_names = None if entry.names or exported is None else artifacts.leaf_names(exported)
    flat_names = flat_names or argument_names(args, names)
    results = _results(lowered.out_info)
    states = _states(name, entry.state, args, names, lowered.out_info)
    kinds = ["parameter" if i in set(entry.params) else "state" if i in states else "input" for i in range(len(args))]
    flat_kinds = [kind for kind, arg in zip(kinds, args) for _ in jax.tree_util.tree_leaves(arg)]
    aliases: list[int | None] = []
    for i, arg in enumerate(args):
        count = len(jax.tree_util.tree_leaves(arg))
        aliases += range(states[i], states[i] + count) if i in states else [None] * count

    kept = module_text.kept_arguments(lowered, len(flat_names))
    avals = jax.tree_util.tree_leaves(lowered.in_avals)
    arguments = [Argument(flat_names[k], flat_kinds[k], tuple(avals[k].shape), np.dtype(avals[k].dtype), aliases[k]) for k in kept]
    text, arguments = module_text.annotate(text, arguments)
    in_tree = jax.tree_util.tree_structure(args)
    return text, Signature(name, tuple(arguments), results, in_tree, jax.tree_util.tree_structure(lowered.out_info), tuple(kept))


def _results(out_info: Any) -> tuple[Result, ...]:
    leaves = jax.tree_util.tree_leaves(out_info)
    return tuple(Result(name, tuple(leaf.shape), np.dtype(leaf.dtype)) for name, leaf in zip(leaf_names(out_info, "result"), leaves))


def _states(entry: str, state: Iterable[int] | Mapping[int, int], args: Sequence[Any], names: Sequence[str], out_info: Any) -> dict[int, int]:
    """For every state argument, the flat number of its first result."""
    tops = list(out_info) if type(out_info) in (tuple, list) else [out_info]
    firsts = [0]
    for top in tops:
        firsts.append(firsts[-1] + len(jax.tree_util.tree_leaves(top)))
    states = {}
    for i in state:
        if isinstance(state, Mapping):
            matches = [state[i]]
        else:
            matches = [k for k, top in enumerate(tops) if _shape(top) == _shape(args[i])]
        if len(matches) != 1 or _shape(tops[matches[0]]) != _shape(args[i]):
            raise ValueError(f"entry {entry}: state {names[i]} (argument {i}) needs exactly one result of its structure, shapes and types, "
                             f"found {len(matches)}; say which with state={{{i}: RESULT}}")
        states[i] = firsts[matches[0]]
    return states


def _shape(tree: Any) -> Any:
    leaves, structure = jax.tree_util.tree_flatten(tree)
    return structure, [(np.shape(leaf), np.dtype(leaf.dtype) if hasattr(leaf, "dtype") else np.result_type(leaf)) for leaf in leaves]
