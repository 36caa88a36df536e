# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clusters and cooperative launches of the emulation, on kernels that nvcc compiled; in processes with a device of capability 9.0."""
import json
import re

import pytest

import cuda_driver
import nvcc

SCRIPT = """
import ctypes, json
import numpy as np
import cuda_driver

device = cuda_driver.Device()
module = device.module(open({path!r}).read())
count = ctypes.c_int


def upload(values, dtype=np.int32):
    return device.upload(np.asarray(values, dtype))


def error(call):
    try:
        call()
        device.synchronize()
    except cuda_driver.Error as raised:
        return raised.name


def all_to_all(cluster, fault=0):
    x, sums = np.arange(6 * 64, dtype=np.int32), device.empty((6, 64), np.int32)
    module.launch("all_to_all", 6, 64, [upload(x), sums, count(fault)], cluster=cluster)
    device.synchronize()
    blocks = x.reshape(-1, cluster, 64)
    expected = np.repeat(blocks.sum(1)[:, ::-1], cluster, 0).reshape(6, 64)
    told = np.array([1000 * ((block % cluster - 1) % cluster + 1) for block in range(6)])
    return bool((sums.download() == expected + told[:, None]).all())


def multicast(cluster, tiles=5):
    x = np.random.default_rng(tiles).integers(-9, 9, (4 * tiles, 32)).astype(np.float32)
    results = device.empty((4 * tiles, 8, 32), np.float32)
    module.launch("multicast", 8, 32, [cuda_driver.TensorMap(upload(x, np.float32), (4, 32)), results, count(tiles)], cluster=cluster)
    scale = np.arange(8) % cluster + 1
    return bool((results.download() == x[:, None] * scale[:, None]).all())


def pass_on(cluster):
    received = device.empty((6,), np.int32)
    module.launch("pass_on", 6, 1, [received], cluster=cluster)
    blocks = np.arange(6)
    return bool((received.download() == blocks // cluster * cluster + (blocks - 1) % cluster).all())


def send(cluster, fault=0):
    x, received = np.arange(6 * 64, dtype=np.int32), device.empty((6, 64), np.int32)
    module.launch("send", 6, 64, [upload(x), received, count(fault)], cluster=cluster)
    device.synchronize()
    twoBefore = np.array([block // cluster * cluster + (block - 2) % cluster for block in range(6)])
    return bool((received.download() == x.reshape(6, 64)[twoBefore] + 1000).all())


def spaces(cluster):
    results = device.empty((6, 32), np.int32)
    module.launch("spaces", 6, 32, [results], cluster=cluster)
    return results.download().reshape(-1)[:3].tolist()


def grid_sum(blocks):
    x = np.arange(5000)
    partial, total = device.empty((blocks * 64,), np.int32), upload([0])
    module.launch("grid_sum", blocks, 64, [upload(x), partial, total, count(5000)], cooperative=True)
    return bool(total.download()[0] == x.sum() and (partial.download() == x.sum()).all())


print(json.dumps({expression}))
"""


@pytest.fixture(scope="module")
def evaluate(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("clusters") / "kernels.ptx")
    with open(path, "w") as file:
        file.write(nvcc.ptx("clusters.cu", architecture="sm_90a"))

    def run(expression, **environment):
        done = cuda_driver.run_script(SCRIPT.format(path=path, expression=expression), **{"TSP_EMULATED_CAPABILITY": "9.0", **environment})
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr

    return run


@pytest.mark.parametrize("check", [0, 1])
def test_clusters(evaluate, check):
    """Barriers of clusters, loads and atomics in other blocks' shared memory, multicast and remote arrivals, copies and asynchronous
    stores between blocks, grids that wait."""
    expression = "[[all_to_all(c) for c in (1, 2, 3, 6)], [multicast(c) for c in (1, 2, 4, 8)], [pass_on(c) for c in (1, 2, 3)], [send(c) for c in (1, 2, 3)], [grid_sum(b) for b in (1, 7, 40)]]"
    for seed in (0, 3):
        results, printed = evaluate(expression, TSP_EMULATION_CHECK=check, TSP_EMULATION_SEED=seed)
        assert all(map(all, results)), (results, printed)


@pytest.mark.parametrize("kernel, fault, expected", [
    ("all_to_all", 1, "which nobody has written|race at shared address .* of the cluster's block"),
    ("all_to_all", 2, "race at shared address .*read by thread .* of the cluster's block|race at shared address .*: written by"),
    ("all_to_all", 3, "race at shared address .*: written by thread"),
    # Copies.
    ("send", 1, "race at shared address .*written by thread|was written by an ordinary store"),
    ("send", 2, "which nobody has written|the destination of a bulk copy that was not waited for"),
])
def test_races_between_blocks(evaluate, kernel, fault, expected):
    result, printed = evaluate(f"error(lambda: {kernel}(2, {fault}))", TSP_EMULATION_CHECK=1)
    assert result == "CUDA_ERROR_LAUNCH_FAILED"
    assert re.search(expected, printed), printed


def test_relaxed_arrival_behind_a_fence(evaluate):
    result, printed = evaluate("all_to_all(3, 4)", TSP_EMULATION_CHECK=1)
    assert result is True, printed


def test_spaces_of_addresses(evaluate):
    assert evaluate("[spaces(1), spaces(2)]")[0] == [[3, 3, 0], [3, 2, 0]]


def test_limits(evaluate):
    results, printed = evaluate("[error(lambda: all_to_all(4)), error(lambda: grid_sum(100000))]")
    assert results == ["CUDA_ERROR_INVALID_CLUSTER_SIZE", "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"]
    assert "clusters of (4,1,1) blocks: they must divide the grid" in printed
    results, printed = evaluate("error(lambda: multicast(16))")
    assert results == "CUDA_ERROR_INVALID_CLUSTER_SIZE" and "at most 8 blocks" in printed
