# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of arguments: pytree paths, spelt as JAX prints them in locations."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax


def roots(fn: Callable, count: int) -> list[str]:
    """Names of the first `count` positional arguments of `fn`, by its Python
    signature; `args[i]` where it has none (such as under *args)."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [positional[i] if i < len(positional) else f"args[{i}]" for i in range(count)]


def leaf_names(tree: Any, root: str) -> list[str]:
    """Name of every leaf of `tree`, in flattening order: params['layers'][0]['wq']."""
    return [root + jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(tree)[0]]


def argument_names(args: Sequence[Any], names: Sequence[str]) -> list[str]:
    """Names of all leaves of the positional arguments `args` with roots `names`."""
    return [name for arg, root in zip(args, names) for name in leaf_names(arg, root)]
