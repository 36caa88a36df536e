//===- RefusedOps.td - StableHLO ops outside the subset ----*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_STABLEHLO_REFUSED_OPS_TD
#define TSP_STABLEHLO_REFUSED_OPS_TD

include "tsp/Dialect/StableHLO/IR/StableHLOAttrs.td"

/// Known by name only. The generic form is read and then refused by import;
/// the pretty form is refused where it stands.
foreach op = [["BatchNormGradOp", "batch_norm_grad"],
              ["BatchNormInferenceOp", "batch_norm_inference"],
              ["BatchNormTrainingOp", "batch_norm_training"],
              ["CholeskyOp", "cholesky"],
              ["ConvolutionOp", "convolution"],
              ["FftOp", "fft"],
              ["InfeedOp", "infeed"],
              ["OutfeedOp", "outfeed"],
              ["RecvOp", "recv"],
              ["SendOp", "send"],
              ["SelectAndScatterOp", "select_and_scatter"],
              ["TriangularSolveOp", "triangular_solve"],
              ["UniformDequantizeOp", "uniform_dequantize"],
              ["UniformQuantizeOp", "uniform_quantize"]] in
  def StableHLO_#op[0] : StableHLO_Op<op[1]> {
    let summary = "refused";
    let arguments = (ins Variadic<AnyType>:$inputs);
    let results = (outs Variadic<AnyType>);
    let regions = (region VariadicRegion<AnyRegion>:$bodies);
    let hasCustomAssemblyFormat = 1;
  }

#endif // TSP_STABLEHLO_REFUSED_OPS_TD
