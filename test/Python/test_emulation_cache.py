# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The folder in which the emulation keeps machine code between processes."""
import concurrent.futures
import os

import cuda_driver
import nvcc

SCRIPT = """
import ctypes
import numpy as np
import cuda_driver

device = cuda_driver.Device()
for reload in range(2):
    module = device.module(open({path!r}).read())
    a, b, c = [device.upload(np.arange(100, dtype=np.float32)) for _ in range(3)]
    module.launch("vector_add", 1, 128, [a, b, c, ctypes.c_int(100)])
    assert (c.download() == 2 * np.arange(100)).all()
    device.call("cuModuleUnload", module.handle)
"""


def test_cache(tmp_path):
    path, folder = str(tmp_path / "kernels.ptx"), str(tmp_path / "cache")
    with open(path, "w") as file:
        file.write(nvcc.ptx("kernels.cu"))

    def run(_):
        done = cuda_driver.run_script(SCRIPT.format(path=path), TSP_EMULATION_CACHE=folder)
        assert done.returncode == 0, done.stderr
        return {name: os.path.getmtime(os.path.join(folder, name)) for name in os.listdir(folder)}

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(run, range(3)))
    # Of the kernel that is launched, in each of its two loads.
    first = run(0)
    assert len(first) == 2 and all(name.endswith(".o") for name in first), first
    assert run(0) == first
    for name in first:
        with open(os.path.join(folder, name), "r+") as file:
            file.truncate(40)
    assert sorted(run(0)) == sorted(first)
    assert all(os.path.getsize(os.path.join(folder, name)) > 1000 for name in first)
