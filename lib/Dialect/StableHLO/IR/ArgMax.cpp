//===- ArgMax.cpp - reductions that find the largest element --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reducer that only compares its arguments and selects among them depends on
// nothing but how they compare. There are few ways in which two values and two
// indices do: it is run on all of them.
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/StableHLO/IR/ArgMax.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

static bool compare(ComparisonDirection direction, double a, double b) {
  switch (direction) {
  case ComparisonDirection::EQ:
    return a == b;
  case ComparisonDirection::NE:
    return a != b;
  case ComparisonDirection::GE:
    return a >= b;
  case ComparisonDirection::GT:
    return a > b;
  case ComparisonDirection::LE:
    return a <= b;
  case ComparisonDirection::LT:
    return a < b;
  }
  llvm_unreachable("all directions are handled");
}

/// Runs the block on numbers; nothing when it does more than compare and
/// select.
static std::optional<SmallVector<double>> run(Block &block,
                                              ArrayRef<double> arguments) {
  llvm::DenseMap<Value, double> values;
  for (auto [arg, number] : llvm::zip(block.getArguments(), arguments))
    values[arg] = number;
  SmallVector<double> results;
  for (Operation &op : block) {
    SmallVector<double> in;
    for (Value operand : op.getOperands()) {
      auto it = values.find(operand);
      if (it == values.end())
        return std::nullopt;
      in.push_back(it->second);
    }
    std::optional<double> out =
        llvm::TypeSwitch<Operation *, std::optional<double>>(&op)
            .Case([&](CompareOp cmp) -> std::optional<double> {
              if (cmp.getCompareType() == ComparisonType::TOTALORDER)
                return std::nullopt;
              return compare(cmp.getComparisonDirection(), in[0], in[1]);
            })
            .Case([&](AndOp) { return in[0] != 0 && in[1] != 0; })
            .Case([&](OrOp) { return in[0] != 0 || in[1] != 0; })
            .Case([&](NotOp) { return in[0] == 0; })
            .Case([&](SelectOp) { return in[0] != 0 ? in[1] : in[2]; })
            .Default(std::optional<double>());
    if (isa<stablehlo::ReturnOp>(op))
      return in;
    bool isLogic = isa<AndOp, OrOp, NotOp>(op);
    if (!out || op.getNumResults() != 1 ||
        (isLogic &&
         !getElementTypeOrSelf(op.getResult(0).getType()).isInteger(1)))
      return std::nullopt;
    values[op.getResult(0)] = *out;
  }
  return std::nullopt;
}

bool stablehlo::isArgMaxReducer(Region &body) {
  if (!body.hasOneBlock() || body.getNumArguments() != 4)
    return false;
  auto elementOf = [&](unsigned i) {
    return getElementTypeOrSelf(body.getArgument(i).getType());
  };
  bool isFloat = isa<FloatType>(elementOf(0));
  if (!elementOf(1).isInteger(32) && !elementOf(1).isInteger(64) &&
      !elementOf(1).isUnsignedInteger(32) &&
      !elementOf(1).isUnsignedInteger(64))
    return false;
  SmallVector<double> numbers{1, 2};
  if (isFloat)
    numbers.push_back(std::numeric_limits<double>::quiet_NaN());
  for (double va : numbers)
    for (double vb : numbers)
      for (double ia : {1, 2})
        for (double ib : {1, 2}) {
          auto result = run(body.front(), {va, ia, vb, ib});
          if (!result || result->size() != 2)
            return false;
          bool nanA = std::isnan(va), nanB = std::isnan(vb);
          bool tie = va == vb || (nanA && nanB);
          bool first = tie ? ia <= ib : nanA || va > vb;
          double value = (*result)[0], index = (*result)[1];
          bool sameValue =
              std::isnan(value) ? nanA || nanB : value == (first ? va : vb);
          bool sameIndex =
              index == (first ? ia : ib) || (nanA && nanB && index == ia);
          if (!sameValue || !sameIndex)
            return false;
        }
  return true;
}
