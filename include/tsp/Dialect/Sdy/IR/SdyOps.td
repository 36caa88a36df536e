//===- SdyOps.td - ops of Shardy ---------------------------*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SDY_OPS_TD
#define TSP_SDY_OPS_TD

include "tsp/Dialect/Sdy/IR/SdyAttrs.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Sdy_Op<string mnemonic, list<Trait> traits = []>
    : Op<Sdy_Dialect, mnemonic, traits>;

def Sdy_MeshOp : Sdy_Op<"mesh", [HasParent<"::mlir::ModuleOp">, Symbol]> {
  let summary = "a named mesh of the module";
  let description = [{`sdy.mesh @mesh = <["dp"=2, "tp"=4]>`}];
  let arguments = (ins SymbolNameAttr:$sym_name, Sdy_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

/// An op that returns its operand with a sharding.
class Sdy_ShardingOp<string mnemonic, string text>
    : Sdy_Op<mnemonic, [Pure, SameOperandsAndResultType,
                        DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = text;
  let arguments = (ins AnyRankedTensor:$input, Sdy_TensorShardingAttr:$sharding);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
}
def Sdy_ShardingConstraintOp : Sdy_ShardingOp<"sharding_constraint",
    "the value must be sharded so">;
def Sdy_ReshardOp : Sdy_ShardingOp<"reshard", "the value changes its sharding">;

def Sdy_ManualComputationOp : Sdy_Op<"manual_computation",
    [IsolatedFromAbove, SingleBlock, RecursiveMemoryEffects,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a body on the local parts of one device, over some axes";
  let description = [{
    `jax.shard_map`. Block arguments are the operands split by the manual axes
    of `in_shardings`; the results are joined by those of `out_shardings`.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$tensors,
                       Sdy_TensorShardingPerValueAttr:$in_shardings,
                       Sdy_TensorShardingPerValueAttr:$out_shardings,
                       Sdy_ManualAxesAttr:$manual_axes);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` operands `)` `in_shardings` `` `=` `` custom<StrippedShardings>($in_shardings)
    `out_shardings` `` `=` `` custom<StrippedShardings>($out_shardings)
    `manual_axes` `` `=` `` $manual_axes custom<ArgumentsAndBody>($body)
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Sdy_ReturnOp : Sdy_Op<"return",
    [Pure, Terminator, ReturnLike, HasParent<"ManualComputationOp">]> {
  let summary = "the results of a manual_computation";
  let arguments = (ins Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "($results^)? attr-dict (`:` type($results)^)?";
}

#endif // TSP_SDY_OPS_TD
