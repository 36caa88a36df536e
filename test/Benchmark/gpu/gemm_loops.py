# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tables of docs/Benchmarks-GPU-loops.md: the steady loops of products beside cuBLAS, on tensor cores and by warpgroups, without a GPU.

    python test/Benchmark/gpu/gemm_loops.py

Needs ptxas and nvdisasm.
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Python"))

import device_code  # noqa: E402
import device_runner  # noqa: E402
import test_gpu_warpgroup_gemm as warpgroups  # noqa: E402
from test_gpu_gemm import CUBLAS, LONG, long_products  # noqa: E402


def main():
    with tempfile.TemporaryDirectory() as directory:
        ptx, _ = device_runner.compile_ptx(long_products(), directory)
    used = device_code.resources(ptx, "sm_80")
    loops = {arch: device_code.product_loops(device_code.disassemble(ptx, arch)) for arch in ("sm_80", "sm_90")}
    print("| tile | layout | registers | HMMA | LDSM | LDGSTS | integer | all | cuBLAS: registers | LDSM | LDGSTS | integer | all | ratio | "
          "all on sm_90 |")
    print("|" + "---|" * 15)
    for name in LONG:
        for layout, (registers, _, *theirs) in CUBLAS[name].items():
            kernel = f"k_{name}_{layout}"
            [loop], [newer] = loops["sm_80"][kernel], loops["sm_90"][kernel]
            row = [name, layout, used[kernel].registers, loop["HMMA"], loop["LDSM"], loop["LDGSTS"], loop["integer"], loop.total(),
                   registers, *theirs, f"{loop.total() / theirs[-1]:.2f}", newer.total()]
            print("|", " | ".join(map(str, row)), "|")


def warpgroup_table():
    with tempfile.TemporaryDirectory() as directory:
        ptx, _ = device_runner.compile_ptx(warpgroups.long_products(), directory, warpgroups.ARCHITECTURE)
    used = device_code.resources(ptx, warpgroups.ARCHITECTURE)
    loops = warpgroups.steady_loops(ptx)
    print("| tile | layout | registers | HGMMA | R2UR | integer | SYNCS | all | cuBLAS: integer | SYNCS | all | ratio | copying: UTMALDG | all | cuBLAS: all |")
    print("|" + "---|" * 15)
    for name in warpgroups.LONG:
        for layout, (_, integer, total, copying) in warpgroups.CUBLAS[name].items():
            kernel = f"k_{name}_{layout}_{warpgroups.ARCHITECTURE}"
            loop, copies, steps = loops[kernel]
            row = [name, layout, used[kernel].registers, loop["HGMMA"], loop["R2UR"], loop["integer"], loop["SYNCS"], loop.total(), integer, warpgroups.SYNCS,
                   total, f"{loop.total() / total:.2f}", f"{copies['UTMALDG'] / steps:.0f}", f"{copies.total() / steps:.0f}", copying]
            print("|", " | ".join(map(str, row)), "|")


if __name__ == "__main__":
    main()
    print()
    warpgroup_table()
