//===- TspFoldOps.td - folds over sharded weights ------------------ *- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_FOLD_OPS_TD
#define TSP_FOLD_OPS_TD

include "tsp/Dialect/TSP/IR/TspBase.td"

def Tsp_FoldOp : Tsp_Op<"fold", [RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"::tsp::YieldOp">]> {
  let summary = "Runs the parts of a sharded weight dim one after the other.";
  let description = [{
    Each of `parts` is this rank's shard of a weight; dim `part_dims[p]` of it,
    `part_totals[p]` elements in all, is stored in even contiguous chunks over
    `axis`. Step g of `steps` fetches the interval
    [part_starts[p] + g part_sizes[p], ... + part_sizes[p]) of every part and
    runs the body on it. Block arguments: the part number g (tensor<i32>), then
    the fetched parts. What the body yields becomes the results, one attribute
    of `combines` each: `#tsp.combine<sum>` adds over the steps (16-bit types in
    f32, cast once), `#tsp.concat<d>` puts slice g at position g along d.

    ```
    y = fold over f: for g in 0..D: y += act(x Wg[:, g]) Wd[g, :]
    ```
    Under schedule `ring`, rank r runs part (r - i) mod D at step i; the block
    argument is the part number, so bodies need not know the schedule.

    Constraints:
    - (fold_c1) parts, part_dims, part_sizes, part_starts and part_totals have
      equal counts.
    - (fold_c2) under `ring` each part is one chunk a step (part_sizes[p] D =
      part_totals[p], steps = D, starts 0) and the body holds no collective over
      `axis`.
    - (fold_c3) each result has a combine and a yielded value that fits it.
    - (fold_c4) there is at least one step; prefetch is not negative.
    - (fold_c5) the block arguments are a tensor<i32> and the parts of one step.
    - (fold_c6) the intervals of all steps lie inside the part.

    Made by the partitioner; gone after the schedule phase.

    ```
    %y = tsp.fold(%wg, %wd) attributes {axis = "t", steps = 4 : i64,
        part_dims = array<i64: 1, 0>, part_sizes = array<i64: 3, 3>,
        part_starts = array<i64: 0, 0>, part_totals = array<i64: 12, 12>,
        combines = [#tsp.combine<sum>]}
        : (tensor<6x3xf32>, tensor<3x6xf32>) -> tensor<2x6xf32> {
    ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>, %b: tensor<3x6xf32>):
      ...
      tsp.yield %z : tensor<2x6xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$parts, StrAttr:$axis,
      I64Attr:$steps, DenseI64ArrayAttr:$part_dims, DenseI64ArrayAttr:$part_sizes,
      DenseI64ArrayAttr:$part_starts, DenseI64ArrayAttr:$part_totals,
      ArrayAttr:$combines, OptionalAttr<Tsp_ScheduleAttr>:$schedule,
      DefaultValuedAttr<I64Attr, "1">:$prefetch);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $parts `)` attr-dict-with-keyword `:` functional-type($parts, $results) $body
  }];
  let hasVerifier = 1;
}

def Tsp_FoldLoopOp : Tsp_Op<"fold_loop", [RecursiveMemoryEffects, AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"::tsp::YieldOp">]> {
  let summary = "A fold as a loop: streamed parts and carried values.";
  let description = [{
    As `tsp.fold`, but results are carried values: block arguments are the part
    number, the fetched parts, then the carried values; the body yields their
    next values. `prefetch` n keeps n parts in flight beside the one in use:
    n + 1 buffers a part.

    `ahead` n says when the body's ops run, and nothing of what they mean: the
    first n ops of step g + 1 run before the others of step g, so that the
    transfers that they start run under these.

    ```
    ahead = 0                          ahead = 2
    for g in 0..G:                     for g in 0..G+1:
      k = x Wk[g]                        if g < G: k(g) = x Wk[g]
      f = start all_gather k                       f(g) = start all_gather k(g)
      y += attend(wait f) Wo[g]          if g > 0: y += attend(wait f(g-1)) Wo[g-1]
    ```
    Constraints:
    - (fold_loop_c1) as fold_c1, fold_c2 and fold_c4 to fold_c6, but for the carried
      values behind the parts.
    - (fold_loop_c2) inits, block arguments, yielded values and results have equal
      types.
    - (fold_loop_c3) the first `ahead` ops read no carried value and wait for
      nothing; a part that they read is read by no other; the schedule is not `ring`,
      and parts are prefetched.

    Made by the schedule phase; lives until host code is made.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$parts, Variadic<AnyRankedTensor>:$inits,
      StrAttr:$axis, I64Attr:$steps, DenseI64ArrayAttr:$part_dims,
      DenseI64ArrayAttr:$part_sizes, DenseI64ArrayAttr:$part_starts,
      DenseI64ArrayAttr:$part_totals, Tsp_ScheduleAttr:$schedule,
      DefaultValuedAttr<I64Attr, "1">:$prefetch, DefaultValuedAttr<I64Attr, "0">:$ahead);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    /// The first op of the body that does not run ahead.
    ::mlir::Operation *getFirstLate() {
      return &*std::next(getBody().front().begin(), getAhead());
    }
    /// Whether an op of the body, or the one that holds it there, runs ahead.
    bool runsAhead(::mlir::Operation *op);
  }];
  let assemblyFormat = [{
    `(` $parts `:` type($parts) `)` (`iter` `(` $inits^ `:` type($inits) `)`)?
    attr-dict-with-keyword (`->` type($results)^)? $body
  }];
  let hasVerifier = 1;
}

def Tsp_YieldOp : Tsp_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["::tsp::FoldOp", "::tsp::FoldLoopOp"]>]> {
  let summary = "Ends the body of a fold.";
  let description = [{
    Gives what a step adds to the results of `tsp.fold`, or the next values of
    those that `tsp.fold_loop` carries.

    Example: `tsp.yield %z : tensor<2x6xf32>`
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let builders = [OpBuilder<(ins), [{ }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // TSP_FOLD_OPS_TD
