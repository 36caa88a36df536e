# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an export made: the text of a module and the signatures of its entries."""
from __future__ import annotations

import dataclasses
import os
from typing import Any, Literal

import numpy as np

Kind = Literal["parameter", "input", "state"]


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument of an entry: a leaf of the pytrees that the function takes."""
    name: str  # pytree path, as in params['layers'][0]['wq']
    kind: Kind
    shape: tuple[int, ...]
    dtype: np.dtype
    alias: int | None = None  # of a state: the number of the result that is its new value


@dataclasses.dataclass(frozen=True)
class Result:
    """One result of an entry: a leaf of the pytree that the function returns."""
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype


@dataclasses.dataclass(frozen=True)
class Signature:
    """One public function of the module, by the names and shapes of its leaves."""
    name: str
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    in_tree: Any  # pytree structure of (positional arguments)
    out_tree: Any
    kept: tuple[int, ...]  # numbers of the flattened leaves that are arguments

    def named(self, *args: Any) -> dict[str, np.ndarray]:
        """The leaves of `args` as NumPy arrays by argument name, which is what a
        file given with `--args` must hold. ValueError if the pytrees differ."""
        import jax
        leaves, tree = jax.tree_util.tree_flatten(args)
        if tree != self.in_tree:
            raise ValueError(f"entry {self.name}: arguments have structure {tree}, exported with {self.in_tree}")
        named = {}
        for argument, leaf in zip(self.arguments, (leaves[k] for k in self.kept)):
            array = np.asarray(leaf)
            if array.shape != argument.shape:
                raise ValueError(f"entry {self.name}: {argument.name} has shape {array.shape}, exported with {argument.shape}")
            named[argument.name] = array.astype(argument.dtype, copy=False)
        return named


@dataclasses.dataclass(frozen=True)
class Program:
    """A module in the text that `tsp-compile` reads."""
    text: str
    signatures: tuple[Signature, ...]

    def save(self, path: str | os.PathLike) -> None:
        """Writes the text to `path` (a .mlir file)."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text)

    def signature(self, entry: str = "main") -> Signature:
        """The signature of `entry`; ValueError, listing the entries, if there is none."""
        for signature in self.signatures:
            if signature.name == entry:
                return signature
        raise ValueError(f"no entry {entry!r}; the module has {[s.name for s in self.signatures]}")
