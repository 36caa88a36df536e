# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Serialized exports: `jax.export` artifacts and portable StableHLO bytecode."""
from __future__ import annotations

import os
import re
from typing import Any

import jax.export
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo


def read(source: Any) -> Any:
    """A `jax.export.Exported` from bytes, from the path of a file that holds them,
    or from itself; None if `source` is none of these."""
    if isinstance(source, jax.export.Exported):
        return source
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            source = file.read()
    if isinstance(source, (bytes, bytearray)):
        try:
            return jax.export.deserialize(bytearray(source))
        except Exception as error:  # of the flatbuffers package, of many kinds
            raise ValueError(f"expected a serialized jax.export artifact, found {bytes(source[:8])!r}..., which cannot be read as one") from error
    return None


def portable_to_text(data: bytes) -> str:
    """Text of a portable StableHLO artifact (it starts with `ML\\xefR`): the form in
    which other frameworks write a module. It carries no names of arguments."""
    with jax_mlir.make_ir_context() as context:
        return stablehlo.deserialize_portable_artifact(context, data).operation.get_asm(enable_debug_info=True)


def leaf_names(exported: Any) -> list[str] | None:
    """Names of the flattened arguments as the exported function had them, or None
    if the artifact does not tell. They are kept only in locations."""
    with jax_mlir.make_ir_context():
        module = ir.Module.parse(exported.mlir_module())
        best = None
        for function in module.body.operations:
            names = [_location_name(argument) for argument in function.regions[0].blocks[0].arguments] if function.regions else []
            names = [name for name in names if name]
            if len(names) == len(exported.module_kept_var_idx):
                best = names
    if best is None or len(exported.module_kept_var_idx) != len(exported.in_avals):
        return None
    return best


def _location_name(argument: ir.Value) -> str | None:
    match = re.fullmatch(r'loc\("((?:[^"\\]|\\.)*)"\)', str(argument.location))
    return match.group(1) if match else None
