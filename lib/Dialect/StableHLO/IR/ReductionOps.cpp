//===- ReductionOps.cpp - StableHLO ops that combine elements -------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssemblyDirectives.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

#define GET_OP_CLASSES
#include "tsp/Dialect/StableHLO/IR/ReductionOps.cpp.inc"

void ReduceOp::build(OpBuilder &builder, OperationState &state,
                     ValueRange inputs, ValueRange initValues,
                     ArrayRef<int64_t> dimensions) {
  SmallVector<Type> types;
  for (Value input : inputs) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<int64_t> shape;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (!llvm::is_contained(dimensions, dim))
        shape.push_back(type.getDimSize(dim));
    types.push_back(type.clone(shape));
  }
  build(builder, state, types, inputs, initValues, dimensions);
}

//===----------------------------------------------------------------------===//
// reduce: short form `applies OP`, long form with a `reducer` body
//===----------------------------------------------------------------------===//

/// Fills the body of the short form: `OP(accumulator, element)`.
static ParseResult buildReducer(OpAsmParser &parser, SMLoc loc, StringRef name,
                                Type type, Location opLoc, Region &body) {
  OperationName op(name, parser.getContext());
  if (op.getDialectNamespace() != "stablehlo" || !op.isRegistered() ||
      !op.hasTrait<OpTrait::NOperands<2>::Impl>() ||
      !op.hasTrait<OpTrait::SameOperandsAndResultType>())
    return parser.emitError(loc, "expected a binary elementwise op after "
                                 "'applies', found '")
           << name << "'";
  Block &block = body.emplaceBlock();
  block.addArguments({type, type}, {opLoc, opLoc});
  OpBuilder builder(parser.getContext());
  builder.setInsertionPointToEnd(&block);
  Operation *combined = builder.create(opLoc, op.getIdentifier(),
                                       block.getArguments(), type);
  ReturnOp::create(builder, opLoc, combined->getResults());
  return success();
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &state) {
  Location opLoc = parser.getEncodedSourceLoc(parser.getNameLoc());
  SMLoc operandLoc = parser.getCurrentLocation();
  SmallVector<OpAsmParser::UnresolvedOperand> inputs, inits;
  do {
    if (parser.parseLParen() || parser.parseOperand(inputs.emplace_back()) ||
        parser.parseKeyword("init") || parser.parseColon() ||
        parser.parseOperand(inits.emplace_back()) || parser.parseRParen())
      return failure();
  } while (succeeded(parser.parseOptionalComma()));

  StringRef reducerName;
  SMLoc reducerLoc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("applies")) &&
      (reducerLoc = parser.getCurrentLocation(),
       parser.parseKeyword(&reducerName)))
    return failure();

  SmallVector<int64_t> dims;
  FunctionType type;
  SMLoc typeLoc;
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") ||
      parser.parseEqual() || parseDims(parser, dims) ||
      parser.parseOptionalAttrDict(state.attributes) || parser.parseColon() ||
      parser.getCurrentLocation(&typeLoc) || parser.parseType(type))
    return failure();
  state.getOrAddProperties<Properties>().dimensions =
      parser.getBuilder().getDenseI64ArrayAttr(dims);
  state.addTypes(type.getResults());
  SmallVector<OpAsmParser::UnresolvedOperand> operands(inputs);
  llvm::append_range(operands, inits);
  if (parser.resolveOperands(operands, type.getInputs(), operandLoc,
                             state.operands))
    return failure();

  Region &body = *state.addRegion();
  if (!reducerName.empty()) {
    auto init = dyn_cast<RankedTensorType>(type.getInput(inputs.size()));
    if (inputs.size() != 1 || !init)
      return parser.emitError(typeLoc, "expected one ranked tensor and its init "
                                       "value in the short form of reduce");
    return buildReducer(parser, reducerLoc, reducerName,
                        RankedTensorType::get({}, init.getElementType()), opLoc,
                        body);
  }
  SmallVector<OpAsmParser::Argument> accumulators, elements;
  if (parser.parseKeyword("reducer"))
    return failure();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (parser.parseLParen() ||
        parser.parseArgument(accumulators.emplace_back(), /*allowType=*/true) ||
        parser.parseComma() ||
        parser.parseArgument(elements.emplace_back(), /*allowType=*/true) ||
        parser.parseRParen())
      return failure();
  llvm::append_range(accumulators, elements);
  return parser.parseRegion(body, accumulators, /*enableNameShadowing=*/true);
}

void ReduceOp::print(OpAsmPrinter &printer) {
  unsigned count = getInputs().size();
  llvm::interleaveComma(
      llvm::zip(getInputs(), getInitValues()), printer, [&](auto pair) {
        printer << '(' << std::get<0>(pair) << " init: " << std::get<1>(pair)
                << ')';
      });
  Operation *reducer = getSimpleReducer(getBody());
  if (reducer && (reducer->getDialect() != (*this)->getDialect() ||
                  !reducer->hasTrait<OpTrait::SameOperandsAndResultType>() ||
                  !reducer->getAttrs().empty()))
    reducer = nullptr;
  if (reducer)
    printer << " applies " << reducer->getName();
  printer << " across dimensions = [";
  llvm::interleaveComma(getDimensions(), printer);
  printer << ']';
  printer.printOptionalAttrDict((*this)->getAttrs(), {getDimensionsAttrName()});
  printer << " : ";
  printer.printFunctionalType(*this);
  if (reducer)
    return;
  printer.printNewline();
  printer << " reducer";
  Block &block = getBody().front();
  for (unsigned i = 0; i < count; ++i) {
    printer << '(';
    printer.printRegionArgument(block.getArgument(i));
    printer << ", ";
    printer.printRegionArgument(block.getArgument(i + count));
    printer << ") ";
  }
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}
