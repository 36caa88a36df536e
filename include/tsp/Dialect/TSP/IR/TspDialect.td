//===- TspDialect.td - the tsp dialect ----------------------*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_DIALECT_TD
#define TSP_DIALECT_TD

include "mlir/IR/OpBase.td"

def Tsp_Dialect : Dialect {
  let name = "tsp";
  let cppNamespace = "::tsp";
  let summary = "Sharded transformer programs with explicit mesh axes.";
  let description = [{
    The `tsp` dialect says how the ranks of a mesh work together on one
    transformer: attention cores, folds over sharded weights, collectives,
    and the launches of kernels that one rank makes. Until the partitioner has
    run a program is global (one value, all ranks); after it, every type is the
    part of one rank and communication is explicit.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  
}

#endif // TSP_DIALECT_TD
