//===- SplitProducts.cpp - products in parts of the contraction -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   a[m, k] b[k, n]    ->   sum over p of  a[m, p, k'] b[p, k', n]
//
// The parts are a batching dim of the product, and a reduction adds them up.
// The planner of products says what each division would take.
//
//===----------------------------------------------------------------------===//

#include "../FormRules.h"
#include "DeviceGemm.h"
#include "SplitReductions.h"
#include "tsp/Dialect/StableHLO/IR/ReduceOver.h"
#include "tsp/Support/TensorTypes.h"

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

namespace {

/// More parts than this are slower to add up than they are faster to compute.
constexpr int64_t kMostParts = 64;
/// Parts of lines of memory are whole lines of a tile.
constexpr int64_t kLeastPart = 64;

/// A contracted dim, by its number among them, and into how many parts it is
/// divided.
struct Division {
  unsigned contracted;
  int64_t parts;
};

/// The products of the parts, which are the first dim of the result.
sh::DotGeneralOp makePartialProducts(OpBuilder &b, sh::DotGeneralOp dot,
                                     Division division, Type compute) {
  struct Side {
    Value value;
    SmallVector<int64_t> batching, contracting;
  };
  auto split = [&](Value operand, ArrayRef<int64_t> batching,
                   ArrayRef<int64_t> contracting) {
    int64_t dim = contracting[division.contracted];
    Side side{splitDims(b, operand, dim, 1, division.parts), {dim}, {}};
    auto moved = [&](int64_t d) { return d + (d >= dim); };
    llvm::append_range(side.batching, llvm::map_range(batching, moved));
    llvm::append_range(side.contracting, llvm::map_range(contracting, moved));
    return side;
  };
  auto numbers = dot.getDotDimensionNumbers();
  Side lhs = split(dot.getLhs(), numbers.getLhsBatchingDimensions(),
                   numbers.getLhsContractingDimensions());
  Side rhs = split(dot.getRhs(), numbers.getRhsBatchingDimensions(),
                   numbers.getRhsContractingDimensions());
  auto dims = sh::DotDimensionNumbersAttr::get(dot.getContext(), lhs.batching,
                                               rhs.batching, lhs.contracting,
                                               rhs.contracting);
  SmallVector<int64_t> shape{division.parts};
  llvm::append_range(shape, dot.getType().getShape());
  return sh::DotGeneralOp::create(
      b, dot.getLoc(), RankedTensorType::get(shape, compute), lhs.value,
      rhs.value, dims, dot.getPrecisionConfigAttr(), dot.getAlgorithmAttr());
}

void eraseProducts(sh::DotGeneralOp dot) {
  Operation *sides[] = {dot.getLhs().getDefiningOp(),
                        dot.getRhs().getDefiningOp()};
  dot.erase();
  for (Operation *side : sides)
    side->erase();
}

/// Which sides of a product its kernel computes.
struct ComputedSides {
  explicit ComputedSides(sh::DotGeneralOp dot) {
    RecomputeRules rules;
    for (auto [computed, side] :
         {std::pair(&lhs, dot.getLhs()), std::pair(&rhs, dot.getRhs())}) {
      Value base = viewThrough(side, /*throughWidening=*/true).base;
      Operation *op = base.getDefiningOp();
      *computed = op && rules.isInPrologue(op) ? base : Value();
    }
  }
  bool contains(Value base) const { return base == lhs || base == rhs; }

private:
  Value lhs, rhs;
};

/// What a product takes that is stored as it is, in ns.
double estimate(sh::DotGeneralOp dot, const ComputedSides &computed,
                Type compute, const TargetDescription &target) {
  GemmKernel kernel;
  kernel.dot = dot;
  kernel.product =
      takeApart(dot, compute, rowMajorDims(dot.getType().getShape()));
  // What is in memory is an argument of the kernel that there will be.
  Block arguments;
  for (auto [argument, base] : {std::pair(&kernel.a, &kernel.product.baseA),
                                std::pair(&kernel.b, &kernel.product.baseB)})
    if (!computed.contains(*base))
      *base = *argument = arguments.addArgument(base->getType(), dot.getLoc());
  int64_t bytes = dot.getType().getElementTypeBitWidth() / 8;
  return planDeviceGemm(kernel, bytes, target)->time;
}

/// Whether a kernel moves the elements of the product: it would write them so
/// by itself, but those of a sum are moved by another kernel.
bool isTransposed(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<sh::TransposeOp>(user) ||
           (isa<sh::ReshapeOp, sh::ConvertOp>(user) &&
            isTransposed(user->getResult(0)));
  });
}

/// What storing the sums of the parts, reading them and adding them up takes.
double estimateSum(sh::DotGeneralOp dot, int64_t parts, Type compute,
                   const TargetDescription &target) {
  double elements = dot.getType().getNumElements();
  double bytes = 2.0 * parts * elements * compute.getIntOrFloatBitWidth() / 8;
  double time = bytes / target.memoryGBs + kLaunchTime;
  if (isTransposed(dot))
    time += 4 * elements / target.memoryGBs + kLaunchTime;
  return time;
}

/// Divisions whose parts are as easily read as the whole.
SmallVector<Division> getDivisions(sh::DotGeneralOp dot) {
  auto numbers = dot.getDotDimensionNumbers();
  StridedView lhs = viewThrough(dot.getLhs(), /*throughWidening=*/true);
  StridedView rhs = viewThrough(dot.getRhs(), /*throughWidening=*/true);
  SmallVector<Division> divisions;
  for (auto [i, l, r] :
       llvm::enumerate(numbers.getLhsContractingDimensions(),
                       numbers.getRhsContractingDimensions())) {
    int64_t size = typeOf(dot.getLhs()).getDimSize(l);
    bool isLine = lhs.strides[l] == 1 || rhs.strides[r] == 1;
    for (int64_t parts : getDivisors(size, kMostParts))
      if (!isLine || size / parts % kLeastPart == 0)
        divisions.push_back({unsigned(i), parts});
  }
  return divisions;
}

} // namespace

bool tsp::splitProduct(sh::DotGeneralOp dot, const TargetDescription &target) {
  Type compute = dotComputeType(dot);
  bool isEmpty = llvm::any_of(dot->getOperands(), [](Value operand) {
    return typeOf(operand).getNumElements() == 0;
  });
  if (!compute || isEmpty)
    return false;
  OpBuilder builder(dot);
  ComputedSides computed(dot);
  double least = estimate(dot, computed, compute, target);
  sh::DotGeneralOp best;
  for (Division division : getDivisions(dot)) {
    sh::DotGeneralOp partial =
        makePartialProducts(builder, dot, division, compute);
    double time = estimate(partial, computed, compute, target) +
                  estimateSum(dot, division.parts, compute, target);
    if (time < least) {
      least = time;
      std::swap(best, partial);
    }
    if (partial)
      eraseProducts(partial);
  }
  if (!best)
    return false;
  Location loc = dot.getLoc();
  auto scalar = RankedTensorType::get({}, compute);
  Value zero = sh::ConstantOp::create(
      builder, loc, cast<ElementsAttr>(builder.getZeroAttr(scalar)));
  Value sum = sh::reduceOver<sh::AddOp>(builder, loc, best, zero, {0});
  if (sum.getType() != dot.getType())
    sum = sh::ConvertOp::create(builder, loc, dot.getType(), sum);
  dot.replaceAllUsesWith(sum);
  dot.erase();
  return true;
}
