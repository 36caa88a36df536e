//===- ModelDescription.cpp - the description that a binary holds ---------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Host/ModelDescription.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Host/BufferPlan.h"
#include "tsp/Host/RuntimeABI.h"
#include "tsp/Kernels/GPU/DeviceForm.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace tsp;
namespace json = llvm::json;

StringRef tsp::getDtypeName(Type type) {
  return abi::dtypeNames[getDtypeNumber(type)];
}

int64_t tsp::getDtypeNumber(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  for (auto [i, name] : llvm::enumerate(abi::dtypeNames))
    if (text == name)
      return i;
  // Element types are checked when a program is read.
  llvm_unreachable("an element type outside of the subset");
}

static json::Array toJson(ArrayRef<int64_t> sizes) {
  json::Array list;
  for (int64_t size : sizes)
    list.push_back(size);
  return list;
}

/// The runtime splits level by level: each has a layout, and a unit that makes
/// its chunks those of the placement.
static json::Array describePlacement(PlacementAttr placement, ArrayRef<int64_t> shape,
                                     MeshAttr mesh) {
  json::Array dims;
  for (auto [dim, total] : llvm::zip(placement.getDims(), shape)) {
    json::Array axes, layouts, units;
    for (auto [axis, layout, chunk] :
         llvm::zip(dim.getAxes(), dim.getLayouts(), dim.getChunks(total, mesh))) {
      axes.push_back(axis.getValue());
      layouts.push_back(stringifyLayout(layout));
      units.push_back(std::max<int64_t>(1, layout == Layout::Zigzag ? chunk / 2 : chunk));
    }
    json::Object object{{"axes", std::move(axes)}};
    if (dim.isSharded()) {
      object["layout"] = std::move(layouts);
      object["unit"] = std::move(units);
    }
    dims.push_back(std::move(object));
  }
  return dims;
}

/// What arguments and results share.
static json::Object describeValue(func::FuncOp entry, unsigned number) {
  auto local = cast<MemRefType>(entry.getArgumentTypes()[number]);
  ArrayRef<int64_t> global = local.getShape();
  if (auto type = entry.getArgAttrOfType<TypeAttr>(number, "tsp.global_type"))
    global = cast<RankedTensorType>(type.getValue()).getShape();
  json::Object object{{"dtype", getDtypeName(local.getElementType())},
                      {"shape", toJson(global)},
                      {"local_shape", toJson(local.getShape())}};
  if (auto name = entry.getArgAttrOfType<StringAttr>(number, "tsp.name"))
    object["name"] = name.getValue();
  if (auto placement = entry.getArgAttrOfType<PlacementAttr>(number, "tsp.placement"))
    object["placement"] = describePlacement(placement, global, getRankMesh(entry));
  return object;
}

/// The largest scratch that a kernel of the entry asks for.
static int64_t getScratchBytes(func::FuncOp entry) {
  int64_t bytes = 0;
  entry.walk([&](BufferLaunchOp launch) {
    Operation *kernel = SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernelAttr());
    auto scratch = kernel ? kernel->getAttrOfType<IntegerAttr>("tsp.scratch") : nullptr;
    bytes = std::max(bytes, scratch ? scratch.getInt() : 0);
  });
  return bytes;
}

std::string tsp::describeEntry(func::FuncOp entry) {
  unsigned numInputs = entry->getAttrOfType<IntegerAttr>("tsp.entry").getInt();
  unsigned arena = entry.getNumArguments() - 1;
  json::Array args, results;
  for (unsigned i = 0; i < numInputs; ++i) {
    json::Object object = describeValue(entry, i);
    auto kind = entry.getArgAttrOfType<StringAttr>(i, "tsp.kind");
    int64_t alias = getAliasedResult(entry, i);
    object["kind"] = kind ? kind.getValue() : StringRef(alias >= 0 ? "state" : "input");
    if (alias >= 0)
      object["alias"] = alias;
    args.push_back(std::move(object));
  }
  for (unsigned i = numInputs; i < arena; ++i)
    results.push_back(describeValue(entry, i));
  json::Object object{
      {"name", entry.getName()},
      {"symbol", (abi::entryPrefix + entry.getName()).str()},
      {"arena_bytes", cast<MemRefType>(entry.getArgumentTypes()[arena]).getDimSize(0)},
      {"arena_align", bufferAlign},
      {"scratch_bytes", getScratchBytes(entry)},
      {"args", std::move(args)},
      {"results", std::move(results)}};
  return llvm::formatv("{0}", json::Value(std::move(object))).str();
}

int64_t tsp::getConstantBytes(ModuleOp module) {
  int64_t bytes = 0;
  for (auto global : module.getOps<memref::GlobalOp>())
    bytes += getBytes(global.getType());
  return bytes;
}

std::string tsp::describeModel(ModuleOp module, StringRef strategy, double compileSeconds,
                               ArrayRef<std::string> cpuFeatures) {
  MeshAttr mesh = getRankMesh(module);
  json::Array axes, entries;
  for (auto [axis, size] : llvm::zip(mesh.getAxes(), mesh.getSizes()))
    axes.push_back(json::Object{{"name", axis.getValue()}, {"size", size}});
  if (auto texts = module->getAttrOfType<ArrayAttr>("tsp.entries"))
    for (auto text : texts.getAsRange<StringAttr>())
      entries.push_back(llvm::cantFail(json::parse(text.getValue())));
  json::Object object{{"version", 1},
                      {"mesh", std::move(axes)},
                      {"compile_seconds", compileSeconds},
                      {"strategy", strategy},
                      {"cpu_features", json::Array(cpuFeatures)},
                      {"entries", std::move(entries)}};
  if (auto workspace = module->getAttrOfType<IntegerAttr>(kDeviceWorkspaceAttr)) {
    object["target"] = "cuda";
    object["device_workspace_bytes"] = workspace.getInt();
    object["device_constant_bytes"] =
        module->getAttrOfType<IntegerAttr>(kDeviceConstantsAttr).getInt();
  }
  return llvm::formatv("{0}", json::Value(std::move(object))).str();
}
