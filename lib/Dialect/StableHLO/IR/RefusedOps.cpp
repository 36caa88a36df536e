//===- RefusedOps.cpp - StableHLO ops outside the subset ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssemblyDirectives.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

/// Refuses the pretty form where it stands: its text is not read further.
static ParseResult refuse(OpAsmParser &parser, OperationState &state) {
  return parser.emitError(parser.getNameLoc())
         << "is not supported: " << getRefusalReason(state.name.getStringRef());
}

static void printGeneric(OpAsmPrinter &printer, Operation *op) {
  printer.printGenericOp(op, /*printOpName=*/false);
}

#define GET_OP_CLASSES
#include "tsp/Dialect/StableHLO/IR/RefusedOps.cpp.inc"

StringRef stablehlo::getRefusalReason(StringRef opName) {
  return llvm::StringSwitch<StringRef>(opName)
      .Cases({"stablehlo.batch_norm_grad", "stablehlo.batch_norm_inference",
              "stablehlo.batch_norm_training"},
             "write the normalisation with jax.numpy; batch_norm ops are outside "
             "the subset")
      .Cases({"stablehlo.cholesky", "stablehlo.triangular_solve"},
             "matrix decompositions are outside the subset; compute them before "
             "and pass the result as an argument")
      .Cases({"stablehlo.convolution", "stablehlo.select_and_scatter"},
             "convolutions are outside the subset; write the layer as a matrix "
             "product (a patch embedding is a reshape and a dot_general)")
      .Case("stablehlo.fft", "Fourier transforms are outside the subset; write "
                             "a short one as a matrix product")
      .Cases({"stablehlo.infeed", "stablehlo.outfeed", "stablehlo.recv",
              "stablehlo.send"},
             "host communication inside a program is outside the subset; pass "
             "the data as arguments and results")
      .Cases({"stablehlo.uniform_quantize", "stablehlo.uniform_dequantize"},
             "quantized types are outside the subset; convert and scale "
             "explicitly")
      .Default("");
}

#define REFUSED_OP_TEXT(Op)                                                    \
  ParseResult Op::parse(OpAsmParser &parser, OperationState &state) {          \
    return refuse(parser, state);                                              \
  }                                                                            \
  void Op::print(OpAsmPrinter &printer) { printGeneric(printer, *this); }

REFUSED_OP_TEXT(BatchNormGradOp)
REFUSED_OP_TEXT(BatchNormInferenceOp)
REFUSED_OP_TEXT(BatchNormTrainingOp)
REFUSED_OP_TEXT(CholeskyOp)
REFUSED_OP_TEXT(ConvolutionOp)
REFUSED_OP_TEXT(FftOp)
REFUSED_OP_TEXT(InfeedOp)
REFUSED_OP_TEXT(OutfeedOp)
REFUSED_OP_TEXT(RecvOp)
REFUSED_OP_TEXT(SendOp)
REFUSED_OP_TEXT(SelectAndScatterOp)
REFUSED_OP_TEXT(TriangularSolveOp)
REFUSED_OP_TEXT(UniformDequantizeOp)
REFUSED_OP_TEXT(UniformQuantizeOp)

#undef REFUSED_OP_TEXT
