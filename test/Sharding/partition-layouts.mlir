// RUN: tsp-opt %s -split-input-file --tsp-plan | tsp-opt -split-input-file --tsp-partition --canonicalize --cse | FileCheck %s
// RUN: tsp-opt %s -split-input-file --tsp-partition --canonicalize --cse | FileCheck %s

// Zigzag over two ranks: rank 0 has the first and last quarter of a dim, rank 1
// the two in the middle.

#zz = #tsp.placement<[#tsp.dim<["t"], layout = zigzag>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {

// True positions: the first chunk of rank r begins at 3 r, the second at 9 - 3 r.
// CHECK-LABEL: func.func public @positions(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<6x6xi32> {{.*}}<["t"], layout = zigzag>
// CHECK-DAG: %[[R:.*]] = tsp.axis_index "t"
// CHECK-DAG: %[[FIRST:.*]] = stablehlo.multiply %[[R]], %{{.*}} : tensor<i32>
// CHECK-DAG: %[[C9:.*]] = stablehlo.constant dense<9> : tensor<i32>
// CHECK-DAG: %[[C3:.*]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK: %[[SECOND:.*]] = stablehlo.subtract %[[C9]], %[[FIRST]]
// CHECK: %[[I:.*]] = stablehlo.iota dim = 0 : tensor<6x6xi32>
// CHECK: %[[MOVED:.*]] = stablehlo.subtract %[[SECOND]], %[[C3]]
// CHECK: %[[B:.*]] = stablehlo.broadcast_in_dim %[[MOVED]]
// CHECK: %[[A:.*]] = stablehlo.broadcast_in_dim %[[FIRST]]
// CHECK: %[[IN:.*]] = stablehlo.compare LT, %[[I]]
// CHECK: %[[S:.*]] = stablehlo.select %[[IN]], %[[A]], %[[B]]
// CHECK: %[[P:.*]] = stablehlo.add %[[I]], %[[S]]
// CHECK: stablehlo.add %[[X]], %[[P]]
func.func public @positions(%x: tensor<10x6xi32> {tsp.placement = #zz}) -> tensor<10x6xi32> {
  %i = stablehlo.iota dim = 0 : tensor<10x6xi32>
  %y = stablehlo.add %x, %i : tensor<10x6xi32>
  return %y : tensor<10x6xi32>
}

// Ten elements are no multiple of four: positions from 10 on are cleared.
// CHECK-LABEL: func.func public @summed(
// CHECK-DAG: %[[TEN:.*]] = stablehlo.constant dense<10> : tensor<6x6xi32>
// CHECK: %[[I:.*]] = stablehlo.iota
// CHECK: %[[P:.*]] = stablehlo.add %[[I]]
// CHECK: %[[HELD:.*]] = stablehlo.compare LT, %[[P]], %[[TEN]],
// CHECK: %[[M:.*]] = stablehlo.select %[[HELD]], %{{.*}}, %{{.*}} : tensor<6x6xi1>, tensor<6x6xf32>
// CHECK: stablehlo.reduce(%[[M]]
// CHECK: tsp.all_reduce
func.func public @summed(%x: tensor<10x6xf32> {tsp.placement = #zz}) -> tensor<6xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10x6xf32>, tensor<f32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// Chunks of four are whole rows of two.
// CHECK-LABEL: func.func public @split(
// CHECK-SAME: tensor<8x6xf32>
// CHECK-NEXT: %[[Y:.*]] = stablehlo.reshape %{{.*}} : (tensor<8x6xf32>) -> tensor<4x2x6xf32>
// CHECK-NEXT: return %[[Y]]
func.func public @split(%x: tensor<16x6xf32> {tsp.placement = #zz}) -> tensor<8x2x6xf32> {
  %y = stablehlo.reshape %x : (tensor<16x6xf32>) -> tensor<8x2x6xf32>
  return %y : tensor<8x2x6xf32>
}

// Chunks of three are no rows of four: back to the natural order.
// CHECK-LABEL: func.func public @split_through_chunks(
// CHECK: tsp.all_gather %{{.*}} {axis = "t", dim = 0 : i64, layout = #tsp.layout<zigzag>, total = 12 : i64} : (tensor<6x6xf32>) -> tensor<12x6xf32>
// CHECK: stablehlo.reshape %{{.*}} : (tensor<12x6xf32>) -> tensor<3x4x6xf32>
func.func public @split_through_chunks(%x: tensor<12x6xf32> {tsp.placement = #zz}) -> tensor<3x4x6xf32> {
  %y = stablehlo.reshape %x : (tensor<12x6xf32>) -> tensor<3x4x6xf32>
  return %y : tensor<3x4x6xf32>
}

// CHECK-LABEL: func.func public @merged(
// CHECK-SAME: <["t"], layout = zigzag>, <[]>]>}) -> (tensor<24xf32> {{.*}}<["t"], layout = zigzag>]>
// CHECK-NEXT: stablehlo.reshape %{{.*}} : (tensor<4x6xf32>) -> tensor<24xf32>
func.func public @merged(%x: tensor<8x6xf32> {tsp.placement = #zz}) -> tensor<48xf32> {
  %y = stablehlo.reshape %x : (tensor<8x6xf32>) -> tensor<48xf32>
  return %y : tensor<48xf32>
}

// What depends on the order gets the natural one.
// CHECK-LABEL: func.func public @reversed(
// CHECK: %[[G:.*]] = tsp.all_gather {{.*}}zigzag{{.*}} (tensor<6x6xf32>) -> tensor<10x6xf32>
// CHECK: stablehlo.reverse %[[G]]
func.func public @reversed(%x: tensor<10x6xf32> {tsp.placement = #zz}) -> tensor<10x6xf32> {
  %y = stablehlo.reverse %x, dims = [0] : tensor<10x6xf32>
  return %y : tensor<10x6xf32>
}

// A row is in the first chunk, in the second, or not here (-1).
// CHECK-LABEL: func.func public @lookup(
// CHECK-DAG: %[[NOT:.*]] = stablehlo.constant dense<-1> : tensor<3x1xi32>
// CHECK: %[[L0:.*]] = stablehlo.select %{{.*}}, %{{.*}}, %[[NOT]]
// CHECK: %[[L:.*]] = stablehlo.select %{{.*}}, %{{.*}}, %[[L0]]
// CHECK: "stablehlo.gather"(%{{.*}}, %[[L]])
// CHECK: %[[Z:.*]] = stablehlo.select
// CHECK: tsp.all_reduce %[[Z]]
func.func public @lookup(%x: tensor<10x6xf32> {tsp.placement = #zz}, %i: tensor<3x1xi32>) -> tensor<3x6xf32> {
  %y = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<10x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
  return %y : tensor<3x6xf32>
}

// CHECK-LABEL: func.func public @update_one(
// CHECK: %[[L:.*]] = stablehlo.select
// CHECK: %[[PLACE:.*]] = stablehlo.select %{{.*}}, %{{.*}}, %[[L]]
// CHECK: %[[AT:.*]] = stablehlo.clamp %{{.*}}, %[[PLACE]], %{{.*}}
// CHECK: stablehlo.dynamic_slice %{{.*}}, %[[AT]], {{.*}} sizes = [1, 6]
// CHECK: stablehlo.compare EQ, %[[AT]], %[[PLACE]]
// CHECK: stablehlo.dynamic_update_slice %{{.*}}, %{{.*}}, %[[AT]]
func.func public @update_one(%x: tensor<8x6xf32> {tsp.placement = #zz}, %u: tensor<1x6xf32>, %p: tensor<i32>) -> tensor<8x6xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %y = stablehlo.dynamic_update_slice %x, %u, %p, %c0 : (tensor<8x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}

// The window of the update that meets each chunk.
// CHECK-LABEL: func.func public @update_some(
// CHECK: %[[P:.*]] = stablehlo.pad {{.*}} -> tensor<7x6xf32>
// CHECK: %[[A:.*]] = stablehlo.dynamic_slice %[[P]], {{.*}} sizes = [2, 6]
// CHECK: %[[B:.*]] = stablehlo.dynamic_slice %[[P]], {{.*}} sizes = [2, 6]
// CHECK: %[[W:.*]] = stablehlo.concatenate %[[A]], %[[B]], dim = 0
// CHECK: stablehlo.select %{{.*}}, %[[W]], %{{.*}} : tensor<4x6xi1>, tensor<4x6xf32>
func.func public @update_some(%x: tensor<8x6xf32> {tsp.placement = #zz}, %u: tensor<3x6xf32>, %p: tensor<i32>) -> tensor<8x6xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %y = stablehlo.dynamic_update_slice %x, %u, %p, %c0 : (tensor<8x6xf32>, tensor<3x6xf32>, tensor<i32>, tensor<i32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}

// CHECK-LABEL: func.func public @exchanged(
// CHECK: tsp.all_to_all %{{.*}} {axis = "t", concat_dim = 0 : i64, concat_layout = #tsp.layout<zigzag>, concat_total = 10 : i64, split_dim = 1 : i64, split_total = 6 : i64} : (tensor<6x6xf32>) -> tensor<10x3xf32>
func.func public @exchanged(%x: tensor<10x6xf32> {tsp.placement = #zz}) -> (tensor<10x6xf32> {tsp.placement = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>}) {
  return %x : tensor<10x6xf32>
}

// CHECK-LABEL: func.func public @to_contiguous(
// CHECK: %[[G:.*]] = tsp.all_gather {{.*}}zigzag{{.*}} (tensor<6x6xf32>) -> tensor<10x6xf32>
// CHECK: stablehlo.dynamic_slice %[[G]], {{.*}} -> tensor<5x6xf32>
func.func public @to_contiguous(%x: tensor<10x6xf32> {tsp.placement = #zz}) -> (tensor<10x6xf32> {tsp.placement = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>}) {
  return %x : tensor<10x6xf32>
}

// Two chunks of the whole, with padding behind the last one.
// CHECK-LABEL: func.func public @cut(
// CHECK: %[[P:.*]] = stablehlo.pad {{.*}} -> tensor<12x6xf32>
// CHECK: %[[A:.*]] = stablehlo.dynamic_slice %[[P]], {{.*}} sizes = [3, 6]
// CHECK: %[[B:.*]] = stablehlo.dynamic_slice %[[P]], {{.*}} sizes = [3, 6]
// CHECK: stablehlo.concatenate %[[A]], %[[B]], dim = 0
func.func public @cut(%x: tensor<10x6xf32>) -> (tensor<10x6xf32> {tsp.placement = #zz}) {
  return %x : tensor<10x6xf32>
}
}

// -----

// Two axes on a dim: offsets of both levels add up; a sum over both is combined
// over both.

// CHECK-LABEL: func.func public @nested(
// CHECK-SAME: tensor<3xi32> {{.*}}<["d", "t"]>
// CHECK-DAG: %[[T:.*]] = tsp.axis_index "t"
// CHECK-DAG: %[[D:.*]] = tsp.axis_index "d"
// CHECK-DAG: %[[C3:.*]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK-DAG: %[[C6:.*]] = stablehlo.constant dense<6> : tensor<i32>
// CHECK-DAG: %[[OT:.*]] = stablehlo.multiply %[[T]], %[[C3]]
// CHECK-DAG: %[[OD:.*]] = stablehlo.multiply %[[D]], %[[C6]]
// CHECK: stablehlo.add %[[OT]], %[[OD]]
// CHECK: %[[S:.*]] = stablehlo.reduce
// CHECK: %[[A:.*]] = tsp.all_reduce %[[S]] {axis = "d"}
// CHECK: tsp.all_reduce %[[A]] {axis = "t"}
module attributes {tsp.mesh = #tsp.mesh<["d", "t"] sizes [2, 2]>} {
func.func public @nested(%x: tensor<11xi32> {tsp.placement = #tsp.placement<[#tsp.dim<["d", "t"]>]>}) -> tensor<i32> {
  %i = stablehlo.iota dim = 0 : tensor<11xi32>
  %p = stablehlo.multiply %x, %i : tensor<11xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %y = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<11xi32>, tensor<i32>) -> tensor<i32>
  return %y : tensor<i32>
}
}

// -----

// Tokens behind a batch stay sharded, in blocks, where the ranks divide them; an
// axis of the batch may be there as well. Outside of the program there are no
// blocks.

// CHECK-LABEL: func.func public @flattened(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4x6xf32>
// CHECK-NEXT: %[[F:.*]] = stablehlo.reshape %[[X]] : (tensor<2x4x6xf32>) -> tensor<8x6xf32>
// CHECK-NEXT: %[[Y:.*]] = stablehlo.dot_general %[[F]], {{.*}} : (tensor<8x6xf32>, tensor<6x12xf32>) -> tensor<8x12xf32>
// CHECK-NEXT: %[[R:.*]] = stablehlo.reshape %[[Y]] : (tensor<8x12xf32>) -> tensor<2x4x12xf32>
// CHECK-NEXT: %[[T:.*]] = tsp.all_gather %[[R]] {axis = "t", dim = 1 : i64, layout = #tsp.layout<zigzag>, total = 8 : i64} : (tensor<2x4x12xf32>) -> tensor<2x8x12xf32>
// CHECK-NEXT: %[[O:.*]] = stablehlo.reshape %[[T]] : (tensor<2x8x12xf32>) -> tensor<16x12xf32>
// CHECK-NEXT: return %[[R]], %[[O]] : tensor<2x4x12xf32>, tensor<16x12xf32>
module attributes {tsp.mesh = #tsp.mesh<["d", "t"] sizes [2, 2]>} {
func.func public @flattened(%x: tensor<4x8x6xf32> {tsp.placement = #tsp.placement<[#tsp.dim<["d"]>, #tsp.dim<["t"], layout = zigzag>, #tsp.dim<[]>]>}, %w: tensor<6x12xf32>) -> (tensor<4x8x12xf32>, tensor<32x12xf32>) {
  %f = stablehlo.reshape %x : (tensor<4x8x6xf32>) -> tensor<32x6xf32>
  %y = stablehlo.dot_general %f, %w, contracting_dims = [1] x [0] : (tensor<32x6xf32>, tensor<6x12xf32>) -> tensor<32x12xf32>
  %r = stablehlo.reshape %y : (tensor<32x12xf32>) -> tensor<4x8x12xf32>
  return %r, %y : tensor<4x8x12xf32>, tensor<32x12xf32>
}
}
