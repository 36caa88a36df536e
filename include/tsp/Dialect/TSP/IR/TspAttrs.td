//===- TspAttrs.td - attributes of the tsp dialect ----------*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_ATTRS_TD
#define TSP_ATTRS_TD

include "tsp/Dialect/TSP/IR/TspDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Tsp_CombineKind : I32EnumAttr<"CombineKind",
    "how partial results are combined", [
      I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
      I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"Lse", 3, "lse">,
      I32EnumAttrCase<"ArgMax", 4, "argmax">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::tsp";
}

def Tsp_CombineAttr : EnumAttr<Tsp_Dialect, Tsp_CombineKind, "combine"> {
  let summary = "How partial results over steps or ranks become one.";
  let description = [{
    `sum`, `max`, `min`: elementwise. `lse`: pairs (o, lse) of a partial
    attention, merged by m = max(l1, l2), w_i = exp(l_i - m),
    o = (w1 o1 + w2 o2) / (w1 + w2), l = m + log(w1 + w2); an empty part is
    (0, -inf). `argmax`: pairs (value, index); the lowest index wins a tie.

    Example: `#tsp.combine<sum>`.
  }];
  let assemblyFormat = "`<` $value `>`";
}

#endif // TSP_ATTRS_TD
