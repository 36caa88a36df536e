//===- TspCollectiveOps.td - communication ------------------------- *- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_COLLECTIVE_OPS_TD
#define TSP_COLLECTIVE_OPS_TD

include "tsp/Dialect/TSP/IR/TspBase.td"

def Tsp_AxisIndexOp : Tsp_Op<"axis_index", [Pure]> {
  let summary = "Coordinate of this rank on a mesh axis.";
  let description = [{
    Constraints: (axis_c1) as of every op with an axis: when the module has a
    mesh (`tsp.mesh`), it has the axis.

    Example: `%r = tsp.axis_index "t" : tensor<i32>`.
  }];
  let arguments = (ins StrAttr:$axis);
  let results = (outs 0DTensorOf<[I32]>:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

// Collectives are not Pure: all ranks of a group must make the same calls in the
// same order, so they are neither moved past each other nor removed by default.
// Each may say how its bytes are encoded (`codec`, see #tsp.codec).
class Tsp_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : Tsp_Op<mnemonic, traits> {
  let results = (outs AnyTypeOf<[AnyRankedTensor, Tsp_FutureType]>:$result);
  let hasVerifier = 1;
}

def Tsp_AllGatherOp : Tsp_CollectiveOp<"all_gather"> {
  let summary = "Every rank gets the whole of a sharded dim.";
  let description = [{
    The result has `total` elements along `dim`, in natural order and without
    padding, whatever the layout of the shards (`#tsp.layout`).

    ```
    rank 0: [a b]   rank 1: [c d]   ->   both: [a b c d]
    ```
    Received bytes a rank: whole minus own.

    Constraints: (all_gather_c1) result and input have the element type, rank and
    sizes of each other, but for `dim`. (all_gather_c2) the result has `total`
    elements in `dim`. (all_gather_c3) the input has those of a shard
    (`#tsp.layout`).

    Example: `tsp.all_gather %x {axis = "t", dim = 1 : i64, total = 5 : i64} :
    (tensor<2x3xf32>) -> tensor<2x5xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$axis, I64Attr:$dim,
      I64Attr:$total, DefaultValuedAttr<I64Attr, "1">:$unit,
      DefaultValuedAttr<Tsp_LayoutAttr, "::tsp::Layout::Contiguous">:$layout,
      OptionalAttr<Tsp_CodecAttr>:$codec);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
}

def Tsp_ReduceScatterOp : Tsp_CollectiveOp<"reduce_scatter"> {
  let summary = "Combines partial values; each rank keeps its shard of a dim.";
  let description = [{
    ```
    rank 0: [a b]   rank 1: [c d]   ->   rank 0: [a+c]   rank 1: [b+d]
    ```
    Sums run in rank order in f32 for 16-bit types. Padding of the result is 0.

    Constraints: (reduce_scatter_c1) as all_gather_c1. (reduce_scatter_c2) the
    input has `total` elements in `dim`. (reduce_scatter_c3) the result has those
    of a shard (`#tsp.layout`).

    Example: `tsp.reduce_scatter %x {axis = "t", dim = 1 : i64, total = 5 : i64} :
    (tensor<2x5xf32>) -> tensor<2x3xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$axis, I64Attr:$dim,
      I64Attr:$total, DefaultValuedAttr<I64Attr, "1">:$unit,
      DefaultValuedAttr<Tsp_LayoutAttr, "::tsp::Layout::Contiguous">:$layout,
      DefaultValuedAttr<Tsp_CombineAttr, "::tsp::CombineKind::Sum">:$combine,
      OptionalAttr<Tsp_CodecAttr>:$codec);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
}

def Tsp_AllReduceOp : Tsp_CollectiveOp<"all_reduce"> {
  let summary = "Combines partial values; every rank gets the result.";
  let description = [{
    ```
    rank 0: [a b]   rank 1: [c d]   ->   both: [a+c b+d]
    ```
    Sums run in rank order in f32 for 16-bit types, so all ranks get equal bits.

    Constraints: (all_reduce_c1) the result has the type of the input.

    Example: `tsp.all_reduce %x {axis = "t"} : (tensor<2xf32>) -> tensor<2xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$axis,
      DefaultValuedAttr<Tsp_CombineAttr, "::tsp::CombineKind::Sum">:$combine,
      OptionalAttr<Tsp_CodecAttr>:$codec);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
}

def Tsp_AllToAllOp : Tsp_CollectiveOp<"all_to_all"> {
  let summary = "Moves a split from one dim to another.";
  let description = [{
    `split_dim` (whole, `split_total` elements) becomes sharded by `split_unit`
    and `split_layout`; `concat_dim` (sharded likewise) becomes whole with
    `concat_total` elements in natural order.

    ```
    rank 0: [a b]   rank 1: [c d]   ->   rank 0: [a; c]   rank 1: [b; d]
    ```

    Constraints: (all_to_all_c1) as all_gather_c1, for both dims. (all_to_all_c2)
    the dims differ. (all_to_all_c3) the input has `split_total` elements in
    `split_dim`, the result `concat_total` in `concat_dim`. (all_to_all_c4) the
    input has a shard of `concat_dim`, the result one of `split_dim`.

    Example: `tsp.all_to_all %x {axis = "t", split_dim = 1 : i64, split_total = 4
    : i64, concat_dim = 0 : i64, concat_total = 6 : i64} : (tensor<3x4xf32>) ->
    tensor<6x2xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$axis,
      I64Attr:$split_dim, I64Attr:$split_total, DefaultValuedAttr<I64Attr, "1">:$split_unit,
      I64Attr:$concat_dim, I64Attr:$concat_total, DefaultValuedAttr<I64Attr, "1">:$concat_unit,
      DefaultValuedAttr<Tsp_LayoutAttr, "::tsp::Layout::Contiguous">:$split_layout,
      DefaultValuedAttr<Tsp_LayoutAttr, "::tsp::Layout::Contiguous">:$concat_layout,
      OptionalAttr<Tsp_CodecAttr>:$codec);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
}

def Tsp_BroadcastOp : Tsp_CollectiveOp<"broadcast"> {
  let summary = "Every rank gets one interval of a sharded dim from its owners.";
  let description = [{
    The input is a shard of a dim of `total` elements, split in contiguous
    chunks of ceil(total / (D unit)) unit. The result holds elements
    [offset, offset + n) of it, n being the result's size along `dim`. When the
    interval is one rank's chunk this is one broadcast, else one from each rank
    that owns a piece. `offset` (a replicated scalar) may be dynamic.

    ```
    rank 0: [a b c]   rank 1: [d e f]   offset 2, n 2   ->   both: [c d]
    ```
    Received bytes: what a rank does not own of the interval.

    Constraints: (broadcast_c1) as all_gather_c1. (broadcast_c2) the offset is a
    tensor<i32>. (broadcast_c3) n is at most `total`. (broadcast_c4) the input has
    the elements of a shard in `dim`.

    Example: `tsp.broadcast %x at %o {axis = "t", dim = 0 : i64, total = 6 : i64} :
    (tensor<3xf32>, tensor<i32>) -> tensor<2xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$offset,
      StrAttr:$axis, I64Attr:$dim, I64Attr:$total,
      DefaultValuedAttr<I64Attr, "1">:$unit,
      OptionalAttr<Tsp_CodecAttr>:$codec);
  let assemblyFormat = "$input `at` $offset attr-dict `:` functional-type(operands, $result)";
}

def Tsp_SendRecvOp : Tsp_CollectiveOp<"send_recv"> {
  let summary = "Every rank sends its value `shift` ranks on along the axis.";
  let description = [{
    Rank r gets the value of rank (r - shift) mod D.

    ```
    rank 0: a   rank 1: b   rank 2: c   shift 1   ->   rank 0: c   rank 1: a   rank 2: b
    ```

    Constraints: (send_recv_c1) the result has the type of the input.

    Example: `tsp.send_recv %x {axis = "t", shift = 1 : i64} : (tensor<2xf32>) ->
    tensor<2xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$axis, I64Attr:$shift,
      OptionalAttr<Tsp_CodecAttr>:$codec);
  let assemblyFormat = "$input attr-dict `:` functional-type($input, $result)";
}

def Tsp_WaitOp : Tsp_Op<"wait"> {
  let summary = "Waits for a transfer and gives its value.";
  let description = [{
    Any collective whose result is a `!tsp.future` has only been started; its
    buffers are in use until its wait.

    Constraints: (wait_c1) the result has the type of the future's value.
    (wait_c2) a future is used once.

    Example: `%y = tsp.wait %f : !tsp.future<tensor<4xf32>> -> tensor<4xf32>`
  }];
  let arguments = (ins Tsp_FutureType:$future);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$future attr-dict `:` type($future) `->` type($result)";
  let hasVerifier = 1;
}

#endif // TSP_COLLECTIVE_OPS_TD
