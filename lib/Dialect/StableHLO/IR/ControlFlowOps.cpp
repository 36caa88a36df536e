//===- ControlFlowOps.cpp - StableHLO ops with regions and calls ----------===//
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
#include "tsp/Dialect/StableHLO/IR/ControlFlowOps.cpp.inc"

LogicalResult CompositeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (symbols.lookupNearestSymbolFrom(*this, getDecompositionAttr()))
    return success();
  return emitOpError("expected a function @")
         << getDecomposition() << " in this module, found none";
}

//===----------------------------------------------------------------------===//
// while: both regions share the names of the header
//===----------------------------------------------------------------------===//

void WhileOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, "iterArg");
}

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &state) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
        return failure(parser.parseArgument(arguments.emplace_back()) ||
                       parser.parseEqual() ||
                       parser.parseOperand(operands.emplace_back()));
      }))
    return failure();
  if (!operands.empty() && parser.parseColonTypeList(state.types))
    return failure();
  if (parser.resolveOperands(operands, state.types, loc, state.operands) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  for (auto [argument, type] : llvm::zip(arguments, state.types))
    argument.type = type;
  Region *cond = state.addRegion(), *body = state.addRegion();
  if (parser.parseKeyword("cond") || parser.parseRegion(*cond, arguments) ||
      parser.parseKeyword("do") || parser.parseRegion(*body, arguments))
    return failure();
  // A region without a block argument is parsed without a block when empty.
  for (Region *region : {cond, body})
    if (region->empty())
      region->emplaceBlock();
  return success();
}

void WhileOp::print(OpAsmPrinter &printer) {
  printer << '(';
  llvm::interleaveComma(llvm::zip(getCond().getArguments(), getOperands()),
                        printer, [&](auto pair) {
                          printer << std::get<0>(pair) << " = "
                                  << std::get<1>(pair);
                        });
  printer << ')';
  if (getNumOperands())
    printer << " : " << getOperandTypes();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer.printNewline();
  printer << "cond ";
  printer.printRegion(getCond(), /*printEntryBlockArgs=*/false);
  printer << " do ";
  printer.shadowRegionArgs(getBody(), getCond().getArguments());
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}
