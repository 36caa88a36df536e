// RUN: tsp-opt %s --tsp-plan-buffers --tsp-buffers-to-llvm | FileCheck %s

module attributes {tsp.mesh = #tsp.mesh<["d", "t"] sizes [2, 3]>} {
llvm.func @k(!llvm.ptr, i64, i64, !llvm.ptr) attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.grid = 7 : i64, tsp.scratch = 128 : i64}
llvm.func @less(!llvm.ptr, i64, i64, !llvm.ptr) attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.grid = 1 : i64, tsp.scratch = 0 : i64}

// Arguments of a launch go through the one array.
// CHECK-LABEL: llvm.func @tsp_entry_launch
// CHECK-SAME: (%[[RANK:.*]]: !llvm.ptr, %[[ARGS:.*]]: !llvm.ptr, %[[RESULTS:.*]]: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr)
// CHECK: %[[ARRAY:.*]] = llvm.alloca
// CHECK: %[[X:.*]] = llvm.load
// CHECK: llvm.store %[[X]]
// CHECK-DAG: %[[GRID:.*]] = llvm.mlir.constant(7 : i64)
// CHECK-DAG: %[[SCRATCH:.*]] = llvm.mlir.constant(128 : i64)
// CHECK: llvm.call @tsp_launch(%[[RANK]], %{{.*}}, %{{.*}}, %{{.*}}, %[[GRID]], %[[SCRATCH]], %{{.*}}, %[[ARRAY]])
// CHECK: llvm.return
func.func @launch(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tsp.launch @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// [outer][total][inner bytes] of the dim; axis 1; contiguous. The parts of 112
// bytes of three ranks are packed in the arena.
// CHECK-LABEL: llvm.func @tsp_entry_gather
// CHECK-SAME: (%[[RANK:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[ARENA:.*]]: !llvm.ptr)
// CHECK: %[[STAGING:.*]] = llvm.getelementptr %[[ARENA]][%{{.*}}]
// CHECK: %[[PACKED:.*]] = llvm.mlir.constant(336 : i64)
// CHECK: llvm.call @tsp_staging(%[[RANK]], %[[STAGING]], %[[PACKED]])
// CHECK-DAG: %[[OUTER:.*]] = llvm.mlir.constant(2 : i64)
// CHECK-DAG: %[[TOTAL:.*]] = llvm.mlir.constant(5 : i64)
// CHECK-DAG: %[[INNER:.*]] = llvm.mlir.constant(28 : i64)
// CHECK: %[[E:.*]] = llvm.call @tsp_all_gather_start(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[OUTER]], %[[TOTAL]], %[[INNER]], %{{.*}}, %{{.*}})
// CHECK: llvm.call @tsp_wait(%{{.*}}, %{{.*}}, %[[E]])
func.func @gather(%x: tensor<2x2x7xf32>) -> tensor<2x5x7xf32> {
  %0 = tsp.all_gather %x {axis = "t", dim = 1 : i64, total = 5 : i64} : (tensor<2x2x7xf32>) -> tensor<2x5x7xf32>
  return %0 : tensor<2x5x7xf32>
}

// CHECK-LABEL: llvm.func @tsp_entry_constant
// CHECK: llvm.mlir.addressof @tsp_data
// CHECK: llvm.call @tsp_copy
func.func @constant() -> tensor<2xi32> {
  %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  return %c : tensor<2xi32>
}

// CHECK-LABEL: llvm.func @tsp_entry_while
// CHECK: llvm.call @tsp_read
// CHECK: llvm.cond_br
func.func @while(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.while(%a = %x) : tensor<4xf32>
  cond {
    %p = tsp.launch @less(%a) : (tensor<4xf32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %y = tsp.launch @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %y : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// CHECK: llvm.mlir.global internal constant @tsp_data("\01\00\00\00\02\00\00\00") {addr_space = 0 : i32, alignment = 64 : i64}
// CHECK: llvm.func @tsp_launch(!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i64, i64, !llvm.ptr)
// CHECK: llvm.mlir.global internal constant @tsp_name_k("k\00")
// CHECK: llvm.mlir.global external constant @tsp_entry_table()
// CHECK: llvm.mlir.addressof @tsp_entry_launch
}
