//===- FormClusters.cpp - which ops make a kernel together ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormClusters.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tsp;

/// Bounds compile time and the registers that a fused loop needs.
constexpr unsigned maxMembers = 64;
/// Each reduction of a kernel is another pass over a row.
constexpr int64_t maxReductions = 4;
/// What few rows that threads cannot share may have to do.
constexpr int64_t maxUnsharedElements = 16384;

static bool isHeavy(OpClass opClass) {
  return opClass == OpClass::Contraction || opClass == OpClass::Reduction ||
         opClass == OpClass::Irregular;
}

/// Host data that is cheaper to keep than to compute by a launch.
static bool isHostScalar(Operation *op) {
  return isa<stablehlo::ConstantOp>(op) && getNumElements(op->getResult(0)) == 1;
}

/// The value of which `op` is a mere view: it gives all of its elements in the same
/// order, after some transposes, reshapes and broadcasts that together move none.
static Value getViewed(Operation *op) {
  LoopMap loops = getRootLoops(op);
  while (op && isa<stablehlo::TransposeOp, stablehlo::BroadcastInDimOp,
                   stablehlo::ReshapeOp>(op) &&
         getNumElements(op->getOperand(0)) == getNumElements(op->getResult(0))) {
    loops = mapToOperand(op->getOpOperand(0), loops);
    SmallVector<int64_t> moved;
    llvm::copy_if(loops, std::back_inserter(moved), [](int64_t loop) { return loop != noLoop; });
    if (llvm::is_contained(moved, int64_t(otherIndex)))
      return {};
    if (llvm::is_sorted(moved))
      return op->getOperand(0);
    op = op->getOperand(0).getDefiningOp();
  }
  return {};
}

std::vector<std::unique_ptr<Cluster>> ClusterBuilder::build(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (classify(&op) != OpClass::Host)
      place(&op);
  return std::move(clusters);
}

void ClusterBuilder::place(Operation *op) {
  bool stored = false;
  llvm::SmallSetVector<Cluster *, 4> users;
  for (OpOperand &use : op->getUses()) {
    Operation *user = use.getOwner();
    bool isView = classify(user) == OpClass::Reshape && !rules.isFromNothing(user);
    ArrayRef<Cluster *> of = clustersOf[user];
    if (!rules.mayFuseInto(use)) {
      stored = true;
    } else if (user->getBlock() != op->getBlock()) {
      // A kernel inside a loop computes for itself what depends on nothing.
      stored |= isView || !rules.isFromNothing(op);
    } else if (isView && of.empty()) {
      stored |= !user->use_empty();
    } else {
      users.insert(of.begin(), of.end());
    }
  }
  if (rules.isFromNothing(op)) {
    for (Cluster *cluster : users)
      join(op, *cluster);
    if (stored && !isHostScalar(op))
      makeRoot(op);
    return;
  }
  if (!stored && users.empty())
    return; // Dead.
  bool fuse = !stored && llvm::all_of(users, [&](Cluster *c) { return fits(op, *c); }) &&
              (users.size() == 1 || rules.isWorthRepeating(op, users.size()) ||
               (rules.isInPrologue(op) && llvm::all_of(users, [&](Cluster *c) {
                  return describe(op, *c).operandView;
                })));
  if (fuse) {
    for (Cluster *cluster : users)
      join(op, *cluster);
  } else if (classify(op) == OpClass::Reshape) {
    return; // A view of the host.
  } else if (Value viewed = getViewed(op)) {
    OpBuilder builder(op);
    Value view =
        stablehlo::ReshapeOp::create(builder, op->getLoc(), op->getResultTypes(), viewed);
    op->replaceAllUsesWith(ValueRange(view));
    op->erase();
  } else {
    makeRoot(op);
  }
}

void ClusterBuilder::makeRoot(Operation *op) {
  auto cluster = std::make_unique<Cluster>();
  cluster->root = op;
  OpClass opClass = classify(op);
  Cluster::Member &member = cluster->members[op];
  member.loops = getRootLoops(op);
  member.evaluations = getNumElements(op->getResult(0));
  member.resultView = isResultView(op);
  if (isHeavy(opClass))
    cluster->heavy = op;
  if (opClass == OpClass::Reduction) {
    cluster->numReductions = 1;
    getDistinctLoops(member.loops, cluster->rowLoops);
  }
  clustersOf[op].push_back(cluster.get());
  clusters.push_back(std::move(cluster));
}

void ClusterBuilder::join(Operation *op, Cluster &cluster) {
  Cluster::Member member = describe(op, cluster);
  OpClass opClass = classify(op);
  if (isHeavy(opClass))
    cluster.heavy = op;
  if (opClass == OpClass::Reduction && cluster.numReductions++ == 0)
    getDistinctLoops(member.loops, cluster.rowLoops);
  cluster.members[op] = std::move(member);
  clustersOf[op].push_back(&cluster);
}

/// True if a value that is indexed so is computed in the innermost loop, and not
/// once for all of its steps.
bool ClusterBuilder::dependsOnInnermost(const Cluster &cluster, ArrayRef<int64_t> loops) {
  LoopMap rootLoops = getRootLoops(cluster.root);
  int64_t innermost = noLoop;
  for (int64_t loop : rootLoops)
    innermost = std::max(innermost, loop);
  return llvm::any_of(loops, [&](int64_t loop) {
    return loop == innermost ? loop >= 0 : loop == ownLoop || loop == otherIndex;
  });
}

/// How many elements of an operand are computed for that many of the user.
static int64_t countEvaluations(OpOperand &use, int64_t ofUser) {
  Operation *user = use.getOwner();
  int64_t elements = getNumElements(use.get());
  switch (classify(user)) {
  case OpClass::Reduction:
    return elements;
  case OpClass::Irregular:
    return isa<stablehlo::GatherOp>(user) && use.getOperandNumber() == 0 ? ofUser : elements;
  case OpClass::Move:
    // Each input of a concatenate gives a part of the result.
    return std::min(ofUser, int64_t(double(ofUser) * elements /
                                    std::max<int64_t>(getNumElements(user->getResult(0)), 1)));
  default:
    return ofUser;
  }
}

Cluster::Member ClusterBuilder::describe(Operation *op, Cluster &cluster) {
  Cluster::Member result;
  bool first = true;
  int64_t elements = getNumElements(op->getResult(0));
  result.resultView = isResultView(op) || classify(op) == OpClass::Contraction;
  for (OpOperand &use : op->getUses()) {
    Operation *user = use.getOwner();
    auto it = cluster.members.find(user);
    if (it == cluster.members.end())
      continue;
    const Cluster::Member &of = it->second;
    OpClass userClass = classify(user);
    LoopMap loops = mapToOperand(use, of.loops);
    int64_t evaluations = countEvaluations(use, of.evaluations);
    if (!dependsOnInnermost(cluster, loops))
      evaluations = std::min(evaluations, elements);
    bool identity = of.identity && userClass == OpClass::Elementwise &&
                    elements == getNumElements(user->getResult(0));
    bool operandView = userClass == OpClass::Contraction || of.operandView;
    if (first) {
      result.loops = loops;
      result.operandView = operandView;
    } else {
      for (auto [known, loop] : llvm::zip(result.loops, loops))
        known = known == loop ? known : int64_t(otherIndex);
      result.operandView |= operandView;
    }
    result.evaluations = std::max(result.evaluations, evaluations);
    result.identity &= identity;
    result.resultView &= first && of.resultView;
    first = false;
  }
  return result;
}

bool ClusterBuilder::fits(Operation *op, Cluster &cluster) {
  if (cluster.members.size() >= maxMembers)
    return false;
  OpClass opClass = classify(op);
  Cluster::Member member = describe(op, cluster);
  if (opClass == OpClass::Contraction)
    return fitsAsContraction(member, cluster);
  if (opClass == OpClass::Reduction)
    return fitsAsReduction(op, member, cluster);
  bool isRepeated = member.evaluations > getNumElements(op->getResult(0));
  if (opClass == OpClass::Irregular)
    return !cluster.heavy && !isRepeated;
  if (cluster.heavy && classify(cluster.heavy) == OpClass::Contraction) {
    // Operands are read through views or computed by a prologue; beside them the
    // kernel reads tiles of the shape of the result.
    if (member.operandView)
      return (isOperandView(op) || rules.isInPrologue(op)) &&
             llvm::all_of(op->getUsers(), [&](Operation *user) {
               return user == cluster.heavy || !cluster.contains(user) ||
                      cluster.members[user].operandView;
             });
    return opClass != OpClass::Move && opClass != OpClass::Reshape &&
           !(isExpensive(op) && isRepeated);
  }
  if (opClass == OpClass::Reshape) {
    // Worth having inside only between two ops of the kernel.
    Operation *def = op->getOperand(0).getDefiningOp();
    if (!def || def->getBlock() != op->getBlock() || !def->hasOneUse())
      return false;
    OpClass defClass = classify(def);
    return isLight(defClass) || defClass == OpClass::Contraction ||
           defClass == OpClass::Reduction;
  }
  return !isExpensive(op) || !isRepeated;
}

/// What follows a contraction in its kernel either is elementwise and reads it at
/// the same place (an epilogue), or only moves and converts its elements.
bool ClusterBuilder::fitsAsContraction(const Cluster::Member &member, Cluster &cluster) {
  if (cluster.heavy)
    return false;
  if (member.resultView)
    return true;
  return member.identity && llvm::none_of(cluster.members, [](const auto &entry) {
           OpClass opClass = classify(entry.first);
           return opClass == OpClass::Move || opClass == OpClass::Reshape;
         });
}

/// A reduction is computed once for each row of its kernel, a row being what all
/// reductions of the kernel keep.
bool ClusterBuilder::fitsAsReduction(Operation *op, const Cluster::Member &member,
                                     Cluster &cluster) {
  OpClass rootClass = classify(cluster.root);
  if ((cluster.heavy && classify(cluster.heavy) != OpClass::Reduction) ||
      (rootClass != OpClass::Elementwise && rootClass != OpClass::Expand &&
       rootClass != OpClass::Reduction) ||
      op->getNumResults() != 1 || cluster.numReductions >= maxReductions)
    return false;
  SmallVector<int64_t> loops;
  if (!getDistinctLoops(member.loops, loops) ||
      (cluster.numReductions > 0 && loops != cluster.rowLoops))
    return false;
  return getNumElements(op->getResult(0)) >= kSharedRows ||
         std::max(getNumElements(op->getOperand(0)),
                  getNumElements(cluster.root->getResult(0))) <=
             maxUnsharedElements;
}
