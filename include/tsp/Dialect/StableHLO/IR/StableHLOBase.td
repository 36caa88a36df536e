//===- StableHLOBase.td - dialect and types of StableHLO ---*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_STABLEHLO_BASE_TD
#define TSP_STABLEHLO_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def StableHLO_Dialect : Dialect {
  let name = "stablehlo";
  let cppNamespace = "::tsp::stablehlo";
  let summary = "The accepted subset of StableHLO.";
  let description = [{
    The ops that JAX and PyTorch exports contain, by the published StableHLO
    specification, in the text that JAX prints (pretty and generic form). Ops
    outside the subset are refused by name, with the reason.
  }];
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attr,
                        ::mlir::DialectAsmPrinter &printer) const override;

  private:
    void registerAttributes();
  }];
}

// Element types of the subset. Complex numbers are parsed, so that their
// refusal can name the op and its place in the user's program.
def StableHLO_Float : AnyTypeOf<[F64, F32, F16, BF16, F8E4M3FN, F8E5M2],
    "f64, f32, f16, bf16, f8E4M3FN or f8E5M2">;
def StableHLO_Complex : Complex<AnyTypeOf<[F32, F64]>>;
def StableHLO_Bool : TypeAlias<I1, "i1">;
def StableHLO_SInt : AnyTypeOf<[SignlessIntOfWidths<[4, 8, 16, 32, 64]>],
    "i4, i8, i16, i32 or i64">;
def StableHLO_UInt : AnyTypeOf<[UnsignedIntOfWidths<[4, 8, 16, 32, 64]>],
    "ui4, ui8, ui16, ui32 or ui64">;
def StableHLO_Integer : AnyTypeOf<[StableHLO_SInt, StableHLO_UInt]>;

def StableHLO_Tensor : RankedTensorOf<[StableHLO_Float, StableHLO_Bool,
    StableHLO_SInt, StableHLO_UInt, StableHLO_Complex]>;
def StableHLO_FloatTensor : RankedTensorOf<[StableHLO_Float, StableHLO_Complex]>;
def StableHLO_IntTensor : RankedTensorOf<[StableHLO_SInt, StableHLO_UInt]>;
def StableHLO_BoolTensor : RankedTensorOf<[StableHLO_Bool]>;
def StableHLO_IntOrBoolTensor : RankedTensorOf<[StableHLO_Bool, StableHLO_SInt,
    StableHLO_UInt]>;
def StableHLO_NumberTensor : RankedTensorOf<[StableHLO_Float, StableHLO_SInt,
    StableHLO_UInt, StableHLO_Complex]>;
def StableHLO_ScalarInt : 0DTensorOf<[StableHLO_SInt, StableHLO_UInt]>;
def StableHLO_ComplexTensor : RankedTensorOf<[StableHLO_Complex]>;

class StableHLO_Op<string mnemonic, list<Trait> traits = []>
    : Op<StableHLO_Dialect, mnemonic, traits>;

/// An op without effects whose one result is declared by its text.
class StableHLO_PureOp<string mnemonic, list<Trait> traits = []>
    : StableHLO_Op<mnemonic, !listconcat([Pure], traits)>;

#endif // TSP_STABLEHLO_BASE_TD
