//===- ShardingRuleInterface.td - sharding knowledge hangs on ops -*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SHARDINGRULEINTERFACE_TD
#define TSP_SHARDINGRULEINTERFACE_TD

include "mlir/IR/OpBase.td"

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::tsp";
  let description = [{
    Ops say here which dims belong together and how to build their local form.
    An op without the interface is run whole on every rank.
  }];
  let methods = [
    InterfaceMethod<"The factors of the op.", "::tsp::ShardingRule",
                    "getShardingRule">,
    InterfaceMethod<[{
        Builds the local form on `context.operands`; gives the local results.
        The default clones the op with the local types.
      }],
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "localize",
      (ins "::tsp::LocalContext &":$context), "", [{
        return ::tsp::localizeByClone($_op, context);
      }]>,
  ];
}

#endif // TSP_SHARDINGRULEINTERFACE_TD
