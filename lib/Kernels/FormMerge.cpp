//===- FormMerge.cpp - one kernel for equal computations ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormOutline.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/Hashing.h"

using namespace mlir;
using namespace tsp;

/// Equal for equal kernels: operations, their properties and types, in order.
static llvm::hash_code hashKernel(func::FuncOp kernel) {
  llvm::hash_code hash = llvm::hash_combine(kernel.getFunctionType());
  kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    hash = llvm::hash_combine(hash, op->getName(), op->hashProperties());
    for (Type type : op->getResultTypes())
      hash = llvm::hash_combine(hash, type);
  });
  return hash;
}

static bool areEqual(func::FuncOp a, func::FuncOp b) {
  return a.getFunctionType() == b.getFunctionType() &&
         a->hasAttr("tsp.must_tie") == b->hasAttr("tsp.must_tie") &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

int64_t tsp::mergeEqualKernels(ModuleOp module, ArrayRef<LaunchedKernel> launched) {
  llvm::DenseMap<Operation *, const LaunchedKernel *> kernelOf;
  for (const LaunchedKernel &entry : launched)
    kernelOf[entry.launch] = &entry;

  SymbolTable symbols(module);
  llvm::DenseMap<size_t, SmallVector<func::FuncOp, 1>> byHash;
  int64_t kept = 0;
  // In the order of the program, so that names are numbered as one reads it.
  SmallVector<LaunchOp> launches;
  module.walk([&](LaunchOp launch) { launches.push_back(launch); });
  for (LaunchOp launch : launches) {
    const LaunchedKernel *entry = kernelOf.lookup(launch);
    if (!entry)
      continue;
    func::FuncOp kernel = entry->kernel;
    SmallVector<func::FuncOp, 1> &candidates = byHash[hashKernel(kernel)];
    auto same = llvm::find_if(candidates, [&](func::FuncOp other) {
      return areEqual(kernel, other) &&
             (!entry->hasAliases || kernel->getAttr("tsp.tied") == other->getAttr("tsp.tied"));
    });
    if (same != candidates.end()) {
      launch.setKernel(same->getName());
      kernel.erase();
      continue;
    }
    kernel->remove();
    kernel.setName(("k_" + entry->opName + "_" + Twine(kept++)).str());
    symbols.insert(kernel);
    launch.setKernel(kernel.getName());
    candidates.push_back(kernel);
  }
  return kept;
}
