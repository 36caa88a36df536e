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

static bool isHeavy(OpClass opClass) {
  return opClass == OpClass::Contraction || opClass == OpClass::Reduction ||
         opClass == OpClass::Irregular;
}

/// Host data that is cheaper to keep than to compute by a launch.
static bool isHostScalar(Operation *op) {
  return isa<stablehlo::ConstantOp>(op) && getNumElements(op->getResult(0)) == 1;
}

std::vector<std::unique_ptr<Cluster>> ClusterBuilder::build(Block &block) {
  for (Operation &op : llvm::reverse(block))
    if (classify(&op) != OpClass::Host)
      place(&op);
  return std::move(clusters);
}

void ClusterBuilder::place(Operation *op) {
  bool stored = false;
  llvm::SmallSetVector<Cluster *, 4> users;
  for (OpOperand &use : op->getUses()) {
    Operation *user = use.getOwner();
    if (!mayFuseInto(use)) {
      stored = true;
    } else if (user->getBlock() != op->getBlock()) {
      // A kernel inside a loop computes for itself what depends on nothing.
      stored |= !rules.isFromNothing(op);
    } else {
      ArrayRef<Cluster *> of = clustersOf[user];
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
              (users.size() == 1 || rules.isWorthRepeating(op, users.size()));
  if (!fuse)
    return makeRoot(op);
  for (Cluster *cluster : users)
    join(op, *cluster);
}

void ClusterBuilder::makeRoot(Operation *op) {
  auto cluster = std::make_unique<Cluster>();
  cluster->root = op;
  if (isHeavy(classify(op)))
    cluster->heavy = op;
  cluster->members[op] = {/*identity=*/true, /*repeated=*/false};
  clustersOf[op].push_back(cluster.get());
  clusters.push_back(std::move(cluster));
}

void ClusterBuilder::join(Operation *op, Cluster &cluster) {
  cluster.members[op] = describe(op, cluster);
  if (classify(op) == OpClass::Contraction)
    cluster.heavy = op;
  clustersOf[op].push_back(&cluster);
}

/// How `op` would be read by the members of `cluster` that use it.
Cluster::Member ClusterBuilder::describe(Operation *op, Cluster &cluster) {
  Cluster::Member result{/*identity=*/true, /*repeated=*/false};
  for (OpOperand &use : op->getUses()) {
    Operation *user = use.getOwner();
    auto it = cluster.members.find(user);
    if (it == cluster.members.end())
      continue;
    bool sameShape = getNumElements(use.get()) == getNumElements(user->getResult(0));
    result.identity &= it->second.identity && sameShape &&
                       classify(user) == OpClass::Elementwise;
    result.repeated |= it->second.repeated ||
                       (!sameShape && classify(user) == OpClass::Expand);
  }
  return result;
}

bool ClusterBuilder::fits(Operation *op, Cluster &cluster) {
  if (cluster.members.size() >= maxMembers)
    return false;
  OpClass opClass = classify(op);
  if (opClass == OpClass::Contraction)
    return fitsAsContraction(op, cluster);
  if (isHeavy(opClass))
    return false;
  // Beside a contraction the kernel reads tiles of the shape of the result.
  if (opClass == OpClass::Move && cluster.heavy &&
      classify(cluster.heavy) == OpClass::Contraction)
    return false;
  return !isExpensive(op) || !describe(op, cluster).repeated;
}

/// The elementwise ops after a contraction are its epilogue when they end in one
/// result of the same shape that reads the contraction at the same place.
bool ClusterBuilder::fitsAsContraction(Operation *op, Cluster &cluster) {
  if (cluster.heavy || !describe(op, cluster).identity)
    return false;
  return llvm::none_of(cluster.members, [](const auto &member) {
    return classify(member.first) == OpClass::Move;
  });
}
