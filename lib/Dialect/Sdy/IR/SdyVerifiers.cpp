//===- SdyVerifiers.cpp - meshes and shardings fit the types --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/Sdy/IR/SdyDialect.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::sdy;

/// The mesh of a sharding, or null after a diagnostic.
static MeshOp findMesh(Operation *op, TensorShardingAttr sharding,
                       SymbolTableCollection &symbols) {
  auto mesh = symbols.lookupNearestSymbolFrom<MeshOp>(op, sharding.getMeshSymbol());
  if (!mesh)
    op->emitOpError("expected a mesh @")
        << sharding.getMeshName() << " in this module, found none";
  return mesh;
}

/// A part of an axis has to be a whole number of parts of it.
static LogicalResult verifyAxis(Operation *op, AxisRefAttr axis, MeshOp mesh) {
  std::optional<int64_t> size = mesh.getMesh().getAxisSize(axis.getName());
  if (!size) {
    InFlightDiagnostic diag = op->emitOpError("axis \"")
                              << axis.getName() << "\" is not in mesh @"
                              << mesh.getSymName();
    diag.attachNote(mesh.getLoc()) << "the mesh is declared here";
    return diag;
  }
  SubAxisInfoAttr part = axis.getSubAxisInfo();
  if (part && (part.getPreSize() < 1 || part.getSize() < 2 ||
               part.getPreSize() > *size || part.getSize() > *size ||
               *size % (part.getPreSize() * part.getSize()) != 0))
    return op->emitOpError("part (")
           << part.getPreSize() << ")" << part.getSize() << " of axis \""
           << axis.getName() << "\" does not divide its size " << *size;
  return success();
}

static LogicalResult verifySharding(Operation *op, TensorShardingAttr sharding,
                                    Type type, SymbolTableCollection &symbols) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && sharding.getRank() != tensor.getRank())
    return op->emitOpError("expected a sharding of ")
           << tensor.getRank() << " dims for " << tensor << ", found "
           << sharding.getRank();
  MeshOp mesh = findMesh(op, sharding, symbols);
  if (!mesh)
    return failure();
  DenseSet<Attribute> seen;
  auto verifyAll = [&](ArrayRef<AxisRefAttr> axes) -> LogicalResult {
    for (AxisRefAttr axis : axes) {
      if (failed(verifyAxis(op, axis, mesh)))
        return failure();
      if (!seen.insert(axis).second)
        return op->emitOpError("axis \"")
               << axis.getName() << "\" is used twice in one sharding";
    }
    return success();
  };
  for (DimensionShardingAttr dim : sharding.getDimShardings())
    if (failed(verifyAll(dim.getAxes())))
      return failure();
  return success(succeeded(verifyAll(sharding.getReplicatedAxes())) &&
                 succeeded(verifyAll(sharding.getUnreducedAxes())));
}

LogicalResult
ShardingConstraintOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySharding(*this, getSharding(), getType(), symbols);
}

LogicalResult ReshardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySharding(*this, getSharding(), getType(), symbols);
}

//===----------------------------------------------------------------------===//
// manual_computation
//===----------------------------------------------------------------------===//

LogicalResult
ManualComputationOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (auto [sharding, type] :
       llvm::zip(getInShardings().getShardings(), getOperandTypes()))
    if (failed(verifySharding(*this, sharding, type, symbols)))
      return failure();
  for (auto [sharding, type] :
       llvm::zip(getOutShardings().getShardings(), getResultTypes()))
    if (failed(verifySharding(*this, sharding, type, symbols)))
      return failure();
  return success();
}

LogicalResult ManualComputationOp::verify() {
  auto checkCount = [&](StringRef what, size_t expected,
                        size_t found) -> LogicalResult {
    if (expected == found)
      return success();
    return emitOpError("expected ") << expected << " " << what << ", found " << found;
  };
  Block &body = getBody().front();
  auto returned = dyn_cast<sdy::ReturnOp>(body.back());
  if (!returned)
    return emitOpError("expected the body to end in sdy.return");
  return success(
      succeeded(checkCount("in_shardings", getNumOperands(),
                           getInShardings().getShardings().size())) &&
      succeeded(checkCount("out_shardings", getNumResults(),
                           getOutShardings().getShardings().size())) &&
      succeeded(checkCount("block arguments", getNumOperands(),
                           body.getNumArguments())) &&
      succeeded(checkCount("returned values", getNumResults(),
                           returned.getNumOperands())));
}
