//===- SdyAttributes.cpp - meshes and shardings ---------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SdyAttributes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::sdy;

#define GET_ATTRDEF_CLASSES
#include "tsp/Dialect/Sdy/IR/SdyAttrs.cpp.inc"

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  SmallVector<int64_t> deviceIds;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        std::string name;
        int64_t size;
        if (parser.parseString(&name) || parser.parseEqual() ||
            parser.parseInteger(size))
          return failure();
        axes.push_back(MeshAxisAttr::get(parser.getContext(), name, size));
        return success();
      }))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("device_ids") || parser.parseEqual() ||
       parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
         return parser.parseInteger(deviceIds.emplace_back());
       })))
    return {};
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    axes, deviceIds);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getAxes(), printer, [&](MeshAxisAttr axis) {
    printer.printString(axis.getName());
    printer << '=' << axis.getSize();
  });
  printer << ']';
  if (!getDeviceIds().empty()) {
    printer << ", device_ids=[";
    llvm::interleaveComma(getDeviceIds(), printer);
    printer << ']';
  }
  printer << '>';
}

std::optional<int64_t> MeshAttr::getAxisSize(StringRef name) const {
  for (MeshAxisAttr axis : getAxes())
    if (axis.getName() == name)
      return axis.getSize();
  return std::nullopt;
}

int64_t MeshAttr::getTotalSize() const {
  int64_t size = 1;
  for (MeshAxisAttr axis : getAxes())
    size *= axis.getSize();
  return size;
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<MeshAxisAttr> axes,
                               ArrayRef<int64_t> deviceIds) {
  llvm::StringSet<> names;
  int64_t size = 1;
  for (MeshAxisAttr axis : axes) {
    if (!names.insert(axis.getName()).second)
      return emitError() << "axis \"" << axis.getName()
                         << "\" appears twice in the mesh";
    if (axis.getSize() < 1 || axis.getSize() > (1 << 20) ||
        (size *= axis.getSize()) > (1 << 20))
      return emitError() << "expected a size of 1 to 2^20 for axis \""
                         << axis.getName() << "\" and the whole mesh, found "
                         << axis.getSize();
  }
  if (!deviceIds.empty() && (int64_t)deviceIds.size() != size)
    return emitError() << "expected " << size << " device ids, found "
                       << deviceIds.size();
  SmallVector<int64_t> sorted(deviceIds);
  llvm::sort(sorted);
  for (auto [expected, id] : llvm::enumerate(sorted))
    if (id != (int64_t)expected)
      return emitError() << "expected device ids to be a permutation of 0 to "
                         << size - 1;
  return success();
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  std::string name;
  if (parser.parseString(&name))
    return {};
  SubAxisInfoAttr subAxis;
  if (succeeded(parser.parseOptionalColon())) {
    subAxis = dyn_cast_or_null<SubAxisInfoAttr>(SubAxisInfoAttr::parse(parser, {}));
    if (!subAxis)
      return {};
  }
  return get(parser.getContext(), name, subAxis);
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer.printString(getName());
  if (getSubAxisInfo()) {
    printer << ':';
    getSubAxisInfo().print(printer);
  }
}

static ParseResult parseAxis(AsmParser &parser, SmallVectorImpl<AxisRefAttr> &axes) {
  auto axis = dyn_cast_or_null<AxisRefAttr>(AxisRefAttr::parse(parser, {}));
  if (!axis)
    return failure();
  axes.push_back(axis);
  return success();
}

static void printAxes(AsmPrinter &printer, ArrayRef<AxisRefAttr> axes) {
  llvm::interleaveComma(axes, printer,
                        [&](AxisRefAttr axis) { axis.print(printer); });
}

Attribute DimensionShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  bool isClosed = true;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&]() -> ParseResult {
        if (isClosed && succeeded(parser.parseOptionalQuestion())) {
          isClosed = false;
          return success();
        }
        return parseAxis(parser, axes);
      }))
    return {};
  std::optional<int64_t> priority;
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&keyword))) {
    int64_t value;
    if (!keyword.consume_front("p") || keyword.getAsInteger(10, value)) {
      parser.emitError(loc, "expected a priority like p1");
      return {};
    }
    priority = value;
  }
  return get(parser.getContext(), axes, isClosed, priority);
}

void DimensionShardingAttr::print(AsmPrinter &printer) const {
  printer << '{';
  printAxes(printer, getAxes());
  if (!getIsClosed())
    printer << (getAxes().empty() ? "?" : ", ?");
  printer << '}';
  if (getPriority())
    printer << 'p' << *getPriority();
}

Attribute TensorShardingAttr::parse(AsmParser &parser, Type) {
  StringAttr mesh;
  SmallVector<DimensionShardingAttr> dims;
  SmallVector<AxisRefAttr> replicated, unreduced;
  if (parser.parseLess() || parser.parseSymbolName(mesh) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        auto dim = dyn_cast_or_null<DimensionShardingAttr>(
            DimensionShardingAttr::parse(parser, {}));
        dims.push_back(dim);
        return success(dim != nullptr);
      }))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return {};
    if (name != "replicated" && name != "unreduced") {
      parser.emitError(loc, "expected 'replicated' or 'unreduced', found '")
          << name << "'";
      return {};
    }
    auto &axes = name == "replicated" ? replicated : unreduced;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&]() -> ParseResult {
          return parseAxis(parser, axes);
        }))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), FlatSymbolRefAttr::get(mesh), dims, replicated,
             unreduced);
}

void TensorShardingAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printSymbolName(getMeshName());
  printer << ", [";
  llvm::interleaveComma(getDimShardings(), printer,
                        [&](DimensionShardingAttr dim) { dim.print(printer); });
  printer << ']';
  for (auto [name, axes] : {std::pair("replicated", getReplicatedAxes()),
                            std::pair("unreduced", getUnreducedAxes())}) {
    if (axes.empty())
      continue;
    printer << ", " << name << "={";
    printAxes(printer, axes);
    printer << '}';
  }
  printer << '>';
}

ParseResult
sdy::parseShardingList(AsmParser &parser,
                       SmallVectorImpl<TensorShardingAttr> &shardings) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    auto sharding = dyn_cast_or_null<TensorShardingAttr>(
        TensorShardingAttr::parse(parser, {}));
    shardings.push_back(sharding);
    return success(sharding != nullptr);
  });
}

void sdy::printShardingList(AsmPrinter &printer,
                            ArrayRef<TensorShardingAttr> shardings) {
  printer << '[';
  llvm::interleaveComma(shardings, printer, [&](TensorShardingAttr sharding) {
    sharding.print(printer);
  });
  printer << ']';
}

Attribute TensorShardingPerValueAttr::parse(AsmParser &parser, Type) {
  SmallVector<TensorShardingAttr> shardings;
  if (parser.parseLess() || parseShardingList(parser, shardings) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), shardings);
}

void TensorShardingPerValueAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printShardingList(printer, getShardings());
  printer << '>';
}

Attribute ManualAxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> axes;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&]() -> ParseResult {
        std::string name;
        if (parser.parseString(&name))
          return failure();
        axes.push_back(parser.getBuilder().getStringAttr(name));
        return success();
      }))
    return {};
  return get(parser.getContext(), axes);
}

void ManualAxesAttr::print(AsmPrinter &printer) const {
  printer << '{';
  llvm::interleaveComma(getValue(), printer,
                        [&](StringAttr axis) { printer << axis; });
  printer << '}';
}

//===----------------------------------------------------------------------===//
// The dialect's part
//===----------------------------------------------------------------------===//

void SdyDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tsp/Dialect/Sdy/IR/SdyAttrs.cpp.inc"
      >();
}

Attribute SdyDialect::parseAttribute(DialectAsmParser &parser, Type type) const {
  StringRef text = parser.getFullSymbolSpec();
  if (text.starts_with("op_sharding_rule"))
    return UnreadAttr::get(getContext(), text);
  SMLoc loc = parser.getCurrentLocation();
  StringRef mnemonic;
  Attribute attr;
  OptionalParseResult result =
      generatedAttributeParser(parser, &mnemonic, type, attr);
  if (result.has_value())
    return attr;
  parser.emitError(loc, "unknown attribute '#sdy.") << mnemonic << "'";
  return {};
}

void SdyDialect::printAttribute(Attribute attr, DialectAsmPrinter &printer) const {
  if (auto unread = dyn_cast<UnreadAttr>(attr))
    printer << unread.getText();
  else
    (void)generatedAttributePrinter(attr, printer);
}
