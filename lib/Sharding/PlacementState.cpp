//===- PlacementState.cpp - what a local value is to one mesh axis --------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlacementState.h"
#include "tsp/Support/TensorTypes.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::check;

std::string State::str() const {
  switch (kind) {
  case Replicated:
    return "equal on all ranks";
  case Sharded: {
    std::string text = "sharded in dim " + std::to_string(dim);
    if (layout != Layout::Contiguous)
      text += " (" + stringifyLayout(layout).str() + ")";
    for (StringAttr axis : minor)
      text += ", split further over axis " + axis.str();
    return text;
  }
  case Partial:
    return "partial (" + stringifyCombineKind(combine).str() + ")";
  case Varying:
  case LookedUp:
    return "different from rank to rank";
  }
  llvm_unreachable("covered switch");
}

bool check::isConstantAlong(Value value, int64_t dim, unsigned depth) {
  if (typeOf(value).getDimSize(dim) == 1)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
    return cast<ElementsAttr>(constant.getValue()).isSplat();
  if (auto iota = dyn_cast<stablehlo::IotaOp>(op))
    return static_cast<int64_t>(iota.getIotaDimension()) != dim;
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
    const auto *it = llvm::find(broadcast.getBroadcastDimensions(), dim);
    return it == broadcast.getBroadcastDimensions().end() ||
           isConstantAlong(broadcast.getOperand(),
                           it - broadcast.getBroadcastDimensions().begin(),
                           depth - 1);
  }
  if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op))
    return isConstantAlong(transpose.getOperand(),
                           transpose.getPermutation()[dim], depth - 1);
  if (!stablehlo::isElementwise(op) || op->getNumResults() != 1)
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return typeOf(operand).getRank() == 0 ||
           isConstantAlong(operand, dim, depth - 1);
  });
}

State check::join(const State &a, const State &b, Value valueOfA) {
  if (a == b)
    return a;
  if (a.kind == State::Replicated && b.kind == State::Sharded &&
      isConstantAlong(valueOfA, b.dim))
    return b;
  return State::varying();
}

//===----------------------------------------------------------------------===//
// Partial values: only what is linear may touch them
//===----------------------------------------------------------------------===//

static bool narrows(stablehlo::ConvertOp op) {
  Type from = getElementTypeOrSelf(op.getOperand().getType());
  Type to = getElementTypeOrSelf(op.getType());
  return !isa<FloatType>(to) || !isa<FloatType>(from) ||
         to.getIntOrFloatBitWidth() < from.getIntOrFloatBitWidth();
}

static Transfer transferPartial(Operation *op, ArrayRef<State> in) {
  const State &partial =
      *llvm::find_if(in, [](State s) { return s.kind == State::Partial; });
  int64_t count =
      llvm::count_if(in, [](State s) { return s.kind == State::Partial; });
  StringRef name = op->getName().getStringRef();
  bool isSum = partial.combine == CombineKind::Sum;
  bool othersEqual = llvm::all_of(in, [&](State s) {
    return s.kind == State::Partial || s.kind == State::Replicated;
  });
  if (isa<stablehlo::ReshapeOp, stablehlo::TransposeOp,
          stablehlo::BroadcastInDimOp, stablehlo::SliceOp,
          stablehlo::ReverseOp>(op))
    return partial;
  if (auto convert = dyn_cast<stablehlo::ConvertOp>(op)) {
    if (narrows(convert))
      return Transfer::fail(
          "rounds a partial value: the sum would be of rounded summands");
    return partial;
  }
  if (!isSum)
    return Transfer::fail("computes with a " + partial.str() +
                          " value before it is combined");
  if (isa<stablehlo::NegOp>(op))
    return partial;
  if (isa<stablehlo::AddOp, stablehlo::SubtractOp>(op)) {
    if (count == 2)
      return partial;
    return Transfer::fail("adds a value that is " +
                          (in[0].kind == State::Partial ? in[1] : in[0]).str() +
                          " to a partial sum: it would be counted once a rank");
  }
  if (isa<stablehlo::MulOp, stablehlo::DotGeneralOp>(op)) {
    if (count == 2)
      return Transfer::fail("multiplies two partial sums");
    if (othersEqual)
      return partial;
  }
  if (isa<stablehlo::DivOp>(op) && count == 1 && in[0].kind == State::Partial &&
      othersEqual)
    return partial;
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    if (isa_and_nonnull<stablehlo::AddOp>(
            stablehlo::getSimpleReducer(reduce.getBody())))
      return partial;
  return Transfer::fail(
      ("'" + name + "' is not linear, and works on a partial sum").str());
}

//===----------------------------------------------------------------------===//
// Ops that move elements or contract
//===----------------------------------------------------------------------===//

/// The dim of the result whose index is the major part of the sharded one.
/// Beside dims of local size 1 there is no telling which that is.
static State transferReshape(stablehlo::ReshapeOp op, const State &state) {
  int64_t dim = state.dim;
  ArrayRef<int64_t> from = typeOf(op.getOperand()).getShape(),
                    to = op.getType().getShape();
  int64_t before = 1, other = 1;
  for (int64_t i = 0; i < dim; ++i)
    before *= from[i];
  SmallVector<int64_t> candidates;
  for (int64_t i = 0, rank = to.size(); i < rank && other <= before; ++i) {
    if (other == before)
      candidates.push_back(i);
    other *= to[i];
  }
  bool isClear =
      from[dim] != 1 && candidates.size() == 1 && to[candidates[0]] != 1;
  // The two chunks of a rank must not share an element of the new dim.
  if (isClear && state.layout == Layout::Zigzag)
    isClear = to[candidates[0]] % 2 == 0;
  return isClear ? state.movedTo(candidates[0]) : State::varying();
}

static Transfer transferDot(stablehlo::DotGeneralOp op, const State &lhs,
                            const State &rhs) {
  auto numbers = op.getDotDimensionNumbers();
  auto place = [&](const State &state, ArrayRef<int64_t> batch,
                   ArrayRef<int64_t> contracting, int64_t rank,
                   int64_t offset) -> std::pair<bool, int64_t> {
    if (const auto *it = llvm::find(batch, state.dim); it != batch.end())
      return {false, it - batch.begin()};
    if (llvm::is_contained(contracting, state.dim))
      return {true, llvm::find(contracting, state.dim) - contracting.begin()};
    int64_t next = offset;
    for (int64_t i = 0; i < state.dim; ++i)
      next +=
          !llvm::is_contained(batch, i) && !llvm::is_contained(contracting, i);
    return {false, next};
  };
  int64_t lhsRank = typeOf(op.getLhs()).getRank(),
          rhsRank = typeOf(op.getRhs()).getRank();
  int64_t batch = numbers.getLhsBatchingDimensions().size();
  int64_t lhsFree =
      lhsRank - batch - numbers.getLhsContractingDimensions().size();
  bool left = lhs.kind == State::Sharded, right = rhs.kind == State::Sharded;
  auto isKnown = [](const State &state) {
    return state.kind == State::Sharded || state.kind == State::Replicated;
  };
  if (!isKnown(lhs) || !isKnown(rhs))
    return State::varying();
  auto [leftContracts, leftDim] =
      left ? place(lhs, numbers.getLhsBatchingDimensions(),
                   numbers.getLhsContractingDimensions(), lhsRank, batch)
           : std::pair(false, int64_t(-1));
  auto [rightContracts, rightDim] =
      right ? place(rhs, numbers.getRhsBatchingDimensions(),
                    numbers.getRhsContractingDimensions(), rhsRank,
                    batch + lhsFree)
            : std::pair(false, int64_t(-1));
  if (left && right) {
    if (leftContracts != rightContracts || leftDim != rightDim ||
        lhs.movedTo(0) != rhs.movedTo(0))
      return Transfer::fail(
          "contracts values that are sharded in dims that do not meet: " +
          lhs.str() + " and " + rhs.str());
    return leftContracts ? State::partial(CombineKind::Sum)
                         : lhs.movedTo(leftDim);
  }
  if (leftContracts || rightContracts) {
    // All ranks would use the same part of the other operand.
    Value other = left ? op.getRhs() : op.getLhs();
    int64_t dim = left ? numbers.getRhsContractingDimensions()[leftDim]
                       : numbers.getLhsContractingDimensions()[rightDim];
    if (isConstantAlong(other, dim))
      return State::partial(CombineKind::Sum);
    return Transfer::fail(
        "contracts a sharded dim with a value that is equal on all ranks");
  }
  return left ? lhs.movedTo(leftDim) : rhs.movedTo(rightDim);
}

static Transfer transferReduce(stablehlo::ReduceOp op, ArrayRef<State> in) {
  // Results of several operands (argmax) depend on all of them.
  ArrayRef<State> inputs = in.take_front(op.getInputs().size());
  const State *decides = llvm::find_if(
      inputs, [](State s) { return s.kind != State::Replicated; });
  if (decides == inputs.end() || llvm::any_of(inputs, [&](State s) {
        return s.kind != State::Replicated && s != *decides;
      }))
    return State::varying();
  const State &input = *decides;
  if (input.kind != State::Sharded)
    return input;
  int64_t dim = input.dim;
  for (int64_t reduced : op.getDimensions())
    dim -= reduced < input.dim;
  if (!llvm::is_contained(op.getDimensions(), input.dim))
    return input.movedTo(dim);
  Operation *reducer = op.getInputs().size() == 1
                           ? stablehlo::getSimpleReducer(op.getBody())
                           : nullptr;
  if (isa_and_nonnull<stablehlo::AddOp>(reducer))
    return State::partial(CombineKind::Sum);
  if (isa_and_nonnull<stablehlo::MaxOp>(reducer))
    return State::partial(CombineKind::Max);
  if (isa_and_nonnull<stablehlo::MinOp>(reducer))
    return State::partial(CombineKind::Min);
  return State::varying();
}

static State transferSdpa(SdpaOp op, ArrayRef<State> in) {
  auto stateOf = [&](Value value) {
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get() == value)
        return in[operand.getOperandNumber()];
    return State::replicated();
  };
  State q = stateOf(op.getQ()), k = stateOf(op.getK()), v = stateOf(op.getV());
  bool keysWhole = k.kind == State::Replicated && v.kind == State::Replicated;
  if (keysWhole && q.isShardedIn(1))
    return q;
  bool together = k == q && v == q;
  if (together && (q.isShardedIn(0) || q.isShardedIn(2)))
    return q;
  return State::varying();
}

//===----------------------------------------------------------------------===//
// Collectives over the axis itself
//===----------------------------------------------------------------------===//

static Transfer transferCollective(Operation *op, const State &in) {
  auto wants = [&](bool holds, State result, StringRef expected) -> Transfer {
    if (holds || in.kind == State::Varying || in.kind == State::LookedUp)
      return result;
    return Transfer::fail(
        ("expected a value that is " + expected + ", found one that is ")
            .str() +
        in.str());
  };
  if (auto gather = dyn_cast<AllGatherOp>(op)) {
    State want = State::sharded(gather.getDim(), gather.getLayout());
    return wants(in == want, State::replicated(), want.str());
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    State want = State::sharded(broadcast.getDim());
    return wants(in == want, State::replicated(), want.str());
  }
  if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
    State want = State::partial(scatter.getCombine());
    return wants(in == want,
                 State::sharded(scatter.getDim(), scatter.getLayout()),
                 want.str());
  }
  if (auto reduce = dyn_cast<AllReduceOp>(op)) {
    State want = State::partial(reduce.getCombine());
    bool idempotent = reduce.getCombine() != CombineKind::Sum;
    return wants(in == want || (idempotent && in.kind == State::Replicated),
                 State::replicated(), want.str());
  }
  if (auto exchange = dyn_cast<AllToAllOp>(op)) {
    State want =
        State::sharded(exchange.getConcatDim(), exchange.getConcatLayout());
    return wants(
        in == want,
        State::sharded(exchange.getSplitDim(), exchange.getSplitLayout()),
        want.str());
  }
  return in.kind == State::Replicated ? in : State::varying(); // send_recv
}

/// A collective over another axis, which may begin or cease to split what the
/// axis leaves of its dim. That it comes in the right order is seen on its own
/// axis.
static State transferOtherAxis(Operation *op, const State &in) {
  State state = in;
  auto axis = op->getAttrOfType<StringAttr>("axis");
  if (in.kind != State::Sharded)
    return state;
  auto splits = [&](int64_t dim) {
    if (in.isShardedIn(dim))
      state.minor.push_back(axis);
  };
  auto joins = [&](int64_t dim) {
    if (in.isShardedIn(dim) && !state.minor.empty() &&
        state.minor.back() == axis)
      state.minor.pop_back();
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](AllGatherOp gather) { joins(gather.getDim()); })
      .Case([&](BroadcastOp broadcast) { joins(broadcast.getDim()); })
      .Case([&](ReduceScatterOp scatter) { splits(scatter.getDim()); })
      .Case([&](AllToAllOp exchange) {
        joins(exchange.getConcatDim());
        splits(exchange.getSplitDim());
      });
  return state;
}

//===----------------------------------------------------------------------===//
// All ops
//===----------------------------------------------------------------------===//

/// Elements at the same place: a sharded operand decides, and the others have
/// to be its equals or not depend on where along the dim an element is.
static Transfer transferElementwise(Operation *op, ArrayRef<State> in) {
  // Zeros where another rank has the row: summands of the rows.
  if (isa<stablehlo::SelectOp>(op) && in[0].kind == State::Varying)
    for (auto [looked, other] : {std::pair(1, 2), std::pair(2, 1)})
      if (in[looked].kind == State::LookedUp &&
          in[other].kind == State::Replicated)
        return State::partial(CombineKind::Sum);
  const State *shard = nullptr;
  bool varying = false;
  for (const State &state : in) {
    varying |= state.kind == State::Varying || state.kind == State::LookedUp;
    if (state.kind != State::Sharded)
      continue;
    if (shard && *shard != state)
      return Transfer::fail("joins values that are " + shard->str() + " and " +
                            state.str());
    shard = &state;
  }
  if (!shard)
    return varying ? State::varying() : State::replicated();
  for (auto [operand, state] : llvm::zip(op->getOperands(), in))
    if (state.kind == State::Replicated && typeOf(operand).getRank() != 0 &&
        !isConstantAlong(operand, shard->dim))
      return Transfer::fail(
          "joins a value that is " + shard->str() +
          " with one that varies along the dim and is equal on all ranks");
  return *shard;
}

Transfer check::transfer(Operation *op, ArrayRef<State> in, StringRef axis) {
  if (auto index = dyn_cast<AxisIndexOp>(op))
    return index.getAxis() == axis ? State::varying() : State::replicated();
  if (isa<stablehlo::PartitionIdOp>(op))
    return State::varying();
  auto own = op->getAttrOfType<StringAttr>("axis");
  bool isCollective = isa<AllGatherOp, AllReduceOp, ReduceScatterOp, AllToAllOp,
                          BroadcastOp, SendRecvOp>(op);
  if (isCollective && own && own.getValue() == axis) {
    if (in.size() > 1 && in[1].kind != State::Replicated)
      return Transfer::fail(
          "expected an offset that is equal on all ranks, found one that is " +
          in[1].str());
    return transferCollective(op, in[0]);
  }
  if (llvm::all_of(in, [](State s) { return s.kind == State::Replicated; }))
    return State::replicated();
  if (isCollective)
    return transferOtherAxis(op, in[0]);
  if (isa<WaitOp>(op))
    return in[0];
  if (llvm::any_of(in, [](State s) { return s.kind == State::Partial; }))
    return transferPartial(op, in);
  const State &first = in[0];
  if (stablehlo::isElementwise(op))
    return transferElementwise(op, in);
  return llvm::TypeSwitch<Operation *, Transfer>(op)
      .Case([&](stablehlo::DotGeneralOp dot) {
        return transferDot(dot, in[0], in[1]);
      })
      .Case([&](stablehlo::ReduceOp reduce) {
        return transferReduce(reduce, in);
      })
      .Case([&](SdpaOp sdpa) { return Transfer(transferSdpa(sdpa, in)); })
      .Case([&](stablehlo::TransposeOp transpose) {
        if (first.kind != State::Sharded)
          return Transfer(first);
        const auto *it = llvm::find(transpose.getPermutation(), first.dim);
        return Transfer(first.movedTo(it - transpose.getPermutation().begin()));
      })
      .Case([&](stablehlo::BroadcastInDimOp broadcast) {
        if (first.kind != State::Sharded)
          return Transfer(first);
        return Transfer(
            first.movedTo(broadcast.getBroadcastDimensions()[first.dim]));
      })
      .Case([&](stablehlo::ReshapeOp reshape) {
        if (first.kind == State::LookedUp)
          return Transfer(first);
        return Transfer(first.kind == State::Sharded
                            ? transferReshape(reshape, first)
                            : first);
      })
      .Case<stablehlo::SliceOp, stablehlo::PadOp, stablehlo::DynamicSliceOp>(
          [&](auto) {
            // A rank's own part of what all ranks hold.
            if (isa<stablehlo::DynamicSliceOp>(op) &&
                first.kind == State::Replicated) {
              ArrayRef<State> starts = in.drop_front();
              const auto *own = llvm::find_if(
                  starts, [](State s) { return s.kind != State::Replicated; });
              return Transfer(llvm::count_if(starts,
                                             [](State s) {
                                               return s.kind !=
                                                      State::Replicated;
                                             }) == 1
                                  ? State::sharded(own - starts.begin())
                                  : State::varying());
            }
            auto from = typeOf(op->getOperand(0)),
                 to = typeOf(op->getResult(0));
            bool keeps =
                first.kind == State::Sharded &&
                from.getDimSize(first.dim) == to.getDimSize(first.dim) &&
                llvm::all_of(in.drop_front(), [](State s) {
                  return s.kind == State::Replicated;
                });
            return Transfer(keeps ? first : State::varying());
          })
      .Case([&](stablehlo::ReverseOp reverse) {
        bool keeps = first.kind == State::Sharded &&
                     !llvm::is_contained(reverse.getDimensions(), first.dim);
        return Transfer(keeps ? first : State::varying());
      })
      .Case([&](stablehlo::ConcatenateOp concatenate) {
        bool keeps =
            first.kind == State::Sharded &&
            first.dim != static_cast<int64_t>(concatenate.getDimension()) &&
            llvm::all_of(in, [&](State s) { return s == first; });
        return Transfer(keeps ? first : State::varying());
      })
      .Case([&](stablehlo::DynamicUpdateSliceOp) {
        bool keeps = first.kind == State::Sharded && in[1] == first &&
                     llvm::all_of(in.drop_front(2), [](State s) {
                       return s.kind == State::Replicated;
                     });
        return Transfer(keeps ? first : State::varying());
      })
      .Case([&](stablehlo::GatherOp gather) {
        bool isLookup =
            first.kind == State::Sharded &&
            llvm::is_contained(gather.getDimensionNumbers().getStartIndexMap(),
                               first.dim);
        return Transfer(isLookup ? State::lookedUp() : State::varying());
      })
      .Default([](Operation *) { return Transfer(State::varying()); });
}
