//===- Reductions.cpp - reduce, reduce_window and dot_general -------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reductions.h"

#include "Emit.h"
#include "InsideTest.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Support/TensorTypes.h"

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

namespace {

/// Sums may be taken in any order that is fixed at compile time: LLVM keeps
/// several partial sums in a vector.
Value addInAnyOrder(ElementEmitter &emitter, Value a, Value b) {
  return arith::AddFOp::create(
      emitter.getBuilder(), emitter.getLoc(), a, b,
      arith::FastMathFlags::reassoc | arith::FastMathFlags::contract);
}

//===----------------------------------------------------------------------===//
// dot_general
//===----------------------------------------------------------------------===//

/// Dims of one side of a contraction that are neither batched nor contracted.
SmallVector<int64_t> getFreeDims(int64_t rank, ArrayRef<int64_t> batching,
                                 ArrayRef<int64_t> contracting) {
  SmallVector<int64_t> result;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(batching, dim) &&
        !llvm::is_contained(contracting, dim))
      result.push_back(dim);
  return result;
}

/// An operand's element as a factor: rounded to what the algorithm asks for,
/// in the accumulator's type.
Value emitFactor(ElementEmitter &emitter, Value operand,
                 ArrayRef<LinearIndex> index, Type precision,
                 Type accumulatorType) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  Value value = emitter.emit(operand, index);
  Type type = getElementTypeOrSelf(operand);
  if (isa_and_nonnull<FloatTF32Type>(precision))
    value = reducePrecision(builder, loc, value, 8, 10);
  else if (precision && precision.getIntOrFloatBitWidth() < 32 &&
           !isa<FloatTF32Type>(precision))
    value = roundToFormat(builder, loc, value, precision);
  // A value of a narrow float type is already an f32.
  Type from = isa<FloatType>(type) ? value.getType() : type;
  return emitConvert(builder, loc, value, from, accumulatorType);
}

Value emitProduct(ElementEmitter &emitter, sh::DotGeneralOp op,
                  ArrayRef<LinearIndex> result,
                  ArrayRef<LinearIndex> position, Type accumulatorType) {
  sh::DotDimensionNumbersAttr dims = op.getDotDimensionNumbers();
  auto algorithm = op.getAlgorithm();
  bool isSplit = algorithm && algorithm->getNumPrimitiveOperations() > 1;
  unsigned next = dims.getLhsBatchingDimensions().size();
  auto factor = [&](Value operand, ArrayRef<int64_t> batching,
                    ArrayRef<int64_t> contracting, Type precision) {
    ElementIndex index(getShape(operand).size());
    for (auto [i, dim] : llvm::enumerate(batching))
      index[dim] = result[i];
    for (auto [i, dim] : llvm::enumerate(contracting))
      index[dim] = position[i];
    for (int64_t dim : getFreeDims(index.size(), batching, contracting))
      index[dim] = result[next++];
    return emitFactor(emitter, operand, index, isSplit ? Type() : precision,
                      accumulatorType);
  };
  Value lhs = factor(op.getLhs(), dims.getLhsBatchingDimensions(),
                     dims.getLhsContractingDimensions(),
                     algorithm ? algorithm->getLhsPrecisionType() : Type());
  Value rhs = factor(op.getRhs(), dims.getRhsBatchingDimensions(),
                     dims.getRhsContractingDimensions(),
                     algorithm ? algorithm->getRhsPrecisionType() : Type());
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  if (isa<FloatType>(accumulatorType))
    return arith::MulFOp::create(builder, loc, lhs, rhs,
                                 arith::FastMathFlags::contract);
  if (accumulatorType.isInteger(1))
    return arith::AndIOp::create(builder, loc, lhs, rhs);
  return arith::MulIOp::create(builder, loc, lhs, rhs);
}

Value emitSum(ElementEmitter &emitter, Type accumulatorType, Value a, Value b) {
  OpBuilder &builder = emitter.getBuilder();
  if (isa<FloatType>(accumulatorType))
    return addInAnyOrder(emitter, a, b);
  if (accumulatorType.isInteger(1))
    return arith::OrIOp::create(builder, emitter.getLoc(), a, b);
  return arith::AddIOp::create(builder, emitter.getLoc(), a, b);
}

/// f64 if either side or the result is, f32 for other floats, else the
/// result's integer.
Type getDotAccumulatorType(sh::DotGeneralOp op) {
  Type result = getElementTypeOrSelf(op);
  if (!isa<FloatType>(result))
    return result;
  if (getElementTypeOrSelf(op.getLhs()).isF64() ||
      getElementTypeOrSelf(op.getRhs()).isF64())
    return Float64Type::get(op.getContext());
  return getComputeType(result);
}

//===----------------------------------------------------------------------===//
// reduce_window
//===----------------------------------------------------------------------===//

/// The elements under one place of a window; the init values in the padding
/// and between dilated elements.
SmallVector<Value> emitWindowElements(ElementEmitter &emitter,
                                      sh::ReduceWindowOp op,
                                      ArrayRef<LinearIndex> result,
                                      ArrayRef<LinearIndex> position) {
  auto at = [](std::optional<ArrayRef<int64_t>> values, unsigned dim) {
    return values ? (*values)[dim] : 1;
  };
  ElementIndex from;
  InsideTest test(emitter);
  ArrayRef<int64_t> shape = getShape(op.getInputs().front());
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    int64_t low = op.getPadding()
                      ? op.getPadding()->getValues<int64_t>()[{dim, 0}]
                      : 0;
    LinearIndex i = result[dim] * at(op.getWindowStrides(), dim) +
                    position[dim] * at(op.getWindowDilations(), dim) - low;
    from.push_back(
        test.requireElement(i, shape[dim], at(op.getBaseDilations(), dim)));
    if (test.isOutside())
      break;
  }
  auto padding = [&] {
    SmallVector<Value> values;
    for (Value init : op.getInitValues())
      values.push_back(emitter.emit(init, {}));
    return values;
  };
  auto elements = [&] {
    SmallVector<Value> values;
    for (Value input : op.getInputs())
      values.push_back(emitter.emit(input, from));
    return values;
  };
  if (test.isOutside())
    return padding();
  if (!test.getCondition())
    return elements();
  SmallVector<Type> types;
  for (Value input : op.getInputs())
    types.push_back(getComputeType(getElementTypeOrSelf(input)));
  return emitter.emitIf(test.getCondition(), types, elements, padding);
}

} // namespace

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

SmallVector<Value> tsp::emitCombine(ElementEmitter &emitter, Region &body,
                                    ValueRange accumulators,
                                    ValueRange elements) {
  Operation *simple = sh::getSimpleReducer(body);
  if (isa_and_nonnull<sh::AddOp>(simple) &&
      isa<FloatType>(elements.front().getType()))
    return {addInAnyOrder(emitter, accumulators.front(), elements.front())};
  SmallVector<Value> arguments(accumulators);
  llvm::append_range(arguments, elements);
  return emitter.emitBody(body, arguments, /*exact=*/true);
}

bool tsp::isReduction(Operation *op) {
  return isa<sh::ReduceOp, sh::ReduceWindowOp, sh::DotGeneralOp>(op);
}

Reduction::Reduction(Operation *op) : op(op) {
  if (auto dot = dyn_cast<sh::DotGeneralOp>(op)) {
    for (int64_t dim :
         dot.getDotDimensionNumbers().getLhsContractingDimensions())
      extents.push_back(getShape(dot.getLhs())[dim]);
    types.push_back(getDotAccumulatorType(dot));
    return;
  }
  if (auto reduce = dyn_cast<sh::ReduceOp>(op)) {
    SmallVector<int64_t> dims(reduce.getDimensions());
    llvm::sort(dims);
    for (int64_t dim : dims)
      extents.push_back(getShape(reduce.getInputs().front())[dim]);
  } else {
    auto window = cast<sh::ReduceWindowOp>(op);
    llvm::append_range(extents, window.getWindowDimensions());
  }
  for (Value result : op->getResults()) {
    Type type = getElementTypeOrSelf(result);
    types.push_back(isa<FloatType>(type) ? getComputeType(type) : type);
  }
}

ArrayRef<int64_t> Reduction::getResultShape() const {
  return getShape(op->getResult(0));
}

SmallVector<Value> Reduction::emitInits(ElementEmitter &emitter) const {
  SmallVector<Value> inits;
  if (isa<sh::DotGeneralOp>(op)) {
    OpBuilder &builder = emitter.getBuilder();
    Type type = getComputeType(types.front());
    inits.push_back(arith::ConstantOp::create(builder, emitter.getLoc(),
                                              builder.getZeroAttr(type)));
    return inits;
  }
  unsigned count = op->getNumResults();
  for (Value init : op->getOperands().drop_front(count))
    inits.push_back(emitter.emit(init, {}));
  return inits;
}

SmallVector<Value> Reduction::emitStep(ElementEmitter &emitter,
                                       ValueRange accumulators,
                                       ArrayRef<LinearIndex> result,
                                       ArrayRef<LinearIndex> position) const {
  if (auto dot = dyn_cast<sh::DotGeneralOp>(op)) {
    Value product = emitProduct(emitter, dot, result, position, types.front());
    return {emitSum(emitter, types.front(), accumulators.front(), product)};
  }
  SmallVector<Value> elements;
  if (auto reduce = dyn_cast<sh::ReduceOp>(op)) {
    ElementIndex index;
    unsigned reduced = 0, kept = 0;
    for (int64_t dim = 0, e = getShape(reduce.getInputs().front()).size();
         dim < e; ++dim)
      index.push_back(llvm::is_contained(reduce.getDimensions(), dim)
                          ? position[reduced++]
                          : result[kept++]);
    for (Value input : reduce.getInputs())
      elements.push_back(emitter.emit(input, index));
    // Over no dims there is nothing to combine, and the init is left out.
    if (extents.empty())
      return elements;
    return emitCombine(emitter, reduce.getBody(), accumulators, elements);
  }
  auto window = cast<sh::ReduceWindowOp>(op);
  elements = emitWindowElements(emitter, window, result, position);
  return emitCombine(emitter, window.getBody(), accumulators, elements);
}

TypedAttr tsp::getNeutralElement(Operation *reducer, Type type) {
  if (!isa_and_nonnull<sh::AddOp, sh::MulOp, sh::MaxOp, sh::MinOp, sh::AndOp,
                       sh::OrOp, sh::XorOp>(reducer))
    return {};
  bool isMax = isa<sh::MaxOp>(reducer), isMin = isa<sh::MinOp>(reducer);
  Builder builder(type.getContext());
  if (isa<FloatType>(type)) {
    double infinity = std::numeric_limits<double>::infinity();
    double number = isMax   ? -infinity
                    : isMin ? infinity
                            : isa<sh::MulOp>(reducer);
    return builder.getFloatAttr(type, number);
  }
  unsigned width = type.getIntOrFloatBitWidth();
  bool isSigned = !type.isUnsignedInteger() && width > 1;
  APInt number = APInt::getZero(width);
  if (isMax && isSigned)
    number = APInt::getSignedMinValue(width);
  else if (isMin && isSigned)
    number = APInt::getSignedMaxValue(width);
  else if (isMin || isa<sh::AndOp>(reducer))
    number = APInt::getAllOnes(width);
  else if (isa<sh::MulOp>(reducer))
    number = APInt(width, 1);
  return builder.getIntegerAttr(type, number);
}

/// The op that a reduction combines two values by, or null.
static Operation *getReducer(Operation *op) {
  return sh::getSimpleReducer(op->getRegion(0));
}

bool Reduction::isCommutative() const {
  return isa<sh::DotGeneralOp>(op) ||
         getNeutralElement(getReducer(op), types.front());
}

SmallVector<Value> Reduction::emitNeutral(ElementEmitter &emitter) const {
  if (isa<sh::DotGeneralOp>(op) || !isCommutative())
    return emitInits(emitter);
  TypedAttr neutral = getNeutralElement(getReducer(op), types.front());
  // Code has no integers with a sign.
  if (auto integer = dyn_cast<IntegerAttr>(neutral))
    neutral = IntegerAttr::get(getComputeType(types.front()),
                               integer.getValue());
  return {arith::ConstantOp::create(emitter.getBuilder(), emitter.getLoc(),
                                    neutral)};
}

SmallVector<Value> Reduction::emitMerge(ElementEmitter &emitter, ValueRange a,
                                        ValueRange b) const {
  if (!isa<sh::DotGeneralOp>(op))
    return emitCombine(emitter, op->getRegion(0), a, b);
  return {emitSum(emitter, types.front(), a.front(), b.front())};
}

Value Reduction::emitResult(ElementEmitter &emitter, unsigned number,
                            Value accumulator) const {
  Type type = getElementTypeOrSelf(op->getResult(number));
  if (!isa<FloatType>(type))
    return accumulator;
  return emitConvert(emitter.getBuilder(), emitter.getLoc(), accumulator,
                     types[number], type);
}

SmallVector<Value> Reduction::emitLoops(ElementEmitter &emitter,
                                        ArrayRef<LinearIndex> result,
                                        ArrayRef<int64_t> splits) const {
  return emitLoopsOver(
      emitter, extents, splits, emitInits(emitter),
      [&](ArrayRef<LinearIndex> position, ValueRange accumulators) {
        return emitStep(emitter, accumulators, result, position);
      });
}

static SmallVector<Value> emitLoopsFrom(
    ElementEmitter &emitter, ArrayRef<int64_t> extents,
    ArrayRef<int64_t> splits, ElementIndex &position, ValueRange inits,
    llvm::function_ref<SmallVector<Value>(ArrayRef<LinearIndex>, ValueRange)>
        body) {
  unsigned loop = position.size();
  if (loop == extents.size())
    return body(position, inits);
  SmallVector<int64_t> bounds{0};
  if (loop + 1 == extents.size())
    for (int64_t split : splits)
      if (split > bounds.back() && split < extents[loop])
        bounds.push_back(split);
  bounds.push_back(extents[loop]);
  SmallVector<Value> carried = llvm::to_vector(inits);
  for (unsigned part = 0; part + 1 < bounds.size(); ++part)
    carried = emitter.emitLoop(
        bounds[part], bounds[part + 1], carried,
        [&](LinearIndex index, ValueRange arguments) {
          position.push_back(index);
          SmallVector<Value> next = emitLoopsFrom(emitter, extents, splits,
                                                  position, arguments, body);
          position.pop_back();
          return next;
        });
  return carried;
}

SmallVector<Value> tsp::emitLoopsOver(
    ElementEmitter &emitter, ArrayRef<int64_t> extents,
    ArrayRef<int64_t> splits, ValueRange inits,
    llvm::function_ref<SmallVector<Value>(ArrayRef<LinearIndex>, ValueRange)>
        body) {
  ElementIndex position;
  return emitLoopsFrom(emitter, extents, splits, position, inits, body);
}

SmallVector<Value> tsp::emitReductionInPlace(ElementEmitter &emitter,
                                             Operation *op,
                                             ArrayRef<LinearIndex> index) {
  Reduction reduction(op);
  SmallVector<Value> results = reduction.emitLoops(emitter, index, {});
  for (auto [number, value] : llvm::enumerate(results))
    value = reduction.emitResult(emitter, number, value);
  return results;
}
