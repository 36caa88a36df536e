//===- TspTypes.td - types of the tsp dialect -------------------------- *- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_TYPES_TD
#define TSP_TYPES_TD

include "tsp/Dialect/TSP/IR/TspDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Tsp_FutureType : TypeDef<Tsp_Dialect, "Future"> {
  let mnemonic = "future";
  let summary = "A value that a running transfer will give.";
  let description = [{
    Result of a collective that was started and not waited for. Used exactly
    once, by `tsp.wait`. Until then both buffers of the transfer are live.
    Example: `!tsp.future<tensor<4xf32>>`.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$valueType);
  let assemblyFormat = "`<` $valueType `>`";
}

#endif // TSP_TYPES_TD
