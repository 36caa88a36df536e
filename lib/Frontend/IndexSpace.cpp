//===- IndexSpace.cpp - values as functions of named indices --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexSpace.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::raise;

//===----------------------------------------------------------------------===//
// IndexSpace
//===----------------------------------------------------------------------===//

AtomList IndexSpace::create(int64_t size, Role role) {
  if (size == 1)
    return {};
  nodes.push_back({size, role});
  return {static_cast<Atom>(nodes.size()) - 1};
}

SmallVector<AtomList> IndexSpace::create(RankedTensorType type) {
  return llvm::map_to_vector(type.getShape(),
                             [&](int64_t size) { return create(size); });
}

int64_t IndexSpace::sizeOf(ArrayRef<Atom> list) const {
  int64_t size = 1;
  for (Atom atom : list)
    size *= sizeOf(atom);
  return size;
}

void IndexSpace::setRole(ArrayRef<Atom> list, Role role) {
  for (Atom atom : list) {
    nodes[atom].role = role;
    if (nodes[atom].outer >= 0)
      setRole({nodes[atom].outer, nodes[atom].inner}, role);
  }
}

void IndexSpace::split(Atom atom, int64_t outerSize) {
  Atom outer = nodes.size();
  Node node = nodes[atom];
  nodes.push_back({outerSize, node.role});
  nodes.push_back({node.size / outerSize, node.role});
  nodes[atom].outer = outer;
  nodes[atom].inner = outer + 1;
}

AtomList IndexSpace::resolve(ArrayRef<Atom> list) const {
  AtomList result;
  for (Atom atom : list) {
    if (nodes[atom].outer < 0)
      result.push_back(atom);
    else
      llvm::append_range(result,
                         resolve({nodes[atom].outer, nodes[atom].inner}));
  }
  return result;
}

std::optional<SmallVector<AtomList>>
IndexSpace::regroup(ArrayRef<Atom> list, ArrayRef<int64_t> shape) {
  AtomList atoms = resolve(list);
  std::reverse(atoms.begin(), atoms.end());
  SmallVector<AtomList> groups;
  for (int64_t size : shape) {
    AtomList group;
    while (size > 1) {
      if (atoms.empty())
        return std::nullopt;
      Atom atom = atoms.pop_back_val();
      if (size % sizeOf(atom) == 0) {
        group.push_back(atom);
        size /= sizeOf(atom);
        continue;
      }
      if (sizeOf(atom) % size != 0)
        return std::nullopt;
      split(atom, size);
      group.push_back(nodes[atom].outer);
      atoms.push_back(nodes[atom].inner);
      size = 1;
    }
    groups.push_back(std::move(group));
  }
  if (!atoms.empty())
    return std::nullopt;
  return groups;
}

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

Access::Access(Value value, ArrayRef<AtomList> lists) : value(value) {
  for (const AtomList &list : lists) {
    axes.emplace_back();
    axes.back().atoms = list;
  }
}

Access Access::with(Value other) const {
  Access result;
  result.value = other;
  if (result.getType().getRank() != 0)
    result.axes = axes;
  return result;
}

SmallVector<AtomList> Access::lists(const IndexSpace &space) const {
  return llvm::map_to_vector(
      axes, [&](const Axis &axis) { return space.resolve(axis.atoms); });
}

AtomSet Access::atoms(const IndexSpace &space) const {
  AtomSet set;
  for (const Axis &axis : axes) {
    AtomList list = space.resolve(axis.atoms);
    set.insert(list.begin(), list.end());
  }
  return set;
}

bool Access::operator==(const Access &other) const {
  if (value != other.value || axes.size() != other.axes.size())
    return false;
  for (auto [a, b] : llvm::zip(axes, other.axes))
    if (a.atoms != b.atoms || a.start != b.start || a.stride != b.stride ||
        a.dynamic != b.dynamic || a.dynamicMax != b.dynamicMax)
      return false;
  return true;
}

DenseElementsAttr raise::getConstant(Value value) {
  auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
  return constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                  : DenseElementsAttr();
}

static bool isWhole(const IndexSpace &space, const Axis &axis, int64_t size) {
  return axis.start == 0 && axis.stride == 1 && !axis.dynamic &&
         space.sizeOf(space.resolve(axis.atoms)) == size;
}

static std::optional<Access>
stepReshape(IndexSpace &space, const Access &access, stablehlo::ReshapeOp op) {
  auto from = cast<RankedTensorType>(op.getOperand().getType());
  RankedTensorType to = access.getType();
  bool whole = true;
  AtomList all;
  for (auto [axis, size] : llvm::zip(access.axes, to.getShape())) {
    whole &= isWhole(space, axis, size);
    llvm::append_range(all, axis.atoms);
  }
  if (whole) {
    std::optional<SmallVector<AtomList>> lists =
        space.regroup(all, from.getShape());
    if (!lists)
      return std::nullopt;
    return Access(op.getOperand(), *lists);
  }
  // Part of the dims only: the reshape may add and drop dims of size 1.
  Access result;
  result.value = op.getOperand();
  SmallVector<Axis> axes;
  SmallVector<int64_t> toSizes, fromSizes;
  for (auto [axis, size] : llvm::zip(access.axes, to.getShape()))
    if (size != 1) {
      axes.push_back(axis);
      toSizes.push_back(size);
    }
  for (int64_t size : from.getShape()) {
    result.axes.push_back(size == 1 || fromSizes.size() >= axes.size()
                              ? Axis()
                              : axes[fromSizes.size()]);
    if (size != 1)
      fromSizes.push_back(size);
  }
  if (toSizes != fromSizes)
    return std::nullopt;
  return result;
}

static std::optional<Access> stepDynamicSlice(const Access &access,
                                              stablehlo::DynamicSliceOp op) {
  Access result = access;
  result.value = op.getOperand();
  ArrayRef<int64_t> shape = result.getType().getShape();
  for (auto [i, size] : llvm::enumerate(op.getSliceSizes())) {
    Axis &axis = result.axes[i];
    int64_t max = shape[i] - size;
    Value start = op.getStartIndices()[i];
    if (max == 0)
      continue;
    if (DenseElementsAttr constant = getConstant(start)) {
      APInt value = constant.getSplatValue<APInt>();
      int64_t index = constant.getElementType().isUnsignedInteger()
                          ? static_cast<int64_t>(value.getLimitedValue(max))
                          : value.getSExtValue();
      axis.start += std::clamp<int64_t>(index, 0, max);
      continue;
    }
    if (axis.dynamic)
      return std::nullopt;
    axis.dynamic = start;
    axis.dynamicMax = max;
  }
  return result;
}

std::optional<Access> raise::stepUp(IndexSpace &space, const Access &access,
                                    bool slices) {
  Operation *op = access.value.getDefiningOp();
  Access result;
  if (auto transpose = dyn_cast_or_null<stablehlo::TransposeOp>(op)) {
    result.value = transpose.getOperand();
    result.axes.resize(access.axes.size());
    for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
      result.axes[dim] = access.axes[i];
    return result;
  }
  if (auto broadcast = dyn_cast_or_null<stablehlo::BroadcastInDimOp>(op)) {
    result.value = broadcast.getOperand();
    for (auto [size, dim] : llvm::zip(result.getType().getShape(),
                                      broadcast.getBroadcastDimensions()))
      result.axes.push_back(size == 1 ? Axis() : access.axes[dim]);
    return result;
  }
  if (auto reshape = dyn_cast_or_null<stablehlo::ReshapeOp>(op))
    return stepReshape(space, access, reshape);
  if (auto convert = dyn_cast_or_null<stablehlo::ConvertOp>(op))
    if (convert.getOperand().getType() == convert.getType())
      return access.with(convert.getOperand());
  if (!slices)
    return std::nullopt;
  result = access;
  if (auto slice = dyn_cast_or_null<stablehlo::SliceOp>(op)) {
    result.value = slice.getOperand();
    for (auto [i, axis] : llvm::enumerate(result.axes)) {
      axis.start =
          slice.getStartIndices()[i] + slice.getStrides()[i] * axis.start;
      axis.stride *= slice.getStrides()[i];
      if (axis.dynamic && slice.getStrides()[i] != 1)
        return std::nullopt;
    }
    return result;
  }
  if (auto reverse = dyn_cast_or_null<stablehlo::ReverseOp>(op)) {
    result.value = reverse.getOperand();
    for (int64_t dim : reverse.getDimensions()) {
      if (result.axes[dim].dynamic)
        return std::nullopt;
      result.axes[dim].start =
          result.getType().getDimSize(dim) - 1 - result.axes[dim].start;
      result.axes[dim].stride = -result.axes[dim].stride;
    }
    return result;
  }
  if (auto slice = dyn_cast_or_null<stablehlo::DynamicSliceOp>(op))
    return stepDynamicSlice(access, slice);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// arrange
//===----------------------------------------------------------------------===//

Value raise::reshapeTo(OpBuilder &builder, Location loc, Value value,
                       ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>())
    value = reshape.getOperand();
  if (cast<RankedTensorType>(value.getType()).getShape() == shape)
    return value;
  return stablehlo::ReshapeOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), value);
}

Value raise::arrange(OpBuilder &builder, Location loc, const IndexSpace &space,
                     Value value, ArrayRef<AtomList> dims,
                     ArrayRef<AtomList> groups) {
  Type elementType = cast<RankedTensorType>(value.getType()).getElementType();
  SmallVector<std::pair<Atom, size_t>> source,
      target; // atom, number of its dim
  for (auto [i, list] : llvm::enumerate(dims))
    for (Atom atom : space.resolve(list))
      source.push_back({atom, i});
  for (auto [i, list] : llvm::enumerate(groups))
    for (Atom atom : space.resolve(list))
      target.push_back({atom, i});

  // Runs of atoms that stay neighbours are moved as one.
  auto findTarget = [&](Atom atom) {
    return llvm::find_if(target,
                         [&](auto &entry) { return entry.first == atom; });
  };
  SmallVector<AtomList> runs;
  for (auto [i, entry] : llvm::enumerate(source)) {
    auto place = findTarget(entry.first);
    assert(place != target.end() &&
           "the result has to be indexed by every atom");
    bool joins = i > 0 && source[i - 1].second == entry.second &&
                 place != target.begin() &&
                 std::prev(place)->first == source[i - 1].first &&
                 std::prev(place)->second == place->second;
    if (joins)
      runs.back().push_back(entry.first);
    else
      runs.push_back({entry.first});
  }
  value = reshapeTo(builder, loc, value,
                    llvm::map_to_vector(runs, [&](AtomList &run) {
                      return space.sizeOf(run);
                    }));

  // The runs in the order of the target, and atoms the source lacks.
  SmallVector<int64_t> permutation, shape, broadcastDims, unitShape;
  for (size_t i = 0; i < target.size();) {
    auto run = llvm::find_if(
        runs, [&](AtomList &r) { return r.front() == target[i].first; });
    if (run == runs.end()) {
      unitShape.push_back(space.sizeOf(target[i++].first));
      continue;
    }
    broadcastDims.push_back(unitShape.size());
    unitShape.push_back(space.sizeOf(*run));
    permutation.push_back(run - runs.begin());
    shape.push_back(unitShape.back());
    i += run->size();
  }
  if (!llvm::is_sorted(permutation))
    value = stablehlo::TransposeOp::create(
        builder, loc, RankedTensorType::get(shape, elementType), value,
        permutation);
  if (unitShape.size() != shape.size())
    value = stablehlo::BroadcastInDimOp::create(
        builder, loc, RankedTensorType::get(unitShape, elementType), value,
        broadcastDims);
  return reshapeTo(builder, loc, value,
                   llvm::map_to_vector(groups, [&](const AtomList &group) {
                     return space.sizeOf(space.resolve(group));
                   }));
}
