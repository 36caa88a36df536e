//===- TspDialect.cpp - the tsp dialect -----------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tsp;

#include "tsp/Dialect/TSP/IR/TspDialect.cpp.inc"
#include "tsp/Dialect/TSP/IR/TspEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tsp/Dialect/TSP/IR/TspAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "tsp/Dialect/TSP/IR/TspTypes.cpp.inc"

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> axes,
                               ArrayRef<int64_t> sizes) {
  if (axes.size() != sizes.size())
    return emitError() << "(mesh_c1) expected a size for each of "
                       << axes.size() << " mesh axes, found " << sizes.size();
  llvm::SmallDenseSet<StringAttr> seen;
  for (auto [axis, size] : llvm::zip(axes, sizes)) {
    if (size < 1)
      return emitError() << "(mesh_c1) expected mesh axis " << axis
                         << " to have a size of at least 1, found " << size;
    if (!seen.insert(axis).second)
      return emitError() << "(mesh_c2) mesh axis " << axis << " is given twice";
  }
  return success();
}

LogicalResult DimAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                              ArrayRef<StringAttr> axes, int64_t unit,
                              ArrayRef<Layout> layouts,
                              ArrayRef<int64_t> blocks, StringAttr fold,
                              int64_t steps) {
  llvm::SmallDenseSet<StringAttr> seen;
  for (StringAttr axis : axes)
    if (!seen.insert(axis).second)
      return emitError() << "(dim_c1) axis " << axis << " is given twice";
  if (unit < 1)
    return emitError() << "(dim_c1) expected a unit of at least 1, found "
                       << unit;
  if (fold ? steps < 1 : steps != 0)
    return emitError() << "(dim_c2) expected "
                       << (fold ? "steps of a fold" : "no steps without a fold")
                       << ", found " << steps;
  if (layouts.size() != axes.size())
    return emitError() << "(dim_c3) expected a layout for each of the "
                       << axes.size() << " axes, found " << layouts.size();
  if (blocks.size() != axes.size() ||
      llvm::any_of(blocks, [](int64_t n) { return n < 1; }))
    return emitError() << "(dim_c3) expected a number of blocks, at least 1, "
                          "for each of the "
                       << axes.size() << " axes";
  return success();
}

DimAttr DimAttr::getContiguous(MLIRContext *context,
                               ArrayRef<StringAttr> axes) {
  SmallVector<Layout> layouts(axes.size(), Layout::Contiguous);
  SmallVector<int64_t> blocks(axes.size(), 1);
  return get(context, axes, 1, layouts, blocks, StringAttr(), 0);
}

SmallVector<int64_t> DimAttr::getChunks(int64_t total, MeshAttr mesh) const {
  int64_t parts = getUnit();
  for (auto [axis, layout] : llvm::zip(getAxes(), getLayouts()))
    parts *= mesh.getAxisSize(axis) * (layout == Layout::Zigzag ? 2 : 1);
  // Blocks are split evenly.
  int64_t held = hasBlocks() ? total : llvm::divideCeil(total, parts) * parts;
  SmallVector<int64_t> chunks;
  for (StringAttr axis : getAxes())
    chunks.push_back(held /= mesh.getAxisSize(axis));
  return chunks;
}

LogicalResult CodecAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                StringRef name) {
  if (name != "none")
    return emitError() << "(codec_c1) expected a codec that this compiler "
                          "expands, none; found "
                       << name;
  return success();
}

Attribute CodecAttr::parse(AsmParser &parser, Type) {
  StringRef name;
  if (parser.parseLess() || parser.parseKeyword(&name) || parser.parseGreater())
    return {};
  return parser.getChecked<CodecAttr>(parser.getContext(), name);
}

void CodecAttr::print(AsmPrinter &printer) const {
  printer << '<' << getName() << '>';
}

Attribute DimAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> axes;
  int64_t unit = 1, steps = 0;
  // One for all axes, or a list with one for each.
  SmallVector<Layout> layouts;
  SmallVector<int64_t> blocks;
  StringAttr fold;
  auto parseLayout = [&]() -> ParseResult {
    FailureOr<Layout> parsed = FieldParser<Layout>::parse(parser);
    if (failed(parsed))
      return failure();
    layouts.push_back(*parsed);
    return success();
  };
  auto parseField = [&]() -> ParseResult {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (name == "unit")
      return parser.parseInteger(unit);
    if (name == "steps")
      return parser.parseInteger(steps);
    if (name == "fold")
      return parser.parseAttribute(fold);
    if (name == "blocks")
      return parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&]() { return parser.parseInteger(blocks.emplace_back()); });
    if (name != "layout")
      return parser.emitError(
                 loc, "expected unit, layout, blocks, fold or steps, found '")
             << name << "'";
    if (succeeded(parser.parseOptionalLSquare())) {
      layouts.clear();
      if (parser.parseCommaSeparatedList(parseLayout) || parser.parseRSquare())
        return failure();
      return success();
    }
    if (parseLayout())
      return failure();
    layouts.assign(axes.size(), layouts.back());
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
        return parser.parseAttribute(axes.emplace_back());
      }))
    return {};
  while (succeeded(parser.parseOptionalComma()))
    if (parseField())
      return {};
  if (parser.parseGreater())
    return {};
  if (layouts.empty())
    layouts.assign(axes.size(), Layout::Contiguous);
  if (blocks.empty())
    blocks.assign(axes.size(), 1);
  return parser.getChecked<DimAttr>(parser.getContext(), axes, unit, layouts,
                                    blocks, fold, steps);
}

void DimAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getAxes(), printer,
                        [&](StringAttr axis) { printer << axis; });
  printer << ']';
  if (getUnit() != 1)
    printer << ", unit = " << getUnit();
  ArrayRef<Layout> layouts = getLayouts();
  if (llvm::is_contained(layouts, Layout::Zigzag)) {
    bool list = !llvm::all_equal(layouts);
    printer << ", layout = " << (list ? "[" : "");
    llvm::interleaveComma(
        list ? layouts : layouts.take_front(), printer,
        [&](Layout layout) { printer << stringifyLayout(layout); });
    printer << (list ? "]" : "");
  }
  if (hasBlocks()) {
    printer << ", blocks = [";
    llvm::interleaveComma(getBlocks(), printer);
    printer << ']';
  }
  if (getFold())
    printer << ", fold = " << getFold() << ", steps = " << getSteps();
  printer << '>';
}

LogicalResult
PlacementAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      ArrayRef<DimAttr> dims, ArrayRef<StringAttr> partial,
                      CombineKind) {
  llvm::SmallDenseSet<StringAttr> seen;
  auto use = [&](StringAttr axis) -> LogicalResult {
    if (seen.insert(axis).second)
      return success();
    return emitError() << "(placement_c1) axis " << axis << " is used twice";
  };
  // The axis of a fold may shard another dim: that is what it resolves.
  for (DimAttr dim : dims)
    for (StringAttr axis : dim.getAxes())
      if (failed(use(axis)))
        return failure();
  for (StringAttr axis : partial)
    if (failed(use(axis)))
      return failure();
  return success();
}

int64_t MeshAttr::getAxisIndex(StringRef axis) const {
  for (auto [i, name] : llvm::enumerate(getAxes()))
    if (name.getValue() == axis)
      return i;
  return -1;
}

int64_t MeshAttr::getAxisSize(StringRef axis) const {
  int64_t index = getAxisIndex(axis);
  return index < 0 ? 0 : getSizes()[index];
}

int64_t MeshAttr::getNumRanks() const {
  int64_t ranks = 1;
  for (int64_t size : getSizes())
    ranks *= size;
  return ranks;
}

void TspDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tsp/Dialect/TSP/IR/TspTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tsp/Dialect/TSP/IR/TspAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tsp/Dialect/TSP/IR/TspOps.cpp.inc"
      >();
}
