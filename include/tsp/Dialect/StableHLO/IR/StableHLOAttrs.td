//===- StableHLOAttrs.td - enums and attributes of StableHLO *- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_STABLEHLO_ATTRS_TD
#define TSP_STABLEHLO_ATTRS_TD

include "tsp/Dialect/StableHLO/IR/StableHLOBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

//===----------------------------------------------------------------------===//
// Enums, written `#stablehlo<mnemonic CASE>`, or just CASE inside an op
//===----------------------------------------------------------------------===//

class StableHLO_Enum<string name, string text, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, text, cases> {
  let cppNamespace = "::tsp::stablehlo";
  let genSpecializedAttr = 0;
}
class StableHLO_EnumAttr<EnumAttrInfo info, string mnemonic>
    : EnumAttr<StableHLO_Dialect, info, mnemonic>;

def StableHLO_ComparisonDirection : StableHLO_Enum<"ComparisonDirection",
    "the relation that a comparison tests", [
      I32EnumAttrCase<"EQ", 0>, I32EnumAttrCase<"NE", 1>,
      I32EnumAttrCase<"GE", 2>, I32EnumAttrCase<"GT", 3>,
      I32EnumAttrCase<"LE", 4>, I32EnumAttrCase<"LT", 5>]>;
def StableHLO_ComparisonDirectionAttr
    : StableHLO_EnumAttr<StableHLO_ComparisonDirection, "comparison_direction">;

def StableHLO_ComparisonType : StableHLO_Enum<"ComparisonType",
    "the order that a comparison uses", [
      I32EnumAttrCase<"NOTYPE", 0>, I32EnumAttrCase<"FLOAT", 1>,
      I32EnumAttrCase<"TOTALORDER", 2>, I32EnumAttrCase<"SIGNED", 3>,
      I32EnumAttrCase<"UNSIGNED", 4>]>;
def StableHLO_ComparisonTypeAttr
    : StableHLO_EnumAttr<StableHLO_ComparisonType, "comparison_type">;

def StableHLO_Precision : StableHLO_Enum<"Precision",
    "the precision asked of a contraction", [
      I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGH", 1>,
      I32EnumAttrCase<"HIGHEST", 2>]>;
def StableHLO_PrecisionAttr
    : StableHLO_EnumAttr<StableHLO_Precision, "precision">;
def StableHLO_PrecisionConfigAttr
    : TypedArrayAttrBase<StableHLO_PrecisionAttr, "precision of each operand">;

def StableHLO_RngAlgorithm : StableHLO_Enum<"RngAlgorithm",
    "the generator of random bits", [
      I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"THREE_FRY", 1>,
      I32EnumAttrCase<"PHILOX", 2>]>;
def StableHLO_RngAlgorithmAttr
    : StableHLO_EnumAttr<StableHLO_RngAlgorithm, "rng_algorithm">;

def StableHLO_RngDistribution : StableHLO_Enum<"RngDistribution",
    "the distribution of random numbers", [
      I32EnumAttrCase<"UNIFORM", 1>, I32EnumAttrCase<"NORMAL", 2>]>;
def StableHLO_RngDistributionAttr
    : StableHLO_EnumAttr<StableHLO_RngDistribution, "rng_distribution">;

//===----------------------------------------------------------------------===//
// Attributes with fields, written `#stablehlo.mnemonic<field = value, ..>`
//===----------------------------------------------------------------------===//

class StableHLO_Attr<string name, string attrMnemonic>
    : AttrDef<StableHLO_Dialect, name> {
  let mnemonic = attrMnemonic;
}

/// A list of dim numbers as a field; left out of the text when empty.
class StableHLO_Dims<string text = ""> : ArrayRefParameter<"int64_t", text>;

def StableHLO_DotDimensionNumbersAttr
    : StableHLO_Attr<"DotDimensionNumbers", "dot"> {
  let summary = "Which dims of a dot_general are batched and contracted.";
  let parameters = (ins StableHLO_Dims<>:$lhsBatchingDimensions,
                        StableHLO_Dims<>:$rhsBatchingDimensions,
                        StableHLO_Dims<>:$lhsContractingDimensions,
                        StableHLO_Dims<>:$rhsContractingDimensions);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_DotAlgorithmAttr
    : StableHLO_Attr<"DotAlgorithm", "dot_algorithm"> {
  let summary = "The arithmetic that a dot_general has to use.";
  let description = [{
    Operands are rounded to the precision types before they are multiplied;
    products are summed in the accumulation type.
  }];
  let parameters = (ins "::mlir::Type":$lhs_precision_type,
                        "::mlir::Type":$rhs_precision_type,
                        "::mlir::Type":$accumulation_type,
                        "int64_t":$lhs_component_count,
                        "int64_t":$rhs_component_count,
                        "int64_t":$num_primitive_operations,
                        "bool":$allow_imprecise_accumulation);
  let assemblyFormat = "`<` struct(params) `>`";
}

def StableHLO_GatherDimensionNumbersAttr
    : StableHLO_Attr<"GatherDimensionNumbers", "gather"> {
  let summary = "How the dims of a gather's operand, indices and result relate.";
  let parameters = (ins StableHLO_Dims<>:$offsetDims,
                        StableHLO_Dims<>:$collapsedSliceDims,
                        StableHLO_Dims<>:$operandBatchingDims,
                        StableHLO_Dims<>:$startIndicesBatchingDims,
                        StableHLO_Dims<>:$startIndexMap,
                        "int64_t":$indexVectorDim);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_ScatterDimensionNumbersAttr
    : StableHLO_Attr<"ScatterDimensionNumbers", "scatter"> {
  let summary = "How the dims of a scatter's input, indices and updates relate.";
  let parameters = (ins StableHLO_Dims<>:$updateWindowDims,
                        StableHLO_Dims<>:$insertedWindowDims,
                        StableHLO_Dims<>:$inputBatchingDims,
                        StableHLO_Dims<>:$scatterIndicesBatchingDims,
                        StableHLO_Dims<>:$scatterDimsToOperandDims,
                        "int64_t":$indexVectorDim);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_ChannelHandleAttr
    : StableHLO_Attr<"ChannelHandle", "channel_handle"> {
  let summary = "Tells the collectives of one program apart.";
  let parameters = (ins "int64_t":$handle, "int64_t":$type);
  let assemblyFormat = "`<` struct(params) `>`";
}

def StableHLO_UnreadAttr : AttrDef<StableHLO_Dialect, "Unread"> {
  let attrName = "stablehlo.unread";
  let summary = "An attribute of no meaning here, kept as its text.";
  let description = [{
    `#stablehlo.result_accuracy<..>` and `#stablehlo.output_operand_alias<..>`
    ask for nothing that the compiler does not do anyway, or belong to custom
    calls, which are refused later with a better message.
  }];
  let parameters = (ins StringRefParameter<>:$text);
}

#endif // TSP_STABLEHLO_ATTRS_TD
