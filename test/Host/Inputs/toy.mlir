// Two ranks: y = sum over f of x[f] w[f, :], by a broadcast and by a ring fold,
// and the gathered x. Kernels are hand-written.
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
llvm.func @zero(%args: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr)
    attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.grid = 1 : i64, tsp.scratch = 0 : i64} {
  %out = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  llvm.store %zero, %out : f32, !llvm.ptr
  %p = llvm.getelementptr %out[1] : (!llvm.ptr) -> !llvm.ptr, f32
  llvm.store %zero, %p : f32, !llvm.ptr
  llvm.return
}
// acc[j] + x[g] * w[0, j] for the two columns j; the grid is j.
llvm.func @fma(%args: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr)
    attributes {tsp.kernel, tsp.tied = array<i64: 1>, tsp.grid = 2 : i64, tsp.scratch = 64 : i64} {
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %g_slot = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %a1 = llvm.getelementptr %args[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %acc = llvm.load %a1 : !llvm.ptr -> !llvm.ptr
  %a2 = llvm.getelementptr %args[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %x = llvm.load %a2 : !llvm.ptr -> !llvm.ptr
  %a3 = llvm.getelementptr %args[3] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %w = llvm.load %a3 : !llvm.ptr -> !llvm.ptr
  %a4 = llvm.getelementptr %args[4] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %out = llvm.load %a4 : !llvm.ptr -> !llvm.ptr
  %g32 = llvm.load %g_slot : !llvm.ptr -> i32
  %g = llvm.sext %g32 : i32 to i64
  %xp = llvm.getelementptr %x[%g] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %xv = llvm.load %xp : !llvm.ptr -> f32
  llvm.br ^head(%begin : i64)
^head(%j: i64):
  %more = llvm.icmp "slt" %j, %end : i64
  llvm.cond_br %more, ^body, ^exit
^body:
  %wp = llvm.getelementptr %w[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %wv = llvm.load %wp : !llvm.ptr -> f32
  %ap = llvm.getelementptr %acc[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %av = llvm.load %ap : !llvm.ptr -> f32
  %m = llvm.fmul %xv, %wv : f32
  %s = llvm.fadd %av, %m : f32
  %op = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %s, %op : f32, !llvm.ptr
  %next = llvm.add %j, %c1 : i64
  llvm.br ^head(%next : i64)
^exit:
  llvm.return
}
func.func @main(
    %x: tensor<1xf32> {tsp.name = "x", tsp.kind = "input", tsp.placement = #tsp.placement<[#tsp.dim<["t"]>]>, tsp.global_type = tensor<2xf32>},
    %w: tensor<1x2xf32> {tsp.name = "w", tsp.kind = "parameter", tsp.placement = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>, tsp.global_type = tensor<2x2xf32>})
    -> (tensor<2xf32> {tsp.name = "broadcast"}, tensor<2xf32> {tsp.name = "ring"}, tensor<2xf32>) {
  %all = tsp.all_gather %x {axis = "t", dim = 0 : i64, total = 2 : i64} : (tensor<1xf32>) -> tensor<2xf32>
  %0 = tsp.launch @zero() : () -> tensor<2xf32>
  %y = tsp.fold_loop(%w : tensor<1x2xf32>) iter(%0 : tensor<2xf32>) attributes {axis = "t", steps = 2 : i64,
      part_dims = array<i64: 0>, part_sizes = array<i64: 1>, part_starts = array<i64: 0>,
      part_totals = array<i64: 2>, schedule = #tsp.schedule<broadcast>} -> tensor<2xf32> {
  ^bb0(%g: tensor<i32>, %p: tensor<1x2xf32>, %acc: tensor<2xf32>):
    %r = tsp.launch @fma(%g, %acc, %all, %p) : (tensor<i32>, tensor<2xf32>, tensor<2xf32>, tensor<1x2xf32>) -> tensor<2xf32>
    tsp.yield %r : tensor<2xf32>
  }
  %1 = tsp.launch @zero() : () -> tensor<2xf32>
  %z = tsp.fold_loop(%w : tensor<1x2xf32>) iter(%1 : tensor<2xf32>) attributes {axis = "t", steps = 2 : i64,
      part_dims = array<i64: 0>, part_sizes = array<i64: 1>, part_starts = array<i64: 0>,
      part_totals = array<i64: 2>, schedule = #tsp.schedule<ring>} -> tensor<2xf32> {
  ^bb0(%g: tensor<i32>, %p: tensor<1x2xf32>, %acc: tensor<2xf32>):
    %r = tsp.launch @fma(%g, %acc, %all, %p) : (tensor<i32>, tensor<2xf32>, tensor<2xf32>, tensor<1x2xf32>) -> tensor<2xf32>
    tsp.yield %r : tensor<2xf32>
  }
  return %y, %z, %all : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
}
