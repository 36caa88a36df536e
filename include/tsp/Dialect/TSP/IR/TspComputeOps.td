//===- TspComputeOps.td - attention core ---------------------------- *- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_COMPUTE_OPS_TD
#define TSP_COMPUTE_OPS_TD

include "tsp/Dialect/TSP/IR/TspBase.td"

def Tsp_EmptyRows : I32EnumAttr<"EmptyRows", "result of a row that sees no key", [
      I32EnumAttrCase<"Nan", 0, "nan">, I32EnumAttrCase<"Mean", 1, "mean">,
      I32EnumAttrCase<"Zero", 2, "zero">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::tsp";
}

def Tsp_EmptyRowsAttr : EnumAttr<Tsp_Dialect, Tsp_EmptyRows, "empty_rows"> {
  let summary = "What attention gives for a query that sees no key.";
  let description = [{
    `nan`: what softmax of -inf gives. `mean`: the mean of V over all keys of
    the program, what softmax of an equal finite fill gives. `zero`: 0, what a
    partial attention must give before partials are merged.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Tsp_LogSumExpOp : Tsp_Op<"logsumexp", [Pure]> {
  let summary = "Logarithm of the sum of exponentials along a dim.";
  let description = [{
    y = log sum_i exp(x[i]) over dim `dim`, which the result lacks. -inf when all of
    a row is -inf, inf when an element is, NaN when one is NaN.

    Unlike the ops that a program writes it with, whose sum needs the maximum first,
    it can be taken in parts: log-sum-exps of parts merge into that of the whole
    (`#tsp.combine<lse>`), so that a loss folds over the vocabulary.

    Constraints: (logsumexp_c1) `dim` is one of the input. (logsumexp_c2) the result
    has the element type of the input and its other dims. (logsumexp_c3) elements are
    f32 or f64.

    Made by tsp-raise-losses; the partitioner writes it out for the part that a rank
    or a step has.

    Example: `%y = tsp.logsumexp %x {dim = 1 : i64} : tensor<4x7xf32> -> tensor<4xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tsp_SdpaOp : Tsp_Op<"sdpa", [Pure, AttrSizedOperandSegments]> {
  let summary = "Scaled dot-product attention with a log-sum-exp result.";
  let description = [{
    For batch b, query i, query head n (key/value head j = n Hkv / Hq):

    ```
    s[i,k] = softcap(scale * sum_e q[b,i,n,e] k[b,k,j,e]) + bias[b,n,i,k]
    p[i,:] = softmax over the keys k that the mask lets through
    o[b,i,n,:] = sum_k p[i,k] v[b,k,j,:]
    lse[b,i,n] = log sum_k exp(s[i,k])          (natural, -inf if no key)
    ```
    softcap(x) = c tanh(x / c) when `softcap` c is given, else x. Key k is let
    through when all hold that apply: `causal`: kv_positions[k] <=
    q_positions[i]; `window` w: q_positions[i] - kv_positions[k] < w; segments:
    q_segments[i] == kv_segments[k]; `mask[b,n,i,k]` is true. Scores, softmax
    and sums are f32 (f64 for f64 inputs). `empty` says what o is on a row that
    sees no key.

    Shapes: q [B,Sq,Hq,E], k [B,Skv,Hkv,E], v [B,Skv,Hkv,Ev], o [B,Sq,Hq,Ev],
    lse [B,Sq,Hq]; bias and mask [B|1,Hq|1,Sq|1,Skv]; positions and segments
    integers, [S] or [B,S].

    Constraints:
    - (sdpa_c1) Hkv divides Hq.
    - (sdpa_c2) causal or window need both positions; a side of positions or
      segments never stands alone.
    - (sdpa_c3) q, k, v have the shapes above and one float type.
    - (sdpa_c4) o and lse have the shapes above; o is of floats, lse of f32 (f64
      for f64).
    - (sdpa_c5) bias is of floats, mask of i1, both of the shape above.
    - (sdpa_c6) positions and segments have the shapes above.
    - (sdpa_c7) window is at least 1, softcap over 0.

    Made by raising; lives until kernels are made.

    ```
    %o, %lse = tsp.sdpa %q, %k, %v positions(%i, %i : tensor<512xi32>, tensor<512xi32>)
        {scale = 0.125 : f64, causal} : (tensor<1x512x9x64xf32>,
        tensor<1x512x3x64xf32>, tensor<1x512x3x64xf32>)
        -> (tensor<1x512x9x64xf32>, tensor<1x512x9xf32>)
    ```
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v,
      Optional<AnyRankedTensor>:$bias, Optional<AnyRankedTensor>:$mask,
      Optional<AnyRankedTensor>:$q_positions, Optional<AnyRankedTensor>:$kv_positions,
      Optional<AnyRankedTensor>:$q_segments, Optional<AnyRankedTensor>:$kv_segments,
      F64Attr:$scale, OptionalAttr<F64Attr>:$softcap, UnitAttr:$causal,
      OptionalAttr<I64Attr>:$window,
      DefaultValuedAttr<Tsp_EmptyRowsAttr, "::tsp::EmptyRows::Nan">:$empty);
  let results = (outs AnyRankedTensor:$o, AnyRankedTensor:$lse);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    (`positions` `(` $q_positions^ `,` $kv_positions `:` type($q_positions) `,` type($kv_positions) `)`)?
    (`segments` `(` $q_segments^ `,` $kv_segments `:` type($q_segments) `,` type($kv_segments) `)`)?
    attr-dict `:` `(` type($q) `,` type($k) `,` type($v) `)` `->` `(` type($o) `,` type($lse) `)`
  }];
  let hasVerifier = 1;
}

def Tsp_PlaceOp : Tsp_Op<"place", [Pure, SameOperandsAndResultType]> {
  let summary = "A value that has to live in a given placement.";
  let description = [{
    Says of a value of the global program where its elements shall live, as
    `sdy.sharding_constraint` does, from which import makes it. Gone after the
    partitioner, which writes the communication that it takes.

    Constraints: (place_c1) the placement has an entry for each dim.

    Example: `%y = tsp.place %x in <[#tsp.dim<["t"]>]> : tensor<8xf32>`
  }];
  let arguments = (ins AnyRankedTensor:$input, Tsp_PlacementAttr:$placement);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `in` $placement attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // TSP_COMPUTE_OPS_TD
