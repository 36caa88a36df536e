//===- Report.cpp - what the compiler has planned, as JSON ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Host/BufferPlan.h"
#include "tsp/Host/ModelDescription.h"
#include "tsp/Kernels/GPU/DeviceForm.h"
#include "tsp/Kernels/Kernels.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace tsp;
namespace json = llvm::json;

static json::Object reportEntry(func::FuncOp entry, DictionaryAttr plan) {
  auto number = [&](StringRef name) {
    return plan.getAs<IntegerAttr>(name).getInt();
  };
  int64_t launches = 0;
  llvm::StringMap<int64_t> counts;
  entry.walk([&](Operation *op) {
    if (isa<BufferLaunchOp>(op))
      ++launches;
    if (isa<BufferAllGatherOp, BufferReduceScatterOp, BufferAllReduceOp,
            BufferAllToAllOp, BufferBroadcastOp, BufferSendRecvOp>(op))
      ++counts[op->getName().stripDialect().split('.').second];
  });
  json::Object collectives;
  for (const auto &count : counts)
    collectives[count.getKey().str()] = count.getValue();
  json::Object received;
  for (NamedAttribute transfer : plan.getAs<DictionaryAttr>("received_bytes"))
    received[transfer.getName().str()] =
        cast<IntegerAttr>(transfer.getValue()).getInt();
  json::Array atPeak;
  for (auto item :
       plan.getAs<ArrayAttr>("at_peak").getAsRange<DictionaryAttr>())
    atPeak.push_back(
        json::Object{{"bytes", item.getAs<IntegerAttr>("bytes").getInt()},
                     {"buffer", item.getAs<StringAttr>("buffer").getValue()}});
  return json::Object{{"name", entry.getName()},
                      {"arena_bytes", number("arena_bytes")},
                      {"peak_bytes", number("peak_bytes")},
                      {"staging_bytes", number("staging_bytes")},
                      {"copies", number("copies")},
                      {"launches", launches},
                      {"collectives", std::move(collectives)},
                      {"received_bytes", std::move(received)},
                      {"at_peak", std::move(atPeak)}};
}

/// What one kernel takes of one architecture.
static json::Object reportKernel(const KernelResources &kernel,
                                 func::FuncOp function) {
  DeviceLaunch launch = getDeviceLaunch(function);
  int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  int64_t blocks = getBlocksPerProcessor(kernel, threads, launch.sharedBytes);
  json::Object row{
      {"name", kernel.kernel},
      {"architecture", kernel.target->name},
      {"grid", json::Array{launch.grid[0], launch.grid[1], launch.grid[2]}},
      {"block", json::Array{launch.block[0], launch.block[1], launch.block[2]}},
      {"registers", kernel.registers},
      {"stack_bytes", kernel.stack},
      {"spill_bytes", kernel.spillStores + kernel.spillLoads},
      {"shared_bytes", kernel.shared + launch.sharedBytes},
      {"workspace_bytes", launch.workspaceBytes},
      {"blocks_per_processor", blocks},
      {"occupancy",
       double(blocks * threads) / kernel.target->threadsPerProcessor}};
  if (launch.tiles)
    row["tiles"] = launch.tiles;
  if (auto variant =
          function->getAttrOfType<FlatSymbolRefAttr>(kDeviceVariantAttr))
    row["variant"] = variant.getValue();
  if (auto reason = function->getAttrOfType<StringAttr>(kDeviceNoVariantAttr))
    row["no_variant"] = reason.getValue();
  return row;
}

static json::Object reportDevice(ModuleOp module, const DeviceCode &device) {
  json::Array kernels;
  for (const KernelResources &kernel : device.resources)
    if (auto function = module.lookupSymbol<func::FuncOp>(kernel.kernel))
      kernels.push_back(reportKernel(kernel, function));
  int64_t workspace = 0;
  for (auto function : module.getOps<func::FuncOp>())
    if (isDeviceKernel(function))
      workspace = std::max(workspace, getDeviceLaunch(function).workspaceBytes);
  return json::Object{{"fatbin_bytes", int64_t(device.fatbin.size())},
                      {"constant_bytes", getConstantBytes(module)},
                      {"workspace_bytes", workspace},
                      {"kernels", std::move(kernels)}};
}

void tsp::writeReport(ModuleOp module, StringRef strategy,
                      const std::optional<DeviceCode> &device,
                      llvm::raw_ostream &os) {
  MeshAttr mesh = getRankMesh(module);
  json::Array axes, entries;
  for (auto [axis, size] : llvm::zip(mesh.getAxes(), mesh.getSizes()))
    axes.push_back(json::Object{{"name", axis.getValue()}, {"size", size}});
  int64_t kernels = 0;
  for (Operation &op : *module.getBody())
    kernels += op.hasAttr(kKernelAttr) && !op.hasAttr(kDeviceArchitectureAttr);
  for (auto function : module.getOps<func::FuncOp>())
    if (auto plan = function->getAttrOfType<DictionaryAttr>("tsp.plan"))
      entries.push_back(reportEntry(function, plan));
  json::Object report{{"strategy", strategy},
                      {"mesh", std::move(axes)},
                      {"kernels", kernels},
                      {"entries", std::move(entries)}};
  if (device)
    report["device"] = reportDevice(module, *device);
  os << llvm::formatv("{0:2}", json::Value(std::move(report))) << "\n";
}
