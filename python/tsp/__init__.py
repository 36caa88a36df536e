# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From JAX programs to binaries that several devices run together.

    program = tsp.export(fn, params, x, params=(0,), path="model.mlir")
    tsp.save_parameters("weights.safetensors", params)
    model = tsp.compile(program, mesh="t=4", strategy="tsp")
    y = model(params, x)

The compiler itself is the tool `tsp-compile`; this package writes its input,
runs it and calls what it made. It holds no compiler logic.
"""
from tsp.blocks import attention, gated_mlp
from tsp.export import Entry, export
from tsp.model import Kept, Model, compile
from tsp.program import Argument, Program, Result, Signature
from tsp.runtime import RuntimeFailure
from tsp.tensors import load_tensors, save_parameters, save_tensors
from tsp.toolchain import CompileError, compile_program, find_tool

__all__ = ["Argument", "CompileError", "Entry", "Kept", "Model", "Program", "Result", "RuntimeFailure", "Signature", "attention", "compile",
           "compile_program", "export", "find_tool", "gated_mlp", "load_tensors", "save_parameters", "save_tensors"]
