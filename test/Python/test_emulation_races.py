# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Races in global memory between blocks: the checker is silent where blocks synchronize, and names what does not, under any seed."""
import json
import re

import pytest

import cuda_driver
import nvcc

pytestmark = pytest.mark.skipif(not cuda_driver.is_emulated(), reason="about the emulated machine")

# Kernel: grid, block, sizes of its arrays of words, further options of the launch; then what is said about each fault.
WRITTEN, READ = r"written by block \(\d+,0,0\) at PTX line \d+ \(st\.", r"read by block \(\d+,0,0\) at PTX line \d+ \(ld\."
EITHER = f"({WRITTEN}|{READ})"
ANY = r"(written|read) by block \(\d+,0,0\) at PTX line \d+ \("
KERNELS = {
    "parts": (4, 64, (256, 256), {}, [EITHER, EITHER]),
    "bytes": (3, 8, (6,), {}, [WRITTEN]),
    "split_sum": (6, 32, (192, 6, 1, 1), {}, [EITHER, EITHER]),
    "chain": (5, 32, (5, 5), {}, [EITHER, EITHER]),
    "counts": (4, 32, (128, 2, 4), {}, [ANY, ANY]),
    "grid": (4, 32, (128, 128), {"cooperative": True}, [EITHER]),
    "copy": (2, 32, (256, 256), {}, [ANY]),
    "cluster": (4, 32, (128, 128), {"cluster": 2}, [EITHER]),
    "bulk": (2, 64, (128,), {}, [r"written by block \(\d,0,0\) at PTX line \d+ \(cp.async.bulk"]),
}
SCRIPT = """
import ctypes, json, sys
import numpy as np
import cuda_driver

for kernel, (grid, block, sizes, options, faults) in json.loads({cases!r}).items():
    for fault in range(len(faults) + 1):
        print("==", kernel, fault, file=sys.stderr, flush=True)
        device = cuda_driver.Device()
        try:
            module = device.module(open({path!r}).read())
            buffers = [device.upload(np.zeros(size, np.int32)) for size in sizes]
            module.launch(kernel, grid, block, [*buffers, ctypes.c_int(fault)], **options)
            device.synchronize()
            print(kernel, fault, "CUDA_SUCCESS")
        except cuda_driver.Error as error:
            print(kernel, fault, error.name)
            cuda_driver.call("cuDevicePrimaryCtxReset_v2", 0)
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Under several seeds: {(kernel, fault): [(name of the error, what was printed)]}."""
    path = tmp_path_factory.mktemp("races") / "races.ptx"
    path.write_text(nvcc.ptx("races.cu", architecture="sm_90a"))
    result = {}
    for seed in (0, 1, 2):
        done = cuda_driver.run_script(SCRIPT.format(path=str(path), cases=json.dumps(KERNELS)), TSP_EMULATION_CHECK=1,
                                      TSP_EMULATION_SEED=seed, TSP_EMULATED_CAPABILITY="9.0")
        assert done.returncode == 0, done.stderr
        printed = cuda_driver.printed_of_cases(done)
        for line in done.stdout.splitlines():
            kernel, fault, name = line.split()
            result.setdefault((kernel, int(fault)), []).append((name, printed[f"{kernel} {fault}"]))
    return result


@pytest.mark.parametrize("kernel", KERNELS)
def test_synchronized_blocks_are_silent(outcomes, kernel):
    for name, printed in outcomes[kernel, 0]:
        assert (name, printed.strip()) == ("CUDA_SUCCESS", ""), printed


@pytest.mark.parametrize("kernel, fault", [(kernel, fault) for kernel, case in KERNELS.items() for fault in range(1, len(case[4]) + 1)])
def test_races_are_named(outcomes, kernel, fault):
    expected = KERNELS[kernel][4][fault - 1]
    assert len(outcomes[kernel, fault]) == 3
    for name, printed in outcomes[kernel, fault]:
        assert name == "CUDA_ERROR_LAUNCH_FAILED", printed
        assert re.search(r"PTX line \d+ \(.*\): race at byte \d+ of an allocation of \d+ bytes: " + expected +
                         rf".*\), and nothing puts the blocks in order: block \(\d+,0,0\), thread \(\d+,0,0\) of kernel '{kernel}'", printed), printed
