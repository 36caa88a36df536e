//===- ElementwiseOps.td - elementwise ops of StableHLO ----*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_STABLEHLO_ELEMENTWISE_OPS_TD
#define TSP_STABLEHLO_ELEMENTWISE_OPS_TD

include "tsp/Dialect/StableHLO/IR/StableHLOAttrs.td"

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

/// `%r = stablehlo.abs %x : tensor<4xf32>`
class StableHLO_Unary<string mnemonic, TypeConstraint type, string text>
    : StableHLO_PureOp<mnemonic, [Elementwise, SameOperandsAndResultType]> {
  let summary = text;
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = [{
    $operand attr-dict `:` custom<SameTypes>(type($operand), type($result))
  }];
  let hasFolder = 1;
}

def StableHLO_AbsOp : StableHLO_Unary<"abs", StableHLO_NumberTensor, "|x|">;
def StableHLO_NegOp : StableHLO_Unary<"negate", StableHLO_NumberTensor, "-x">;
def StableHLO_SignOp : StableHLO_Unary<"sign", StableHLO_NumberTensor,
    "-1, 0 or 1; for floats -0, 0 and NaN stay">;
def StableHLO_NotOp : StableHLO_Unary<"not", StableHLO_IntOrBoolTensor, "~x">;
def StableHLO_PopulationCountOp : StableHLO_Unary<"popcnt", StableHLO_IntTensor,
    "number of bits set">;
def StableHLO_ClzOp : StableHLO_Unary<"count_leading_zeros", StableHLO_IntTensor,
    "number of zeros before the first bit set">;

foreach op = [["CeilOp", "ceil", "least integer >= x"],
              ["FloorOp", "floor", "greatest integer <= x"],
              ["RoundOp", "round_nearest_afz", "nearest, ties away from 0"],
              ["RoundNearestEvenOp", "round_nearest_even", "nearest, ties to even"]] in
  def StableHLO_#op[0] : StableHLO_Unary<op[1], StableHLO_FloatTensor, op[2]>;

/// Functions that may ask for an accuracy; all asks are met alike.
class StableHLO_Function<string mnemonic, string text>
    : StableHLO_Unary<mnemonic, StableHLO_FloatTensor, text> {
  let arguments = (ins StableHLO_FloatTensor:$operand,
                       OptionalAttr<AnyAttr>:$result_accuracy);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$operand), [{
      build($_builder, $_state, operand.getType(), operand, ::mlir::Attribute());
    }]>,
    OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$operand), [{
      build($_builder, $_state, type, operand, ::mlir::Attribute());
    }]>
  ];
}

foreach op = [["CbrtOp", "cbrt", "cube root"],
              ["CosineOp", "cosine", "cos x"],
              ["ExpOp", "exponential", "e^x"],
              ["Expm1Op", "exponential_minus_one", "e^x - 1, exact near 0"],
              ["Log1pOp", "log_plus_one", "log(1 + x), exact near 0"],
              ["LogOp", "log", "natural logarithm"],
              ["LogisticOp", "logistic", "1 / (1 + e^-x)"],
              ["RsqrtOp", "rsqrt", "1 / sqrt x"],
              ["SineOp", "sine", "sin x"],
              ["SqrtOp", "sqrt", "square root"],
              ["TanOp", "tan", "tan x"],
              ["TanhOp", "tanh", "tanh x"]] in
  def StableHLO_#op[0] : StableHLO_Function<op[1], op[2]>;

/// The element type may change, the shape not.
class StableHLO_Cast<string mnemonic, TypeConstraint from, TypeConstraint to,
                     string text>
    : StableHLO_PureOp<mnemonic, [Elementwise, SameOperandsAndResultShape]> {
  let summary = text;
  let arguments = (ins from:$operand);
  let results = (outs to:$result);
  let assemblyFormat = [{
    $operand attr-dict `:` custom<SameTypes>(type($operand), type($result))
  }];
  let hasFolder = 1;
}

def StableHLO_ConvertOp : StableHLO_Cast<"convert", StableHLO_Tensor,
    StableHLO_Tensor, "the same value in another element type">;
def StableHLO_IsFiniteOp : StableHLO_Cast<"is_finite", StableHLO_FloatTensor,
    StableHLO_BoolTensor, "neither infinite nor NaN">;
def StableHLO_RealOp : StableHLO_Cast<"real", StableHLO_FloatTensor,
    StableHLO_FloatTensor, "real part">;
def StableHLO_ImagOp : StableHLO_Cast<"imag", StableHLO_FloatTensor,
    StableHLO_FloatTensor, "imaginary part">;

def StableHLO_BitcastConvertOp : StableHLO_PureOp<"bitcast_convert"> {
  let summary = "the same bits in another element type";
  let description = [{
    When widths differ, the wider side has one trailing dim less: its size is
    the ratio of the widths, the low bits first.
  }];
  let arguments = (ins StableHLO_Tensor:$operand);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def StableHLO_ReducePrecisionOp
    : StableHLO_PureOp<"reduce_precision", [Elementwise, SameOperandsAndResultType]> {
  let summary = "round to a float format with fewer bits";
  let description = [{`%r = stablehlo.reduce_precision %x, format = e8m7 : T`}];
  let arguments = (ins StableHLO_FloatTensor:$operand, I32Attr:$exponent_bits,
                       I32Attr:$mantissa_bits);
  let results = (outs StableHLO_FloatTensor:$output);
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits)
    attr-dict `:` custom<SameTypes>(type($operand), type($output))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

/// `%r = stablehlo.add %a, %b : tensor<4xf32>`
class StableHLO_Binary<string mnemonic, TypeConstraint type, string text,
                       list<Trait> traits = []>
    : StableHLO_PureOp<mnemonic,
          !listconcat([Elementwise, SameOperandsAndResultType], traits)> {
  let summary = text;
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict
    `:` custom<SameTypes>(type($lhs), type($rhs), type($result))
  }];
  let hasFolder = 1;
}

def StableHLO_AddOp : StableHLO_Binary<"add", StableHLO_Tensor,
    "a + b; or for i1", [Commutative]>;
def StableHLO_MulOp : StableHLO_Binary<"multiply", StableHLO_Tensor,
    "a * b; and for i1", [Commutative]>;
def StableHLO_MaxOp : StableHLO_Binary<"maximum", StableHLO_Tensor,
    "the greater; NaN wins; or for i1", [Commutative]>;
def StableHLO_MinOp : StableHLO_Binary<"minimum", StableHLO_Tensor,
    "the lesser; NaN wins; and for i1", [Commutative]>;
def StableHLO_SubtractOp : StableHLO_Binary<"subtract", StableHLO_NumberTensor, "a - b">;
def StableHLO_DivOp : StableHLO_Binary<"divide", StableHLO_NumberTensor,
    "a / b; integers round toward 0">;
def StableHLO_RemOp : StableHLO_Binary<"remainder", StableHLO_NumberTensor,
    "a - b * trunc(a / b), the sign of a">;
def StableHLO_PowOp : StableHLO_Binary<"power", StableHLO_NumberTensor, "a ^ b"> {
  let hasCanonicalizeMethod = 1;
}
def StableHLO_Atan2Op : StableHLO_Binary<"atan2", StableHLO_FloatTensor,
    "angle of the point (b, a)">;

foreach op = [["AndOp", "and", "a & b"], ["OrOp", "or", "a | b"],
              ["XorOp", "xor", "a ^ b by bits"]] in
  def StableHLO_#op[0] : StableHLO_Binary<op[1], StableHLO_IntOrBoolTensor, op[2],
                                          [Commutative]>;
foreach op = [["ShiftLeftOp", "shift_left", "a << b; 0 when b is too large"],
              ["ShiftRightArithmeticOp", "shift_right_arithmetic",
               "a >> b keeping the sign"],
              ["ShiftRightLogicalOp", "shift_right_logical",
               "a >> b; 0 when b is too large"]] in
  def StableHLO_#op[0] : StableHLO_Binary<op[1], StableHLO_IntTensor, op[2]>;

def StableHLO_ComplexOp : StableHLO_PureOp<"complex", [SameOperandsAndResultShape]> {
  let summary = "a + b i";
  let arguments = (ins StableHLO_FloatTensor:$lhs, StableHLO_FloatTensor:$rhs);
  let results = (outs StableHLO_ComplexTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` custom<ComplexTypes>(type($lhs), type($rhs), type($result))
  }];
}

def StableHLO_CompareOp
    : StableHLO_PureOp<"compare", [Elementwise, SameTypeOperands,
                                   SameOperandsAndResultShape]> {
  let summary = "a REL b";
  let description = [{
    `%r = stablehlo.compare GE, %a, %b, SIGNED : (T, T) -> tensor<..xi1>`

    TOTALORDER orders floats as -NaN < -inf < .. < -0 < 0 < .. < inf < NaN;
    FLOAT is the IEEE order, in which only NE holds for NaN.
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
                       StableHLO_ComparisonDirectionAttr:$comparison_direction,
                       OptionalAttr<StableHLO_ComparisonTypeAttr>:$compare_type);
  let results = (outs StableHLO_BoolTensor:$result);
  let assemblyFormat = [{
    `` $comparison_direction `,` $lhs `,` $rhs (`,` `` $compare_type^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                                 "ComparisonDirection":$direction)>];
  let hasFolder = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Ternary
//===----------------------------------------------------------------------===//

def StableHLO_SelectOp : StableHLO_PureOp<"select",
    [AllTypesMatch<["on_true", "on_false", "result"]>]> {
  let summary = "pred ? on_true : on_false";
  let description = [{
    `%r = stablehlo.select %p, %a, %b : tensor<4xi1>, tensor<4xf32>`; a pred of
    rank 0 chooses for all elements.
  }];
  let arguments = (ins StableHLO_BoolTensor:$pred, StableHLO_Tensor:$on_true,
                       StableHLO_Tensor:$on_false);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $pred `,` $on_true `,` $on_false attr-dict
    `:` custom<SelectTypes>(type($pred), type($on_true), type($on_false), type($result))
  }];
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

def StableHLO_ClampOp : StableHLO_PureOp<"clamp", [AllTypesMatch<["operand", "result"]>]> {
  let summary = "min(max(operand, min), max)";
  let description = [{
    `%r = stablehlo.clamp %lo, %x, %hi : T`; bounds of rank 0 hold for all
    elements.
  }];
  let arguments = (ins StableHLO_NumberTensor:$min, StableHLO_NumberTensor:$operand,
                       StableHLO_NumberTensor:$max);
  let results = (outs StableHLO_NumberTensor:$result);
  let assemblyFormat = [{
    $min `,` $operand `,` $max attr-dict
    `:` custom<SameTypes>(type($min), type($operand), type($max), type($result))
  }];
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

#endif // TSP_STABLEHLO_ELEMENTWISE_OPS_TD
