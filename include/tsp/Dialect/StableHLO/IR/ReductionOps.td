//===- ReductionOps.td - StableHLO ops that combine elements *- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_STABLEHLO_REDUCTION_OPS_TD
#define TSP_STABLEHLO_REDUCTION_OPS_TD

include "tsp/Dialect/StableHLO/IR/StableHLOAttrs.td"

def StableHLO_DotGeneralOp : StableHLO_PureOp<"dot_general"> {
  let summary = "sums of products over contracted dims";
  let description = [{
    `%r = stablehlo.dot_general %a, %b, batching_dims = [0] x [0],
     contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (A, B) -> R`

    Dims of the result: batching dims, then the free dims of lhs, then those of
    rhs. Products are summed in the result's element type or better, or as
    `algorithm` asks.
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
                       StableHLO_DotDimensionNumbersAttr:$dot_dimension_numbers,
                       OptionalAttr<StableHLO_PrecisionConfigAttr>:$precision_config,
                       OptionalAttr<StableHLO_DotAlgorithmAttr>:$algorithm);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` custom<DotDimensionNumbers>($dot_dimension_numbers)
    `` custom<PrecisionAndAlgorithm>($precision_config, $algorithm)
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_DotOp : StableHLO_PureOp<"dot"> {
  let summary = "dot_general of vectors and matrices; rewritten to it";
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
                       OptionalAttr<StableHLO_PrecisionConfigAttr>:$precision_config);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `` custom<Precision>($precision_config)
    attr-dict `:` functional-type(operands, results)
  }];
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

/// An op with a body that is a function of elements: it sees nothing of its
/// surroundings.
class StableHLO_BodyOp<string mnemonic, list<Trait> traits = []>
    : StableHLO_Op<mnemonic, !listconcat([IsolatedFromAbove, SingleBlock,
          RecursiveMemoryEffects, RecursivelySpeculatable], traits)> {
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def StableHLO_ReduceOp : StableHLO_BodyOp<"reduce", [SameVariadicOperandSize]> {
  let summary = "combine the elements along some dims";
  let description = [{
    `%r = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [2]
       : (X, C) -> R`, or several operands with a `reducer` body. The body's
    block takes the accumulators, then the elements.
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs,
                       Variadic<StableHLO_Tensor>:$init_values,
                       DenseI64ArrayAttr:$dimensions);
  let results = (outs Variadic<StableHLO_Tensor>);
  let regions = (region SizedRegion<1>:$body);
  let builders = [
    OpBuilder<(ins "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$initValues,
                   "::llvm::ArrayRef<int64_t>":$dimensions)>
  ];
  let hasCustomAssemblyFormat = 1;
  let hasCanonicalizeMethod = 1;
}

def StableHLO_ReduceWindowOp
    : StableHLO_BodyOp<"reduce_window", [SameVariadicOperandSize]> {
  let summary = "combine the elements of every window";
  let description = [{
    Written in the generic form. Windows slide over the padded and dilated
    input by strides; padding counts as the init value.
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs,
                       Variadic<StableHLO_Tensor>:$init_values,
                       DenseI64ArrayAttr:$window_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$base_dilations,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dilations,
                       OptionalAttr<I64ElementsAttr>:$padding);
  let results = (outs Variadic<StableHLO_Tensor>);
  let regions = (region SizedRegion<1>:$body);
}

def StableHLO_SortOp : StableHLO_BodyOp<"sort"> {
  let summary = "sort along one dim by a comparator over several tensors";
  let description = [{
    The comparator's block takes a pair of elements of each input and says
    whether the first goes before the second. Written in the generic form.
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs,
                       DefaultValuedAttr<I64Attr, "-1">:$dimension,
                       DefaultValuedAttr<BoolAttr, "false">:$is_stable);
  let results = (outs Variadic<StableHLO_Tensor>);
  let regions = (region SizedRegion<1>:$comparator);
}

def StableHLO_ScatterOp
    : StableHLO_BodyOp<"scatter", [SameVariadicOperandSize]> {
  let summary = "combine updates into places given by a tensor";
  let description = [{
    Updates that fall outside the input are dropped. The block takes the
    present elements, then the updates. Written in the generic form.
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs,
                       StableHLO_IntTensor:$scatter_indices,
                       Variadic<StableHLO_Tensor>:$updates,
                       StableHLO_ScatterDimensionNumbersAttr:$scatter_dimension_numbers,
                       DefaultValuedAttr<BoolAttr, "false">:$indices_are_sorted,
                       DefaultValuedAttr<BoolAttr, "false">:$unique_indices);
  let results = (outs Variadic<StableHLO_Tensor>);
  let regions = (region SizedRegion<1>:$update_computation);
}

#endif // TSP_STABLEHLO_REDUCTION_OPS_TD
