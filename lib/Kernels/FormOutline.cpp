//===- FormOutline.cpp - from clusters to kernels and launches ------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormOutline.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Kernels/Kernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tsp;

namespace {

/// Copies a cluster into the body of a function, operands before users and in the
/// order of operands, so that equal computations give equal bodies.
class BodyCopy {
public:
  BodyCopy(const Cluster &cluster, RecomputeRules &rules, Block &body)
      : cluster(cluster), rules(rules), body(body) {}

  Operation *copy(Operation *op) {
    SmallVector<Value> operands;
    for (OpOperand &use : op->getOpOperands())
      operands.push_back(get(use));
    Operation *copied = op->clone();
    copied->setOperands(operands);
    copied->setDiscardableAttrs(ArrayRef<NamedAttribute>());
    body.push_back(copied);
    return copied;
  }

  ArrayRef<Value> getInputs() const { return inputs.getArrayRef(); }

private:
  Value get(OpOperand &use) {
    Value value = use.get();
    Operation *def = value.getDefiningOp();
    if (!isComputed(use)) {
      if (inputs.insert(value))
        body.addArgument(value.getType(), value.getLoc());
      auto at = llvm::find(inputs, value) - inputs.begin();
      return body.getArgument(at);
    }
    auto it = copies.find(def);
    if (it == copies.end()) {
      Operation *copied = copy(def);
      it = copies.try_emplace(def, copied).first;
    }
    return it->second->getResult(cast<OpResult>(value).getResultNumber());
  }

  /// Reshapes of what lies in a buffer are views, made by the host.
  bool isComputed(OpOperand &use) {
    Operation *def = use.get().getDefiningOp();
    if (!rules.mayFuseInto(use) || !(cluster.contains(def) || rules.isFromNothing(def)))
      return false;
    return classify(def) != OpClass::Reshape || isComputed(def->getOpOperand(0));
  }

  const Cluster &cluster;
  RecomputeRules &rules;
  Block &body;
  llvm::SetVector<Value> inputs;
  llvm::DenseMap<Operation *, Operation *> copies;
};

} // namespace

/// The value whose buffer a value lies in: views share that of what they view.
static Value getBuffer(Value value) {
  while (auto view = value.getDefiningOp<stablehlo::ReshapeOp>())
    value = view.getOperand();
  return value;
}

/// True if another input of the kernel lies in the buffer of input `number`.
static bool isAliased(ArrayRef<Value> inputs, size_t number) {
  Value buffer = getBuffer(inputs[number]);
  return llvm::count_if(inputs, [&](Value input) { return getBuffer(input) == buffer; }) > 1;
}

/// The argument whose buffer the result may take over, or -1: it has the type of
/// the result, and its element i is read for no other element of the result.
/// Prefers one that nobody reads after the launch.
static int64_t findTied(Block &body, const Cluster &cluster, ArrayRef<Value> inputs) {
  Operation *root = body.getTerminator()->getOperand(0).getDefiningOp();
  Type type = root->getResult(0).getType();
  if (classify(root) != OpClass::Elementwise)
    return -1;
  llvm::DenseSet<Operation *> identity;
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (classify(&op) == OpClass::Elementwise &&
        succeeded(verifyCompatibleShape(op.getResult(0).getType(), type)) &&
        llvm::all_of(op.getUsers(), [&](Operation *user) {
          return user == body.getTerminator() || identity.contains(user);
        }))
      identity.insert(&op);
  int64_t found = -1;
  for (BlockArgument arg : body.getArguments()) {
    if (arg.getType() != type || isAliased(inputs, arg.getArgNumber()) ||
        !llvm::all_of(arg.getUsers(), [&](Operation *user) {
          return identity.contains(user);
        }))
      continue;
    bool lastUse = llvm::all_of(inputs[arg.getArgNumber()].getUsers(), [&](Operation *user) {
      return cluster.contains(user);
    });
    if (lastUse)
      return arg.getArgNumber();
    if (found < 0)
      found = arg.getArgNumber();
  }
  return found;
}

/// Whether the kernel writes no more than a part of an argument's buffer, which
/// nothing else in it reads.
static bool isUpdateInPlace(Operation *root, ArrayRef<Value> inputs) {
  auto updated = dyn_cast_or_null<BlockArgument>(
      root->getNumOperands() > 0 ? root->getOperand(0) : Value());
  return isa<stablehlo::DynamicUpdateSliceOp, stablehlo::ScatterOp>(root) &&
         root->getNumResults() == 1 && updated && updated.hasOneUse() &&
         !isAliased(inputs, updated.getArgNumber());
}

LaunchedKernel tsp::outlineCluster(const Cluster &cluster, RecomputeRules &rules,
                                   ModuleOp module) {
  Operation *root = cluster.root;
  MLIRContext *context = module.getContext();
  SmallVector<Value> results;
  for (Value result : root->getResults())
    if (!result.use_empty())
      results.push_back(result);

  Region region;
  Block &body = region.emplaceBlock();
  BodyCopy bodyCopy(cluster, rules, body);
  Operation *copied = bodyCopy.copy(root);
  SmallVector<Value> returned;
  for (Value result : results)
    returned.push_back(copied->getResult(cast<OpResult>(result).getResultNumber()));
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(&body);
  func::ReturnOp::create(builder, root->getLoc(), returned);

  SmallVector<int64_t> tied(results.size(), -1);
  ArrayRef<Value> inputs = bodyCopy.getInputs();
  bool mustTie = isUpdateInPlace(copied, inputs);
  if (mustTie)
    tied[0] = cast<BlockArgument>(copied->getOperand(0)).getArgNumber();
  else if (results.size() == 1)
    tied[0] = findTied(body, cluster, inputs);
  bool hasAliases = false;
  for (size_t number = 0; number < inputs.size(); ++number)
    hasAliases |= isAliased(inputs, number);

  builder.setInsertionPointToEnd(module.getBody());
  auto type = FunctionType::get(context, ValueRange(inputs).getTypes(),
                                ValueRange(results).getTypes());
  auto kernel = func::FuncOp::create(builder, root->getLoc(), "k", type);
  kernel.setPrivate();
  kernel->setAttr(kKernelAttr, builder.getUnitAttr());
  kernel->setAttr(kTiedAttr, builder.getDenseI64ArrayAttr(tied));
  if (mustTie)
    kernel->setAttr(kMustTieAttr, builder.getUnitAttr());
  kernel.getBody().takeBody(region);

  builder.setInsertionPoint(root);
  auto launch = LaunchOp::create(builder, root->getLoc(), ValueRange(results).getTypes(),
                                 kernel.getName(), inputs);
  for (auto [from, to] : llvm::zip(results, launch.getResults()))
    from.replaceAllUsesWith(to);
  Operation *named =
      cluster.heavy && classify(cluster.heavy) != OpClass::Reduction ? cluster.heavy : root;
  return {launch, kernel, named->getName().stripDialect(), hasAliases};
}
