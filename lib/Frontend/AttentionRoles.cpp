//===- AttentionRoles.cpp - batch, heads, queries and keys ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any split of the dims that keys and values have into batch and heads is the
// same attention, and so is any split of the others into queries and groups of
// heads. The split that is right for sharding is read off the projections:
// heads are what a weight makes together with the features of a head.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::raise;

namespace {
/// Looks upwards for the contraction that made a value.
class ProjectionSearch {
public:
  explicit ProjectionSearch(IndexSpace &space) : space(space) {}

  /// The atoms among `wanted` that the value's contraction takes from the same
  /// operand as the features; nothing when no contraction made the value.
  std::optional<AtomSet> run(const Access &access, AtomSet wanted,
                             AtomSet features);

private:
  std::optional<AtomSet> stepPart(const Access &access, Operation *op,
                                  const AtomSet &wanted,
                                  const AtomSet &features);
  std::optional<AtomSet> stepDot(const Access &access,
                                 stablehlo::DotGeneralOp op,
                                 const AtomSet &wanted,
                                 const AtomSet &features);

  IndexSpace &space;
  unsigned budget = 256;
};
} // namespace

static AtomSet resolveSet(const IndexSpace &space, const AtomSet &set) {
  AtomSet result;
  for (Atom atom : set)
    result.insert_range(space.resolve({atom}));
  return result;
}

static AtomSet toSet(const IndexSpace &space, const AtomList &list) {
  AtomSet result;
  result.insert_range(space.resolve(list));
  return result;
}

static bool intersects(const AtomSet &a, const AtomSet &b) {
  return llvm::any_of(a, [&](Atom atom) { return b.contains(atom); });
}

std::optional<AtomSet> ProjectionSearch::stepDot(const Access &access,
                                                 stablehlo::DotGeneralOp op,
                                                 const AtomSet &wanted,
                                                 const AtomSet &features) {
  auto [lhs, rhs] = stepContraction(space, access, op, Role::Unknown);
  AtomSet left = lhs.atoms(space), right = rhs.atoms(space);
  bool fromLeft = intersects(left, features),
       fromRight = intersects(right, features);
  if (fromLeft == fromRight)
    return std::nullopt;
  AtomSet found;
  for (Atom atom : wanted)
    if ((fromLeft ? left : right).contains(atom) &&
        !(fromLeft ? right : left).contains(atom))
      found.insert(atom);
  return found;
}

/// Through ops that take or join parts: a dim of another size gets a new atom.
std::optional<AtomSet> ProjectionSearch::stepPart(const Access &access,
                                                  Operation *op,
                                                  const AtomSet &wanted,
                                                  const AtomSet &features) {
  auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(op);
  if (!update && !isa<stablehlo::SliceOp, stablehlo::DynamicSliceOp,
                      stablehlo::ConcatenateOp, stablehlo::PadOp>(op))
    return std::nullopt;
  auto operands = isa<stablehlo::ConcatenateOp>(op) ? op->getOperands()
                  : update ? op->getOperands().slice(1, 1)
                           : op->getOperands().take_front();
  for (Value operand : operands) {
    Access inner = access.with(operand);
    AtomSet innerWanted = wanted, innerFeatures = features;
    ArrayRef<int64_t> from = inner.getType().getShape(),
                      to = access.getType().getShape();
    for (auto [i, axis] : llvm::enumerate(inner.axes)) {
      if (from[i] == to[i])
        continue;
      AtomSet old = toSet(space, axis.atoms);
      bool isFeature = !old.empty() && llvm::all_of(old, [&](Atom atom) {
        return features.contains(atom);
      });
      axis = Axis();
      axis.atoms = space.create(from[i]);
      if (isFeature)
        innerFeatures.insert_range(axis.atoms);
      innerWanted.remove_if([&](Atom atom) { return old.contains(atom); });
    }
    if (std::optional<AtomSet> found = run(inner, innerWanted, innerFeatures))
      return found;
  }
  return std::nullopt;
}

std::optional<AtomSet> ProjectionSearch::run(const Access &access,
                                             AtomSet wanted, AtomSet features) {
  Operation *op = access.value.getDefiningOp();
  if (!op || budget == 0)
    return std::nullopt;
  --budget;
  AtomSet present = access.atoms(space);
  wanted = resolveSet(space, wanted);
  features = resolveSet(space, features);
  if (!intersects(present, features) ||
      !llvm::all_of(wanted, [&](Atom atom) { return present.contains(atom); }))
    return std::nullopt;
  if (std::optional<Access> up = stepUp(space, access, /*slices=*/false))
    return run(*up, wanted, features);
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
    return stepDot(access, dot, wanted, features);
  if (op->getNumResults() == 1 && stablehlo::isElementwise(op)) {
    for (Value operand : op->getOperands())
      if (std::optional<AtomSet> found =
              run(access.with(operand), wanted, features))
        return found;
    return std::nullopt;
  }
  return stepPart(access, op, wanted, features);
}

/// Atoms that stand in one dim of the access together with one of `with`.
static AtomSet sharesDim(const IndexSpace &space, const Access &access,
                         const AtomSet &with) {
  AtomSet found;
  for (const AtomList &list : access.lists(space))
    if (llvm::any_of(list, [&](Atom atom) { return with.contains(atom); }))
      found.insert_range(list);
  return found;
}

/// The atoms of `set` in the order in which the accesses have them.
static AtomList ordered(const IndexSpace &space,
                        ArrayRef<const Access *> accesses, const AtomSet &set) {
  AtomList result;
  auto add = [&](Atom atom) {
    if (set.contains(atom) && !llvm::is_contained(result, atom))
      result.push_back(atom);
  };
  for (const Access *access : accesses)
    for (const AtomList &list : access->lists(space))
      llvm::for_each(list, add);
  llvm::for_each(set, add);
  return result;
}

/// Which of the atoms of keys and values are heads.
static AtomSet findKvHeads(AttentionMatch &match, const AtomSet &shared) {
  IndexSpace &space = match.space;
  AtomSet features = toSet(space, match.dims.valueFeatures);
  if (auto found = ProjectionSearch(space).run(match.v, shared, features))
    return *found;
  if (auto found = ProjectionSearch(space).run(
          match.k, shared, toSet(space, match.dims.features)))
    return *found;
  AtomSet heads = sharesDim(space, match.v, features);
  for (auto [i, list] : llvm::enumerate(match.v.lists(space)))
    if (i > 0)
      heads.insert_range(list);
  return heads;
}

/// Which of the atoms that only queries have are heads of a group.
static AtomSet findGroups(AttentionMatch &match, const AtomSet &own,
                          const AtomSet &kvHeads) {
  IndexSpace &space = match.space;
  AtomSet features = toSet(space, match.dims.features), wanted;
  AtomSet present = match.q.atoms(space);
  for (Atom atom : own)
    if (present.contains(atom))
      wanted.insert(atom);
  if (auto found = ProjectionSearch(space).run(match.q, wanted, features))
    return *found;
  AtomSet with = features;
  with.insert_range(kvHeads);
  AtomSet groups = sharesDim(space, match.q, with);
  groups.remove_if([&](Atom atom) { return !own.contains(atom); });
  if (own.size() - groups.size() <= 1)
    return groups;
  // Masks vary along queries and rarely along heads; else [.., S, H, G, E].
  AtomSet masked;
  for (const Predicate &predicate : match.scores.masks)
    masked.insert_range(varies(space, predicate.access));
  AtomSet rest = own;
  rest.remove_if([&](Atom atom) {
    return groups.contains(atom) || masked.contains(atom);
  });
  if (rest.size() + groups.size() < own.size()) {
    groups.insert_range(rest);
    return groups;
  }
  Atom previous = -1, chosen = -1;
  bool isNeighbour = false;
  for (const AtomList &list : match.q.lists(space))
    for (Atom atom : list) {
      if (own.contains(atom) && !groups.contains(atom) && !isNeighbour) {
        chosen = atom;
        isNeighbour = kvHeads.contains(previous);
      }
      previous = atom;
    }
  if (chosen >= 0)
    groups.insert(chosen);
  return groups;
}

bool raise::assignRoles(AttentionMatch &match, NearMiss &miss) {
  IndexSpace &space = match.space;
  AttentionDims &dims = match.dims;
  AtomSet inK = match.k.atoms(space), inV = match.v.atoms(space), shared, own;
  AtomSet values = toSet(space, dims.valueFeatures);
  for (const AtomList &list : match.rootDims)
    for (Atom atom : space.resolve(list)) {
      if (values.contains(atom))
        continue;
      if (inK.contains(atom) != inV.contains(atom)) {
        miss = {match.scores.contraction,
                "keys and values that vary along different dims"};
        return false;
      }
      (inK.contains(atom) ? shared : own).insert(atom);
    }
  AtomSet kvHeads = findKvHeads(match, shared);
  shared = resolveSet(space, shared);
  own = resolveSet(space, own);
  kvHeads = resolveSet(space, kvHeads);
  AtomSet groups = findGroups(match, own, kvHeads);
  AtomSet batch, heads, group, query;
  for (Atom atom : resolveSet(space, shared))
    (kvHeads.contains(atom) ? heads : batch).insert(atom);
  groups = resolveSet(space, groups);
  for (Atom atom : resolveSet(space, own))
    (groups.contains(atom) ? group : query).insert(atom);
  dims.batch = ordered(space, {&match.q, &match.k}, batch);
  dims.kvHeads = ordered(space, {&match.q, &match.k}, heads);
  dims.groups = ordered(space, {&match.q}, group);
  dims.query = ordered(space, {&match.q}, query);
  dims.key = ordered(space, {&match.k}, toSet(space, dims.key));
  dims.features = ordered(space, {&match.q}, toSet(space, dims.features));
  dims.valueFeatures =
      ordered(space, {&match.v}, toSet(space, dims.valueFeatures));
  space.setRole(dims.batch, Role::Batch);
  space.setRole(dims.kvHeads, Role::KvHead);
  space.setRole(dims.groups, Role::Group);
  space.setRole(dims.query, Role::Query);
  space.setRole(dims.key, Role::Key);
  return true;
}
