//===- SplitReductions.cpp - reductions in two steps ----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitReductions.h"
#include "../FormRules.h"
#include "../Reductions.h"
#include "tsp/Kernels/GPU/Passes.h"
#include "tsp/Support/TensorTypes.h"

#include "mlir/IR/IRMapping.h"

namespace tsp {
#define GEN_PASS_DEF_GPUSPLITREDUCTIONS
#include "tsp/Passes/GPU.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

/// Threads of a block, and loads that each has on its way (DeviceNest).
static constexpr int64_t kThreads = 256, kLoads = 4;
/// Columns that a block sums next to each other.
static constexpr int64_t kColumns = 32;
/// Elements of a row that keep a block busy.
static constexpr int64_t kBusyRow = 4096;
/// Parts of a sorted row fit into shared memory.
static constexpr int64_t kSortedPart = 2048;

SmallVector<int64_t> tsp::getDivisors(int64_t size, int64_t most) {
  SmallVector<int64_t> divisors;
  for (int64_t i = 2; i <= std::min(size, most); ++i)
    if (size % i == 0)
      divisors.push_back(i);
  return divisors;
}

static Value reshape(OpBuilder &builder, Value value, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, typeOf(value).getElementType());
  return sh::ReshapeOp::create(builder, value.getLoc(), type, value);
}

Value tsp::splitDims(OpBuilder &builder, Value value, int64_t dim,
                     int64_t count, int64_t parts) {
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  int64_t size = 1;
  for (int64_t extent : shape.slice(dim, count))
    size *= extent;
  SmallVector<int64_t> to(shape.take_front(dim));
  to.append({parts, size / parts});
  llvm::append_range(to, shape.drop_front(dim + count));
  return reshape(builder, value, to);
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

namespace {

/// What a reduction reads and how it is divided.
struct ReduceShape {
  explicit ReduceShape(sh::ReduceOp reduce);

  /// Reduced dims next to each other, from the outermost on, become one dim.
  int64_t first, count = 1, extent = 1;
  int64_t results, bytes, elementBytes;
  /// Results that lie next to each other are reduced by threads next to each
  /// other; else each by a block.
  bool isColumns;
};

ReduceShape::ReduceShape(sh::ReduceOp reduce) {
  SmallVector<int64_t> dims(reduce.getDimensions());
  llvm::sort(dims);
  RankedTensorType type = typeOf(reduce.getInputs().front());
  first = dims.front();
  while (count < int64_t(dims.size()) && dims[count] == first + count)
    ++count;
  for (int64_t size : type.getShape().slice(first, count))
    extent *= size;
  results = typeOf(reduce->getResult(0)).getNumElements();
  elementBytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  bytes = type.getNumElements() * elementBytes;
  isColumns = dims.back() != type.getRank() - 1;
}

/// Time of a step with `results` results, in ns.
double estimate(const ReduceShape &shape, int64_t results,
                const TargetDescription &target) {
  int64_t blocks =
      shape.isColumns ? llvm::divideCeil(results, kColumns) : results;
  int64_t access = shape.isColumns ? shape.elementBytes : 16;
  return estimateReading(shape.bytes, blocks, kThreads * kLoads * access,
                         target);
}

int64_t chooseParts(const ReduceShape &shape, const TargetDescription &target) {
  int64_t best = 1;
  double least = estimate(shape, shape.results, target);
  int64_t most = shape.extent;
  if (!shape.isColumns)
    most = shape.bytes / shape.elementBytes / shape.results / kBusyRow;
  for (int64_t parts : getDivisors(shape.extent, most)) {
    int64_t results = parts * shape.results;
    double time = estimate(shape, results, target) + kLaunchTime +
                  2.0 * results * shape.elementBytes / target.memoryGBs;
    if (time < least) {
      least = time;
      best = parts;
    }
  }
  return best;
}

/// Whether results are rounded to less than what they are computed in: parts
/// would be rounded too.
bool isRounded(sh::ReduceOp reduce) {
  Type type = typeOf(reduce.getInputs().front()).getElementType();
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
}

} // namespace

bool tsp::splitReduce(sh::ReduceOp reduce, const TargetDescription &target) {
  if (reduce.getDimensions().empty() || isRounded(reduce) ||
      typeOf(reduce.getInputs().front()).getNumElements() == 0)
    return false;
  ReduceShape shape(reduce);
  // The rows of a norm or a softmax stay in one kernel with what reads them.
  if (!shape.isColumns && shape.results >= kSharedRows)
    return false;
  int64_t parts = chooseParts(shape, target);
  if (parts == 1)
    return false;

  OpBuilder builder(reduce);
  Location loc = reduce.getLoc();
  unsigned numInputs = reduce.getInputs().size();
  SmallVector<Value> operands;
  for (Value input : reduce.getInputs())
    operands.push_back(
        splitDims(builder, input, shape.first, shape.count, parts));
  // The inits are the second step's; the first starts from what changes
  // nothing.
  RankedTensorType scalar = typeOf(reduce.getInitValues().front());
  if (TypedAttr neutral = getNeutralElement(
          sh::getSimpleReducer(reduce.getBody()), scalar.getElementType()))
    operands.push_back(sh::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(scalar, neutral)));
  else
    llvm::append_range(operands, reduce.getInitValues());
  SmallVector<int64_t> dims{shape.first + 1};
  for (int64_t dim : reduce.getDimensions())
    if (dim >= shape.first + shape.count)
      dims.push_back(dim + 2 - shape.count);
  auto step = [&](ValueRange operands, ArrayRef<int64_t> dims) {
    auto result =
        sh::ReduceOp::create(builder, loc, operands.take_front(numInputs),
                             operands.drop_front(numInputs), dims);
    IRMapping mapping;
    reduce.getBody().cloneInto(&result.getBody(), mapping);
    return result;
  };
  // No dim before the first reduced one is reduced: the parts keep its place.
  SmallVector<Value> partial(step(operands, dims)->getResults());
  llvm::append_range(partial, reduce.getInitValues());
  sh::ReduceOp total = step(partial, {shape.first});
  reduce->replaceAllUsesWith(total->getResults());
  reduce->erase();
  return true;
}

//===----------------------------------------------------------------------===//
// top_k
//===----------------------------------------------------------------------===//

/// Values and their places in the whole row, the greatest first.
static sh::SortOp sortParts(OpBuilder &builder, Value values, Value places) {
  Location loc = values.getLoc();
  auto sort = sh::SortOp::create(
      builder, loc, TypeRange{values.getType(), places.getType()},
      ValueRange{values, places}, typeOf(values).getRank() - 1,
      /*is_stable=*/true);
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types;
  for (Value operand : {values, places})
    types.append(2,
                 RankedTensorType::get({}, typeOf(operand).getElementType()));
  Block *body = builder.createBlock(&sort.getComparator(), {}, types,
                                    SmallVector<Location>(4, loc));
  // As top_k orders floats: all of them.
  sh::ComparisonTypeAttr kind;
  if (isa<FloatType>(typeOf(values).getElementType()))
    kind = sh::ComparisonTypeAttr::get(builder.getContext(),
                                       sh::ComparisonType::TOTALORDER);
  auto greater = sh::ComparisonDirectionAttr::get(builder.getContext(),
                                                  sh::ComparisonDirection::GT);
  Value isBefore = sh::CompareOp::create(
      builder, loc, RankedTensorType::get({}, builder.getI1Type()),
      body->getArgument(0), body->getArgument(1), greater, kind);
  sh::ReturnOp::create(builder, loc, isBefore);
  return sort;
}

/// The k greatest of each part, sorted: as they lie in the order of the parts,
/// equal elements stay in the order of their places.
bool tsp::splitTopK(chlo::TopKOp topK, const TargetDescription &target) {
  RankedTensorType type = typeOf(topK.getOperand());
  int64_t dim = type.getRank() - 1, size = type.getDimSize(dim);
  int64_t k = topK.getK();
  if (size <= kSortedPart)
    return false;
  // The largest part that fits: fewer elements to be sorted again.
  int64_t parts = 0;
  for (int64_t divisor : getDivisors(size, size / std::max<int64_t>(k, 1)))
    if (size / divisor <= kSortedPart) {
      parts = divisor;
      break;
    }
  if (parts == 0 || parts * k > size / 2)
    return false;

  OpBuilder builder(topK);
  Location loc = topK.getLoc();
  Value split = splitDims(builder, topK.getOperand(), dim, 1, parts);
  SmallVector<int64_t> shape(typeOf(split).getShape());
  shape.back() = k;
  Type placeType = typeOf(topK.getIndices()).getElementType();
  auto indexType = RankedTensorType::get(shape, placeType);
  auto partial = chlo::TopKOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()),
      indexType, split, k);
  Value part = sh::IotaOp::create(builder, loc, indexType, dim);
  Value length = sh::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(indexType,
                             builder.getIntegerAttr(placeType, size / parts)));
  Value start = sh::MulOp::create(builder, loc, part, length);
  Value places = sh::AddOp::create(builder, loc, partial.getIndices(), start);
  shape.pop_back();
  shape.back() = parts * k;
  sh::SortOp sorted =
      sortParts(builder, reshape(builder, partial.getValues(), shape),
                reshape(builder, places, shape));
  for (auto [result, all] :
       llvm::zip_equal(topK->getResults(), sorted->getResults())) {
    SmallVector<int64_t> starts(shape.size(), 0), strides(shape.size(), 1);
    Value kept =
        sh::SliceOp::create(builder, loc, result.getType(), all, starts,
                            typeOf(result).getShape(), strides);
    result.replaceAllUsesWith(kept);
  }
  topK->erase();
  return true;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
class GpuSplitReductions
    : public tsp::impl::GpuSplitReductionsBase<GpuSplitReductions> {
public:
  using GpuSplitReductionsBase::GpuSplitReductionsBase;

  void runOnOperation() override {
    const TargetDescription *target = findTargetDescription(architecture);
    if (!target) {
      getOperation().emitError("architecture: expected one of ")
          << listTargetNames() << ", found '" << architecture << "'";
      return signalPassFailure();
    }
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<sh::DotGeneralOp, sh::ReduceOp, chlo::TopKOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto dot = dyn_cast<sh::DotGeneralOp>(op))
        numProducts += splitProduct(dot, *target);
      else if (auto reduce = dyn_cast<sh::ReduceOp>(op))
        numReductions += splitReduce(reduce, *target);
      else if (auto topK = dyn_cast<chlo::TopKOp>(op))
        numSelections += splitTopK(topK, *target);
    }
  }
};
} // namespace
