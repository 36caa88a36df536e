//===- Sharding.td - passes from one program to that of a rank -*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_PASSES_SHARDING_TD
#define TSP_PASSES_SHARDING_TD

include "mlir/Pass/PassBase.td"

def TspPlan : Pass<"tsp-plan", "mlir::ModuleOp"> {
  let summary = "Gives every value its placement.";
  let description = [{
    Finds the role of every dim by dataflow (batch, token, head, ffn, vocab),
    seeds the placements of the arguments by the strategy, and chooses op by op
    what moves the fewest bytes. The program stays that of all ranks: the plan is
    written beside it, and `tsp-partition` does what it says.

    - `tsp.operand_placements`, `tsp.result_placements`: how an op uses and gives
      its values; an operand that comes in another placement is moved first. A
      result that ends sharded over an axis that the op sums over is scattered, one
      that does not is reduced.
    - `tsp.fold`: the number of the fold that an op is part of.
    - `tsp.placement` of arguments. Splat constants, iota and broadcasts have
      none: they are made anew wherever they are needed.

    ```
    // mesh t = 4, strategy tsp
    %z = stablehlo.dot_general %a, %u, contracting_dims = [1] x [0]
        {tsp.fold = 0 : i64,
         tsp.operand_placements = [#tsp.placement<[<["t"]>, <[], fold = "t", steps = 4>]>,
                                   #tsp.placement<[<[], fold = "t", steps = 4>, <[]>]>],
         tsp.result_placements = [#tsp.placement<[<["t"]>, <[]>]>]}
        : (tensor<8x12xf32>, tensor<12x6xf32>) -> tensor<8x6xf32>
    ```
  }];
  let options = [
    Option<"strategy", "strategy", "std::string", "\"none\"",
           "how the mesh axes are used: none, tp, tsp, sp_gather, data, each with "
           "@AXIS, joined by commas; tsp(zigzag) and sp_gather(zigzag) lay tokens "
           "out in zigzag">,
    Option<"remarks", "remarks", "bool", "false", "explain the placements">,
  ];
  let dependentDialects = ["::tsp::TspDialect"];
}

def TspPartition : Pass<"tsp-partition", "mlir::ModuleOp"> {
  let summary = "Turns the program of all ranks into the program of one.";
  let description = [{
    Does what the plan says (see `tsp-plan`; a program without one is planned
    first): local types, masks, true positions, collectives, and a `tsp.fold`
    wherever an axis would have to shard both the tokens and a weight. The mesh is
    the module's `tsp.mesh`.

    ```
    // mesh t = 4, strategy tsp: x is sharded by tokens, w and u by f
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<8x6xf32>, tensor<6x12xf32>) -> tensor<8x12xf32>
    %a = stablehlo.tanh %y : tensor<8x12xf32>
    %z = stablehlo.dot_general %a, %u, contracting_dims = [1] x [0]
        : (tensor<8x12xf32>, tensor<12x6xf32>) -> tensor<8x6xf32>
    // becomes
    %z = tsp.fold(%w, %u) ... : (tensor<6x3xf32>, tensor<3x6xf32>) -> tensor<2x6xf32> {
    ^bb0(%g: tensor<i32>, %wp: tensor<6x3xf32>, %up: tensor<3x6xf32>):
      // the same three ops on %x: tensor<2x6xf32>
    }
    ```
  }];
  let options = [
    Option<"strategy", "strategy", "std::string", "\"none\"",
           "of a program without a plan, as of tsp-plan">,
    Option<"remarks", "remarks", "bool", "false", "explain the placements">,
    Option<"poison", "poison", "bool", "false",
           "for tests: fill the padding of all values but parameters with NaN, or "
           "the least integer; results must not change">,
  ];
  let dependentDialects = ["::tsp::TspDialect", "::tsp::stablehlo::StableHLODialect"];
}

def TspImportShardings : Pass<"tsp-import-shardings", "mlir::ModuleOp"> {
  let summary = "Takes over the meshes and shardings that Shardy wrote.";
  let description = [{
    `sdy.mesh` becomes the module's `tsp.mesh`, unless that is set: then the two
    must agree. Shardings of arguments and results become `tsp.placement`, a
    `sdy.sharding_constraint` or `sdy.reshard` becomes `tsp.place`. When the
    program uses an axis in parts (`"t":(1)2` of `"t"=4`), the mesh gets an axis
    for each part, `"t.0"` = 2 and `"t.1"` = 2, and `"t"` means both, nested.

    ```
    %1 = sdy.sharding_constraint %0 <@mesh, [{"t"}, {} ]> : tensor<8x6xf32>
    // becomes
    %1 = tsp.place %0 in #tsp.placement<[<["t"]>, <[]>]> : tensor<8x6xf32>
    ```
  }];
  let dependentDialects = ["::tsp::TspDialect"];
}

def TspConvertCollectives : Pass<"tsp-convert-collectives", "mlir::ModuleOp"> {
  let summary = "Collectives over device lists become collectives over mesh axes.";
  let description = [{
    What `jax.shard_map` leaves: `stablehlo.all_reduce` and its kin, whose groups
    are lists of devices, and `stablehlo.partition_id`. The groups have to be
    those of mesh axes; over several axes there is one collective an axis, in the
    order that keeps the order of the ranks. An exchange has to be over one axis,
    and a `collective_permute` a shift along one, with or without wrapping round.

    ```
    // mesh t = 4
    %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64,
        replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, ...}>
        : (tensor<2xf32>) -> tensor<8xf32>
    // becomes
    %1 = tsp.all_gather %0 {axis = "t", dim = 0 : i64, total = 8 : i64}
        : (tensor<2xf32>) -> tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::tsp::TspDialect", "::tsp::stablehlo::StableHLODialect"];
}

def CheckPlacements : Pass<"tsp-check-placements", "mlir::ModuleOp"> {
  let summary = "Checks the program of one rank against the placements it promises.";
  let description = [{
    Follows every value along every mesh axis, from the placements of the
    arguments to those of the results, by rules of its own: equal on all ranks,
    sharded in a dim, partial, or different in a way that is not tracked. Runs
    after the partitioner and until kernels are made. An error is

    - on a partial sum: an op that is not linear, adding what is no summand (a bias
      would count D times), a product of two of them, a narrowing conversion;
    - contracting a sharded dim with a value that is whole or sharded elsewhere;
    - joining a shard with a value that varies along the dim but is the same on all
      ranks (positions of rank 0 for everyone);
    - a collective on a value that is not what it expects;
    - a collective on a way that ranks need not take together (`while`, `case`);
    - a result that is not in the promised placement: replicas that could differ.

    Functions that shard by hand (`tsp.manual`, from `sdy.manual_computation`) are
    left to their authors.

    ```
    %y = stablehlo.dot_general %x, %w ..       // both sharded in the contracted dim
    %z = stablehlo.add %y, %bias ..            // error: %y is a partial sum
    ```
  }];
}

#endif // TSP_PASSES_SHARDING_TD
