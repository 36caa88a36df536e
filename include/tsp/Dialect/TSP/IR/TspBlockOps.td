//===- TspBlockOps.td - whole blocks with weights ------------------ *- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_BLOCK_OPS_TD
#define TSP_BLOCK_OPS_TD

include "tsp/Dialect/TSP/IR/TspBase.td"

def Tsp_AttentionOp : Tsp_Op<"attention", [Pure, AttrSizedOperandSegments]> {
  let summary = "An attention block with its weights, tokens and heads on one axis.";
  let description = [{
    For x [B,S,h], Hq = `heads`, Hkv = `kv_heads`:

    ```
    q = rotary(x wq) [B,S,Hq,E]   k = rotary(x wk) [B,S,Hkv,E]   v = x wv [B,S,Hkv,Ev]
    y = sdpa(q, k, v) wo
    rotary(t) = t cos + (-t[E/2:], t[:E/2]) sin          (t without tables)
    ```
    sdpa is `tsp.sdpa` with `scale` (1/sqrt(E) when absent), `softcap`, `causal`,
    `window` and the mask; positions are `positions`, or 0, 1, .. when absent.

    The mesh axis `axis` has two jobs, which is what a fold resolves: the tokens
    of x and y are sharded over it, and so are the heads of the weights. With D
    ranks, rank r holds

    ```
    x, y   [B, S/D, h]                  wq, wk, wv   [h, columns/D]
                                        wo           [rows/D, o]
    step g: all ranks get head group g's part of the weights, project their own
            tokens, gather the group's k and v, attend, and add o_g wo_g to y
    ```

    Constraints:
    - (attention_c1) kv_heads divides heads; both are at least 1.
    - (attention_c2) x is [B,S,h]; wq [h,Hq E], wk [h,Hkv E], wv [h,Hkv Ev], wo
      [Hq Ev,o]; y [B,S,o]; all of one float type.
    - (attention_c3) both rotary tables or none, [S,E] of x's type, E even.
    - (attention_c4) positions are integers [S] or [B,S] and serve causal or window.
    - (attention_c5) the mask is i1 [B|1,Hq|1,S|1,S].

    Written by hand or made from a composite `tsp.attention`; gone after
    `tsp-expand-blocks`, which leaves the plain ops that the partitioner folds.

    ```
    %y = tsp.attention %x, %wq, %wk, %wv, %wo rotary(%cos, %sin : tensor<8x4xf32>,
        tensor<8x4xf32>) over "t" {heads = 6 : i64, kv_heads = 3 : i64, causal}
        : (tensor<1x8x16xf32>, tensor<16x24xf32>, tensor<16x12xf32>,
           tensor<16x12xf32>, tensor<24x16xf32>) -> tensor<1x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$wq, AnyRankedTensor:$wk,
      AnyRankedTensor:$wv, AnyRankedTensor:$wo, Optional<AnyRankedTensor>:$cos,
      Optional<AnyRankedTensor>:$sin, Optional<AnyRankedTensor>:$positions,
      Optional<AnyRankedTensor>:$mask, StrAttr:$axis, I64Attr:$heads, I64Attr:$kv_heads,
      OptionalAttr<F64Attr>:$scale, OptionalAttr<F64Attr>:$softcap, UnitAttr:$causal,
      OptionalAttr<I64Attr>:$window);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = [{
    $x `,` $wq `,` $wk `,` $wv `,` $wo
    (`rotary` `(` $cos^ `,` $sin `:` type($cos) `,` type($sin) `)`)?
    (`positions` `(` $positions^ `:` type($positions) `)`)?
    (`mask` `(` $mask^ `:` type($mask) `)`)? `over` $axis attr-dict
    `:` `(` type($x) `,` type($wq) `,` type($wk) `,` type($wv) `,` type($wo) `)` `->` type($y)
  }];
  let hasVerifier = 1;
}

def Tsp_Activation : I32EnumAttr<"Activation", "the activation of a gate", [
      I32EnumAttrCase<"Silu", 0, "silu">, I32EnumAttrCase<"Gelu", 1, "gelu">,
      I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">, I32EnumAttrCase<"Relu", 3, "relu">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::tsp";
}

def Tsp_ActivationAttr : EnumAttr<Tsp_Dialect, Tsp_Activation, "activation"> {
  let summary = "The activation of a gate.";
  let description = [{
    `silu`: x / (1 + e^-x). `gelu`: x (1 + erf(x / sqrt 2)) / 2. `gelu_tanh`: its
    approximation x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2. `relu`: max(x, 0).
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Tsp_GatedMlpOp : Tsp_Op<"gated_mlp", [Pure]> {
  let summary = "A gated MLP with its weights, tokens and columns on one axis.";
  let description = [{
    For x [B,S,h]:

    ```
    y = (act(x wg) * (x wu)) wd
    ```
    The tokens of x and y and the columns f of the weights are sharded over the
    mesh axis `axis`: rank r holds x, y [B, S/D, h], wg, wu [h, f/D], wd [f/D, o].
    Step g of the fold gives all ranks part g of the weights:

    ```
    y = sum over g of (act(x wg_g) * (x wu_g)) wd_g
    ```

    Constraints: (gated_mlp_c1) x is [B,S,h], wg and wu [h,f], wd [f,o], y [B,S,o],
    all of one float type.

    Written by hand or made from a composite `tsp.gated_mlp`; gone after
    `tsp-expand-blocks`, which leaves the plain ops that the partitioner folds.

    ```
    %y = tsp.gated_mlp %x, %wg, %wu, %wd over "t" {activation = #tsp.activation<silu>}
        : (tensor<1x8x16xf32>, tensor<16x44xf32>, tensor<16x44xf32>, tensor<44x16xf32>)
        -> tensor<1x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$wg, AnyRankedTensor:$wu,
      AnyRankedTensor:$wd, StrAttr:$axis,
      DefaultValuedAttr<Tsp_ActivationAttr, "::tsp::Activation::Silu">:$activation);
  let results = (outs AnyRankedTensor:$y);
  let assemblyFormat = [{
    $x `,` $wg `,` $wu `,` $wd `over` $axis attr-dict `:` functional-type(operands, $y)
  }];
  let hasVerifier = 1;
}

#endif // TSP_BLOCK_OPS_TD
