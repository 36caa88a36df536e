# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of docs/Benchmarks-GPU-loops.md: the steady loops of products beside cuBLAS, on tensor cores and by warpgroups, without a GPU.

    python test/Benchmark/gpu/gemm_loops.py [--write]

Needs ptxas and nvdisasm.
"""
import argparse
import pathlib
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS), str(TESTS / "Python")]

import device_code  # noqa: E402
import device_runner  # noqa: E402
import test_gpu_warpgroup_gemm as warpgroups  # noqa: E402
from Benchmark import page_tables  # noqa: E402
from test_gpu_gemm import CUBLAS, LONG, long_products  # noqa: E402

PAGE = "Benchmarks-GPU-loops.md"
HEADER = ("tile", "layout", "registers", "HMMA", "LDSM", "LDGSTS", "integer", "all", "cuBLAS: registers", "LDSM", "LDGSTS", "integer", "all", "ratio",
          "all on sm_90")
WARPGROUP_HEADER = ("tile", "layout", "registers", "HGMMA", "R2UR", "integer", "SYNCS", "all", "cuBLAS: integer", "SYNCS", "all", "ratio", "copying: UTMALDG",
                    "all", "cuBLAS: all")


def tensor_core_rows():
    with tempfile.TemporaryDirectory() as directory:
        ptx, _ = device_runner.compile_ptx(long_products(), directory)
    used = device_code.resources(ptx, "sm_80")
    loops = {arch: device_code.product_loops(device_code.disassemble(ptx, arch)) for arch in ("sm_80", "sm_90")}
    for name in LONG:
        for layout, (registers, _, *theirs) in CUBLAS[name].items():
            kernel = f"k_{name}_{layout}"
            [loop], [newer] = loops["sm_80"][kernel], loops["sm_90"][kernel]
            yield (name, layout, used[kernel].registers, loop["HMMA"], loop["LDSM"], loop["LDGSTS"], loop["integer"], loop.total(),
                   registers, *theirs, f"{loop.total() / theirs[-1]:.2f}", newer.total())


def warpgroup_rows():
    with tempfile.TemporaryDirectory() as directory:
        ptx, _ = device_runner.compile_ptx(warpgroups.long_products(), directory, warpgroups.ARCHITECTURE)
    used = device_code.resources(ptx, warpgroups.ARCHITECTURE)
    loops = warpgroups.steady_loops(ptx)
    for name in warpgroups.LONG:
        for layout, (_, integer, total, copying) in warpgroups.CUBLAS[name].items():
            kernel = f"k_{name}_{layout}_{warpgroups.ARCHITECTURE}"
            loop, copies, steps = loops[kernel]
            yield (name, layout, used[kernel].registers, loop["HGMMA"], loop["R2UR"], loop["integer"], loop["SYNCS"], loop.total(), integer,
                   warpgroups.SYNCS, total, f"{loop.total() / total:.2f}", f"{copies['UTMALDG'] / steps:.0f}", f"{copies.total() / steps:.0f}", copying)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    page_tables.add_flag(parser, PAGE)
    write = parser.parse_args().write
    page_tables.put(PAGE, "products", page_tables.table(HEADER, tensor_core_rows()), write)
    page_tables.put(PAGE, "products of warpgroups", page_tables.table(WARPGROUP_HEADER, warpgroup_rows()), write)


if __name__ == "__main__":
    main()
