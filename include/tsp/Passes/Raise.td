//===- Raise.td - passes between plain ops and tsp ops -----*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_PASSES_RAISE_TD
#define TSP_PASSES_RAISE_TD

include "mlir/Pass/PassBase.td"

def RaiseAttention : Pass<"tsp-raise-attention"> {
  let summary = "Turns attention in plain ops into tsp.sdpa.";
  let description = [{
    Follows indices from a product of probabilities and values up through the
    softmax to the product of queries and keys, so that any order of dims and
    operands, any reshape and any broadcast is understood: GQA by einsum, by
    repeat or by broadcast, scales before or after the product, softcap, added
    bias, masks by `select` or by adding -inf. Predicates are taken apart into
    conjuncts; a comparison with one side that varies along queries and one that
    varies along keys becomes positions (causal, window) or segments, what
    varies along keys only a mask [B|1,1,1,Skv], the rest a mask over the dims it
    varies along.

    What sdpa cannot say is left as it is, and so are attentions whose scores or
    probabilities are used elsewhere (a gradient). Only roundings change: scores,
    softmax and sums are in f32 (f64) whatever the types in between were.

    ```
    %s = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2],
        contracting_dims = [3] x [3] ..
    %m = stablehlo.compare GE, %iota0, %iota1, SIGNED ..
    %w = stablehlo.select %m, %s, %neg_inf ..
    // exp(w - max w) / sum exp(w - max w)
    %o = stablehlo.dot_general %p, %v, batching_dims = [0, 1] x [0, 2],
        contracting_dims = [3] x [1] ..
    // becomes
    %o, %lse = tsp.sdpa %q, %k, %v positions(%i, %i : ..) {causal, scale = 1.0 : f64} : ..
    ```
  }];
  let options = [
    Option<"remarks", "remarks", "bool", "false",
           "say what was raised, and of what nearly matched why not">
  ];
  let statistics = [
    Statistic<"numRaised", "raised", "Attentions raised to tsp.sdpa">,
    Statistic<"numMissed", "missed", "Products with a softmax that were not raised">
  ];
  let dependentDialects = ["::tsp::TspDialect", "::tsp::stablehlo::StableHLODialect"];
}

def RaiseLosses : Pass<"tsp-raise-losses"> {
  let summary = "Turns log-sum-exps in plain ops into tsp.logsumexp, argmin into argmax.";
  let description = [{
    log(sum(exp(x - m))) with any m of a row becomes logsumexp(x) - m, when nothing
    else uses the exponentials (a gradient does). What is then taken of a row of
    x - m, by a gather along it or by a sum of its products with a one-hot row, is
    taken of x, and m is subtracted from that:

    ```
    take(x - m, label)               ->  take(x, label) - m
    sum(onehot(label) * (x - m))     ->  sum(onehot(label) * x) - sum(onehot(label)) * m
    ```
    So a loss asks of the logits only for maxima, log-sum-exps and labels' elements,
    each of which can be taken in parts: it folds over the vocabulary, and no rank
    ever has a whole row of logits. Sums may be rounded otherwise than as written.
    argmin(x) becomes -argmax(-x), which can be taken in parts too.
  }];
  let statistics = [
    Statistic<"numRaised", "raised", "Log-sum-exps raised to tsp.logsumexp">
  ];
  let dependentDialects = ["::tsp::TspDialect", "::tsp::stablehlo::StableHLODialect"];
}

def DecomposeSdpa : Pass<"tsp-decompose-sdpa"> {
  let summary = "Turns tsp.sdpa back into plain ops.";
  let description = [{
    Writes out the formula of `tsp.sdpa`, with a scores tensor
    [B,Hkv,Sq,Hq/Hkv,Skv]: for attention that no kernel takes, and to compare a
    raised program with the one it came from.

    ```
    %o, %lse = tsp.sdpa %q, %k, %v {scale = 0.5 : f64} : ..
    // becomes
    %s = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2],
        contracting_dims = [4] x [3] ..
    // exp(0.5 s - max) / sum
    %o = stablehlo.dot_general %p, %v, batching_dims = [0, 1] x [0, 2],
        contracting_dims = [4] x [1] ..
    ```
  }];
  let dependentDialects = ["::tsp::stablehlo::StableHLODialect"];
}

def ExpandBlocks : Pass<"tsp-expand-blocks", "mlir::ModuleOp"> {
  let summary = "Turns tsp.attention and tsp.gated_mlp into plain ops.";
  let description = [{
    Writes out the formulas of the blocks in `stablehlo` and `tsp.sdpa`. When the
    module has a mesh, the tokens of inputs and results and the heads or columns of
    the weights are placed on the block's axis, which is the conflict that the
    partitioner resolves, as in any other program, by a fold.

    ```
    %y = tsp.gated_mlp %x, %wg, %wu, %wd over "t" ..
    // becomes
    %xp = tsp.place %x in <[#tsp.dim<[]>, #tsp.dim<["t"]>, #tsp.dim<[]>]> ..
    %gp = tsp.place %wg in <[#tsp.dim<[]>, #tsp.dim<["t"]>]> ..
    %g = stablehlo.dot_general %xp, %gp, contracting_dims = [2] x [0] ..
    ```
  }];
  let dependentDialects = ["::tsp::TspDialect", "::tsp::stablehlo::StableHLODialect",
                           "::tsp::chlo::CHLODialect"];
}

#endif // TSP_PASSES_RAISE_TD
