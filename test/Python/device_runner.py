# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles kernels in tensor form for a GPU and runs each alone, on the emulated driver or a real one.

    kernels = device_runner.compile_kernels(text, directory)   # name -> DeviceKernel
    [y] = kernels["k"]([x], [((8, 4), "f32")])
"""
import itertools
import os
import re
import subprocess

import numpy as np

import cuda_driver
from kernel_runner import DTYPES, ROOT, TSP_OPT

TSP_COMPILE = os.environ.get("TSP_COMPILE", os.path.join(ROOT, "build", "bin", "tsp-compile"))
PASSES = ["--tsp-gpu-lower-gemm-kernels", "--tsp-gpu-lower-sdpa-kernels", "--tsp-gpu-lower-fused-kernels"]
_numbers = itertools.count()
_device = None


def available():
    return os.path.exists(TSP_OPT) and os.path.exists(cuda_driver.library_path())


def device():
    """The device that all tests of a process share."""
    global _device
    if _device is None:
        _device = cuda_driver.Device()
    return _device


class DeviceKernel:
    """A kernel of a loaded module, with the launch that the compiler chose."""

    def __init__(self, module, name, grid, block, shared, workspace):
        self.module, self.name = module, name
        self.grid, self.block, self.shared, self.workspace = grid, block, shared, workspace

    def __call__(self, inputs, outputs):
        """`outputs`: a list of (shape, dtype name), arrays to start from, or numbers of inputs to be written."""
        made = [o if isinstance(o, (int, np.ndarray)) else (o[0], DTYPES[o[1]]) for o in outputs]
        return self.module.run(self.name, self.grid, self.block, inputs, made, shared=self.shared, workspace=self.workspace)


def _launches(text):
    """What tsp-opt wrote on the declarations of the kernels: name -> (grid, block, shared, workspace)."""
    found = {}
    for name, attributes in re.findall(r"func\.func private @([\w.]+)\(.*\) attributes \{(.*)\}", text):
        lists = {key: tuple(int(n) for n in values.split(","))
                 for key, values in re.findall(r"tsp\.device_(\w+) = array<i64: ([\d, ]+)>", attributes)}
        sizes = {key: int(value) for key, value in re.findall(r"tsp\.device_(\w+) = (\d+) : i64", attributes)}
        if lists:
            found[name] = lists["grid"], lists["block"], sizes["shared"], sizes["workspace"]
    return found


def compile_ptx(text, directory, passes=PASSES, architecture="sm_80"):
    """PTX of the kernels of a module, and their launches."""
    path = os.path.join(str(directory), f"device{next(_numbers)}")
    with open(path + ".mlir", "w") as file:
        file.write(text + "\nfunc.func @main() {\n  return\n}\n")
    subprocess.run([TSP_OPT, *passes, path + ".mlir", "-o", path + ".device.mlir"], check=True)
    ptx = subprocess.run([TSP_COMPILE, path + ".mlir", "--from=mlir-kernels", f"--target=cuda:{architecture}", "--emit=ptx", "-o", "-"],
                         check=True, capture_output=True, text=True).stdout
    with open(path + ".device.mlir") as file:
        return ptx, _launches(file.read())


def compile_kernels(text, directory, passes=PASSES):
    ptx, launches = compile_ptx(text, directory, passes)
    module = device().module(ptx)
    return {name: DeviceKernel(module, name, *launch) for name, launch in launches.items()}
