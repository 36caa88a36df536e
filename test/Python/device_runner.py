# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles kernels in tensor form for a GPU and runs each alone, on the emulated driver or a real one.

    kernels = device_runner.compile_kernels(text, directory)   # name -> DeviceKernel
    [y] = kernels["k"]([x], [((8, 4), "f32")])
"""
import dataclasses
import functools
import itertools
import os
import re
import subprocess

import numpy as np

import cuda_driver
from kernel_runner import DTYPES, ROOT

TSP_COMPILE = os.environ.get("TSP_COMPILE", os.path.join(ROOT, "build", "bin", "tsp-compile"))
_numbers = itertools.count()


def available():
    return os.path.exists(TSP_COMPILE) and os.path.exists(cuda_driver.library_path())


@functools.cache
def device(architecture="sm_80"):
    """The first device that runs code of an architecture; the tests of a process share it. LookupError if there is none."""
    number, is_specific = int(re.sub(r"\D", "", architecture)), architecture.endswith("a")
    for ordinal, capability in enumerate(cuda_driver.capabilities()):
        if capability == number or capability > number and not is_specific:
            return _device(ordinal)
    raise LookupError(f"no device runs {architecture}")


@functools.cache
def _device(ordinal):
    return cuda_driver.Device(ordinal)


@dataclasses.dataclass
class Launch:
    """How the compiler wants a kernel launched: `name` is that of the form, general or variant, that the code has."""
    name: str
    grid: tuple
    block: tuple
    shared: int
    workspace: int
    maps: list
    cluster: tuple  # blocks, which the code asks for itself


@dataclasses.dataclass
class DeviceKernel:
    """A kernel of a loaded module, with the launch that the compiler chose."""
    module: cuda_driver.Module
    how: Launch

    def __call__(self, inputs, outputs):
        """`outputs`: a list of (shape, dtype name), arrays to start from, or numbers of inputs to be written."""
        made = [o if isinstance(o, (int, np.ndarray)) else (o[0], DTYPES[o[1]]) for o in outputs]
        how = self.how
        return self.module.run(how.name, how.grid, how.block, inputs, made, shared=how.shared, workspace=how.workspace, maps=how.maps)


# Types of the IR that tensor maps name otherwise.
ELEMENTS = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64", "tf32": "tfloat32", "i8": "uint8", "f8E4M3FN": "uint8",
            "f8E5M2": "uint8"}


def _numbers_of(attributes, prefix=""):
    """The attributes that are numbers or lists of numbers, by name behind the prefix."""
    lists = {key: tuple(int(n) for n in values.split(",")) if values else ()
             for key, values in re.findall(rf"{prefix}(\w+) = array<i64:? ?([\d, ]*)>", attributes)}
    return lists | {key: int(value) for key, value in re.findall(rf"{prefix}(\w+) = (\d+) : i64", attributes)}


def _maps(attributes):
    """tsp.device_maps, as Module.run takes them."""
    made = []
    for one in re.findall(r"\{(.*?)\}", "".join(re.findall(r"tsp\.device_maps = \[(.*?)\]", attributes))):
        numbers, [element] = _numbers_of(one), re.findall(r"element = (\w+)", one)
        turned = {name: numbers[key][::-1] for name, key in (("shape", "sizes"), ("strides", "strides"), ("box", "box"))}
        made.append((numbers["buffer"], numbers["offset"], dict(dtype=ELEMENTS[element], swizzle=numbers["swizzle"], **turned)))
    return made


def _launches(text, architecture):
    """What the compiler wrote on the declarations of the kernels: name -> Launch of the form for the architecture."""
    forms, variants, architectures = {}, {}, {}
    for name, attributes in re.findall(r"func\.func private @([\w.]+)\(.*\) attributes \{(.*)\}", text):
        found = _numbers_of(attributes, r"tsp\.device_")
        if not found:
            continue
        forms[name] = Launch(name, found["grid"], found["block"], found["shared"], found["workspace"], _maps(attributes), found.get("cluster", (1, 1, 1)))
        variants.update((name, variant) for variant in re.findall(r"tsp\.device_variant = @([\w.]+)", attributes))
        architectures.update((name, one) for one in re.findall(r'tsp\.device_architecture = "(\w+)"', attributes))

    def form_of(name):
        variant = variants.get(name)
        while variant and architectures[variant] != architecture:
            variant = variants.get(variant)
        return forms[variant or name]

    return {name: form_of(name) for name in forms if name not in architectures}


def compile_ptx(text, directory, architecture="sm_80"):
    """PTX of the kernels of a module, and their launches: name -> Launch."""
    path = os.path.join(str(directory), f"device{next(_numbers)}.mlir")
    with open(path, "w") as file:
        file.write(text + "\nfunc.func @main() {\n  return\n}\n")

    def emit(kind):
        return subprocess.run([TSP_COMPILE, path, "--from=mlir-kernels", f"--target=cuda:{architecture}", f"--emit={kind}", "-o", "-"],
                              check=True, capture_output=True, text=True).stdout
    return emit("ptx"), _launches(emit("mlir-codegen"), architecture)


def compile_kernels(text, directory, architecture="sm_80"):
    """name -> DeviceKernel, on a device that runs the architecture."""
    ptx, launches = compile_ptx(text, directory, architecture)
    module = device(architecture).module(ptx)
    return {name: DeviceKernel(module, how) for name, how in launches.items()}
