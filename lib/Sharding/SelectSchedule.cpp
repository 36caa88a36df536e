//===- SelectSchedule.cpp - how each fold moves its parts -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldCost.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Sharding/SchedulePasses.h"

#include "llvm/Support/FormatVariadic.h"

namespace tsp {
#define GEN_PASS_DEF_SELECTSCHEDULE
#include "tsp/Passes/Schedule.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

/// The name of a fold's class in the option `schedule`.
static StringRef getClass(FoldOp fold) {
  bool attends = fold.getBody().walk([](SdpaOp) { return WalkResult::interrupt(); })
                     .wasInterrupted();
  if (attends)
    return "attention";
  bool onlySums = llvm::all_of(fold.getCombines(), [](Attribute combine) {
    auto kind = dyn_cast<CombineKindAttr>(combine);
    return kind && kind.getValue() == CombineKind::Sum;
  });
  return onlySums ? "mlp" : "head";
}

namespace {

struct SelectSchedule : tsp::impl::SelectScheduleBase<SelectSchedule> {
  using SelectScheduleBase::SelectScheduleBase;

  void runOnOperation() override {
    if (failed(readOptions()))
      return signalPassFailure();
    WalkResult result = getOperation().walk([&](FoldOp fold) {
      return failed(select(fold)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  /// The options, of which `schedule` by class; "" stands for all classes.
  LogicalResult readOptions() {
    if (prefetch < -1)
      return getOperation().emitError("option prefetch: expected a number of parts, or -1 (by "
                                      "cost), found ")
             << int64_t(prefetch);
    for (const std::string &entry : schedules) {
      auto [cls, name] = StringRef(entry).contains('=') ? StringRef(entry).split('=')
                                                        : std::pair(StringRef(), StringRef(entry));
      std::optional<Schedule> schedule = symbolizeSchedule(name);
      bool known = cls.empty() || cls == "attention" || cls == "mlp" || cls == "head";
      if (!schedule || !known)
        return getOperation().emitError("option schedule: expected [attention=|mlp=|head=]"
                                        "broadcast|ring|gather, found '")
               << entry << "'";
      forced[cls] = *schedule;
    }
    return success();
  }

  std::optional<Schedule> getForced(FoldOp fold) {
    for (StringRef cls : {getClass(fold), StringRef()})
      if (auto it = forced.find(cls); it != forced.end())
        return it->second;
    return fold.getSchedule();
  }

  LogicalResult select(FoldOp fold);

  llvm::StringMap<Schedule> forced;
};

} // namespace

LogicalResult SelectSchedule::select(FoldOp fold) {
  auto mesh = getOperation()->getAttrOfType<MeshAttr>("tsp.mesh");
  int64_t ranks = mesh ? mesh.getAxisSize(fold.getAxis()) : 0;
  if (ranks == 0)
    return fold.emitOpError("expected an axis of the module's tsp.mesh, found '")
           << fold.getAxis() << "'";

  if (fold.getParts().empty()) { // its body alone moves anything
    fold.setSchedule(Schedule::Broadcast);
    fold.setPrefetch(1);
    return success();
  }
  FoldCost cost(fold, ranks, MachineModel{linkGBs, latencyUs, gflops});
  std::string notRing = whyNotRing(fold, ranks);
  std::optional<Schedule> chosen = getForced(fold);
  bool isForced = chosen.has_value();
  if (chosen == Schedule::Ring && !notRing.empty())
    return fold.emitOpError("cannot run under schedule ring: ") << notRing;

  bool mayGather = cost.partBytes * cost.steps <= gatherLimit;
  if (!chosen) {
    // In the order of preference between equals.
    chosen = Schedule::Broadcast;
    if (notRing.empty() && cost.total(Schedule::Ring) <= cost.total(*chosen))
      chosen = Schedule::Ring;
    if (mayGather && cost.total(Schedule::Gather) < cost.total(*chosen))
      chosen = Schedule::Gather;
  }
  int64_t parts = prefetch >= 0 ? std::min<int64_t>(prefetch, cost.steps - 1)
                                : cost.prefetchFor(*chosen);
  fold.setSchedule(*chosen);
  fold.setPrefetch(parts);
  (*chosen == Schedule::Ring ? numRing
                             : *chosen == Schedule::Gather ? numGather : numBroadcast)++;
  if (!remarks)
    return success();

  auto remark = fold.emitRemark("fold over '");
  auto show = [&](Schedule schedule) {
    return stringifySchedule(schedule).str() + llvm::formatv(" {0:F1} us", cost.total(schedule)).str();
  };
  remark << fold.getAxis() << "' (" << getClass(fold) << ", " << cost.steps << " steps of "
         << int64_t(cost.partBytes) << " bytes): " << show(Schedule::Broadcast) << ", ";
  if (notRing.empty())
    remark << show(Schedule::Ring);
  else
    remark << "ring illegal (" << notRing << ")";
  remark << ", " << show(Schedule::Gather);
  if (!mayGather)
    remark << " (above the limit of memory)";
  remark << "; taken: " << stringifySchedule(*chosen) << (isForced ? ", as asked" : "")
         << ", prefetch " << parts;
  return success();
}
