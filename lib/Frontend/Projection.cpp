//===- Projection.cpp - what a value depends on, and smaller forms --------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Projection.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include <cmath>

using namespace mlir;
using namespace tsp;
using namespace tsp::raise;

/// Ops that `varies` looks at before it takes a value as it is: shared operands
/// would be visited once for each path to them.
static constexpr unsigned kVisitLimit = 512;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static std::optional<double> getSplat(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  if (DenseElementsAttr constant = getConstant(value)) {
    if (!constant.isSplat())
      return std::nullopt;
    if (isa<FloatType>(constant.getElementType())) {
      APFloat number = constant.getSplatValue<APFloat>();
      bool losesInfo;
      number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
      return number.convertToDouble();
    }
    APInt number = constant.getSplatValue<APInt>();
    bool isUnsigned = constant.getElementType().isInteger(1) ||
                      constant.getElementType().isUnsignedInteger();
    if (!number.isSignedIntN(53))
      return std::nullopt;
    return isUnsigned ? static_cast<double>(number.getZExtValue())
                      : static_cast<double>(number.getSExtValue());
  }
  SmallVector<double, 2> in;
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      op->getNumOperands() > 2)
    return std::nullopt;
  if (!isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp,
           stablehlo::TransposeOp, stablehlo::ConvertOp, stablehlo::SqrtOp,
           stablehlo::RsqrtOp, stablehlo::NegOp, stablehlo::MulOp,
           stablehlo::DivOp, stablehlo::AddOp, stablehlo::SubtractOp,
           stablehlo::PowOp>(op))
    return std::nullopt;
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(value.getType()));
  bool isCast = isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp,
                    stablehlo::TransposeOp, stablehlo::ConvertOp>(op);
  if (!isFloat &&
      (!isCast || getElementTypeOrSelf(value.getType()) !=
                      getElementTypeOrSelf(op->getOperand(0).getType())))
    return std::nullopt;
  for (Value operand : op->getOperands()) {
    std::optional<double> number = ::getSplat(operand, depth - 1);
    if (!number)
      return std::nullopt;
    in.push_back(*number);
  }
  return llvm::TypeSwitch<Operation *, std::optional<double>>(op)
      .Case([&](stablehlo::SqrtOp) { return std::sqrt(in[0]); })
      .Case([&](stablehlo::RsqrtOp) { return 1 / std::sqrt(in[0]); })
      .Case([&](stablehlo::NegOp) { return -in[0]; })
      .Case([&](stablehlo::MulOp) { return in[0] * in[1]; })
      .Case([&](stablehlo::DivOp) { return in[0] / in[1]; })
      .Case([&](stablehlo::AddOp) { return in[0] + in[1]; })
      .Case([&](stablehlo::SubtractOp) { return in[0] - in[1]; })
      .Case([&](stablehlo::PowOp) { return std::pow(in[0], in[1]); })
      .Default([&](Operation *) { return in[0]; });
}

std::optional<double> raise::getSplat(Value value) {
  return ::getSplat(value, 16);
}

Value raise::emitSplat(OpBuilder &builder, Location loc, RankedTensorType type,
                       double number) {
  Attribute element;
  if (auto floatType = dyn_cast<FloatType>(type.getElementType()))
    element = builder.getFloatAttr(floatType, number);
  else
    element = builder.getIntegerAttr(type.getElementType(),
                                     static_cast<int64_t>(number));
  return stablehlo::ConstantOp::create(builder, loc,
                                       DenseElementsAttr::get(type, element));
}

/// First element and difference of a constant that counts along its one dim
/// with more than one element, and the number of that dim.
static bool getSequence(Value value, int64_t &first, int64_t &step,
                        int64_t &dim) {
  auto constant = dyn_cast_or_null<DenseIntElementsAttr>(getConstant(value));
  if (!constant || constant.isSplat() ||
      constant.getElementType().isInteger(1) ||
      constant.getElementType().isUnsignedInteger())
    return false;
  ArrayRef<int64_t> shape = constant.getType().getShape();
  if (llvm::count_if(shape, [](int64_t size) { return size != 1; }) != 1)
    return false;
  dim = llvm::find_if(shape, [](int64_t size) { return size != 1; }) -
        shape.begin();
  auto values = constant.getValues<APInt>();
  first = values[0].getSExtValue();
  step = values[1].getSExtValue() - first;
  for (auto [i, element] : llvm::enumerate(values))
    if (element.getSExtValue() != first + step * static_cast<int64_t>(i))
      return false;
  return true;
}

static bool isElementwise(Operation *op) {
  return op && op->getNumResults() == 1 && stablehlo::isElementwise(op);
}

//===----------------------------------------------------------------------===//
// varies and project
//===----------------------------------------------------------------------===//

static void collect(IndexSpace &space, Access access, AtomSet &set,
                    unsigned &budget) {
  Operation *op = access.value.getDefiningOp();
  if (DenseElementsAttr constant = getConstant(access.value))
    if (constant.isSplat())
      return;
  if (budget > 0) {
    --budget;
    if (auto iota = dyn_cast_or_null<stablehlo::IotaOp>(op)) {
      AtomList list = space.resolve(access.axes[iota.getIotaDimension()].atoms);
      set.insert(list.begin(), list.end());
      return;
    }
    if (std::optional<Access> up = stepUp(space, access, /*slices=*/true))
      return collect(space, *up, set, budget);
    if (isElementwise(op)) {
      for (Value operand : op->getOperands())
        collect(space, access.with(operand), set, budget);
      return;
    }
  }
  AtomSet all = access.atoms(space);
  set.insert(all.begin(), all.end());
}

AtomSet raise::varies(IndexSpace &space, const Access &access) {
  AtomSet set, resolved;
  unsigned budget = kVisitLimit;
  collect(space, access, set, budget);
  // A later step may have split an atom that an earlier one found.
  for (Atom atom : set)
    for (Atom leaf : space.resolve({atom}))
      resolved.insert(leaf);
  return resolved;
}

static SmallVector<AtomList> single(ArrayRef<Atom> atoms) {
  return llvm::map_to_vector(atoms, [](Atom atom) { return AtomList{atom}; });
}

static RankedTensorType typeOver(const IndexSpace &space, ArrayRef<Atom> atoms,
                                 Type type) {
  return RankedTensorType::get(
      llvm::map_to_vector(atoms, [&](Atom atom) { return space.sizeOf(atom); }),
      type);
}

/// The number that `list` counts, as a value with a dim for each atom.
static Value emitIndex(OpBuilder &builder, Location loc, IndexSpace &space,
                       const AtomList &list, ArrayRef<Atom> atoms, Type type) {
  auto flat = RankedTensorType::get({space.sizeOf(list)}, type);
  Value iota = stablehlo::IotaOp::create(builder, loc, flat,
                                         builder.getI64IntegerAttr(0));
  return arrange(builder, loc, space, iota, {list}, single(atoms));
}

/// The part of the value that the axes select, as a value of their sizes.
static Value emitSlice(OpBuilder &builder, Location loc, IndexSpace &space,
                       const Access &access) {
  Value value = access.value;
  SmallVector<int64_t> shape(access.getType().getShape()), sizes = shape;
  Type elementType = access.getType().getElementType();
  SmallVector<Value> starts;
  Value zero;
  for (auto [i, axis] : llvm::enumerate(access.axes))
    if (axis.dynamic)
      sizes[i] = shape[i] - axis.dynamicMax;
  if (sizes != shape) {
    Type indexType;
    for (const Axis &axis : access.axes)
      if (axis.dynamic)
        indexType = getElementTypeOrSelf(axis.dynamic.getType());
    for (const Axis &axis : access.axes) {
      Value start = axis.dynamic;
      auto scalar = RankedTensorType::get({}, indexType);
      if (!start)
        start = zero = zero ? zero : emitSplat(builder, loc, scalar, 0);
      else if (start.getType() != scalar)
        start = stablehlo::ConvertOp::create(builder, loc, scalar, start);
      starts.push_back(start);
    }
    value = stablehlo::DynamicSliceOp::create(
        builder, loc, RankedTensorType::get(sizes, elementType), value, starts,
        sizes);
  }
  SmallVector<int64_t> from, to, strides, reversed, result;
  for (auto [i, axis] : llvm::enumerate(access.axes)) {
    int64_t count = space.sizeOf(space.resolve(axis.atoms));
    int64_t last = axis.start + axis.stride * (count - 1);
    from.push_back(std::min(axis.start, last));
    to.push_back(std::max(axis.start, last) + 1);
    strides.push_back(std::max<int64_t>(1, std::abs(axis.stride)));
    if (axis.stride < 0 && count > 1)
      reversed.push_back(i);
    result.push_back(count);
  }
  auto type = RankedTensorType::get(result, elementType);
  if (result != sizes)
    value = stablehlo::SliceOp::create(builder, loc, type, value, from, to,
                                       strides);
  if (!reversed.empty())
    value = stablehlo::ReverseOp::create(builder, loc, type, value, reversed);
  return value;
}

Value raise::project(OpBuilder &builder, Location loc, IndexSpace &space,
                     const Access &access, ArrayRef<Atom> atoms) {
  Type type = access.getType().getElementType();
  RankedTensorType resultType = typeOver(space, atoms, type);
  if (DenseElementsAttr constant = getConstant(access.value);
      constant && constant.isSplat())
    return stablehlo::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(resultType,
                               constant.getSplatValue<Attribute>()));

  bool fits = llvm::all_of(access.atoms(space), [&](Atom atom) {
    return llvm::is_contained(atoms, atom);
  });
  Operation *op = access.value.getDefiningOp();
  if (auto iota = dyn_cast_or_null<stablehlo::IotaOp>(op)) {
    if (isa<IntegerType>(type) && !type.isUnsignedInteger())
      return emitLinear(builder, loc, space, linearize(space, access), atoms,
                        type);
    if (!fits) {
      Access flat;
      auto flatType = RankedTensorType::get(
          {access.getType().getDimSize(iota.getIotaDimension())}, type);
      flat.value = stablehlo::IotaOp::create(builder, loc, flatType,
                                             builder.getI64IntegerAttr(0));
      flat.axes.push_back(access.axes[iota.getIotaDimension()]);
      return project(builder, loc, space, flat, atoms);
    }
  }
  if (std::optional<Access> up = stepUp(space, access, /*slices=*/!fits))
    return project(builder, loc, space, *up, atoms);
  if (!fits && isElementwise(op)) {
    IRMapping mapping;
    for (Value operand : op->getOperands()) {
      Access inner = access.with(operand);
      bool isScalar =
          inner.getType().getRank() == 0 && access.getType().getRank() != 0;
      if (!isScalar)
        mapping.map(operand, project(builder, loc, space, inner, atoms));
    }
    Operation *clone = builder.clone(*op, mapping);
    clone->getResult(0).setType(resultType);
    return clone->getResult(0);
  }
  Value part = emitSlice(builder, loc, space, access);
  return arrange(builder, loc, space, part, access.lists(space), single(atoms));
}

//===----------------------------------------------------------------------===//
// Linear forms
//===----------------------------------------------------------------------===//

static void addTerm(Linear &linear, Access access, int64_t coefficient,
                    int64_t clampMax = -1) {
  for (Linear::Term &term : linear.terms)
    if (term.access == access && term.clampMax == clampMax) {
      term.coefficient += coefficient;
      return;
    }
  linear.terms.push_back({access, coefficient, clampMax});
}

/// Adds coefficient * (first + step * the index of the axis).
static void addIndex(IndexSpace &space, const Axis &axis, int64_t first,
                     int64_t step, int64_t coefficient, Linear &linear) {
  linear.constant += coefficient * (first + step * axis.start);
  if (axis.dynamic) {
    Access start;
    start.value = axis.dynamic;
    addTerm(linear, start, coefficient * step, axis.dynamicMax);
  }
  int64_t stride = coefficient * step * axis.stride;
  for (Atom atom : llvm::reverse(space.resolve(axis.atoms))) {
    linear.atoms[atom] += stride;
    stride *= space.sizeOf(atom);
  }
}

static void linearize(IndexSpace &space, const Access &access,
                      int64_t coefficient, Linear &linear, unsigned depth) {
  Operation *op = access.value.getDefiningOp();
  int64_t first, step, dim;
  if (std::optional<double> number = raise::getSplat(access.value)) {
    linear.constant += coefficient * static_cast<int64_t>(*number);
    return;
  }
  if (auto iota = dyn_cast_or_null<stablehlo::IotaOp>(op))
    return addIndex(space, access.axes[iota.getIotaDimension()], 0, 1,
                    coefficient, linear);
  if (getSequence(access.value, first, step, dim))
    return addIndex(space, access.axes[dim], first, step, coefficient, linear);
  if (depth > 0) {
    auto go = [&](Value value, int64_t factor) {
      linearize(space, access.with(value), coefficient * factor, linear,
                depth - 1);
    };
    if (std::optional<Access> up = stepUp(space, access, /*slices=*/true))
      return linearize(space, *up, coefficient, linear, depth - 1);
    if (auto add = dyn_cast_or_null<stablehlo::AddOp>(op)) {
      go(add.getLhs(), 1);
      return go(add.getRhs(), 1);
    }
    if (auto sub = dyn_cast_or_null<stablehlo::SubtractOp>(op)) {
      go(sub.getLhs(), 1);
      return go(sub.getRhs(), -1);
    }
    if (auto neg = dyn_cast_or_null<stablehlo::NegOp>(op))
      return go(neg.getOperand(), -1);
    if (auto mul = dyn_cast_or_null<stablehlo::MulOp>(op)) {
      if (std::optional<double> number = raise::getSplat(mul.getLhs()))
        return go(mul.getRhs(), static_cast<int64_t>(*number));
      if (std::optional<double> number = raise::getSplat(mul.getRhs()))
        return go(mul.getLhs(), static_cast<int64_t>(*number));
    }
    if (auto convert = dyn_cast_or_null<stablehlo::ConvertOp>(op)) {
      auto from = dyn_cast<IntegerType>(
          getElementTypeOrSelf(convert.getOperand().getType()));
      auto to = cast<IntegerType>(access.getType().getElementType());
      if (from && !from.isUnsigned() && from.getWidth() > 1 &&
          from.getWidth() <= to.getWidth())
        return go(convert.getOperand(), 1);
    }
  }
  addTerm(linear, access, coefficient);
}

Linear raise::linearize(IndexSpace &space, const Access &access) {
  Linear linear;
  ::linearize(space, access, 1, linear, 32);
  // Atoms that were split after they were counted.
  Linear result;
  result.constant = linear.constant;
  result.terms = std::move(linear.terms);
  for (auto [atom, coefficient] : linear.atoms) {
    int64_t stride = coefficient;
    for (Atom leaf : llvm::reverse(space.resolve({atom}))) {
      result.atoms[leaf] += stride;
      stride *= space.sizeOf(leaf);
    }
  }
  return result;
}

void Linear::negate() {
  constant = -constant;
  for (auto &entry : atoms)
    entry.second = -entry.second;
  for (Term &term : terms)
    term.coefficient = -term.coefficient;
}

bool Linear::sameTerms(const Linear &other) const {
  if (atoms.size() != other.atoms.size() || terms.size() != other.terms.size())
    return false;
  for (auto [atom, coefficient] : atoms) {
    auto it = other.atoms.find(atom);
    if (it == other.atoms.end() || it->second != coefficient)
      return false;
  }
  return llvm::all_of(terms, [&](const Term &term) {
    return llvm::any_of(other.terms, [&](const Term &o) {
      return o.access == term.access && o.coefficient == term.coefficient &&
             o.clampMax == term.clampMax;
    });
  });
}

Linear raise::subtract(Linear a, const Linear &b) {
  Linear result;
  result.constant = a.constant - b.constant;
  for (auto [atom, coefficient] : b.atoms)
    a.atoms[atom] -= coefficient;
  for (auto [atom, coefficient] : a.atoms)
    if (coefficient != 0)
      result.atoms[atom] = coefficient;
  for (const Linear::Term &term : b.terms)
    addTerm(a, term.access, -term.coefficient, term.clampMax);
  for (const Linear::Term &term : a.terms)
    if (term.coefficient != 0)
      result.terms.push_back(term);
  return result;
}

Value raise::emitLinear(OpBuilder &builder, Location loc, IndexSpace &space,
                        const Linear &linear, ArrayRef<Atom> atoms, Type type) {
  RankedTensorType resultType = typeOver(space, atoms, type);
  Value sum;
  auto accumulate = [&](Value value, int64_t coefficient) {
    bool minus = coefficient == -1 && sum;
    if (coefficient != 1 && !minus)
      value = stablehlo::MulOp::create(
          builder, loc, value,
          emitSplat(builder, loc, resultType, coefficient));
    if (!sum)
      sum = value;
    else if (minus)
      sum = stablehlo::SubtractOp::create(builder, loc, sum, value);
    else
      sum = stablehlo::AddOp::create(builder, loc, sum, value);
  };
  // Neighbours whose coefficients are those of one row-major index.
  for (size_t i = 0; i < atoms.size();) {
    auto it = linear.atoms.find(atoms[i]);
    if (it == linear.atoms.end()) {
      ++i;
      continue;
    }
    AtomList run{atoms[i]};
    int64_t coefficient = it->second;
    for (++i; i < atoms.size(); ++i) {
      auto next = linear.atoms.find(atoms[i]);
      if (next == linear.atoms.end() ||
          next->second * space.sizeOf(atoms[i]) != coefficient)
        break;
      run.push_back(atoms[i]);
      coefficient = next->second;
    }
    accumulate(emitIndex(builder, loc, space, run, atoms, type), coefficient);
  }
  for (const Linear::Term &term : linear.terms) {
    Value value = project(builder, loc, space, term.access, atoms);
    if (value.getType() != resultType)
      value = stablehlo::ConvertOp::create(builder, loc, resultType, value);
    if (term.clampMax >= 0)
      value = stablehlo::ClampOp::create(
          builder, loc, emitSplat(builder, loc, resultType, 0), value,
          emitSplat(builder, loc, resultType, term.clampMax));
    accumulate(value, term.coefficient);
  }
  if (!sum)
    return emitSplat(builder, loc, resultType, linear.constant);
  if (linear.constant != 0)
    sum = stablehlo::AddOp::create(
        builder, loc, sum,
        emitSplat(builder, loc, resultType, linear.constant));
  return sum;
}
