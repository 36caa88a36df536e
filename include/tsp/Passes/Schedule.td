//===- Schedule.td - passes on folds after the partitioner ---------- *- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_PASSES_SCHEDULE_TD
#define TSP_PASSES_SCHEDULE_TD

include "mlir/Pass/PassBase.td"

def SinkIntoFolds : Pass<"tsp-sink-into-folds", "mlir::func::FuncOp"> {
  let summary = "Moves parts of folds as the narrower values they are made of.";
  let description = [{
    Where a part is an elementwise function of values that take fewer bytes, and are
    sharded as it is, these become the parts, and the body computes the function of
    what it has fetched. What is the same for the whole part is read as it is.

    ```
    %c = stablehlo.convert %q : (tensor<4x6xi8>) -> tensor<4x6xbf16>
    %s = stablehlo.broadcast_in_dim %scale, dims = [1] ...
    %w = stablehlo.multiply %c, %s : tensor<4x6xbf16>
    %y = tsp.fold(%w) {part_dims = array<i64: 0>, ...} ... {
    ^bb0(%g: tensor<i32>, %part: tensor<4x6xbf16>):
    ```
    becomes
    ```
    %y = tsp.fold(%q) {part_dims = array<i64: 0>, ...} ... {
    ^bb0(%g: tensor<i32>, %part: tensor<4x6xi8>):
      %c = stablehlo.convert %part : (tensor<4x6xi8>) -> tensor<4x6xbf16>
      %s = stablehlo.broadcast_in_dim %scale, dims = [1] ...
      %w = stablehlo.multiply %c, %s : tensor<4x6xbf16>
    ```
  }];
  let statistics = [
    Statistic<"numSunk", "sunk", "Parts that are computed in the fold">];
}

def SelectSchedule : Pass<"tsp-select-schedule", "mlir::ModuleOp"> {
  let summary = "Chooses how each fold moves the parts of its weights.";
  let description = [{
    For each `tsp.fold` that has no schedule yet, finds which of broadcast, ring
    and gather are legal, estimates the time of each, and sets `schedule` and
    `prefetch` to the best. Ring is legal when

    - each part is a whole shard: `part_sizes[p] * D = part_totals[p]`,
      `part_starts[p] = 0` and `steps = D`;
    - the body holds no collective over the axis;
    - no sum over the steps must be equal on all ranks of the axis: under ring
      every rank adds in another order. Results may differ between the ranks when
      the body reads something that does (an argument sharded over the axis).

    With t the time of one transfer and c that of the body for one part, a fold of
    G parts with prefetch takes about

    ```
    broadcast   t + (G - 1) max(t, c) + c
    ring        (D - 1) max(t, c) + c           (the own part needs no transfer)
    gather      (D - 1) / D * all parts / link + G c
    ```
    where a broadcast passes log2(D) links and a send one. Gather keeps all parts
    in memory, so it is taken only up to `gather-limit` bytes.

    `schedule=ring` forces a schedule for all folds, `schedule=attention=broadcast,mlp=ring`
    for those of a class: `attention` holds a `tsp.sdpa`, `mlp` only sums, `head`
    is any other. What is forced and illegal is an error.

    `remarks` prints for each fold which schedules were legal, what they cost, and
    what was taken.
  }];
  let options = [
    ListOption<"schedules", "schedule", "std::string",
               "Schedule for all folds, or CLASS=SCHEDULE">,
    Option<"prefetch", "prefetch", "int64_t", "-1",
           "Parts to keep in flight; -1: chosen by the cost model">,
    Option<"linkGBs", "link-gbs", "double", "25",
           "Bandwidth of a link between two ranks, in 10^9 bytes a second">,
    Option<"latencyUs", "latency-us", "double", "5",
           "Time that a transfer takes beside its bytes, in microseconds">,
    Option<"gflops", "gflops", "double", "50",
           "Speed of contractions on a rank, in 10^9 operations a second">,
    Option<"gatherLimit", "gather-limit", "int64_t", "1048576",
           "Most bytes of parts that schedule gather may hold at once">,
    Option<"remarks", "remarks", "bool", "false", "Say what was chosen and why">];
  let statistics = [
    Statistic<"numBroadcast", "broadcast", "Folds scheduled as broadcast">,
    Statistic<"numRing", "ring", "Folds scheduled as ring">,
    Statistic<"numGather", "gather", "Folds scheduled as gather">];
}

def ExpandFolds : Pass<"tsp-expand-folds", "mlir::func::FuncOp"> {
  let summary = "Turns folds into loops with carried values.";
  let description = [{
    Each result of a `tsp.fold` becomes a carried value of a `tsp.fold_loop`:

    ```
    %y = tsp.fold (%w) {combines = [#tsp.combine<sum>], ...} :
        (tensor<4x6xbf16>) -> tensor<8x6xbf16> {
    ^bb0(%g: tensor<i32>, %part: tensor<4x6xbf16>):
      %d = stablehlo.dot_general %x, %part, ... -> tensor<8x6xbf16>
      tsp.yield %d
    }
    // becomes
    %zero = stablehlo.constant dense<0.0> : tensor<8x6xf32>
    %a = tsp.fold_loop (%w) iter(%zero) {...} -> tensor<8x6xf32> {
    ^bb0(%g: tensor<i32>, %part: tensor<4x6xbf16>, %acc: tensor<8x6xf32>):
      %d = stablehlo.dot_general %x, %part, ... -> tensor<8x6xf32>
      %s = stablehlo.add %acc, %d
      tsp.yield %s
    }
    %y = stablehlo.convert %a : (tensor<8x6xf32>) -> tensor<8x6xbf16>
    ```
    Sums of types of 16 bits and less are kept in f32 and rounded once; a
    contraction whose result goes straight into such a sum gives f32 itself.
    `max` and `min` are carried likewise, `#tsp.concat` results are whole
    tensors in which step g replaces slice g, and pairs of results marked `lse` or
    `argmax` are merged as `#tsp.combine` says. Folds without a schedule get
    broadcast.
  }];
  let statistics = [Statistic<"numFolds", "folds", "Folds made loops">];
  let dependentDialects = ["tsp::TspDialect", "tsp::stablehlo::StableHLODialect"];
}

#endif // TSP_PASSES_SCHEDULE_TD
