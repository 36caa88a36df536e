//===- AttentionMatch.cpp - attention found in the dataflow ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The walk goes from the product with the values (or the division after it)
// up to the exponential, through both of its reductions, down the scores to
// the product of queries and keys, and up queries, keys and values.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace tsp;
using namespace tsp::raise;

namespace {
class Matcher {
public:
  Matcher(stablehlo::DotGeneralOp product, AttentionMatch &match,
          NearMiss &miss)
      : product(product), match(match), space(match.space), miss(miss) {}

  bool run(Operation *root);
  /// Set when the probabilities were not divided by their sum.
  bool unnormalized = false;

private:
  bool fail(Operation *at, const Twine &reason) {
    if (!miss)
      miss = {at, reason.str()};
    return false;
  }
  std::optional<Access> reducedInput(stablehlo::ReduceOp reduce,
                                     const Access &access);
  bool isSame(Access a, Access b);
  bool walkToProduct(Access &access);
  bool walkToExp(Access access);
  bool matchSum(const Access &sum);
  bool matchMax(const Access &max, const Access &scores);
  bool matchGuard(const Access &guard, bool negated);
  bool isOnlyUsedInside();

  stablehlo::DotGeneralOp product;
  AttentionMatch &match;
  IndexSpace &space;
  NearMiss &miss;

  Access exp, scores;
  SmallVector<Access> sums;
  SmallVector<std::pair<Access, bool>> guards;
  SmallVector<Operation *> outerPath, path;
};
} // namespace

/// Steps up through ops that keep each element but for rounding.
static bool stepKeep(IndexSpace &space, Access &access) {
  if (std::optional<Access> up = stepUp(space, access, /*slices=*/false)) {
    access = *up;
    return true;
  }
  auto convert = access.value.getDefiningOp<stablehlo::ConvertOp>();
  if (!convert ||
      !isa<FloatType>(getElementTypeOrSelf(convert.getOperand().getType())) ||
      !isa<FloatType>(getElementTypeOrSelf(convert.getType())))
    return false;
  access = access.with(convert.getOperand());
  return true;
}

/// Whether a float tensor is made from an exponential by division, selection
/// and moves: a cheap filter before indices are followed.
static stablehlo::ExpOp findExp(Value value) {
  for (unsigned depth = 0; depth < 16; ++depth) {
    Operation *op = value.getDefiningOp();
    if (auto exp = dyn_cast_or_null<stablehlo::ExpOp>(op))
      return exp;
    if (auto select = dyn_cast_or_null<stablehlo::SelectOp>(op))
      value = getSplat(select.getOnTrue()) ? select.getOnFalse()
                                           : select.getOnTrue();
    else if (isa_and_nonnull<stablehlo::ReshapeOp, stablehlo::TransposeOp,
                             stablehlo::BroadcastInDimOp, stablehlo::ConvertOp,
                             stablehlo::DivOp>(op))
      value = op->getOperand(0);
    else
      return {};
  }
  return {};
}

/// The reduction of one tensor by an op of type `ReducerOp` that makes `value`,
/// if `init` holds for its start.
template <typename ReducerOp>
static stablehlo::ReduceOp getReduce(Value value,
                                     function_ref<bool(double)> init) {
  auto reduce = value.getDefiningOp<stablehlo::ReduceOp>();
  if (!reduce || reduce.getInputs().size() != 1 ||
      !isa_and_nonnull<ReducerOp>(
          stablehlo::getSimpleReducer(reduce.getBody())))
    return {};
  std::optional<double> number = getSplat(reduce.getInitValues()[0]);
  return number && init(*number) ? reduce : stablehlo::ReduceOp();
}

/// The index of the input of a reduction over the keys whose result is indexed
/// by `access`: reduced dims take the key atoms, in the order in which they
/// come.
std::optional<Access> Matcher::reducedInput(stablehlo::ReduceOp reduce,
                                            const Access &access) {
  Value input = reduce.getInputs()[0];
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : reduce.getDimensions())
    shape.push_back(type.getDimSize(dim));
  std::optional<SmallVector<AtomList>> reduced =
      space.regroup(match.dims.key, shape);
  if (!reduced)
    return std::nullopt;
  SmallVector<AtomList> lists(type.getRank());
  size_t next = 0;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    const auto *it = llvm::find(reduce.getDimensions(), dim);
    lists[dim] = it == reduce.getDimensions().end()
                     ? access.axes[next++].atoms
                     : (*reduced)[it - reduce.getDimensions().begin()];
  }
  return Access(input, lists);
}

/// Whether both are the same elements at the same index, but for moves and
/// conversions.
bool Matcher::isSame(Access a, Access b) {
  while (stepKeep(space, b))
    ;
  while (a.value != b.value && stepKeep(space, a))
    ;
  return a.value == b.value && a.lists(space) == b.lists(space);
}

bool Matcher::walkToProduct(Access &access) {
  while (access.value != product.getResult()) {
    Operation *op = access.value.getDefiningOp();
    if (!op)
      return false;
    outerPath.push_back(op);
    if (auto div = dyn_cast<stablehlo::DivOp>(op)) {
      sums.push_back(access.with(div.getRhs()));
      access = access.with(div.getLhs());
    } else if (!stepKeep(space, access)) {
      return false;
    }
  }
  outerPath.push_back(product);
  return true;
}

bool Matcher::walkToExp(Access access) {
  while (true) {
    Operation *op = access.value.getDefiningOp();
    path.push_back(op);
    if (isa<stablehlo::ExpOp>(op))
      break;
    if (auto div = dyn_cast<stablehlo::DivOp>(op)) {
      sums.push_back(access.with(div.getRhs()));
      access = access.with(div.getLhs());
    } else if (auto select = dyn_cast<stablehlo::SelectOp>(op)) {
      bool zeroIfTrue = getSplat(select.getOnTrue()).has_value();
      if (getSplat(zeroIfTrue ? select.getOnTrue() : select.getOnFalse())
              .value_or(1) != 0)
        return fail(op, "probabilities replaced by a value that is not 0");
      guards.push_back({access.with(select.getPred()), !zeroIfTrue});
      access =
          access.with(zeroIfTrue ? select.getOnFalse() : select.getOnTrue());
    } else {
      size_t atoms = access.atoms(space).size();
      if (!stepKeep(space, access))
        return fail(
            op, "'" + Twine(op->getName().getStringRef()) +
                    "' between the softmax and the product with the values");
      if (access.atoms(space).size() < atoms)
        return fail(op, "probabilities that are broadcast");
    }
  }
  exp = access;
  return true;
}

bool Matcher::matchSum(const Access &sum) {
  Access access = sum;
  while (stepKeep(space, access))
    ;
  auto reduce = getReduce<stablehlo::AddOp>(access.value,
                                            [](double x) { return x == 0; });
  if (!reduce)
    return fail(sum.value.getDefiningOp(),
                "division by what is no sum over the keys");
  std::optional<Access> input = reducedInput(reduce, access);
  if (!input || !isSame(*input, exp))
    return fail(
        reduce,
        "division by a sum that is not that of the exponentials over the keys");
  return true;
}

bool Matcher::matchMax(const Access &max, const Access &scores) {
  Access access = max;
  while (true) {
    if (stepKeep(space, access))
      continue;
    Operation *op = access.value.getDefiningOp();
    if (auto maximum =
            dyn_cast_or_null<stablehlo::MaxOp>(op)) { // maximum(-inf, m)
      bool left = getSplat(maximum.getLhs()) == -INFINITY;
      if (!left && getSplat(maximum.getRhs()) != -INFINITY)
        break;
      access = access.with(left ? maximum.getRhs() : maximum.getLhs());
      continue;
    }
    // select(is_finite(m), m, 0)
    auto select = dyn_cast_or_null<stablehlo::SelectOp>(op);
    auto finite = select
                      ? select.getPred().getDefiningOp<stablehlo::IsFiniteOp>()
                      : stablehlo::IsFiniteOp();
    if (!finite || finite.getOperand() != select.getOnTrue() ||
        getSplat(select.getOnFalse()) != 0.0)
      break;
    access = access.with(select.getOnTrue());
  }
  auto reduce = getReduce<stablehlo::MaxOp>(access.value,
                                            [](double x) { return x < -6e4; });
  if (!reduce)
    return fail(max.value.getDefiningOp() ? max.value.getDefiningOp()
                                          : exp.value.getDefiningOp(),
                "exponential of scores minus what is no maximum over the keys");
  std::optional<Access> input = reducedInput(reduce, access);
  if (input && isSame(*input, scores))
    return true;
  auto base = [&](Value value) {
    Access at(value, space.create(cast<RankedTensorType>(value.getType())));
    while (stepKeep(space, at))
      ;
    return at.value;
  };
  if (base(reduce.getInputs()[0]) != base(scores.value))
    return fail(reduce, "exponential of scores minus a maximum of other values");
  return fail(reduce, "a softmax over other dims than the product contracts");
}

/// `guard` holds exactly in rows in which every score is -inf: not(any(s !=
/// -inf)) or all(s == -inf).
bool Matcher::matchGuard(const Access &guard, bool negated) {
  Access access = guard;
  while (true) {
    if (std::optional<Access> up = stepUp(space, access, /*slices=*/false)) {
      access = *up;
    } else if (auto notOp = access.value.getDefiningOp<stablehlo::NotOp>()) {
      access = access.with(notOp.getOperand());
      negated = !negated;
    } else {
      break;
    }
  }
  auto reduce = access.value.getDefiningOp<stablehlo::ReduceOp>();
  if (!reduce || reduce.getInputs().size() != 1)
    return false;
  Operation *reducer = stablehlo::getSimpleReducer(reduce.getBody());
  bool isAny = isa_and_nonnull<stablehlo::OrOp, stablehlo::MaxOp>(reducer);
  if ((!isAny &&
       !isa_and_nonnull<stablehlo::AndOp, stablehlo::MinOp>(reducer)) ||
      getSplat(reduce.getInitValues()[0]) != (isAny ? 0.0 : 1.0) ||
      isAny != negated)
    return false;
  std::optional<Access> element = reducedInput(reduce, access);
  if (!element)
    return false;
  bool isEqual = true;
  while (auto notOp = element->value.getDefiningOp<stablehlo::NotOp>()) {
    element = element->with(notOp.getOperand());
    isEqual = !isEqual;
  }
  auto compare = element->value.getDefiningOp<stablehlo::CompareOp>();
  if (!compare || getSplat(compare.getRhs()) != -INFINITY ||
      !isSame(element->with(compare.getLhs()), scores))
    return false;
  if (compare.getComparisonDirection() == stablehlo::ComparisonDirection::NE)
    isEqual = !isEqual;
  else if (compare.getComparisonDirection() !=
           stablehlo::ComparisonDirection::EQ)
    return false;
  return isEqual == !isAny;
}

/// Whether scores and probabilities have no users but what was matched.
bool Matcher::isOnlyUsedInside() {
  DenseSet<Operation *> inside(path.begin(), path.end());
  inside.insert(match.scores.path.begin(), match.scores.path.end());
  inside.insert(outerPath.begin(), outerPath.end());
  // What hangs on them: maxima, sums and guards, whose results lead back in.
  SmallVector<Operation *> worklist(inside.begin(), inside.end());
  auto allow = [&](Operation *op) {
    return isa<stablehlo::ReduceOp, stablehlo::ConvertOp, stablehlo::CompareOp,
               stablehlo::NotOp>(op);
  };
  std::function<Operation *(Operation *, unsigned)> escape =
      [&](Operation *op, unsigned depth) -> Operation * {
    if (op == match.root || depth > 24)
      return depth > 24 ? op : nullptr;
    for (Operation *user : op->getUsers()) {
      if (inside.contains(user) || isOpTriviallyDead(user))
        continue;
      bool small = isa<stablehlo::ReduceOp>(op);
      if (small)
        continue; // per-row values are kept by whoever else needs them
      if (!allow(user))
        return user;
      if (Operation *found = escape(user, depth + 1))
        return found;
    }
    return nullptr;
  };
  for (Operation *op : worklist)
    if (Operation *user = escape(op, 0)) {
      fail(user,
           "scores or probabilities are also used elsewhere, as by a gradient");
      return false;
    }
  return true;
}

bool Matcher::run(Operation *root) {
  match.root = root;
  auto type = dyn_cast<RankedTensorType>(root->getResult(0).getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() == 0)
    return false;
  match.rootDims = space.create(type);
  Access access(root->getResult(0), match.rootDims);
  if (!walkToProduct(access))
    return false;
  auto [lhs, rhs] = stepContraction(space, access, product, Role::Key);
  bool expOnLeft = static_cast<bool>(findExp(product.getLhs()));
  auto numbers = product.getDotDimensionNumbers();
  Access &probabilities = expOnLeft ? lhs : rhs;
  match.v = expOnLeft ? rhs : lhs;
  for (int64_t dim : expOnLeft ? numbers.getLhsContractingDimensions()
                               : numbers.getRhsContractingDimensions())
    llvm::append_range(match.dims.key, probabilities.axes[dim].atoms);
  AtomSet queryAtoms = probabilities.atoms(space);
  for (const AtomList &list : match.v.lists(space))
    for (Atom atom : list)
      if (!queryAtoms.contains(atom))
        match.dims.valueFeatures.push_back(atom);
  space.setRole(match.dims.valueFeatures, Role::Feature);
  if (!walkToExp(probabilities))
    return false;
  Operation *expOp = exp.value.getDefiningOp();

  // exp(scores - max)
  Access argument = exp.with(expOp->getOperand(0));
  while (stepKeep(space, argument))
    ;
  auto subtract = argument.value.getDefiningOp<stablehlo::SubtractOp>();
  if (!subtract)
    return fail(expOp,
                "exponential of scores from which no maximum was subtracted");
  path.push_back(subtract);
  for (Value value = expOp->getOperand(0); value != subtract.getResult();
       value = value.getDefiningOp()->getOperand(0))
    path.push_back(value.getDefiningOp());
  scores = argument.with(subtract.getLhs());
  if (!matchMax(argument.with(subtract.getRhs()), scores))
    return false;
  if (sums.empty()) {
    unnormalized = true;
    return fail(product, "exponentials that are not divided by their sum");
  }
  if (sums.size() > 1)
    return fail(product, "probabilities divided more than once");
  if (!matchSum(sums.front()))
    return false;
  for (auto &[guard, negated] : guards)
    if (!matchGuard(guard, negated))
      return fail(guard.value.getDefiningOp() ? guard.value.getDefiningOp()
                                              : product,
                  "probabilities selected by what is not 'no key is seen'");

  if (!peelScores(space, scores, match.scores, miss))
    return false;
  bool guarded = !guards.empty();
  match.empty = guarded             ? EmptyRows::Zero
                : match.scores.fill ? EmptyRows::Mean
                                    : EmptyRows::Nan;
  if (guarded && match.scores.fill)
    return fail(product, "a guard against -inf behind a finite fill");

  auto [left, right] = stepContraction(space, match.scores.result,
                                       match.scores.contraction, Role::Feature);
  auto hasKey = [&](const Access &operand) {
    AtomSet atoms = operand.atoms(space);
    return llvm::any_of(match.dims.key, [&](Atom key) {
      return llvm::any_of(space.resolve({key}),
                          [&](Atom a) { return atoms.contains(a); });
    });
  };
  if (hasKey(left) && hasKey(right))
    return fail(match.scores.contraction, "queries that vary along the keys");
  bool keyOnLeft = hasKey(left);
  match.q = keyOnLeft ? right : left;
  match.k = keyOnLeft ? left : right;
  auto scoreNumbers = match.scores.contraction.getDotDimensionNumbers();
  for (int64_t dim : scoreNumbers.getLhsContractingDimensions())
    llvm::append_range(match.dims.features, left.axes[dim].atoms);
  if (!isOnlyUsedInside() || !traceOperands(match, product, miss))
    return false;
  llvm::append_range(match.ops, outerPath);
  llvm::append_range(match.ops, path);
  llvm::append_range(match.ops, match.scores.path);
  return assignRoles(match, miss);
}

/// The division by the sums after the product, when the product is only moved
/// and converted on its way to it.
static Operation *findDivision(Operation *op) {
  while (op->getResult(0).hasOneUse()) {
    Operation *user = *op->getUsers().begin();
    if (isa<stablehlo::DivOp>(user) && user->getOperand(0) == op->getResult(0))
      return user;
    if (!isa<stablehlo::TransposeOp, stablehlo::ReshapeOp,
             stablehlo::ConvertOp>(user))
      return nullptr;
    op = user;
  }
  return nullptr;
}

/// The last of the ops that only move the result or convert it to a narrower
/// type: replacing that one leaves the fewest moves.
static Operation *findEnd(Operation *op) {
  while (op->getResult(0).hasOneUse()) {
    Operation *user = *op->getUsers().begin();
    auto convert = dyn_cast<stablehlo::ConvertOp>(user);
    if (!convert && !isa<stablehlo::TransposeOp, stablehlo::ReshapeOp>(user))
      return op;
    Type to = getElementTypeOrSelf(user->getResult(0).getType());
    Type from = getElementTypeOrSelf(op->getResult(0).getType());
    if (convert && (!isa<FloatType>(to) ||
                    to.getIntOrFloatBitWidth() >= from.getIntOrFloatBitWidth()))
      return op;
    op = user;
  }
  return op;
}

bool raise::matchAttention(stablehlo::DotGeneralOp product,
                           AttentionMatch &match, NearMiss &miss) {
  if (!findExp(product.getLhs()) && !findExp(product.getRhs()))
    return false;
  bool unnormalized = false;
  auto attempt = [&](Operation *root) {
    match = AttentionMatch();
    miss = NearMiss();
    Matcher matcher(product, match, miss);
    bool matched = matcher.run(root);
    unnormalized = matcher.unnormalized;
    return matched;
  };
  // A reshape behind the product may cut across dims: then without it.
  auto attemptAll = [&](Operation *op) {
    Operation *end = findEnd(op);
    return (end != op && attempt(end)) || attempt(op);
  };
  if (attemptAll(product))
    return true;
  Operation *division = findDivision(product);
  return unnormalized && division && attemptAll(division);
}
