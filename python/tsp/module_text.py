# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Edits of module text through jaxlib's MLIR bindings."""
from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from jax._src.interpreters import mlir as jax_mlir
from jaxlib import _jax
from jaxlib.mlir import ir

from tsp.program import Argument


def print_module(module: ir.Module) -> str:
    """Text with locations, which carry the names of arguments and the source lines."""
    return module.operation.get_asm(enable_debug_info=True)


def make_static(text: str) -> str:
    """Replaces symbolic sizes (`tensor<?x8xf32>`) by those of the arguments."""
    if "tensor<?" not in text and "x?x" not in text and "@shape_assertion" not in text:
        return text
    refined = _jax.mlir.refine_polymorphic_shapes(text.encode(), enable_shape_assertions=True, validate_static_shapes=True,
                                                  enable_shardy="sdy.mesh" in text)
    with jax_mlir.make_ir_context():
        return print_module(ir.Module.parse(refined))


def kept_arguments(lowered: Any, count: int) -> list[int]:
    """Numbers of the flat arguments that the module has: JAX drops unused ones of
    functions that were jitted without keep_unused."""
    kept = lowered._lowering.compile_args.get("kept_var_idx")
    return list(range(count)) if kept is None else sorted(kept)


def annotate(text: str, arguments: Sequence[Argument]) -> tuple[str, list[Argument]]:
    """Puts names, kinds and aliases on the arguments of @main. Arguments that the
    program itself donates become states, which the returned list tells."""
    with jax_mlir.make_ir_context():
        module = ir.Module.parse(text)
        main = next(op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == "main")
        block = main.regions[0].blocks[0]
        if len(block.arguments) != len(arguments):
            raise ValueError(f"the module has {len(block.arguments)} arguments, the function {len(arguments)}")
        given = [ir.DictAttr(a) for a in main.attributes["arg_attrs"]] if "arg_attrs" in main.attributes else []
        dictionaries, updated = [], []
        for i, argument in enumerate(arguments):
            attributes = {named.name: named.attr for named in given[i]} if given else {}
            if argument.kind == "input" and "tf.aliasing_output" in attributes:
                argument = dataclasses.replace(argument, kind="state", alias=ir.IntegerAttr(attributes["tf.aliasing_output"]).value)
            attributes["tsp.name"] = ir.StringAttr.get(argument.name)
            attributes["tsp.kind"] = ir.StringAttr.get(argument.kind)
            if argument.alias is not None:
                attributes["tf.aliasing_output"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), argument.alias)
            dictionaries.append(ir.DictAttr.get(attributes))
            updated.append(argument)
        main.attributes["arg_attrs"] = ir.ArrayAttr.get(dictionaries)
        return print_module(module), updated


def merge(texts: Mapping[str, str]) -> str:
    """One module with each text's @main as a public function of its entry's name.
    With several entries the private symbols of an entry `e` become `e.symbol`, and
    so does one that is called like its entry."""
    with jax_mlir.make_ir_context():
        merged = None
        meshes: set[str] = set()
        for entry, text in texts.items():
            module = ir.Module.parse(text)
            for op in module.body.operations:
                symbol = ir.StringAttr(op.attributes["sym_name"]).value
                if op.operation.name == "func.func" and symbol != "main" and (len(texts) > 1 or symbol == entry):
                    _rename(module, op, f"{entry}.{symbol}")
            for op in module.body.operations:
                if op.operation.name == "func.func" and ir.StringAttr(op.attributes["sym_name"]).value == "main":
                    _rename(module, op, entry)
            if merged is None:
                merged = module
                meshes = {str(op) for op in module.body.operations if op.operation.name == "sdy.mesh"}
                continue
            for op in list(module.body.operations):
                if op.operation.name == "sdy.mesh":
                    if str(op) not in meshes:
                        raise ValueError(f"entry {entry}: all entries of a module share one mesh; found {op} beside {sorted(meshes)}")
                    continue
                merged.body.append(op)
        return print_module(merged)


def _rename(module: ir.Module, op: ir.OpView, name: str) -> None:
    old = ir.StringAttr(op.attributes["sym_name"]).value
    if old == name:
        return
    ir.SymbolTable.replace_all_symbol_uses(old, name, module.operation)
    ir.SymbolTable.set_symbol_name(op, name)
