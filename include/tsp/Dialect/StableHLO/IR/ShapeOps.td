//===- ShapeOps.td - StableHLO ops that move elements ------*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_STABLEHLO_SHAPE_OPS_TD
#define TSP_STABLEHLO_SHAPE_OPS_TD

include "tsp/Dialect/StableHLO/IR/StableHLOAttrs.td"
include "mlir/IR/OpAsmInterface.td"

class StableHLO_ShapeOp<string mnemonic, list<Trait> traits = []>
    : StableHLO_PureOp<mnemonic, traits> {
  let hasVerifier = 1;
}

def StableHLO_ConstantOp : StableHLO_PureOp<"constant",
    [ConstantLike, AllTypesMatch<["value", "output"]>,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a value known at compile time";
  let description = [{`%c = stablehlo.constant dense<2.0> : tensor<f32>`}];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs StableHLO_Tensor:$output);
  let assemblyFormat = "attr-dict $value";
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value)>];
  let hasFolder = 1;
}

def StableHLO_IotaOp : StableHLO_ShapeOp<"iota"> {
  let summary = "each element is its own index along one dim";
  let description = [{`%i = stablehlo.iota dim = 0 : tensor<16xi32>`}];
  let arguments = (ins I64Attr:$iota_dimension);
  let results = (outs StableHLO_NumberTensor:$output);
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($output)";
}

def StableHLO_ReshapeOp : StableHLO_ShapeOp<"reshape"> {
  let summary = "the same elements in row-major order in another shape";
  let arguments = (ins StableHLO_Tensor:$operand);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def StableHLO_TransposeOp : StableHLO_ShapeOp<"transpose"> {
  let summary = "dim i of the result is dim permutation[i] of the operand";
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $permutation attr-dict
    `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def StableHLO_BroadcastInDimOp : StableHLO_ShapeOp<"broadcast_in_dim"> {
  let summary = "repeat along new dims and dims of size 1";
  let description = [{
    `%b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>`:
    dim i of the operand becomes dim broadcast_dimensions[i] of the result.
  }];
  let arguments = (ins StableHLO_Tensor:$operand,
                       DenseI64ArrayAttr:$broadcast_dimensions);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $broadcast_dimensions attr-dict
    `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def StableHLO_ConcatenateOp : StableHLO_ShapeOp<"concatenate"> {
  let summary = "inputs one after the other along one dim";
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, I64Attr:$dimension);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    custom<OperandsThenComma>($inputs) `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def StableHLO_SliceOp : StableHLO_ShapeOp<"slice"> {
  let summary = "elements from start to limit by stride in every dim";
  let description = [{
    `%s = stablehlo.slice %x [0:1, 0:8:2] : (tensor<2x8xf32>) -> tensor<1x4xf32>`
  }];
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$start_indices,
                       DenseI64ArrayAttr:$limit_indices, DenseI64ArrayAttr:$strides);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand custom<SliceRanges>($start_indices, $limit_indices, $strides)
    attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def StableHLO_PadOp : StableHLO_ShapeOp<"pad"> {
  let summary = "add elements at the edges and between elements";
  let description = [{
    Negative edges drop elements. `interior` puts that many between neighbours.
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$padding_value,
                       DenseI64ArrayAttr:$edge_padding_low,
                       DenseI64ArrayAttr:$edge_padding_high,
                       DenseI64ArrayAttr:$interior_padding);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low
    `,` `high` `=` $edge_padding_high `,` `interior` `=` $interior_padding
    attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def StableHLO_ReverseOp : StableHLO_ShapeOp<"reverse", [SameOperandsAndResultType]> {
  let summary = "elements in reverse order along some dims";
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $dimensions attr-dict
    `:` custom<SameTypes>(type($operand), type($result))
  }];
  let hasFolder = 1;
}

def StableHLO_DynamicSliceOp : StableHLO_ShapeOp<"dynamic_slice"> {
  let summary = "a part whose place is known at run time";
  let description = [{
    Starts are clamped so that the part lies inside the operand.
  }];
  let arguments = (ins StableHLO_Tensor:$operand,
                       Variadic<StableHLO_ScalarInt>:$start_indices,
                       DenseI64ArrayAttr:$slice_sizes);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` custom<OperandsThenComma>($start_indices) `sizes` `=` $slice_sizes attr-dict
    `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def StableHLO_DynamicUpdateSliceOp
    : StableHLO_ShapeOp<"dynamic_update_slice", [AllTypesMatch<["operand", "result"]>]> {
  let summary = "replace a part whose place is known at run time";
  let description = [{
    Starts are clamped so that the update lies inside the operand.
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$update,
                       Variadic<StableHLO_ScalarInt>:$start_indices);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def StableHLO_GatherOp : StableHLO_ShapeOp<"gather"> {
  let summary = "slices of the operand at places given by a tensor";
  let description = [{
    Starts are clamped so that every slice lies inside the operand. Written in
    the generic form.
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_IntTensor:$start_indices,
                       StableHLO_GatherDimensionNumbersAttr:$dimension_numbers,
                       DenseI64ArrayAttr:$slice_sizes,
                       DefaultValuedAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs StableHLO_Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Shapes known at run time: parsed, then refused with the dim's name
//===----------------------------------------------------------------------===//

def StableHLO_GetDimensionSizeOp : StableHLO_PureOp<"get_dimension_size"> {
  let summary = "the size of one dim";
  let arguments = (ins StableHLO_Tensor:$operand, I64Attr:$dimension);
  let results = (outs 0DTensorOf<[I32]>:$result);
  let assemblyFormat = [{
    $operand `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def StableHLO_DynamicBroadcastInDimOp : StableHLO_PureOp<"dynamic_broadcast_in_dim"> {
  let summary = "broadcast_in_dim to a shape known at run time";
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_IntTensor:$output_dimensions,
                       DenseI64ArrayAttr:$broadcast_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_expanding_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_nonexpanding_dimensions);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $output_dimensions `,` `dims` `=` $broadcast_dimensions attr-dict
    `:` functional-type(operands, results)
  }];
}

foreach op = [["DynamicReshapeOp", "dynamic_reshape", "reshape"],
              ["DynamicPadOp", "dynamic_pad", "pad"],
              ["RealDynamicSliceOp", "real_dynamic_slice", "slice"]] in
  def StableHLO_#op[0] : StableHLO_PureOp<op[1]> {
    let summary = op[2] # " by sizes known at run time";
    let arguments = (ins Variadic<StableHLO_Tensor>:$inputs);
    let results = (outs StableHLO_Tensor:$result);
    let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  }

#endif // TSP_STABLEHLO_SHAPE_OPS_TD
