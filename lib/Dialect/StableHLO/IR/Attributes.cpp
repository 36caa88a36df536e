//===- Attributes.cpp - text of the attributes with fields ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssemblyDirectives.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

#include "tsp/Dialect/StableHLO/IR/StableHLOEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tsp/Dialect/StableHLO/IR/StableHLOAttrs.cpp.inc"

namespace {
/// A field of an attribute: a list of dims or one number.
struct Field {
  StringRef name;
  SmallVectorImpl<int64_t> *dims = nullptr;
  int64_t *number = nullptr;
};
} // namespace

/// `<name = [1, 2], name = 3>`: any order, fields may be missing.
static ParseResult parseFields(AsmParser &parser, ArrayRef<Field> fields) {
  SmallVector<StringRef> seen;
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
        SMLoc loc = parser.getCurrentLocation();
        StringRef name;
        if (parser.parseKeyword(&name) || parser.parseEqual())
          return failure();
        const Field *field =
            llvm::find_if(fields, [&](const Field &f) { return f.name == name; });
        if (field == fields.end())
          return parser.emitError(loc, "unknown field '") << name << "'";
        if (llvm::is_contained(seen, name))
          return parser.emitError(loc, "field '") << name << "' is given twice";
        seen.push_back(field->name);
        return field->dims ? parseDims(parser, *field->dims)
                           : parser.parseInteger(*field->number);
      });
}

namespace {
/// Prints fields in order, leaving out empty lists and numbers that are 0.
class FieldPrinter {
public:
  explicit FieldPrinter(AsmPrinter &printer) : printer(printer) { printer << '<'; }
  ~FieldPrinter() { printer << '>'; }

  FieldPrinter &operator()(StringRef name, ArrayRef<int64_t> dims) {
    if (dims.empty())
      return *this;
    start(name) << '[';
    llvm::interleaveComma(dims, printer);
    printer << ']';
    return *this;
  }
  FieldPrinter &operator()(StringRef name, int64_t number) {
    if (number != 0)
      start(name) << number;
    return *this;
  }

private:
  AsmPrinter &start(StringRef name) {
    if (!first)
      printer << ", ";
    first = false;
    return printer << name << " = ";
  }

  AsmPrinter &printer;
  bool first = true;
};
} // namespace

Attribute DotDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract;
  if (parseFields(parser, {{"lhs_batching_dimensions", &lhsBatch},
                           {"rhs_batching_dimensions", &rhsBatch},
                           {"lhs_contracting_dimensions", &lhsContract},
                           {"rhs_contracting_dimensions", &rhsContract}}))
    return {};
  return get(parser.getContext(), lhsBatch, rhsBatch, lhsContract, rhsContract);
}

void DotDimensionNumbersAttr::print(AsmPrinter &printer) const {
  FieldPrinter(printer)("lhs_batching_dimensions", getLhsBatchingDimensions())(
      "rhs_batching_dimensions", getRhsBatchingDimensions())(
      "lhs_contracting_dimensions", getLhsContractingDimensions())(
      "rhs_contracting_dimensions", getRhsContractingDimensions());
}

Attribute GatherDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> offset, collapsed, operandBatch, indicesBatch, indexMap;
  int64_t indexVectorDim = 0;
  if (parseFields(parser, {{"offset_dims", &offset},
                           {"collapsed_slice_dims", &collapsed},
                           {"operand_batching_dims", &operandBatch},
                           {"start_indices_batching_dims", &indicesBatch},
                           {"start_index_map", &indexMap},
                           {"index_vector_dim", nullptr, &indexVectorDim}}))
    return {};
  return get(parser.getContext(), offset, collapsed, operandBatch, indicesBatch,
             indexMap, indexVectorDim);
}

void GatherDimensionNumbersAttr::print(AsmPrinter &printer) const {
  FieldPrinter(printer)("offset_dims", getOffsetDims())(
      "collapsed_slice_dims", getCollapsedSliceDims())(
      "operand_batching_dims", getOperandBatchingDims())(
      "start_indices_batching_dims", getStartIndicesBatchingDims())(
      "start_index_map", getStartIndexMap())("index_vector_dim",
                                             getIndexVectorDim());
}

Attribute ScatterDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> window, inserted, inputBatch, indicesBatch, toOperand;
  int64_t indexVectorDim = 0;
  if (parseFields(parser, {{"update_window_dims", &window},
                           {"inserted_window_dims", &inserted},
                           {"input_batching_dims", &inputBatch},
                           {"scatter_indices_batching_dims", &indicesBatch},
                           {"scatter_dims_to_operand_dims", &toOperand},
                           {"index_vector_dim", nullptr, &indexVectorDim}}))
    return {};
  return get(parser.getContext(), window, inserted, inputBatch, indicesBatch,
             toOperand, indexVectorDim);
}

void ScatterDimensionNumbersAttr::print(AsmPrinter &printer) const {
  FieldPrinter(printer)("update_window_dims", getUpdateWindowDims())(
      "inserted_window_dims", getInsertedWindowDims())(
      "input_batching_dims", getInputBatchingDims())(
      "scatter_indices_batching_dims", getScatterIndicesBatchingDims())(
      "scatter_dims_to_operand_dims", getScatterDimsToOperandDims())(
      "index_vector_dim", getIndexVectorDim());
}

//===----------------------------------------------------------------------===//
// The dialect's part
//===----------------------------------------------------------------------===//

void StableHLODialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tsp/Dialect/StableHLO/IR/StableHLOAttrs.cpp.inc"
      >();
}

Attribute StableHLODialect::parseAttribute(DialectAsmParser &parser,
                                           Type type) const {
  StringRef text = parser.getFullSymbolSpec();
  if (text.consume_front("<"))
    text.consume_back(">");
  for (StringRef unread : {"result_accuracy", "output_operand_alias", "conv<",
                           "fft_type", "transpose", "bounds<"})
    if (text.starts_with(unread))
      return UnreadAttr::get(getContext(), text);
  SMLoc loc = parser.getCurrentLocation();
  StringRef mnemonic;
  Attribute attr;
  OptionalParseResult result =
      generatedAttributeParser(parser, &mnemonic, type, attr);
  if (result.has_value())
    return attr;
  parser.emitError(loc, "unknown attribute '#stablehlo.") << mnemonic << "'";
  return {};
}

void StableHLODialect::printAttribute(Attribute attr,
                                      DialectAsmPrinter &printer) const {
  if (auto unread = dyn_cast<UnreadAttr>(attr))
    printer << unread.getText();
  else
    (void)generatedAttributePrinter(attr, printer);
}
