//===- ModulePartition.cpp - parts of a module, to compile at once --------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModulePartition.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace tsp;

static bool isKernel(Operation *op) {
  return isa<LLVM::LLVMFuncOp>(op) && op->hasAttr("tsp.kernel");
}

/// Names an op refers to, in the order of the text.
static void collectReferences(Operation *op, llvm::SetVector<StringAttr> &names) {
  op->walk([&](Operation *inner) {
    for (NamedAttribute attribute : inner->getAttrs())
      attribute.getValue().walk([&](SymbolRefAttr symbol) {
        names.insert(symbol.getRootReference());
      });
  });
}

/// Copies `roots` and all that they use.
static OwningOpRef<ModuleOp> copyPart(ModuleOp module, SymbolTable &symbols,
                                      ArrayRef<Operation *> roots) {
  OwningOpRef<ModuleOp> part = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(part->getBody());
  llvm::SetVector<StringAttr> names;
  llvm::SmallPtrSet<Operation *, 16> own(roots.begin(), roots.end());
  for (Operation *root : roots)
    names.insert(SymbolTable::getSymbolName(root));
  for (unsigned i = 0; i < names.size(); ++i) {
    Operation *op = symbols.lookup(names[i]);
    if (!op)
      continue;
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    bool elsewhere = isKernel(op) && !own.contains(op);
    Operation *copy = elsewhere ? builder.insert(op->cloneWithoutRegions()) : builder.clone(*op);
    if (!elsewhere)
      collectReferences(op, names);
    if (isKernel(op)) {
      auto kernel = cast<LLVM::LLVMFuncOp>(copy);
      kernel.setLinkage(LLVM::Linkage::External);
      kernel.setVisibility_(LLVM::Visibility::Hidden);
    } else if (function && !function.isExternal() && !own.contains(op)) {
      cast<LLVM::LLVMFuncOp>(copy).setLinkage(LLVM::Linkage::Internal);
    }
  }
  return part;
}

std::vector<ModulePart> tsp::partitionModule(ModuleOp module, unsigned count) {
  SymbolTable symbols(module);
  SmallVector<std::pair<int64_t, Operation *>> kernels;
  SmallVector<Operation *> others;
  for (Operation &op : *module.getBody()) {
    if (isKernel(&op)) {
      int64_t size = 0;
      op.walk([&](Operation *) { ++size; });
      kernels.push_back({-size, &op});
    } else if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
               function && function->hasAttr("tsp.plan")) {
      others.push_back(&op);
    } else if (auto global = dyn_cast<LLVM::GlobalOp>(op);
               global && global.getLinkage() == LLVM::Linkage::External) {
      others.push_back(&op);
    }
  }
  // Largest first, each to the lightest group.
  llvm::stable_sort(kernels, llvm::less_first());
  SmallVector<SmallVector<Operation *>> groups(
      std::max<size_t>(1, std::min<size_t>(count, kernels.size())));
  SmallVector<int64_t> weights(groups.size());
  for (auto [size, kernel] : kernels) {
    unsigned lightest = llvm::min_element(weights) - weights.begin();
    groups[lightest].push_back(kernel);
    weights[lightest] -= size;
  }
  std::vector<ModulePart> parts;
  for (ArrayRef<Operation *> group : groups)
    if (!group.empty())
      parts.push_back({copyPart(module, symbols, group), false});
  parts.push_back({copyPart(module, symbols, others), true});
  return parts;
}
