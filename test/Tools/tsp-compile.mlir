// What can be wrong before there is a program: one line each.
// RUN: not tsp-compile %s 2>&1 | FileCheck %s --check-prefix=OUTPUT
// OUTPUT: error: no output: give -o FILE
// RUN: not tsp-compile %s -o %t.no/such/folder 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: cannot write '{{.*}}.no/such/folder': No such file or directory
// RUN: not tsp-compile %t.missing.mlir -o %t 2>&1 | FileCheck %s --check-prefix=INPUT
// INPUT: error: cannot read '{{.*}}.missing.mlir': No such file or directory
// RUN: not tsp-compile %s -o %t --mesh=t=0 2>&1 | FileCheck %s --check-prefix=MESH
// MESH: error: --mesh: expected AXIS=SIZE,... with sizes of at least 1, found 't=0'
// RUN: not tsp-compile %s -o %t --mesh=t=2,t=2 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: --mesh: axis 't' is given twice
// RUN: not tsp-compile %s -o %t --emit=elf 2>&1 | FileCheck %s --check-prefix=EMIT
// EMIT: error: --emit: expected one of mlir-import, {{.*}} found 'elf'
// RUN: not tsp-compile %s -o - 2>&1 | FileCheck %s --check-prefix=BINARY
// BINARY: error: --emit=exe writes a binary: give -o FILE
// RUN: not tsp-compile %s -o %t --target=gpu9 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: --target: expected host or cuda:ARCHITECTURE[,ARCHITECTURE..], found 'gpu9'
// RUN: not tsp-compile %s -o %t --target=cuda:sm_80,sm_75 2>&1 | FileCheck %s --check-prefix=ARCH
// ARCH: error: --target: expected architectures out of sm_80, {{.*}}, found 'sm_75'
// RUN: not tsp-compile %s -o %t --target=cuda:sm_90a 2>&1 | FileCheck %s --check-prefix=SPECIFIC
// SPECIFIC: error: --target: expected one architecture at least that is no 'a' variant
// RUN: not tsp-compile %s -o %t --target=cuda:sm_80 --embed-ptx=none 2>&1 | FileCheck %s --check-prefix=EMBED
// EMBED: error: --embed-ptx: expected plain or all, found 'none'
// RUN: not tsp-compile %s -o - --emit=ptx 2>&1 | FileCheck %s --check-prefix=PTX
// PTX: error: --emit=ptx: expected one GPU architecture, as in --target=cuda:sm_80, found --target=host
// RUN: not tsp-compile %s -o %t --target-cpu=z80 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: tsp-compile %s -o %t.haswell --target-cpu=haswell
// RUN: grep -a -q '"cpu_features":\[[^]]*"avx2"' %t.haswell
// CPU: error: --target-cpu: expected native, generic or a CPU that LLVM knows, found 'z80'
// RUN: not tsp-compile %s -o %t --strategy=tsp 2>&1 | FileCheck %s --check-prefix=ONERANK
// ONERANK: {{^}}error: --strategy=tsp: expected a mesh of ranks, {{.*}} as in --mesh=t=4
// RUN: not tsp-compile %s -o %t --mesh=t=2 --prefetch=-2 2>&1 | FileCheck %s --check-prefix=PREFETCH
// PREFETCH: error: option prefetch: expected a number of parts, or -1 (by cost), found -2
// RUN: not tsp-compile %s -o /dev/full --emit=mlir-import 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: {{^}}error: cannot write '/dev/full': No space left on device
// RUN: not tsp-compile %s -o %t --report=/dev/full 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: tsp-compile --version | FileCheck %s --check-prefix=VERSION
// VERSION: tsp {{[0-9.]+}}, on LLVM 22
// RUN: echo "module {}" > %t.empty.mlir
// RUN: not tsp-compile %t.empty.mlir -o %t 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: {{^}}error: expected a program with a public function, found none

// Every phase can be looked at, and started from.
// RUN: tsp-compile %s -o - --emit=mlir-buffers | FileCheck %s --check-prefix=BUFFERS
// BUFFERS: func.func @main(%{{.*}}: memref<4xf32>{{.*}}, %{{.*}}: memref<4xf32>
// BUFFERS: tsp.buffer.launch
// RUN: tsp-compile %s -o %t.sharded.mlir --emit=mlir-sharded --mesh=t=2 --strategy=tsp
// RUN: tsp-compile %t.sharded.mlir --from=mlir-sharded -o - --emit=mlir-local | FileCheck %s --check-prefix=LOCAL
// LOCAL: func.func public @main(%{{.*}}: tensor<2xf32> {{.*}}tsp.placement = #tsp.placement<[<["t"]>]>
// LOCAL-NOT: tsp.operand_placements
// RUN: tsp-compile %s -o %t.kernels.mlir --emit=mlir-kernels
// RUN: tsp-compile %t.kernels.mlir --from=mlir-kernels -o - --emit=llvm --target-cpu=generic | FileCheck %s --check-prefix=LLVM
// LLVM: define void @tsp_entry_main(ptr
// What has no place in a file is told by its name.
// RUN: tsp-compile %s -o %t.mlir --emit=mlir-sharded --mesh=t=2 --strategy=tsp --remarks 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: {{^}}remark: x: placement: dim 0 (token, 4 elements) over "t", 2 a rank
// RUN: tsp-compile %s -o %t.exe --report=%t.json -v 2>&1 | FileCheck %s --check-prefix=TIMES
// TIMES: s  import
// TIMES: s  link
// RUN: FileCheck %s --check-prefix=REPORT < %t.json
// REPORT: "arena_bytes": 0
// REPORT: "staging_bytes": 0
// RUN: %t.exe --describe | FileCheck %s --check-prefix=DESCRIBE
// DESCRIBE: x
func.func public @main(%x: tensor<4xf32> {tsp.name = "x"} loc("x")) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
