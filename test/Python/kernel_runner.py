# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles kernels in tensor form by passes of tsp-opt and clang, and runs them on NumPy arrays through the kernel ABI."""
import ctypes
import itertools
import os
import re
import shutil
import subprocess
import threading

import ml_dtypes
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TSP_OPT = os.environ.get("TSP_OPT", os.path.join(ROOT, "build", "bin", "tsp-opt"))
LLVM_BIN = os.environ.get("LLVM_BIN", "/usr/lib/llvm-22/bin")
DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
          "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
          "i64": np.int64, "i32": np.int32, "i8": np.int8, "ui8": np.uint8, "i4": ml_dtypes.int4, "i1": np.bool_}
_numbers = itertools.count()


def available():
    return os.path.exists(TSP_OPT) and shutil.which("clang-22") is not None


def aligned(array):
    """A copy of an array (or empty bytes of a count) on a boundary of 64 bytes."""
    if isinstance(array, int):
        raw = np.empty(array + 64, np.uint8)
        start = -raw.ctypes.data % 64
        return raw[start:start + array]
    copy = aligned(max(array.nbytes, 1))[:array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class Kernel:
    """A compiled kernel: its function, the size of its grid, and of its scratch."""

    def __init__(self, function, grid, scratch):
        self.function, self.grid, self.scratch = function, grid, scratch
        self.function.restype = None

    def call(self, pointers, begin, end, scratch):
        self.function(pointers, ctypes.c_int64(begin), ctypes.c_int64(end), ctypes.c_void_p(scratch.ctypes.data))

    def run(self, arrays, cuts=()):
        """Runs on aligned arrays (inputs, then outputs), the grid split at `cuts`, scratch full of NaN."""
        pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        edges = sorted({0, self.grid, *cuts})
        for begin, end in zip(edges, edges[1:]):
            scratch = aligned(self.scratch + 64)
            scratch[:] = 0xFF
            self.call(pointers, begin, end, scratch)

    def run_threads(self, arrays, threads):
        pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        edges = [self.grid * i // threads for i in range(threads + 1)]
        if len(getattr(self, "scratches", ())) != threads:
            self.scratches = [aligned(self.scratch + 64) for _ in range(threads)]
        workers = [threading.Thread(target=self.call, args=(pointers, *edges[i:i + 2], self.scratches[i]))
                   for i in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def __call__(self, inputs, outputs, split_seed=1):
        """Runs whole and split at random places, checks that the bits agree, and returns the outputs.

        `outputs`: a list of (shape, dtype name), or arrays to start from.
        """
        arrays = [aligned(np.asarray(a)) for a in inputs]
        results = []
        for cuts in ((), np.random.default_rng(split_seed).integers(0, self.grid + 1, 3).tolist()):
            made = [aligned(o) if isinstance(o, np.ndarray) else aligned(np.zeros(o[0], DTYPES[o[1]])) for o in outputs]
            for array, given in zip(made, outputs):
                if not isinstance(given, np.ndarray):
                    array.reshape(-1).view(np.uint8)[...] = 0xFF
            self.run(arrays + made, cuts)
            results.append(made)
        for one, other in zip(*results):
            assert one.tobytes() == other.tobytes(), "the result depends on the split of the grid"
        return results[0]


def compile_kernels(text, passes, directory, cpu="native"):
    """name -> Kernel for the kernels of a module."""
    path = os.path.join(str(directory), f"kernels{next(_numbers)}")  # the loader knows libraries by name
    with open(path + ".mlir", "w") as file:
        file.write(text)
    pipeline = [*passes, "--canonicalize", "--cse", "--tsp-finalize-kernels"]
    subprocess.run([TSP_OPT, *pipeline, path + ".mlir", "-o", path + ".llvm.mlir"], check=True)
    subprocess.run([os.path.join(LLVM_BIN, "mlir-translate"), "--mlir-to-llvmir", path + ".llvm.mlir", "-o", path + ".ll"], check=True)
    subprocess.run(["clang-22", "-O3", f"-march={cpu}", "-Wno-override-module", "-shared", "-fPIC", "-x", "ir",
                    path + ".ll", "-o", path + ".so", "-lm"], check=True)
    library = ctypes.CDLL(path + ".so")
    found = {}
    with open(path + ".llvm.mlir") as file:
        for line in file:
            match = re.search(r"llvm\.func @([\w.]+)\(.*tsp\.grid = (\d+) : i64.*tsp\.scratch = (\d+) : i64", line)
            if match:
                found[match[1]] = Kernel(library[match[1]], int(match[2]), int(match[3]))
    return found


def tensor(shape, dtype):
    return "tensor<" + "".join(f"{d}x" for d in shape) + dtype + ">"
