//===- RefuseUnsupported.cpp - say at once what cannot be compiled --------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/Sdy/IR/SdyDialect.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Frontend/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

namespace tsp {
#define GEN_PASS_DEF_REFUSEUNSUPPORTED
#include "tsp/Passes/Frontend.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

/// Places named in notes, beside the one of the error.
static constexpr int kMaxNotes = 9;

/// Larger tensors are mistakes; sizes in bytes below this do not overflow.
static constexpr double kMaxElements = double(int64_t(1) << 40);

/// Why a type cannot be compiled, or "".
static std::string getRefusal(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return "it is no ranked tensor";
  if (isa<ComplexType>(tensor.getElementType()))
    return "complex numbers are outside the subset; compute with the real and "
           "imaginary parts";
  for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
    if (tensor.isDynamicDim(dim))
      return ("dim " + Twine(dim) +
              " has no static size; export with static shapes (tsp.export makes "
              "symbolic sizes static)")
          .str();
  if (tensor.getEncoding())
    return "tensors with an encoding are outside the subset";
  double count = 1;
  for (int64_t size : tensor.getShape())
    count *= size;
  if (count > kMaxElements)
    return "it has more than 2^40 elements";
  return "";
}

/// What to do instead of a custom call.
static StringRef getAdvice(StringRef target) {
  if (target.contains("callback"))
    return "remove jax.debug.print, pure_callback and io_callback";
  if (target.starts_with("lapack_") || target.starts_with("cusolver") ||
      target == "Eigh" || target == "Qr")
    return "compute matrix decompositions before, and pass the result as an "
           "argument";
  if (target.contains("cudnn") || target.contains("triton") ||
      target == "tpu_custom_call")
    return "export the plain implementation (implementation=\"xla\", no Pallas "
           "kernels)";
  if (target.starts_with("SPMD") || target.starts_with("xla.sdy"))
    return "export with Shardy (jax_use_shardy_partitioner=True)";
  if (target == "shape_assertion")
    return "export with static shapes (tsp.export makes symbolic sizes static)";
  if (target == "ApproxTopK")
    return "use jax.lax.top_k";
  return "write it in plain JAX";
}

/// Bodies of collectives that ranks can combine by.
static bool isCollectiveReducer(Region &body) {
  Operation *reducer = stablehlo::getSimpleReducer(body);
  return reducer &&
         isa<stablehlo::AddOp, stablehlo::MulOp, stablehlo::MaxOp,
             stablehlo::MinOp, stablehlo::AndOp, stablehlo::OrOp>(reducer);
}

static std::string getCollectiveRefusal(Operation *op) {
  if (!op->getParentOfType<sdy::ManualComputationOp>())
    return "devices are only known inside jax.shard_map; use it, or shardings, "
           "in place of pmap";
  Region *body = op->getNumRegions() ? &op->getRegion(0) : nullptr;
  if (body && !isCollectiveReducer(*body))
    return "only add, multiply, maximum, minimum, and, or can combine values "
           "of devices";
  return "";
}

/// Why an op cannot be compiled, or "". Its types are checked elsewhere.
static std::string getRefusal(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  if (!llvm::is_contained({"builtin", "func", "stablehlo", "chlo", "sdy", "tsp"},
                          dialect))
    return ("programs contain ops of stablehlo, chlo, sdy and func, not of " +
            dialect)
        .str();
  if (StringRef reason = stablehlo::getRefusalReason(op->getName().getStringRef());
      !reason.empty())
    return reason.str();
  return TypeSwitch<Operation *, std::string>(op)
      .Case([](stablehlo::CustomCallOp call) {
        return ("the call of @" + call.getCallTargetName() + " is unknown; " +
                getAdvice(call.getCallTargetName()))
            .str();
      })
      .Case([](stablehlo::RngOp) {
        return "its state is hidden; use jax.random with a key";
      })
      .Case<stablehlo::GetDimensionSizeOp, stablehlo::DynamicBroadcastInDimOp,
            stablehlo::DynamicReshapeOp, stablehlo::DynamicPadOp,
            stablehlo::RealDynamicSliceOp>([](auto) {
        return "shapes have to be static; export with static shapes (tsp.export "
               "makes symbolic sizes static)";
      })
      .Case<chlo::LgammaOp, chlo::DigammaOp, chlo::NextAfterOp>([](auto) {
        return "the function is outside the subset; write it in plain JAX";
      })
      .Case<stablehlo::PartitionIdOp, stablehlo::AllReduceOp,
            stablehlo::AllGatherOp, stablehlo::ReduceScatterOp,
            stablehlo::AllToAllOp, stablehlo::CollectivePermuteOp,
            stablehlo::CollectiveBroadcastOp>(
          [](auto collective) { return getCollectiveRefusal(collective); })
      .Default([](Operation *) { return ""; });
}

namespace {
/// One error; what else is refused follows in its notes.
class Refusals {
public:
  void add(Location loc, const Twine &message) {
    if (!error)
      error.emplace(mlir::emitError(loc) << message);
    else if (numNotes++ < kMaxNotes)
      error->attachNote(loc) << "also: " << message;
  }
  bool any() const { return error.has_value(); }

private:
  std::optional<InFlightDiagnostic> error;
  int numNotes = 0;
};

struct RefuseUnsupported : tsp::impl::RefuseUnsupportedBase<RefuseUnsupported> {
  void runOnOperation() override {
    Refusals refusals;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto function = dyn_cast<func::FuncOp>(op))
        checkArguments(function, refusals);
      else
        checkOp(op, refusals);
    });
    if (refusals.any())
      signalPassFailure();
  }

private:
  static void checkArguments(func::FuncOp function, Refusals &refusals) {
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
      std::string reason = getRefusal(type);
      if (reason.empty())
        continue;
      Location loc = function.isExternal() ? function.getLoc()
                                           : function.getArgument(index).getLoc();
      std::string text = llvm::formatv("argument {0} of @{1}, {2}, is not "
                                       "supported: {3}",
                                       index, function.getName(), type, reason);
      refusals.add(isa<UnknownLoc>(loc) ? function.getLoc() : loc, text);
    }
  }

  static void checkOp(Operation *op, Refusals &refusals) {
    StringRef name = op->getName().getStringRef();
    if (std::string reason = getRefusal(op); !reason.empty()) {
      refusals.add(op->getLoc(), "'" + name + "' is not supported: " + reason);
      return;
    }
    // One entry a chain of values: what has a refused operand is a sequel.
    for (Type type : op->getOperandTypes())
      if (!getRefusal(type).empty())
        return;
    for (auto [index, type] : llvm::enumerate(op->getResultTypes()))
      if (std::string reason = getRefusal(type); !reason.empty()) {
        std::string text = llvm::formatv("result {0} of '{1}', {2}, is not "
                                         "supported: {3}",
                                         index, name, type, reason);
        refusals.add(op->getLoc(), text);
      }
  }
};
} // namespace
