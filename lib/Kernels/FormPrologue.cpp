//===- FormPrologue.cpp - operands that kernels compute -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction may compute an operand instead of finding it in memory. Let the
// operand be E elements of w bytes, read R times in all by the contractions that
// use it, and computed from i bytes an element in c ops. Then
//
//   computed:  R (i + c/8) E      stored:  (1 + R) w E
//
// bytes are moved, an op being worth 1/8 byte: machines do about 8 in the time of
// a byte of memory. Reading the inputs once is left out of the second: what they
// are mostly is read for another reason, such as the statistics of a norm. Where
// i < w, the operand is computed whatever c is: that saves memory too.
//
//===----------------------------------------------------------------------===//

#include "FormRules.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tsp;

/// Rows or columns of a tile, for which an operand is read once.
constexpr int64_t tileSize = 128;
constexpr int64_t opsPerByte = 8;
/// What an expensive op counts, and the way through registers that a computed
/// operand takes instead of a copy.
constexpr int64_t expensiveOps = 16, copyOps = 2;

/// Loops of the contraction that an operand does not have, in tiles: how often
/// it is read.
static int64_t countReads(stablehlo::DotGeneralOp dot, bool isLhs) {
  auto numbers = dot.getDotDimensionNumbers();
  auto other = isLhs ? dot.getRhs() : dot.getLhs();
  auto batching = isLhs ? numbers.getRhsBatchingDimensions()
                        : numbers.getLhsBatchingDimensions();
  auto contracting = isLhs ? numbers.getRhsContractingDimensions()
                           : numbers.getLhsContractingDimensions();
  int64_t size = 1;
  auto shape = cast<RankedTensorType>(other.getType()).getShape();
  for (auto [dim, extent] : llvm::enumerate(shape))
    if (!llvm::is_contained(batching, int64_t(dim)) &&
        !llvm::is_contained(contracting, int64_t(dim)))
      size *= extent;
  return llvm::divideCeil(size, tileSize);
}

/// How often contractions read a value, through views; none if anything else
/// does.
static std::optional<int64_t> countReads(Value value) {
  int64_t reads = 0;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(user)) {
      // Only products of floats have generators that compute operands.
      for (Value side : {dot.getLhs(), dot.getRhs()})
        if (!isa<FloatType>(getElementTypeOrSelf(side.getType())))
          return std::nullopt;
      reads += countReads(dot, use.getOperandNumber() == 0);
    } else if (isOperandView(user)) {
      std::optional<int64_t> more = countReads(user->getResult(0));
      if (!more)
        return std::nullopt;
      reads += *more;
    } else {
      return std::nullopt;
    }
  }
  return reads > 0 ? std::optional(reads) : std::nullopt;
}

/// Whether a value is computed from a reduction, which gives it a kernel.
static bool followsReduction(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (classify(op) == OpClass::Reduction)
    return true;
  return isLight(classify(op)) &&
         llvm::any_of(op->getOperands(), followsReduction);
}

/// Whether nothing but `last` uses `op` in the end: they would be one kernel.
static bool leadsOnlyTo(Operation *op, Operation *last,
                        llvm::SmallDenseSet<Operation *> &seen) {
  if (op == last || !seen.insert(op).second)
    return true;
  OpClass opClass = classify(op);
  return (isLight(opClass) || opClass == OpClass::Reduction) &&
         llvm::all_of(op->getUsers(), [&](Operation *user) {
           return user->getBlock() == op->getBlock() &&
                  leadsOnlyTo(user, last, seen);
         });
}

/// What becomes of a value that a prologue needs.
RecomputeRules::PrologueInput
RecomputeRules::classifyInput(Value value, int64_t elements,
                              const Prologue &prologue) {
  Operation *last = prologue.ops.front(), *op = value.getDefiningOp();
  if (!op || op->getBlock() != last->getBlock())
    return PrologueInput::Loaded;
  OpClass opClass = classify(op);
  // A product would take the prologue as its epilogue.
  if (opClass == OpClass::Contraction && value.hasOneUse())
    return PrologueInput::Unfit;
  if (!isLight(opClass))
    return PrologueInput::Loaded;
  // Few elements that take some time are made by a kernel of their own.
  if (getNumElements(value) * opsPerByte < elements &&
      (isExpensive(op) || followsReduction(value)))
    return PrologueInput::Loaded;
  bool isShared = llvm::any_of(op->getUsers(), [&](Operation *user) {
    return !prologue.ops.contains(user);
  });
  bool isMove = opClass == OpClass::Move && !isOperandView(op) &&
                !isa<stablehlo::DynamicSliceOp>(op);
  if (isMove || (isShared && !isWorthRepeating(op, 2))) {
    llvm::SmallDenseSet<Operation *> seen;
    return leadsOnlyTo(op, last, seen) ? PrologueInput::Unfit
                                       : PrologueInput::Loaded;
  }
  if (opClass == OpClass::Reshape) {
    // Of what lies in memory, it is a view that the host makes.
    Operation *viewed = op->getOperand(0).getDefiningOp();
    if (!viewed || !isLight(classify(viewed)))
      return PrologueInput::Loaded;
  }
  return PrologueInput::Computed;
}

/// Adds an op of an operand of so many elements, and what it needs, up to what
/// lies in memory; false if that is better done where the inputs are computed.
bool RecomputeRules::collectPrologue(Operation *op, int64_t elements,
                                     Prologue &prologue) {
  prologue.ops.insert(op);
  if (classify(op) == OpClass::Elementwise)
    prologue.cost +=
        getNumElements(op->getResult(0)) * (isExpensive(op) ? expensiveOps : 1);
  for (Value operand : op->getOperands()) {
    Operation *def = operand.getDefiningOp();
    if (isFromNothing(def) || (def && prologue.ops.contains(def)))
      continue;
    switch (classifyInput(operand, elements, prologue)) {
    case PrologueInput::Unfit:
      return false;
    case PrologueInput::Loaded:
      prologue.inputs.insert(operand);
      break;
    case PrologueInput::Computed:
      if (!collectPrologue(def, elements, prologue))
        return false;
      break;
    }
  }
  return true;
}

/// Whether a loop around the operand could compute it once, for all steps.
static bool isInvariant(Operation *operand, ArrayRef<Value> inputs) {
  Operation *loop = operand->getParentOp();
  return isa<FoldLoopOp, stablehlo::WhileOp>(loop) &&
         llvm::none_of(inputs, [&](Value input) {
           return loop->isAncestor(input.getParentBlock()->getParentOp());
         });
}

bool RecomputeRules::isInPrologue(Operation *op) {
  if (auto known = inPrologue.find(op); known != inPrologue.end())
    return known->second;
  inPrologue[op] = false;
  if (!isLight(classify(op)) || isFromNothing(op) || isOperandView(op))
    return false;
  Value operand = op->getResult(0);
  std::optional<int64_t> reads = countReads(operand);
  Prologue prologue;
  int64_t elements = getNumElements(operand);
  if (!reads || !collectPrologue(op, elements, prologue) || prologue.cost == 0)
    return false;
  bool isOnce = isInvariant(op, prologue.inputs.getArrayRef());
  int64_t loaded = 0;
  for (Value input : prologue.inputs)
    loaded += std::min(getNumElements(input), elements) *
              llvm::divideCeil(getElementTypeOrSelf(input.getType())
                                   .getIntOrFloatBitWidth(), 8);
  int64_t stored = getNumBytes(operand);
  int64_t ops = prologue.cost + copyOps * elements;
  bool result = loaded < stored ||
                (!isOnce && *reads * (loaded + ops / opsPerByte) <=
                                (1 + *reads) * stored);
  for (Operation *part : prologue.ops)
    inPrologue[part] = result;
  return result;
}
