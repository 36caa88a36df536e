// RUN: tsp-opt %s | tsp-opt | FileCheck %s

func.func private @k() attributes {tsp.kernel}

// CHECK-LABEL: func.func @kernels
// CHECK: tsp.buffer.launch @k ins(%{{.*}}, %{{.*}} : memref<4xf32>, memref<2x2xf32>) outs(%{{.*}} : memref<4xf32>)
// CHECK: tsp.buffer.copy %{{.*}} to %{{.*}} : memref<4xf32>, memref<2x2xf32>
// CHECK: tsp.buffer.read %{{.*}} : memref<i32> -> i32
// CHECK: tsp.buffer.axis_index "t"
func.func @kernels(%a: memref<4xf32>, %b: memref<2x2xf32>, %n: memref<i32>) {
  tsp.buffer.launch @k ins(%a, %b : memref<4xf32>, memref<2x2xf32>) outs(%a : memref<4xf32>)
  tsp.buffer.copy %a to %b : memref<4xf32>, memref<2x2xf32>
  %0 = tsp.buffer.read %n : memref<i32> -> i32
  %1 = tsp.buffer.axis_index "t"
  return
}

// CHECK-LABEL: func.func @transfers
// CHECK: %[[E:.*]] = tsp.buffer.all_gather %{{.*}} to %{{.*}} {axis = "t", dim = 0 : i64, layout = #tsp.layout<contiguous>, total = 8 : i64, unit = 1 : i64} : memref<4xf32>, memref<8xf32>
// CHECK: tsp.buffer.wait %[[E]]
// CHECK: tsp.buffer.reduce_scatter %{{.*}} to %{{.*}} {axis = "t", combine = #tsp.combine<sum>, dim = 0 : i64, layout = #tsp.layout<zigzag>, total = 8 : i64, unit = 1 : i64} : memref<8xf32>, memref<4xf32>
// CHECK: tsp.buffer.all_reduce %{{.*}} to %{{.*}} {axis = "t", combine = #tsp.combine<max>} : memref<4xf32>, memref<4xf32>
// CHECK: tsp.buffer.broadcast %{{.*}} at %{{.*}} to %{{.*}} {axis = "t", dim = 0 : i64, total = 8 : i64, unit = 1 : i64} : memref<4xf32>, memref<2xf32>
// CHECK: tsp.buffer.send_recv %{{.*}} to %{{.*}} {axis = "t", shift = 1 : i64} : memref<4xf32>, memref<4xf32>
func.func @transfers(%a: memref<4xf32>, %b: memref<8xf32>, %c: memref<2xf32>, %o: i64) {
  %0 = tsp.buffer.all_gather %a to %b {axis = "t", dim = 0 : i64, layout = #tsp.layout<contiguous>, total = 8 : i64, unit = 1 : i64} : memref<4xf32>, memref<8xf32>
  tsp.buffer.wait %0
  %1 = tsp.buffer.reduce_scatter %b to %a {axis = "t", combine = #tsp.combine<sum>, dim = 0 : i64, layout = #tsp.layout<zigzag>, total = 8 : i64, unit = 1 : i64} : memref<8xf32>, memref<4xf32>
  %2 = tsp.buffer.all_reduce %a to %a {axis = "t", combine = #tsp.combine<max>} : memref<4xf32>, memref<4xf32>
  %3 = tsp.buffer.broadcast %a at %o to %c {axis = "t", dim = 0 : i64, total = 8 : i64, unit = 1 : i64} : memref<4xf32>, memref<2xf32>
  %4 = tsp.buffer.send_recv %a to %a {axis = "t", shift = 1 : i64} : memref<4xf32>, memref<4xf32>
  return
}
