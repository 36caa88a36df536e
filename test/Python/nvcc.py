# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX that nvcc makes of CUDA C++: kernels that this project's compiler had no part in."""
import functools
import glob
import os
import shutil
import subprocess
import sys
import tempfile

KERNELS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Emulation")


@functools.lru_cache(None)
def find():
    """The compiler of a toolkit, or of the Python environment that bootstrap fills."""
    roots = [os.environ.get("CUDA_ROOT"), os.environ.get("CUDA_HOME")]
    found = shutil.which("nvcc")
    candidates = [os.path.join(r, "bin", "nvcc") for r in roots if r] + ([found] if found else []) + ["/usr/local/cuda/bin/nvcc"]
    candidates += glob.glob(os.path.join(sys.prefix, "lib", "python3*", "site-packages", "nvidia", "cu13", "bin", "nvcc"))
    for path in candidates:
        if os.path.exists(path):
            return path
    raise FileNotFoundError("nvcc: set CUDA_HOME to a toolkit or run ./bootstrap; looked at " + ", ".join(candidates))


@functools.lru_cache(None)
def ptx(name, *options, architecture="sm_80"):
    """The PTX of a file of test/Emulation."""
    return ptx_of_text(open(os.path.join(KERNELS, name)).read(), *options, architecture=architecture)


def ptx_of_text(text, *options, architecture="sm_80"):
    with tempfile.TemporaryDirectory() as folder:
        source, result = os.path.join(folder, "kernel.cu"), os.path.join(folder, "kernel.ptx")
        with open(source, "w") as file:
            file.write(text)
        subprocess.run([find(), "-ptx", "-arch=" + architecture, "-std=c++17", "-I" + KERNELS, *options, "-o", result, source], check=True)
        return open(result).read()
