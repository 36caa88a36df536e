//===- FoldCost.cpp - legality and cost of the schedules of a fold --------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldCost.h"
#include "VaryingValues.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tsp;

static RankedTensorType tensorOf(Value value) {
  if (auto future = dyn_cast<FutureType>(value.getType()))
    return future.getValueType();
  return cast<RankedTensorType>(value.getType());
}

static double bytesOf(RankedTensorType type) {
  return double(type.getNumElements()) * type.getElementTypeBitWidth() / 8;
}

std::string tsp::whyNotRing(FoldOp fold, int64_t ranks) {
  std::string reason;
  llvm::raw_string_ostream os(reason);
  if (int64_t(fold.getSteps()) != ranks) {
    os << "it has " << fold.getSteps() << " steps for " << ranks << " ranks";
    return reason;
  }
  for (size_t p = 0; p < fold.getParts().size(); ++p) {
    int64_t size = fold.getPartSizes()[p], total = fold.getPartTotals()[p];
    int64_t shard = tensorOf(fold.getParts()[p]).getDimSize(fold.getPartDims()[p]);
    if (fold.getPartStarts()[p] == 0 && size * ranks == total && shard == size)
      continue;
    os << "part " << p << " is not one whole shard a step: " << size << " of " << total
       << " elements in a step, " << shard << " in a shard";
    return reason;
  }
  fold.getBody().walk([&](Operation *op) {
    if (!isCollectiveOver(op, fold.getAxis()))
      return WalkResult::advance();
    os << "its body holds a collective over the axis, " << op->getName();
    return WalkResult::interrupt();
  });
  if (!reason.empty())
    return reason;
  VaryingValues varying(fold.getAxis());
  for (auto [i, combine] : llvm::enumerate(fold.getCombines())) {
    auto kind = dyn_cast<CombineKindAttr>(combine);
    bool ordered = kind && (kind.getValue() == CombineKind::Sum ||
                            kind.getValue() == CombineKind::Lse);
    if (!ordered || varying.contains(fold.getResult(i)))
      continue;
    os << "result " << i << " must be equal on all ranks, which would sum in different orders";
    return reason;
  }
  return reason;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Operations of the contractions in a region.
static double countFlops(Region &region) {
  double flops = 0;
  region.walk([&](Operation *op) {
    if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
      double products = tensorOf(dot.getResult()).getNumElements();
      for (int64_t dim : dot.getDotDimensionNumbers().getLhsContractingDimensions())
        products *= tensorOf(dot.getLhs()).getDimSize(dim);
      flops += 2 * products;
    } else if (auto sdpa = dyn_cast<SdpaOp>(op)) {
      RankedTensorType q = tensorOf(sdpa.getQ()), v = tensorOf(sdpa.getV());
      double scores = double(q.getNumElements()) / q.getDimSize(3) * v.getDimSize(1);
      flops += 2 * scores * (q.getDimSize(3) + v.getDimSize(3));
    }
  });
  return flops;
}

FoldCost::FoldCost(FoldOp fold, int64_t ranks, const MachineModel &machine)
    : ranks(ranks), steps(fold.getSteps()), partBytes(0) {
  Block &body = fold.getBody().front();
  for (size_t p = 0; p < fold.getParts().size(); ++p)
    partBytes += bytesOf(tensorOf(body.getArgument(1 + p)));
  int64_t parts = fold.getParts().size();
  stepUs = countFlops(fold.getBody()) / (machine.gflops * 1e3);
  fold.getBody().walk([&](Operation *op) {
    if (op->hasAttr("axis") && !isa<AxisIndexOp>(op) && op->getNumResults() == 1)
      stepUs += machine.transferUs(bytesOf(tensorOf(op->getResult(0))));
  });
  double bytesUs = machine.transferUs(partBytes) - machine.latencyUs;
  sendUs = ranks == 1 ? 0 : parts * machine.latencyUs + bytesUs;
  broadcastUs = ranks == 1 ? 0 : parts * machine.latencyUs * llvm::Log2_64_Ceil(ranks) + bytesUs;
  gatherUs = parts * machine.latencyUs * (ranks - 1) + bytesUs * steps * (ranks - 1) / ranks;
}

double FoldCost::total(Schedule schedule) const {
  switch (schedule) {
  case Schedule::Broadcast:
    return broadcastUs + (steps - 1) * std::max(broadcastUs, stepUs) + stepUs;
  case Schedule::Ring:
    return (ranks - 1) * std::max(sendUs, stepUs) + stepUs;
  case Schedule::Gather:
    return gatherUs + steps * stepUs;
  }
  llvm_unreachable("all schedules are handled");
}

int64_t FoldCost::prefetchFor(Schedule schedule) const {
  if (schedule == Schedule::Gather || steps == 1 || ranks == 1)
    return 0;
  double transfer = schedule == Schedule::Ring ? sendUs : broadcastUs;
  // Two in flight help when transfers of many small parts wait on latency.
  return transfer > 2 * stepUs && steps > 2 ? 2 : 1;
}
