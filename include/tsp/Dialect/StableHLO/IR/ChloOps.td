//===- ChloOps.td - dialect and ops of CHLO ----------------*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_CHLO_OPS_TD
#define TSP_CHLO_OPS_TD

include "tsp/Dialect/StableHLO/IR/StableHLOBase.td"

def CHLO_Dialect : Dialect {
  let name = "chlo";
  let cppNamespace = "::tsp::chlo";
  let dependentDialects = ["::tsp::stablehlo::StableHLODialect"];
  let hasConstantMaterializer = 1;
  let summary = "Functions that JAX leaves undecomposed in its exports.";
  let description = [{
    Client HLO: functions above StableHLO. Import rewrites those that have a
    good formula in StableHLO; erf, erfc, erf_inv and top_k reach the kernels.
  }];
}

/// `%r = chlo.erf %x : T -> T`
class CHLO_Unary<string mnemonic, string text>
    : Op<CHLO_Dialect, mnemonic, [Pure, Elementwise, SameOperandsAndResultType]> {
  let summary = text;
  let arguments = (ins StableHLO_NumberTensor:$operand);
  let results = (outs StableHLO_NumberTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

foreach op = [["AcosOp", "acos", "arc cosine"],
              ["AcoshOp", "acosh", "inverse hyperbolic cosine"],
              ["AsinOp", "asin", "arc sine"],
              ["AsinhOp", "asinh", "inverse hyperbolic sine"],
              ["AtanOp", "atan", "arc tangent"],
              ["AtanhOp", "atanh", "inverse hyperbolic tangent"],
              ["CoshOp", "cosh", "hyperbolic cosine"],
              ["DigammaOp", "digamma", "derivative of lgamma; refused"],
              ["ErfOp", "erf", "error function"],
              ["ErfcOp", "erfc", "1 - erf x, exact for large x"],
              ["ErfInvOp", "erf_inv", "inverse of erf"],
              ["LgammaOp", "lgamma", "log |gamma(x)|; refused"],
              ["SinhOp", "sinh", "hyperbolic sine"],
              ["SquareOp", "square", "x * x"],
              ["TanOp", "tan", "tangent"]] in
  def CHLO_#op[0] : CHLO_Unary<op[1], op[2]>;

def CHLO_NextAfterOp
    : Op<CHLO_Dialect, "next_after", [Pure, Elementwise, SameOperandsAndResultType]> {
  let summary = "the next float after x towards y; refused";
  let arguments = (ins StableHLO_FloatTensor:$x, StableHLO_FloatTensor:$y);
  let results = (outs StableHLO_FloatTensor:$result);
  let assemblyFormat = [{
    $x `,` $y attr-dict `:` type($x) `,` type($y) `->` type($result)
  }];
}

def CHLO_ConstantLikeOp
    : Op<CHLO_Dialect, "constant_like", [Pure, SameOperandsAndResultShape]> {
  let summary = "one value in the operand's shape; rewritten to a constant";
  let arguments = (ins StableHLO_Tensor:$operand, TypedAttrInterface:$value);
  let results = (outs StableHLO_Tensor:$result);
  let hasFolder = 1;
}

def CHLO_TopKOp : Op<CHLO_Dialect, "top_k", [Pure]> {
  let summary = "the k greatest elements of the last dim and their indices";
  let description = [{
    `%v, %i = chlo.top_k(%x, k = 2) : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)`
    In descending order, NaN first; equal elements by ascending index.
  }];
  let arguments = (ins StableHLO_Tensor:$operand, I64Attr:$k);
  let results = (outs StableHLO_Tensor:$values, StableHLO_IntTensor:$indices);
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k `)` attr-dict `:` type($operand)
    `->` `(` type($values) `,` type($indices) `)`
  }];
  let hasVerifier = 1;
}

#endif // TSP_CHLO_OPS_TD
