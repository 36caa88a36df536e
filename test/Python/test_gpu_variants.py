# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels with a variant for one architecture: which form a device gets, with tensor maps, in executables and as graphs."""
import json
import subprocess

import numpy as np
import pytest
import tsp

import cuda_driver
import device_runner
from Integration import harness

pytestmark = [pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built"),
              pytest.mark.skipif(not cuda_driver.is_emulated(), reason="chooses the capability of devices")]

KERNEL = """
gpu.module @tsp_device {
  // y = 2 x
  gpu.func @scale(%x: memref<6x40xf32>, %y: memref<6x40xf32>) kernel
      attributes {known_block_size = array<i32: 40, 1, 1>, tsp.device_variant = @scale_sm_90a} {
    %i = gpu.block_id x
    %j = gpu.thread_id x
    %two = arith.constant 2.0 : f32
    %a = memref.load %x[%i, %j] : memref<6x40xf32>
    %b = arith.mulf %a, %two : f32
    memref.store %b, %y[%i, %j] : memref<6x40xf32>
    gpu.return
  }

  // y = 3 x, by boxes of 4 x 32, through shared memory that sm_80 does not have. Two blocks, which lie side by side, are a cluster.
  llvm.mlir.global internal @barrier() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<1 x i64>
  gpu.func @scale_sm_90a(%x: memref<6x40xf32>, %y: memref<6x40xf32>, %workspace: memref<1024xi8>, %map: !llvm.ptr) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>, tsp.device_architecture = "sm_90a"} {
    %barrier = llvm.mlir.addressof @barrier : !llvm.ptr<3>
    %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %c0 = arith.constant 0 : index
    %c6 = arith.constant 6 : index
    %c40 = arith.constant 40 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %offset = arith.constant 199680 : index
    %tile = memref.view %shared[%offset][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<4x32xf32, #gpu.address_space<workgroup>>
    %address = memref.extract_aligned_pointer_as_index %tile : memref<4x32xf32, #gpu.address_space<workgroup>> -> index
    %address_i = arith.index_cast %address : index to i64
    %pointer = llvm.inttoptr %address_i : i64 to !llvm.ptr<3>
    %one = arith.constant 1 : i32
    %bytes = arith.constant 512 : i32
    %zero = arith.constant 0 : i32
    %three = arith.constant 3.0 : f32
    %t = gpu.thread_id x
    %rank = nvvm.read.ptx.sreg.cluster.ctaid.x : i32
    %bx = arith.index_cast %rank : i32 to index
    %by = gpu.block_id y
    %column = arith.muli %bx, %c32 : index
    %row = arith.muli %by, %c4 : index
    %is_first = arith.cmpi eq, %t, %c0 : index
    scf.if %is_first {
      nvvm.mbarrier.init %barrier, %one : !llvm.ptr<3>, i32
      nvvm.fence.mbarrier.init
      nvvm.mbarrier.arrive.expect_tx %barrier, %bytes : !llvm.ptr<3>, i32
      %column_i = arith.index_cast %column : index to i32
      %row_i = arith.index_cast %row : index to i32
      %to = llvm.addrspacecast %pointer : !llvm.ptr<3> to !llvm.ptr<7>
      nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %barrier, box[%column_i, %row_i] : !llvm.ptr<7>, !llvm.ptr
    }
    gpu.barrier
    scf.while : () -> () {
      %done = nvvm.mbarrier.try_wait %barrier, %zero : !llvm.ptr<3>, i32 -> i1
      %true = arith.constant true
      %again = arith.xori %done, %true : i1
      scf.condition(%again)
    } do {
      scf.yield
    }
    %r = arith.divui %t, %c32 : index
    %c = arith.remui %t, %c32 : index
    %i = arith.addi %row, %r : index
    %j = arith.addi %column, %c : index
    %a = memref.load %tile[%r, %c] : memref<4x32xf32, #gpu.address_space<workgroup>>
    %b = arith.mulf %a, %three : f32
    %in_rows = arith.cmpi ult, %i, %c6 : index
    %in_columns = arith.cmpi ult, %j, %c40 : index
    %is_inside = arith.andi %in_rows, %in_columns : i1
    scf.if %is_inside {
      memref.store %b, %y[%i, %j] : memref<6x40xf32>
    }
    gpu.return
  }
}
func.func private @scale(memref<6x40xf32>, memref<6x40xf32>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 6, 1, 1>, tsp.device_block = array<i64: 40, 1, 1>,
              tsp.device_shared = 0 : i64, tsp.device_workspace = 0 : i64, tsp.device_variant = @scale_sm_90a}
func.func private @scale_sm_90a(memref<6x40xf32>, memref<6x40xf32>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 2, 2, 1>, tsp.device_block = array<i64: 128, 1, 1>,
              tsp.device_shared = 200192 : i64, tsp.device_workspace = 1024 : i64, tsp.device_architecture = "sm_90a",
              tsp.device_cluster = array<i64: 2, 1, 1>,
              tsp.device_maps = [{buffer = 0 : i64, offset = 0 : i64, element = f32, sizes = array<i64: 40, 6>,
                                  strides = array<i64: 160>, box = array<i64: 32, 4>, swizzle = 0 : i64}]}
"""
# Two launches on different buffers: the general form gives 4 x, the variant 9 x.
PROGRAM = KERNEL + """
func.func @main(%x: tensor<6x40xf32> {tsp.name = "x"}) -> (tensor<6x40xf32> {tsp.name = "y"}) {
  %0 = tsp.launch @scale(%x) : (tensor<6x40xf32>) -> tensor<6x40xf32>
  %1 = tsp.launch @scale(%0) : (tensor<6x40xf32>) -> tensor<6x40xf32>
  return %1 : tensor<6x40xf32>
}
"""
X = np.arange(240, dtype=np.float32).reshape(6, 40)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder with an executable for each choice of PTX."""
    folder = tmp_path_factory.mktemp("variants")
    np.savez(folder / "x.npz", x=X)
    (folder / "scale.mlir").write_text(PROGRAM)
    for ptx in ("plain", "all"):
        tsp.compile_program(folder / "scale.mlir", folder / ptx,
                            options=("--from=mlir-kernels", "--target=cuda:sm_80,sm_90a", f"--embed-ptx={ptx}", f"--report={folder / 'report.json'}"))
    return folder


def run(folder, executable, monkeypatch, capabilities, *flags):
    monkeypatch.setenv("TSP_EMULATED_CAPABILITY", capabilities)
    subprocess.run([folder / executable, f"--args={folder / 'x.npz'}", f"--out={folder / 'y.npz'}", "--emulate", *flags], check=True)
    return np.load(folder / "y.npz")["y"]


@pytest.mark.parametrize("flags", [(), ("--graphs", "--repeat=4")], ids=["launches", "graphs"])
@pytest.mark.parametrize("ptx, capabilities, device, factor", [
    ("all", "8.0", 0, 4), ("all", "9.0", 0, 9), ("all", "8.0,9.0", 0, 4), ("all", "8.0,9.0", 1, 9), ("all", "12.0", 0, 4), ("plain", "9.0", 0, 4)])
def test_devices_get_their_form(compiled, monkeypatch, ptx, capabilities, device, factor, flags):
    monkeypatch.setenv("TSP_EMULATION_CHECK", "1")
    np.testing.assert_array_equal(run(compiled, ptx, monkeypatch, capabilities, f"--device={device}", *flags), factor * X)


@pytest.mark.parametrize("architecture, factor", [("sm_80", 2), ("sm_90", 2), ("sm_90a", 3)])
def test_kernels_alone(tmp_path, architecture, factor):
    kernels = device_runner.compile_kernels(KERNEL, tmp_path, architecture)
    [y] = kernels["scale"]([X], [(X.shape, "f32")])
    assert kernels.keys() == {"scale"}
    np.testing.assert_array_equal(y, factor * X)


# y = 5 x on sm_89, whose variant is that of sm_90a.
ANOTHER = """
gpu.module @tsp_device {
  gpu.func @scale_sm_89(%x: memref<6x40xf32>, %y: memref<6x40xf32>) kernel
      attributes {known_block_size = array<i32: 40, 1, 1>, tsp.device_architecture = "sm_89", tsp.device_variant = @scale_sm_90a} {
    %i = gpu.block_id x
    %j = gpu.thread_id x
    %five = arith.constant 5.0 : f32
    %a = memref.load %x[%i, %j] : memref<6x40xf32>
    %b = arith.mulf %a, %five : f32
    memref.store %b, %y[%i, %j] : memref<6x40xf32>
    gpu.return
  }
"""
ANOTHER_LAUNCH = """
func.func private @scale_sm_89(memref<6x40xf32>, memref<6x40xf32>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 6, 1, 1>, tsp.device_block = array<i64: 40, 1, 1>,
              tsp.device_shared = 0 : i64, tsp.device_workspace = 0 : i64, tsp.device_architecture = "sm_89", tsp.device_variant = @scale_sm_90a}
"""


def with_another(text):
    text = text.replace("tsp.device_variant = @scale_sm_90a", "tsp.device_variant = @scale_sm_89")
    return text.replace("gpu.module @tsp_device {", ANOTHER, 1) + ANOTHER_LAUNCH


@pytest.mark.parametrize("architecture, factor", [("sm_80", 2), ("sm_89", 5), ("sm_90", 2), ("sm_90a", 3)])
def test_two_variants_alone(tmp_path, architecture, factor):
    [y] = device_runner.compile_kernels(with_another(KERNEL), tmp_path, architecture)["scale"]([X], [(X.shape, "f32")])
    np.testing.assert_array_equal(y, factor * X)


def test_two_variants(tmp_path, monkeypatch):
    """The runtime looks for the variant of a variant too."""
    np.savez(tmp_path / "x.npz", x=X)
    (tmp_path / "scale.mlir").write_text(with_another(PROGRAM))
    tsp.compile_program(tmp_path / "scale.mlir", tmp_path / "all",
                        options=("--from=mlir-kernels", "--target=cuda:sm_80,sm_89,sm_90a", "--embed-ptx=all", f"--report={tmp_path / 'report.json'}"))
    for capability, factor in ("8.0", 4), ("9.0", 9):
        np.testing.assert_array_equal(run(tmp_path, "all", monkeypatch, capability), factor * X)
    kernels = json.loads((tmp_path / "report.json").read_text())["device"]["kernels"]
    assert {kernel["name"]: kernel["architecture"] for kernel in kernels} == {"scale": "sm_80", "scale_sm_89": "sm_89", "scale_sm_90a": "sm_90a"}


def test_bulk_copies_are_counted(tmp_path):
    """Rows of 160 bytes are 5 sectors: of all 6, read by bulk copies and written by warps, none is touched twice."""
    ptx, launches = device_runner.compile_ptx(KERNEL, tmp_path, "sm_90a")
    module = device_runner.device("sm_90a").module(ptx, checker=True)
    before = cuda_driver.counters("scale_sm_90a")
    device_runner.DeviceKernel(module, launches["scale"])([X], [(X.shape, "f32")])
    counted = cuda_driver.counters("scale_sm_90a", before)
    assert counted["global_sectors"] == counted["global_ideal_sectors"] == 2 * 6 * 5
    assert counted["shared_passes"] == counted["shared_requests"] == 6 * 2


def test_report(compiled):
    report = json.loads((compiled / "report.json").read_text())
    kernels = {kernel["name"]: kernel for kernel in report["device"]["kernels"]}
    assert report["kernels"] == 1 and len(report["device"]["kernels"]) == 2
    general, variant = kernels["scale"], kernels["scale_sm_90a"]
    assert general["architecture"] == "sm_80" and general["variant"] == "scale_sm_90a"
    assert variant["architecture"] == "sm_90a" and variant["grid"] == [2, 2, 1] and variant["shared_bytes"] >= 200192
