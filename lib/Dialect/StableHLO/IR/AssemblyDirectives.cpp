//===- AssemblyDirectives.cpp - custom directives of the assembly formats -===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssemblyDirectives.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

ParseResult stablehlo::parseDims(AsmParser &parser,
                                 SmallVectorImpl<int64_t> &dims) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(dims.emplace_back());
  });
}

static void printDims(AsmPrinter &printer, ArrayRef<int64_t> dims) {
  printer << '[';
  llvm::interleaveComma(dims, printer);
  printer << ']';
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Takes the types of operands and result out of a function type.
static ParseResult splitFunctionType(OpAsmParser &parser, SMLoc loc,
                                     FunctionType type, ArrayRef<Type *> slots) {
  if (type.getNumInputs() + 1 != slots.size() || type.getNumResults() != 1)
    return parser.emitError(loc)
           << "expected a function type of " << slots.size() - 1
           << " operands and 1 result, found " << type;
  for (auto [slot, operand] : llvm::zip(slots, type.getInputs()))
    *slot = operand;
  *slots.back() = type.getResult(0);
  return success();
}

ParseResult stablehlo::parseSameTypeList(OpAsmParser &parser,
                                         ArrayRef<Type *> slots) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  if (auto function = dyn_cast<FunctionType>(type))
    return splitFunctionType(parser, loc, function, slots);
  for (Type *slot : slots)
    *slot = type;
  return success();
}

void stablehlo::printSameTypeList(OpAsmPrinter &printer, ArrayRef<Type> types) {
  if (llvm::all_equal(types))
    printer << types.front();
  else
    printer.printFunctionalType(types.drop_back(), types.take_back());
}

ParseResult stablehlo::parseSelectTypes(OpAsmParser &parser, Type &pred,
                                        Type &onTrue, Type &onFalse,
                                        Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(pred))
    return failure();
  if (auto function = dyn_cast<FunctionType>(pred))
    return splitFunctionType(parser, loc, function,
                             {&pred, &onTrue, &onFalse, &result});
  if (parser.parseComma() || parser.parseType(result))
    return failure();
  onTrue = onFalse = result;
  return success();
}

void stablehlo::printSelectTypes(OpAsmPrinter &printer, Operation *, Type pred,
                                 Type onTrue, Type onFalse, Type result) {
  if (onTrue == result && onFalse == result)
    printer << pred << ", " << result;
  else
    printer << '(' << pred << ", " << onTrue << ", " << onFalse << ") -> "
            << result;
}

ParseResult stablehlo::parseComplexTypes(OpAsmParser &parser, Type &lhs,
                                         Type &rhs, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(result))
    return failure();
  if (auto function = dyn_cast<FunctionType>(result))
    return splitFunctionType(parser, loc, function, {&lhs, &rhs, &result});
  auto tensor = dyn_cast<RankedTensorType>(result);
  auto element = tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : nullptr;
  if (!element)
    return parser.emitError(loc, "expected a tensor of complex elements, found ")
           << result;
  lhs = rhs = tensor.clone(element.getElementType());
  return success();
}

void stablehlo::printComplexTypes(OpAsmPrinter &printer, Operation *, Type, Type,
                                  Type result) {
  printer << result;
}

ParseResult stablehlo::parsePairwiseTypes(OpAsmParser &parser,
                                          SmallVectorImpl<Type> &operands,
                                          SmallVectorImpl<Type> &results) {
  if (parser.parseTypeList(operands))
    return failure();
  results.assign(operands.begin(), operands.end());
  return success();
}

void stablehlo::printPairwiseTypes(OpAsmPrinter &printer, Operation *,
                                   TypeRange operands, TypeRange) {
  llvm::interleaveComma(operands, printer);
}

ParseResult stablehlo::parseOperandsThenComma(
    OpAsmParser &parser,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands) {
  while (true) {
    OpAsmParser::UnresolvedOperand operand;
    OptionalParseResult result = parser.parseOptionalOperand(operand);
    if (!result.has_value())
      return success();
    if (failed(*result) || parser.parseComma())
      return failure();
    operands.push_back(operand);
  }
}

void stablehlo::printOperandsThenComma(OpAsmPrinter &printer, Operation *,
                                       OperandRange operands) {
  llvm::interleave(
      operands, printer, [&](Value operand) { printer << operand << ','; }, " ");
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

ParseResult stablehlo::parseExponentMantissa(OpAsmParser &parser,
                                             IntegerAttr &exponent,
                                             IntegerAttr &mantissa) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef text;
  if (parser.parseKeyword(&text))
    return failure();
  uint32_t exponentBits = 0, mantissaBits = 0;
  StringRef rest = text;
  if (!rest.consume_front("e") || rest.consumeInteger(10, exponentBits) ||
      !rest.consume_front("m") || rest.consumeInteger(10, mantissaBits) ||
      !rest.empty())
    return parser.emitError(loc, "expected a float format like e8m7, found '")
           << text << "'";
  exponent = parser.getBuilder().getI32IntegerAttr(exponentBits);
  mantissa = parser.getBuilder().getI32IntegerAttr(mantissaBits);
  return success();
}

void stablehlo::printExponentMantissa(OpAsmPrinter &printer, Operation *,
                                      IntegerAttr exponent,
                                      IntegerAttr mantissa) {
  printer << 'e' << exponent.getInt() << 'm' << mantissa.getInt();
}

ParseResult stablehlo::parseSliceRanges(OpAsmParser &parser,
                                        DenseI64ArrayAttr &starts,
                                        DenseI64ArrayAttr &limits,
                                        DenseI64ArrayAttr &strides) {
  SmallVector<int64_t> start, limit, stride;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        stride.push_back(1);
        if (parser.parseInteger(start.emplace_back()) || parser.parseColon() ||
            parser.parseInteger(limit.emplace_back()))
          return failure();
        if (succeeded(parser.parseOptionalColon()))
          return parser.parseInteger(stride.back());
        return success();
      }))
    return failure();
  Builder &builder = parser.getBuilder();
  starts = builder.getDenseI64ArrayAttr(start);
  limits = builder.getDenseI64ArrayAttr(limit);
  strides = builder.getDenseI64ArrayAttr(stride);
  return success();
}

void stablehlo::printSliceRanges(OpAsmPrinter &printer, Operation *,
                                 ArrayRef<int64_t> starts,
                                 ArrayRef<int64_t> limits,
                                 ArrayRef<int64_t> strides) {
  printer << '[';
  llvm::interleaveComma(llvm::zip(starts, limits, strides), printer,
                        [&](auto range) {
                          auto [start, limit, stride] = range;
                          printer << start << ':' << limit;
                          if (stride != 1)
                            printer << ':' << stride;
                        });
  printer << ']';
}

ParseResult stablehlo::parseDotDimensionNumbers(OpAsmParser &parser,
                                                DotDimensionNumbersAttr &dims) {
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract;
  auto parsePair = [&](SmallVectorImpl<int64_t> &lhs,
                       SmallVectorImpl<int64_t> &rhs) -> ParseResult {
    return failure(parser.parseEqual() || parseDims(parser, lhs) ||
                   parser.parseKeyword("x") || parseDims(parser, rhs));
  };
  if (succeeded(parser.parseOptionalKeyword("batching_dims")) &&
      (parsePair(lhsBatch, rhsBatch) || parser.parseComma()))
    return failure();
  if (parser.parseKeyword("contracting_dims") ||
      parsePair(lhsContract, rhsContract))
    return failure();
  dims = DotDimensionNumbersAttr::get(parser.getContext(), lhsBatch, rhsBatch,
                                      lhsContract, rhsContract);
  return success();
}

void stablehlo::printDotDimensionNumbers(OpAsmPrinter &printer, Operation *,
                                         DotDimensionNumbersAttr dims) {
  if (!dims.getLhsBatchingDimensions().empty() ||
      !dims.getRhsBatchingDimensions().empty()) {
    printer << "batching_dims = ";
    printDims(printer, dims.getLhsBatchingDimensions());
    printer << " x ";
    printDims(printer, dims.getRhsBatchingDimensions());
    printer << ", ";
  }
  printer << "contracting_dims = ";
  printDims(printer, dims.getLhsContractingDimensions());
  printer << " x ";
  printDims(printer, dims.getRhsContractingDimensions());
}

/// `= [DEFAULT, HIGHEST]`
static ParseResult parsePrecisionList(OpAsmParser &parser, ArrayAttr &precision) {
  SmallVector<Attribute> cases;
  if (parser.parseEqual() ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square, [&]() -> ParseResult {
            SMLoc loc = parser.getCurrentLocation();
            StringRef name;
            if (parser.parseKeyword(&name))
              return failure();
            std::optional<Precision> value = symbolizePrecision(name);
            if (!value)
              return parser.emitError(loc, "expected DEFAULT, HIGH or HIGHEST, "
                                           "found '")
                     << name << "'";
            cases.push_back(PrecisionAttr::get(parser.getContext(), *value));
            return success();
          }))
    return failure();
  precision = parser.getBuilder().getArrayAttr(cases);
  return success();
}

ParseResult stablehlo::parsePrecision(OpAsmParser &parser, ArrayAttr &precision) {
  if (failed(parser.parseOptionalComma()))
    return success();
  return failure(parser.parseKeyword("precision") ||
                 parsePrecisionList(parser, precision));
}

void stablehlo::printPrecision(OpAsmPrinter &printer, Operation *,
                               ArrayAttr precision) {
  if (!precision)
    return;
  printer << ", precision = [";
  llvm::interleaveComma(precision.getAsRange<PrecisionAttr>(), printer,
                        [&](PrecisionAttr attr) {
                          printer << stringifyPrecision(attr.getValue());
                        });
  printer << ']';
}

ParseResult stablehlo::parsePrecisionAndAlgorithm(OpAsmParser &parser,
                                                  ArrayAttr &precision,
                                                  DotAlgorithmAttr &algorithm) {
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    if (name == "precision" && !precision) {
      if (parsePrecisionList(parser, precision))
        return failure();
    } else if (name == "algorithm" && !algorithm) {
      if (parser.parseEqual())
        return failure();
      algorithm = dyn_cast_or_null<DotAlgorithmAttr>(
          DotAlgorithmAttr::parse(parser, Type()));
      if (!algorithm)
        return failure();
    } else {
      return parser.emitError(loc, "expected 'precision' or 'algorithm' once, "
                                   "found '")
             << name << "'";
    }
  }
  return success();
}

void stablehlo::printPrecisionAndAlgorithm(OpAsmPrinter &printer, Operation *op,
                                           ArrayAttr precision,
                                           DotAlgorithmAttr algorithm) {
  printPrecision(printer, op, precision);
  if (algorithm) {
    printer << ", algorithm = ";
    algorithm.print(printer);
  }
}

ParseResult stablehlo::parseCallTarget(OpAsmParser &parser, StringAttr &name) {
  return parser.parseSymbolName(name);
}

void stablehlo::printCallTarget(OpAsmPrinter &printer, Operation *,
                                StringAttr name) {
  printer.printSymbolName(name.getValue());
}
