// RUN: tsp-opt %s -tsp-finalize-kernels | FileCheck %s

// The body takes bare pointers that do not alias; the entry reads them from an
// array. What is no kernel stays.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    tensor<8xf32>

// CHECK-LABEL: llvm.func internal @scale.body(
// CHECK-SAME:    !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}
// CHECK-SAME:    no_inline
// CHECK:         llvm.fmul
// CHECK-LABEL: llvm.func @scale(
// CHECK-SAME:    %[[ARGS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64, %[[SCRATCH:.*]]: !llvm.ptr)
// CHECK-SAME:    tsp.grid = 2 : i64, tsp.kernel, tsp.scratch = 64 : i64
// CHECK:         %[[SLOT0:.*]] = llvm.getelementptr %[[ARGS]][0]
// CHECK:         %[[IN:.*]] = llvm.load %[[SLOT0]]
// CHECK:         %[[SLOT1:.*]] = llvm.getelementptr %[[ARGS]][1]
// CHECK:         %[[OUT:.*]] = llvm.load %[[SLOT1]]
// CHECK:         llvm.call @scale.body(%[[IN]], %[[OUT]], %[[BEGIN]], %[[END]], %[[SCRATCH]])
func.func private @scale(%in: memref<8xf32>, %out: memref<8xf32>, %begin: index,
    %end: index, %scratch: memref<64xi8>)
    attributes {tsp.kernel, tsp.grid = 2 : i64, tsp.scratch = 64 : i64} {
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  %lo = arith.muli %begin, %c4 : index
  %hi = arith.muli %end, %c4 : index
  scf.for %i = %lo to %hi step %c1 {
    %x = memref.load %in[%i] : memref<8xf32>
    %y = arith.mulf %x, %two : f32
    memref.store %y, %out[%i] : memref<8xf32>
  }
  return
}

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
