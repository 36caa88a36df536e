//===- AttentionMask.cpp - predicates as what tsp.sdpa says ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMask.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::raise;
using stablehlo::ComparisonDirection;

AtomList AttentionDims::heads() const {
  AtomList list = kvHeads;
  llvm::append_range(list, groups);
  return list;
}

//===----------------------------------------------------------------------===//
// Conjuncts
//===----------------------------------------------------------------------===//

/// `value` when the op is `select(value, true, false)` or the like: a truth
/// value turned into a number, or the other way round.
static std::optional<Predicate> stepTruth(const Predicate &predicate) {
  Operation *op = predicate.access.value.getDefiningOp();
  auto negate = [&](Value value, bool negated) {
    return Predicate{predicate.access.with(value),
                     predicate.negated != negated};
  };
  if (auto notOp = dyn_cast_or_null<stablehlo::NotOp>(op))
    return negate(notOp.getOperand(), true);
  // compare NE, convert(p), 0
  auto compare = dyn_cast_or_null<stablehlo::CompareOp>(op);
  if (!compare ||
      (compare.getComparisonDirection() != ComparisonDirection::NE &&
       compare.getComparisonDirection() != ComparisonDirection::EQ))
    return std::nullopt;
  std::optional<double> number = getSplat(compare.getRhs());
  Value inner = compare.getLhs();
  if (auto convert = inner.getDefiningOp<stablehlo::ConvertOp>())
    inner = convert.getOperand();
  if (!number || (*number != 0 && *number != 1) ||
      !getElementTypeOrSelf(inner.getType()).isInteger(1))
    return std::nullopt;
  bool isEqual = compare.getComparisonDirection() == ComparisonDirection::EQ;
  return negate(inner, isEqual == (*number == 0));
}

void raise::addConjuncts(IndexSpace &space, Predicate predicate,
                         SmallVectorImpl<Predicate> &out) {
  while (true) {
    if (std::optional<Access> up =
            stepUp(space, predicate.access, /*slices=*/true))
      predicate.access = *up;
    else if (std::optional<Predicate> inner = stepTruth(predicate))
      predicate = *inner;
    else
      break;
  }
  const Access &access = predicate.access;
  auto recurse = [&](Value value, bool negated) {
    addConjuncts(space, {access.with(value), negated}, out);
  };
  std::optional<double> constant = getSplat(access.value);
  if (constant && (*constant != 0) != predicate.negated)
    return; // always true
  Operation *op = access.value.getDefiningOp();
  bool isAnd =
      isa_and_nonnull<stablehlo::AndOp, stablehlo::MulOp, stablehlo::MinOp>(op);
  bool isOr =
      isa_and_nonnull<stablehlo::OrOp, stablehlo::AddOp, stablehlo::MaxOp>(op);
  if (predicate.negated ? isOr : isAnd) {
    recurse(op->getOperand(0), predicate.negated);
    recurse(op->getOperand(1), predicate.negated);
    return;
  }
  if (auto select = dyn_cast_or_null<stablehlo::SelectOp>(op)) {
    // select(p, x, c) and select(p, c, x), c the value that makes it false.
    auto isFalse = [&](Value value) {
      std::optional<double> number = getSplat(value);
      return number && (*number != 0) == predicate.negated;
    };
    if (isFalse(select.getOnFalse())) {
      recurse(select.getPred(), false);
      recurse(select.getOnTrue(), predicate.negated);
      return;
    }
    if (isFalse(select.getOnTrue())) {
      recurse(select.getPred(), true);
      recurse(select.getOnFalse(), predicate.negated);
      return;
    }
  }
  out.push_back(predicate);
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

namespace {
/// Which roles a value varies along.
struct Dependence {
  bool query = false, key = false, head = false;

  void add(Role role) {
    query |= role == Role::Query;
    key |= role == Role::Key;
    head |= role != Role::Query && role != Role::Key && role != Role::Batch;
  }
};

/// K <= Q, or K >= Q.
struct Bound {
  Sides sides;
  bool isUpper;
};
} // namespace

static Dependence dependence(IndexSpace &space, const Access &access) {
  Dependence result;
  for (Atom atom : varies(space, access))
    result.add(space.roleOf(atom));
  return result;
}

/// Terms that vary along the key to `key`, all others to `query`. False when a
/// term varies along both or along heads.
static bool separate(IndexSpace &space, const Linear &all, Linear &query,
                     Linear &key) {
  query.constant = all.constant;
  for (auto [atom, coefficient] : all.atoms) {
    Dependence d;
    d.add(space.roleOf(atom));
    if (d.head)
      return false;
    (d.key ? key : query).atoms[atom] = coefficient;
  }
  for (const Linear::Term &term : all.terms) {
    Dependence d = dependence(space, term.access);
    if (d.head || (d.key && d.query))
      return false;
    (d.key ? key : query).terms.push_back(term);
  }
  return true;
}

static bool isNegative(const Linear &key) {
  return key.atoms.empty() ? key.terms.front().coefficient < 0
                           : key.atoms.front().second < 0;
}

static ComparisonDirection invert(ComparisonDirection direction) {
  switch (direction) {
  case ComparisonDirection::EQ:
    return ComparisonDirection::NE;
  case ComparisonDirection::NE:
    return ComparisonDirection::EQ;
  case ComparisonDirection::GE:
    return ComparisonDirection::LT;
  case ComparisonDirection::GT:
    return ComparisonDirection::LE;
  case ComparisonDirection::LE:
    return ComparisonDirection::GT;
  case ComparisonDirection::LT:
    return ComparisonDirection::GE;
  }
  llvm_unreachable("covered switch");
}

/// The two sides of a comparison of integers, as lhs - rhs = query + key.
static bool getSides(IndexSpace &space, const Predicate &predicate,
                     Sides &sides, ComparisonDirection &direction) {
  auto compare = predicate.access.value.getDefiningOp<stablehlo::CompareOp>();
  if (!compare)
    return false;
  auto type =
      dyn_cast<IntegerType>(getElementTypeOrSelf(compare.getLhs().getType()));
  if (!type)
    return false;
  direction = compare.getComparisonDirection();
  if (predicate.negated)
    direction = invert(direction);
  Access lhs = predicate.access.with(compare.getLhs());
  Access rhs = predicate.access.with(compare.getRhs());
  Builder builder(type.getContext());
  bool isSigned = !type.isUnsigned() && type.getWidth() > 1;
  if (direction == ComparisonDirection::NE ||
      (!isSigned && direction != ComparisonDirection::EQ))
    return false;
  Linear all;
  if (isSigned) {
    all = subtract(linearize(space, lhs), linearize(space, rhs));
  } else {
    all.terms.push_back({lhs, 1});
    all.terms.push_back({rhs, -1});
  }
  sides.type = type.getWidth() < 32 ? builder.getI32Type()
               : type.isUnsigned()  ? builder.getI64Type()
                                    : Type(type);
  // Unsigned values are only asked whether they are equal, which a conversion
  // to a signed type of the same width keeps.
  return separate(space, all, sides.query, sides.key);
}

MaskPlan raise::planMask(IndexSpace &space, ArrayRef<Predicate> conjuncts,
                         bool singleQuery) {
  MaskPlan plan;
  SmallVector<std::pair<Bound, Predicate>, 4> bounds;
  auto keep = [&](const Predicate &predicate) {
    Dependence d = dependence(space, predicate.access);
    if (d.head || (d.key && d.query))
      plan.others.push_back(predicate);
    else
      (d.query ? plan.queryOnly : plan.keyOnly).push_back(predicate);
  };
  for (const Predicate &predicate : conjuncts) {
    Sides sides;
    ComparisonDirection direction;
    bool canSplit = getSides(space, predicate, sides, direction);
    bool keyed =
        canSplit && (!sides.key.atoms.empty() || !sides.key.terms.empty());
    Dependence d = dependence(space, predicate.access);
    if (!keyed || (!d.query && direction == ComparisonDirection::EQ)) {
      keep(predicate);
      continue;
    }
    if (direction == ComparisonDirection::EQ) {
      if (plan.segments) {
        keep(predicate);
        continue;
      }
      (isNegative(sides.key) ? sides.key : sides.query).negate();
      plan.segments = sides;
      continue;
    }
    // query + key <= 0
    if (direction == ComparisonDirection::GE ||
        direction == ComparisonDirection::GT) {
      sides.query.negate();
      sides.key.negate();
    }
    if (direction == ComparisonDirection::LT ||
        direction == ComparisonDirection::GT)
      ++sides.query.constant;
    bool isUpper = !isNegative(sides.key);
    (isUpper ? sides.query : sides.key).negate();
    // A bound that is the same for all queries is padding, unless there is one.
    if (!d.query && !singleQuery) {
      keep(predicate);
      continue;
    }
    bounds.push_back({{sides, isUpper}, predicate});
  }

  // The first upper bound makes the causal mask; bounds by the same values at
  // another distance tighten it or make the window.
  auto first =
      llvm::find_if(bounds, [](auto &entry) { return entry.first.isUpper; });
  if (first == bounds.end())
    first = bounds.begin();
  if (first == bounds.end())
    return plan;
  plan.positions = first->first.sides;
  plan.causal = first->first.isUpper;
  Linear &query = plan.positions->query;
  SmallVector<int64_t> distances; // K >= Q - distance
  for (auto &[bound, predicate] : bounds) {
    const Linear &other = bound.sides.query;
    bool same = other.sameTerms(query) &&
                bound.sides.key.sameTerms(plan.positions->key) &&
                bound.sides.type == plan.positions->type;
    if (!same)
      keep(predicate);
    else if (bound.isUpper)
      query.constant = std::min(query.constant, other.constant);
  }
  auto isSameLower = [&](const Bound &bound) {
    return !bound.isUpper && bound.sides.query.sameTerms(query) &&
           bound.sides.key.sameTerms(plan.positions->key) &&
           bound.sides.type == plan.positions->type;
  };
  std::optional<int64_t> lower;
  for (auto &[bound, predicate] : bounds)
    if (isSameLower(bound))
      lower = std::max(lower.value_or(bound.sides.query.constant),
                       bound.sides.query.constant);
  if (!lower)
    return plan;
  if (!plan.causal)
    query.constant = std::max<int64_t>(*lower, 0);
  // K >= Q + lower is (Q + constant) - K < constant - lower + 1.
  plan.window = query.constant - *lower + 1;
  if (*plan.window < 1) { // a distance at which no key is left
    plan.window.reset();
    for (auto &[bound, predicate] : bounds)
      if (isSameLower(bound))
        plan.others.push_back(predicate);
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

static bool variesAlong(IndexSpace &space, const AtomSet &atoms,
                        const AtomList &list) {
  return llvm::any_of(space.resolve(list),
                      [&](Atom atom) { return atoms.contains(atom); });
}

namespace {
/// Atoms and shape of a side of positions or segments: [S], or [B,S] when the
/// batches differ.
struct SideShape {
  SideShape(IndexSpace &space, const AtomSet &varying, const AtomList &sequence,
            const AttentionDims &dims) {
    AtomList batch = space.resolve(dims.batch), list = space.resolve(sequence);
    if (variesAlong(space, varying, batch)) {
      atoms = batch;
      sizes.push_back(space.sizeOf(batch));
    }
    llvm::append_range(atoms, list);
    sizes.push_back(space.sizeOf(list));
  }

  AtomList atoms;
  SmallVector<int64_t> sizes;
};
} // namespace

static Value emitSide(OpBuilder &builder, Location loc, IndexSpace &space,
                      const Linear &side, const AtomList &sequence,
                      const AttentionDims &dims, Type type) {
  AtomSet atoms;
  for (auto [atom, coefficient] : side.atoms)
    atoms.insert(atom);
  for (const Linear::Term &term : side.terms)
    atoms.insert_range(varies(space, term.access));
  SideShape shape(space, atoms, sequence, dims);
  return reshapeTo(builder, loc,
                   emitLinear(builder, loc, space, side, shape.atoms, type),
                   shape.sizes);
}

Value raise::emitOverScores(OpBuilder &builder, Location loc, IndexSpace &space,
                            ArrayRef<Access> accesses,
                            const AttentionDims &dims,
                            function_ref<Value(ArrayRef<Value>)> combine) {
  AtomSet atoms;
  for (const Access &access : accesses)
    atoms.insert_range(varies(space, access));
  SmallVector<AtomList> groups{dims.batch, dims.heads(), dims.query, dims.key};
  AtomList all;
  SmallVector<int64_t> shape;
  for (auto [i, group] : llvm::enumerate(groups)) {
    group = space.resolve(group);
    if (i != 3 && !variesAlong(space, atoms, group))
      group.clear();
    llvm::append_range(all, group);
    shape.push_back(space.sizeOf(group));
  }
  SmallVector<Value> values;
  for (const Access &access : accesses)
    values.push_back(project(builder, loc, space, access, all));
  return reshapeTo(builder, loc, combine(values), shape);
}

static Value conjunction(OpBuilder &builder, Location loc,
                         ArrayRef<Predicate> predicates,
                         ArrayRef<Value> values) {
  Value all;
  for (auto [predicate, value] : llvm::zip(predicates, values)) {
    Value positive =
        predicate.negated
            ? stablehlo::NotOp::create(builder, loc, value).getResult()
            : value;
    all =
        all ? stablehlo::AndOp::create(builder, loc, all, positive).getResult()
            : positive;
  }
  return all;
}

/// `id` where a predicate fails and 0 where all hold, as a side of segments.
static Value emitFailed(OpBuilder &builder, Location loc, IndexSpace &space,
                        ArrayRef<Predicate> predicates, int64_t id,
                        const AtomList &sequence, const AttentionDims &dims) {
  AtomSet atoms;
  for (const Predicate &predicate : predicates)
    atoms.insert_range(varies(space, predicate.access));
  SideShape shape(space, atoms, sequence, dims);
  auto type = RankedTensorType::get(shape.sizes, builder.getI32Type());
  if (predicates.empty())
    return emitSplat(builder, loc, type, 0);
  SmallVector<Value> values;
  for (const Predicate &predicate : predicates)
    values.push_back(
        project(builder, loc, space, predicate.access, shape.atoms));
  Value holds = reshapeTo(
      builder, loc, conjunction(builder, loc, predicates, values), shape.sizes);
  return stablehlo::SelectOp::create(builder, loc, holds,
                                     emitSplat(builder, loc, type, 0),
                                     emitSplat(builder, loc, type, id));
}

MaskValues raise::emitMask(OpBuilder &builder, Location loc, IndexSpace &space,
                           const MaskPlan &plan, const AttentionDims &dims) {
  MaskValues values;
  auto sides = [&](const Sides &s, Value &query, Value &key) {
    query = emitSide(builder, loc, space, s.query, dims.query, dims, s.type);
    key = emitSide(builder, loc, space, s.key, dims.key, dims, s.type);
  };
  if (plan.positions)
    sides(*plan.positions, values.qPositions, values.kvPositions);
  SmallVector<Predicate> masked = plan.others, keys = plan.keyOnly;
  if (plan.segments) {
    sides(*plan.segments, values.qSegments, values.kvSegments);
    llvm::append_range(masked, plan.queryOnly);
  } else if (!plan.queryOnly.empty() ||
             (!plan.others.empty() && !keys.empty())) {
    values.qSegments =
        emitFailed(builder, loc, space, plan.queryOnly, 1, dims.query, dims);
    values.kvSegments =
        emitFailed(builder, loc, space, keys, 2, dims.key, dims);
    keys.clear();
  }
  llvm::append_range(masked, keys);
  if (masked.empty())
    return values;
  SmallVector<Access> accesses =
      llvm::map_to_vector(masked, [](const Predicate &p) { return p.access; });
  values.mask = emitOverScores(
      builder, loc, space, accesses, dims, [&](ArrayRef<Value> parts) {
        return conjunction(builder, loc, masked, parts);
      });
  return values;
}
