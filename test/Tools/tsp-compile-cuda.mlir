// One binary: machine code of each architecture and readable PTX of the plain one;
// no library of NVIDIA's is needed to start it.
// RUN: tsp-compile %s --from=mlir-kernels --target=cuda:sm_80,sm_90a -o %t --report=%t.json
// RUN: FileCheck %s --check-prefix=REPORT --input-file %t.json
// REPORT: "device": {
// REPORT-NEXT: "constant_bytes": 0
// REPORT: "architecture": "sm_80"
// REPORT: "name": "axpy"
// REPORT-NEXT: "occupancy": 1
// REPORT-NEXT: "registers": {{[1-9][0-9]*}}
// REPORT: "spill_bytes": 0
// REPORT: "architecture": "sm_90a"
// RUN: grep -a -q "\.target sm_80" %t
// RUN: not grep -a -q "\.target sm_90" %t
// RUN: tsp-compile %s --from=mlir-kernels --target=cuda:sm_80,sm_90a --embed-ptx=all -o %t.all
// RUN: grep -a -q "\.target sm_80" %t.all
// RUN: grep -a -q "\.target sm_90a" %t.all
// RUN: ldd %t | FileCheck %s --check-prefix=LDD --implicit-check-not=cuda --implicit-check-not=nccl
// LDD: libc.so
// RUN: %t --describe | FileCheck %s --check-prefix=DESCRIBE
// DESCRIBE: arg0 input x: 128xf32
// RUN: grep -a -q '"target":"cuda"' %t

// Any CPU may launch.
// RUN: grep -a -q '"cpu_features":\[\]' %t

// RUN: tsp-compile %s --from=mlir-kernels --target=cuda:sm_80 --emit=cubin -o %t.cubin
// RUN: grep -a -q "axpy" %t.cubin

// RUN: tsp-compile %s --from=mlir-kernels --target=cuda:sm_80 --emit=sass -o - | FileCheck %s --check-prefix=SASS
// SASS: .text.axpy
// SASS: LDG.E
// SASS: FADD
// SASS: STG.E

// A failing tool shows its command; a missing one what to do.
// RUN: mkdir -p %t.root/bin
// RUN: echo "#!/bin/sh" > %t.root/bin/ptxas
// RUN: echo "echo no such instruction; exit 3" >> %t.root/bin/ptxas
// RUN: chmod +x %t.root/bin/ptxas
// RUN: env CUDA_ROOT=%t.root not tsp-compile %s --from=mlir-kernels --target=cuda:sm_80 -o %t 2>&1 | FileCheck %s --check-prefix=TOOL
// TOOL: error: this command failed (exit code 3):
// TOOL-NEXT: /bin/ptxas -arch=sm_80 -O3 -v
// TOOL: no such instruction

func.func @main(%x: tensor<128xf32> {tsp.name = "x"}, %y: tensor<128xf32> {tsp.name = "y"}) -> tensor<128xf32> {
  %0 = tsp.launch @axpy(%x, %y) : (tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>
  return %0 : tensor<128xf32>
}

gpu.module @tsp_device {
  gpu.func @axpy(%x: memref<128xf32>, %y: memref<128xf32>, %z: memref<128xf32>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %c64 = arith.constant 64 : index
    %0 = arith.muli %b, %c64 : index
    %i = arith.addi %0, %t : index
    %a = memref.load %x[%i] : memref<128xf32>
    %c = memref.load %y[%i] : memref<128xf32>
    %d = arith.addf %a, %c : f32
    memref.store %d, %z[%i] : memref<128xf32>
    gpu.return
  }
}
func.func private @axpy(memref<128xf32>, memref<128xf32>, memref<128xf32>)
  attributes {tsp.kernel, tsp.tied = array<i64: 1>, tsp.device_grid = array<i64: 2, 1, 1>,
              tsp.device_block = array<i64: 64, 1, 1>, tsp.device_shared = 0 : i64,
              tsp.device_workspace = 0 : i64}
