//===- ReceivedBytes.cpp - what transfers will move -----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Host/ReceivedBytes.h"
#include "tsp/Host/BufferPlan.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tsp;

static int64_t bytesOf(Value value) {
  if (auto future = dyn_cast<FutureType>(value.getType()))
    return getBytes(future.getValueType());
  return getBytes(value.getType());
}

std::map<std::string, int64_t> tsp::countReceivedBytes(func::FuncOp entry,
                                                       MeshAttr mesh) {
  // Of each collective the bytes that all ranks of its axis receive together,
  // by number of ranks, so that nothing is rounded before the sum.
  std::map<std::pair<std::string, int64_t>, int64_t> ofAll;
  entry.walk([&](Operation *op) {
    auto fold = dyn_cast<FoldLoopOp>(op);
    if (!fold && !isCollective(op))
      return;
    int64_t ranks = mesh.getAxisSize(op->getAttrOfType<StringAttr>("axis"));
    int64_t times = 1;
    for (auto outer = op->getParentOfType<FoldLoopOp>(); outer;
         outer = outer->getParentOfType<FoldLoopOp>())
      times *= outer.getSteps();
    auto add = [&](StringRef name, int64_t bytes) {
      ofAll[{name.str(), ranks}] += times * bytes;
    };
    if (fold) {
      int64_t steps = fold.getSteps();
      for (BlockArgument part : fold.getBody().getArguments().slice(
               1, fold.getParts().size())) {
        int64_t bytes = bytesOf(part);
        if (fold.getSchedule() == Schedule::Ring)
          add("send_recv", ranks * (ranks - 1) * bytes);
        else
          add(fold.getSchedule() == Schedule::Gather ? "all_gather"
                                                     : "broadcast",
              (ranks - 1) * steps * bytes);
      }
      return;
    }
    int64_t in = bytesOf(op->getOperand(0)), out = bytesOf(op->getResult(0));
    int64_t bytes =
        llvm::TypeSwitch<Operation *, int64_t>(op)
            .Case<AllGatherOp, BroadcastOp>([&](auto) { return out; })
            .Case<ReduceScatterOp, AllToAllOp>([&](auto) { return in; })
            .Case([&](AllReduceOp) { return 2 * in; })
            .Case([&](SendRecvOp send) {
              return int64_t(send.getShift()) % ranks ? ranks * out : 0;
            });
    if (!isa<SendRecvOp>(op))
      bytes *= ranks - 1;
    add(op->getName().stripDialect(), bytes);
  });
  std::map<std::string, int64_t> received;
  for (auto &[key, bytes] : ofAll)
    received[key.first] += bytes / key.second;
  return received;
}
