//===- CollectiveOps.td - StableHLO ops between devices ----*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_STABLEHLO_COLLECTIVE_OPS_TD
#define TSP_STABLEHLO_COLLECTIVE_OPS_TD

include "tsp/Dialect/StableHLO/IR/StableHLOAttrs.td"

/// A collective over groups of devices. JAX prints them in the generic form
/// inside manual_computation; `replica_groups` holds a row per group.
class StableHLO_Collective<string mnemonic, list<Trait> traits = []>
    : StableHLO_Op<mnemonic, traits> {
  let hasVerifier = 1;
}

class StableHLO_IndexOfDevice<string mnemonic, string text>
    : StableHLO_Op<mnemonic, [Pure]> {
  let summary = text;
  let results = (outs 0DTensorOf<[UI32]>:$result);
  let assemblyFormat = "attr-dict `:` type(results)";
}
def StableHLO_PartitionIdOp : StableHLO_IndexOfDevice<"partition_id",
    "the number of this device in the mesh">;
def StableHLO_ReplicaIdOp : StableHLO_IndexOfDevice<"replica_id",
    "the number of this replica: always 0, as there is one">;

def StableHLO_AllReduceOp : StableHLO_Collective<"all_reduce",
    [NoMemoryEffect, IsolatedFromAbove, SingleBlock]> {
  let summary = "elements combined over each group, everywhere";
  let arguments = (ins Variadic<StableHLO_Tensor>:$operands,
                       I64ElementsAttr:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<StableHLO_Tensor>);
  let hasRegionVerifier = 1;
  let regions = (region SizedRegion<1>:$computation);
}

def StableHLO_AllGatherOp : StableHLO_Collective<"all_gather", [NoMemoryEffect]> {
  let summary = "parts of each group joined along one dim, everywhere";
  let arguments = (ins Variadic<StableHLO_Tensor>:$operands, I64Attr:$all_gather_dim,
                       I64ElementsAttr:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<StableHLO_Tensor>);
}

def StableHLO_ReduceScatterOp : StableHLO_Collective<"reduce_scatter",
    [NoMemoryEffect, IsolatedFromAbove, SingleBlock]> {
  let summary = "elements combined over each group, one part a device";
  let arguments = (ins StableHLO_Tensor:$operand, I64Attr:$scatter_dimension,
                       I64ElementsAttr:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle,
                       UnitAttr:$use_global_device_ids);
  let results = (outs StableHLO_Tensor:$result);
  let hasRegionVerifier = 1;
  let regions = (region SizedRegion<1>:$computation);
}

def StableHLO_AllToAllOp : StableHLO_Collective<"all_to_all", [NoMemoryEffect]> {
  let summary = "part i along one dim goes to device i, joined along another";
  let arguments = (ins Variadic<StableHLO_Tensor>:$operands, I64Attr:$split_dimension,
                       I64Attr:$concat_dimension, I64Attr:$split_count,
                       I64ElementsAttr:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle);
  let results = (outs Variadic<StableHLO_Tensor>);
}

def StableHLO_CollectivePermuteOp : StableHLO_Collective<"collective_permute",
    [NoMemoryEffect, SameOperandsAndResultType]> {
  let summary = "values sent from source to target; 0 where nothing comes";
  let arguments = (ins StableHLO_Tensor:$operand, I64ElementsAttr:$source_target_pairs,
                       OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_CollectiveBroadcastOp : StableHLO_Collective<"collective_broadcast",
    [NoMemoryEffect, SameOperandsAndResultType]> {
  let summary = "the value of each group's first device, everywhere";
  let arguments = (ins StableHLO_Tensor:$operand, I64ElementsAttr:$replica_groups,
                       OptionalAttr<StableHLO_ChannelHandleAttr>:$channel_handle);
  let results = (outs StableHLO_Tensor:$result);
}

#endif // TSP_STABLEHLO_COLLECTIVE_OPS_TD
