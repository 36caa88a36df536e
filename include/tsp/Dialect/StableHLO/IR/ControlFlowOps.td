//===- ControlFlowOps.td - StableHLO ops with regions and calls *- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_STABLEHLO_CONTROL_FLOW_OPS_TD
#define TSP_STABLEHLO_CONTROL_FLOW_OPS_TD

include "tsp/Dialect/StableHLO/IR/StableHLOAttrs.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def StableHLO_ReturnOp : StableHLO_Op<"return", [Pure, Terminator, ReturnLike]> {
  let summary = "the results of a region";
  let arguments = (ins Variadic<StableHLO_Tensor>:$results);
  let assemblyFormat = "($results^)? attr-dict (`:` type($results)^)?";
}

class StableHLO_RegionOp<string mnemonic, list<Trait> traits = []>
    : StableHLO_Op<mnemonic, !listconcat([SingleBlock, RecursiveMemoryEffects],
                                         traits)> {
  let hasRegionVerifier = 1;
}

def StableHLO_WhileOp : StableHLO_RegionOp<"while",
    [DeclareOpInterfaceMethods<OpAsmOpInterface,
                               ["getAsmBlockArgumentNames"]>]> {
  let summary = "run the body as long as the condition holds";
  let description = [{
    ```
    %r:2 = stablehlo.while(%i = %a, %x = %b) : tensor<i32>, tensor<4xf32>
    cond { .. stablehlo.return %p : tensor<i1> }
    do { .. stablehlo.return %j, %y : tensor<i32>, tensor<4xf32> }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$operand);
  let results = (outs Variadic<StableHLO_Tensor>);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def StableHLO_CaseOp : StableHLO_RegionOp<"case"> {
  let summary = "run the branch of that number";
  let description = [{
    A number out of range runs the last branch. Written in the generic form.
  }];
  let arguments = (ins 0DTensorOf<[I32]>:$index);
  let results = (outs Variadic<StableHLO_Tensor>);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def StableHLO_IfOp : StableHLO_RegionOp<"if"> {
  let summary = "run one of two branches; rewritten to case";
  let description = [{Written in the generic form.}];
  let arguments = (ins 0DTensorOf<[I1]>:$pred);
  let results = (outs Variadic<StableHLO_Tensor>);
  let regions = (region SizedRegion<1>:$true_branch, SizedRegion<1>:$false_branch);
  let hasCanonicalizeMethod = 1;
}

def StableHLO_OptimizationBarrierOp : StableHLO_Op<"optimization_barrier", [Pure]> {
  let summary = "operands as results; the compiler may not look through it";
  let description = [{
    `%r:2 = stablehlo.optimization_barrier %a, %b : A, B`. Import removes it.
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$operand);
  let results = (outs Variadic<StableHLO_Tensor>:$result);
  let assemblyFormat = [{
    attr-dict ($operand^ `:` custom<PairwiseTypes>(type($operand), type($result))):(`(` `)`)?
  }];
  let hasVerifier = 1;
}

def StableHLO_CompositeOp : StableHLO_Op<"composite",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a named operation with its definition by simpler ops";
  let description = [{
    `%r = stablehlo.composite "tsp.attention" %q, %k {composite_attributes =
     {causal = true}, decomposition = @f, version = 1 : i32} : (Q, K) -> R`
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, StrAttr:$name,
                       DefaultValuedOptionalAttr<DictionaryAttr, "{}">:$composite_attributes,
                       FlatSymbolRefAttr:$decomposition,
                       DefaultValuedAttr<I32Attr, "0">:$version);
  let results = (outs Variadic<AnyType>);
  let assemblyFormat = [{
    $name $inputs attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_CustomCallOp : StableHLO_Op<"custom_call"> {
  let summary = "a call of something outside StableHLO";
  let description = [{
    Only `@Sharding` and its kin, `@shape_assertion` and `@annotate_device_placement`
    have a meaning here; others are refused.
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, StrAttr:$call_target_name,
                       DefaultValuedAttr<BoolAttr, "false">:$has_side_effect,
                       OptionalAttr<AnyAttr>:$backend_config,
                       DefaultValuedAttr<I32Attr, "1">:$api_version,
                       OptionalAttr<ArrayAttr>:$called_computations,
                       OptionalAttr<ArrayAttr>:$operand_layouts,
                       OptionalAttr<ArrayAttr>:$result_layouts,
                       OptionalAttr<ArrayAttr>:$output_operand_aliases);
  let results = (outs Variadic<AnyType>);
  let assemblyFormat = [{
    custom<CallTarget>($call_target_name) `(` $inputs `)` attr-dict
    `:` functional-type(operands, results)
  }];
}

def StableHLO_RngBitGeneratorOp : StableHLO_Op<"rng_bit_generator", [Pure]> {
  let summary = "random bits and the next state of the generator";
  let arguments = (ins StableHLO_RngAlgorithmAttr:$rng_algorithm,
                       StableHLO_IntTensor:$initial_state);
  let results = (outs StableHLO_IntTensor:$output_state, StableHLO_Tensor:$output);
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` `` $rng_algorithm attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_RngOp : StableHLO_Op<"rng"> {
  let summary = "random numbers of hidden state; refused";
  let arguments = (ins StableHLO_Tensor:$a, StableHLO_Tensor:$b,
                       StableHLO_IntTensor:$shape,
                       StableHLO_RngDistributionAttr:$rng_distribution);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $shape `,` `distribution` `=` `` $rng_distribution attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // TSP_STABLEHLO_CONTROL_FLOW_OPS_TD
