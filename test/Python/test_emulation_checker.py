# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checker of the emulation: it is silent about right kernels, and names the line, block and thread of a seeded fault."""
import json
import os
import re

import pytest

import cuda_driver
import nvcc

GEMM_SHARED = 3 * 128 * 40 * 2 + 3 * 32 * 136 * 2
F, I, H = "float32", "int32", "uint16"

# A launch: file, kernel, grid, block, arguments (arrays as [shape, dtype], made of ones; tensor maps of such arrays), dynamic shared
# bytes.
LAUNCHES = {
    "vector_add": ("kernels.cu", "vector_add", 8, 128, [[[1000], F]] * 3 + [1000], 0),
    "reduce": ("kernels.cu", "reduce", 3, 256, [[[5000], F], [[3], F], 5000], 0),
    "tree_reduce": ("kernels.cu", "tree_reduce", 2, 256, [[[512], F], [[2], F]], 1024),
    "tiled_matmul": ("kernels.cu", "tiled_matmul", [2, 2], [16, 16], [[[20, 30], F], [[30, 18], F], [[20, 18], F], 20, 18, 30], 0),
    "histogram": ("kernels.cu", "histogram", 2, 96, [[[900], I], [[64], I], [[1], I], [[1], "uint64"], 900], 0),
    "votes": ("kernels.cu", "votes", 1, 32, [[[32], I], [[32, 8], I]], 0),
    "swap_lanes": ("kernels.cu", "swap_lanes", 1, 64, [[[64], I], [[64], I]], 0),
    "wait_below": ("kernels.cu", "wait_below", 1, 64, [[[64], I], 64], 0),
    "load_four": ("kernels.cu", "load_four", 1, 32, [[[64], F], [[32], F], 4], 0),
    "ring": ("copies.cu", "seeded", 1, 128, [{"shape": [96, 32], "dtype": F, "box": [16, 32]}, [[32], F], 6, 0], 0),
    "tile_store": ("copies.cu", "tile_store", 3, 64, [{"shape": [10, 80], "dtype": F, "box": [8, 32]}, 5, 0], 0),
    "tile_store of a warp": ("copies.cu", "tile_store", 1, 32, [{"shape": [10, 80], "dtype": F, "box": [8, 32]}, 0, 0], 0),
    "bulk_sums": ("copies.cu", "bulk_sums", 4, 64, [[[4, 64], I], [[4, 64], I], [[64], I], [[64], "uint64"], [[64], F], [[64], H]], 0),
    "async_arrive": ("copies.cu", "async_arrive", 1, 64, [[[128], I], [[128], I]], 0),
    "library_barrier": ("copies.cu", "library_barrier", 1, 64, [[[200], I], [[64], I], 200], 0),
    "gemm": ("gemm.cu", "gemm_bf16", [1, 1], 128, [[[128, 128], H], [[128, 128], H], [[128, 128], F], 128, 128, 128], GEMM_SHARED),
}

# A fault: launch, the text it changes (or a new argument), what the report says, and block and thread where they are certain.
FAULTS = {
    "index off by one": ("vector_add", ("if (i < n)", "if (i <= n)"), "out of bounds, 0 bytes past the end of an allocation of 4000",
                         "block (7,0,0), thread (104,0,0)"),
    "mask removed": ("tiled_matmul", ("inB < k && column < n ? b[inB * n + column] : 0", "b[inB * n + column]"), "out of bounds", None),
    "barrier before a read removed": ("reduce", ("__syncthreads();\n  if (threadIdx.x >= 32)", "if (threadIdx.x >= 32)"), "race|nobody has written", None),
    "barrier in a loop removed": ("tree_reduce", ("    __syncthreads();\n    if (threadIdx.x < half)", "    if (threadIdx.x < half)"),
                                  "race|nobody has written", None),
    "barrier before an overwrite removed": ("tiled_matmul", ("bs[i][threadIdx.x];\n    __syncthreads();", "bs[i][threadIdx.x];"),
                                            "race at shared address .* read by thread", None),
    "guard of a partial sum removed": ("reduce", ("threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0", "partial[threadIdx.x]"),
                                       "which nobody has written", "block (0,0,0), thread (8,0,0)"),
    "__syncwarp removed": ("swap_lanes", ("  __syncwarp();\n  y", "  y"), "race at shared address", "thread (0,0,0)"),
    "divergent barrier": ("wait_below", [1, 40], "divergent barrier", "thread (40,0,0)"),
    "misaligned vector": ("load_four", [2, 5], "is misaligned", "block (0,0,0), thread (0,0,0)"),
    "member mask too small": ("reduce", ("__shfl_down_sync(~0u, sum", "__shfl_down_sync(0xffffu, sum"), "not in the member mask", "thread (16,0,0)"),
    "member mask too large": ("votes", ("__ballot_sync(0xfffu", "__ballot_sync(0x1fffu"), "does not take part", "thread (12,0,0)"),
    "wait removed": ("gemm", ('asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2));', ""), "cp.async that was not waited for", None),
    "wait for a group too few": ("gemm", ('"n"(stages - 2)', '"n"(stages - 1)'), "cp.async that was not waited for", None),
    "barrier after a wait removed": ("gemm", ("    __syncthreads();\n    fetch", "    fetch"), "race|cp.async that was not waited for|nobody has written", None),
    "buffer overwritten early": ("gemm", ("fetch(step + stages - 1);\n    int buffer", "fetch(step + stages - 1); fetch(step + stages);\n    int buffer"),
                                 "race|cp.async that was not waited for", None),
    # The last argument of the kernel says what is wrong.
    "full barrier not waited for": ("ring", [3, 1], "nobody has written|is the destination of a bulk copy that was not waited for", "thread (0,0,0)"),
    "empty barrier not waited for": ("ring", [3, 2], "1 arrivals are too many: phase 0 of the mbarrier", "thread (96,0,0)"),
    "stage not released": ("ring", [3, 3], r"this wait never ends: phase . of the mbarrier at shared address \d+ lacks . of . arrivals", None),
    "too many bytes expected": ("ring", [3, 4], "lacks 0 of 1 arrivals and 16 bytes that no copy brings", None),
    "too few bytes expected": ("ring", [3, 5], "lacks 0 of 1 arrivals, and copies have brought 16 bytes more than it expects", None),
    "too many arrivals": ("ring", [3, 6], "1 arrivals are too many: phase 0 of the mbarrier", "thread (96,0,0)"),
    "barrier not initialised": ("ring", [3, 7], "there is no mbarrier at shared address", None),
    "fence after initialisation removed": ("ring", [3, 8], "was initialised with no fence.mbarrier_init or fence.proxy.async in between", "thread (96,0,0)"),
    "stage released before it is read": ("ring", [3, 10], "race at shared address|bulk copy that was not waited for", None),
    "proxy fence removed": ("tile_store", [2, 1], "was written by an ordinary store, of thread .* with no fence.proxy.async in between", "thread (0,0,0)"),
    "bulk store not waited for": ("tile_store", [2, 2], "the block ends while this copy may still read its shared memory", "thread (0,0,0)"),
    "tile overwritten before its store has read": ("tile_store", [2, 3], "race at shared address .*: written by thread|race at shared address .*: read by", None),
    "__syncwarp before an arrival removed": ("ring", [3, 11], "race at shared address .*: read by thread", "thread (96,0,0)"),
    "__syncwarp before a bulk store removed": ("tile_store of a warp", [2, 4], "race at shared address .*: written by thread", "thread (0,0,0)"),
    "barrier after initialisation removed": ("ring", [3, 9], "race at shared address .*: an mbarrier initialised by thread .0,0,0.", None),
}

SCRIPT = """
import ctypes, json, sys
import numpy as np
import cuda_driver

def made(device, shape, dtype, box):
    return cuda_driver.TensorMap(device.upload(np.ones(shape, dtype)), box)

for name, ptx, kernel, grid, block, arguments, shared in json.load(open({path!r})):
    print("==", name, file=sys.stderr, flush=True)
    device = cuda_driver.Device()
    try:
        module = device.module(ptx)
        values = [ctypes.c_int(a) if isinstance(a, int) else made(device, **a) if isinstance(a, dict) else device.upload(np.ones(*a))
                  for a in arguments]
        module.launch(kernel, grid, block, values, shared)
        device.synchronize()
        counters = (ctypes.c_uint64 * 5)()
        cuda_driver.driver().tspEmulationCounters(kernel.encode(), counters)
        print(json.dumps([name, list(counters)]))
    except cuda_driver.Error as error:
        print(json.dumps([name, str(error)]))
        cuda_driver.call("cuDevicePrimaryCtxReset_v2", 0)
"""


def run(cases, tmp_path, check=1):
    """Launches, each in a context of its own; gives what they counted, or the error, and what was printed."""
    path = os.path.join(tmp_path, "cases.json")
    with open(path, "w") as file:
        json.dump(cases, file)
    done = cuda_driver.run_script(SCRIPT.format(path=path), TSP_EMULATION_CHECK=check, TSP_EMULATED_CAPABILITY="9.0")
    assert done.returncode == 0, done.stderr
    results = dict(json.loads(line) for line in done.stdout.splitlines())
    printed = cuda_driver.printed_of_cases(done)
    return {name: (results[name], printed[name]) for name in results}


def compiled(file):
    return nvcc.ptx(file, "-diag-suppress", "20054", architecture="sm_90a") if file == "copies.cu" else nvcc.ptx(file)


def seeded(name):
    launch, change, *_ = FAULTS[name]
    file, kernel, grid, block, arguments, shared = LAUNCHES[launch]
    text = open(os.path.join(nvcc.KERNELS, file)).read()
    if isinstance(change, list):
        position = [i for i, a in enumerate(arguments) if isinstance(a, int)][0] if change[0] >= len(arguments) else change[0]
        arguments = arguments[:position] + [change[1]] + arguments[position + 1:]
        return [name, compiled(file), kernel, grid, block, arguments, shared]
    assert change[0] in text, change[0]
    return [name, nvcc.ptx_of_text(text.replace(*change)), kernel, grid, block, arguments, shared]


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    return run([seeded(name) for name in FAULTS], tmp_path_factory.mktemp("faults"))


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    cases = [[name, compiled(file), *rest] for name, (file, *rest) in LAUNCHES.items()]
    return run(cases, tmp_path_factory.mktemp("clean"))


@pytest.mark.parametrize("name", LAUNCHES)
def test_right_kernels_pass(clean, name):
    result, printed = clean[name]
    assert isinstance(result, list), (result, printed)


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_named(faults, name):
    result, printed = faults[name]
    _, _, expected, place = FAULTS[name]
    assert isinstance(result, str), "the fault was not noticed"
    assert re.search(expected, printed), printed
    assert re.search(r"PTX line \d+ \(\S+\): .*: block \(\d+,\d+,\d+\), thread \(\d+,\d+,\d+\) of kernel '", printed), printed
    if place:
        assert place in printed, printed


def test_bounds_are_checked_without_the_checker(tmp_path):
    [(result, printed)] = run([seeded("index off by one")], tmp_path, check=0).values()
    assert isinstance(result, str) and "out of bounds" in printed


def test_counters(tmp_path):
    source = open(os.path.join(nvcc.KERNELS, "gemm.cu")).read()
    file, kernel, *rest = LAUNCHES["gemm"]
    # Without the padding of its rows, the same kernel under another name.
    unpadded = nvcc.ptx_of_text(source.replace("pad = 8", "pad = 0").replace("gemm_bf16", "unpadded"))
    strided = lambda step: [f"strided {step}", nvcc.ptx_of_text(open(os.path.join(nvcc.KERNELS, "kernels.cu")).read()
                                                               .replace("void strided", f"void strided{step}")),
                            f"strided{step}", 1, 32, [[[32 * step], F], [[32], F], step], 0]
    results = run([["padded", nvcc.ptx(file), kernel, *rest], ["unpadded", unpadded, "unpadded", *rest], strided(1), strided(8)],
                  tmp_path)
    requests, passes, *_ = results["padded"][0]
    # Only the copies into A conflict: of 8 lanes, 4 write a row of 64 bytes and 4 the next, 80 bytes on. 256 such copies.
    assert passes == requests + 256
    requests, passes, *_ = results["unpadded"][0]
    assert passes > 2 * requests
    # A load of 32 floats and a store of as many: 4 sectors each.
    assert results["strided 1"][0][2:] == [2, 8, 8]
    assert results["strided 8"][0][2:] == [2, 32 + 4, 8]
