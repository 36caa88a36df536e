//===- TspHostOps.td - the program of one rank --------------------- *- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_HOST_OPS_TD
#define TSP_HOST_OPS_TD

include "tsp/Dialect/TSP/IR/TspBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tsp_LaunchOp : Tsp_Op<"launch", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel on this rank.";
  let description = [{
    Calls the kernel `kernel`, a private `func.func` with the unit attribute
    `tsp.kernel`, on whole buffers. The kernel's `tsp.tied` (an i64 for each
    result) names the argument whose buffer the result may share, or -1; with
    `tsp.must_tie` it must share it.

    Constraints: (launch_c1) the kernel exists and has `tsp.kernel`. (launch_c2) it
    takes and gives the types of the launch, as long as it works on tensors.

    Example: `%c = tsp.launch @matmul_0(%a, %b) : (tensor<2x3xf32>,
    tensor<3x4xf32>) -> tensor<2x4xf32>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)";
}

def Tsp_UndefinedOp : Tsp_Op<"undefined"> {
  let summary = "A buffer that nobody has written yet.";
  let description = [{
    What a fold loop starts from when its steps write every element: its content may
    be anything, and nothing may depend on it. Two of them are two buffers.

    Made by the schedule phase; lives until host code is made.

    Example: `%0 = tsp.undefined : tensor<4xf32>`
  }];
  let results = (outs Res<AnyRankedTensor, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

#endif // TSP_HOST_OPS_TD
