//===- SdyDialect.cpp - the sdy input dialect -----------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/Sdy/IR/SdyDialect.h"

#include "SdyAttributes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::sdy;

#include "tsp/Dialect/Sdy/IR/SdyDialect.cpp.inc"

/// `[<@mesh, [..]>, ..]` without the name of the attribute.
static ParseResult parseStrippedShardings(OpAsmParser &parser,
                                          TensorShardingPerValueAttr &attr) {
  SmallVector<TensorShardingAttr> shardings;
  if (parseShardingList(parser, shardings))
    return failure();
  attr = TensorShardingPerValueAttr::get(parser.getContext(), shardings);
  return success();
}

static void printStrippedShardings(OpAsmPrinter &printer, Operation *,
                                   TensorShardingPerValueAttr attr) {
  printShardingList(printer, attr.getShardings());
}

/// `(%arg0: T, %arg1: T) { .. }`
static ParseResult parseArgumentsAndBody(OpAsmParser &parser, Region &body) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren,
                               /*allowType=*/true))
    return failure();
  return parser.parseRegion(body, arguments, /*enableNameShadowing=*/true);
}

static void printArgumentsAndBody(OpAsmPrinter &printer, Operation *,
                                  Region &body) {
  printer << '(';
  llvm::interleaveComma(body.getArguments(), printer,
                        [&](BlockArgument arg) { printer.printRegionArgument(arg); });
  printer << ") ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

#define GET_OP_CLASSES
#include "tsp/Dialect/Sdy/IR/SdyOps.cpp.inc"

namespace {
struct SdyInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void SdyDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "tsp/Dialect/Sdy/IR/SdyOps.cpp.inc"
      >();
  addInterfaces<SdyInliner>();
}
