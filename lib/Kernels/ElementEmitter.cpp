//===- ElementEmitter.cpp - code for single elements of tensors -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/ElementEmitter.h"

#include "Emit.h"
#include "Reductions.h"
#include "ScopeChange.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Kernels/Kernels.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace tsp;

Type tsp::getComputeType(Type elementType) {
  if (isa<FloatType>(elementType))
    return elementType.isF64() ? elementType
                               : Float32Type::get(elementType.getContext());
  return IntegerType::get(elementType.getContext(),
                          elementType.getIntOrFloatBitWidth());
}

ElementEmitter::ElementEmitter(Block *block, ModuleOp module)
    : builder(module.getContext()), loc(module.getLoc()), module(module),
      root(nullptr, block, /*isBranch=*/false), current(&root) {
  moveTo(&root);
}

ElementEmitter::~ElementEmitter() = default;

Value ElementEmitter::refuse(Operation *op, Type type, const Twine &reason) {
  if (!hasFailed)
    op->emitOpError() << "cannot be compiled: " << reason;
  hasFailed = true;
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

//===----------------------------------------------------------------------===//
// Where tensors are
//===----------------------------------------------------------------------===//

void ElementEmitter::bindBuffer(Value tensor, Value memref) {
  buffers[tensor] = flatten(memref);
}

void ElementEmitter::bind(Value tensor, Producer producer) {
  producers[tensor] = std::move(producer);
}

void ElementEmitter::unbind(Value tensor) {
  producers.erase(tensor);
  buffers.erase(tensor);
}

Value ElementEmitter::flatten(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (type.getRank() == 1)
    return memref;
  Value &view = flatViews[memref];
  if (!view) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(memref);
    int64_t size = type.getNumElements();
    view = memref::ReinterpretCastOp::create(
        builder, loc, MemRefType::get({size}, type.getElementType()), memref,
        /*offset=*/0, ArrayRef<int64_t>{size}, ArrayRef<int64_t>{1});
  }
  return view;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

namespace {

/// The key of an element in Scope::values.
SmallVector<int64_t, 12> makeKey(const void *owner, int64_t tag,
                                 ArrayRef<LinearIndex> index) {
  SmallVector<int64_t, 12> key{reinterpret_cast<intptr_t>(owner), tag};
  for (const LinearIndex &i : index)
    i.addTo(key);
  return key;
}

template <typename Map, typename Key>
auto *lookUp(Scope *scope, Map Scope::*map, const Key &key) {
  for (; scope; scope = scope->parent)
    if (auto it = (scope->*map).find(key); it != (scope->*map).end())
      return &it->second;
  return static_cast<decltype(&(scope->*map).begin()->second)>(nullptr);
}

} // namespace

Value ElementEmitter::emit(Value tensor, ArrayRef<LinearIndex> givenIndex) {
  auto type = cast<RankedTensorType>(tensor.getType());
  ElementIndex index(givenIndex);
  assert(int64_t(index.size()) == type.getRank() && "one index for each dim");
  for (auto [i, size] : llvm::zip_equal(index, type.getShape()))
    if (size == 1)
      i = LinearIndex(0);

  auto key = makeKey(tensor.getAsOpaquePointer(), 0, index);
  if (Value *known = lookUp(current, &Scope::values, key))
    return *known;
  ScopeChange change(*this, getScope(index));
  Value value;
  if (Value buffer = buffers.lookup(tensor))
    value = load(buffer, type.getElementType(),
                 linearize(index, type.getShape()));
  else if (auto it = producers.find(tensor); it != producers.end())
    value = Producer(it->second)(index);
  else
    value = emitUncached(tensor, index);
  current->values[key] = value;
  return value;
}

Value ElementEmitter::emitFlat(Value tensor, const LinearIndex &place) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getRank() == 0)
    return emit(tensor, {});
  if (type.getRank() == 1)
    return emit(tensor, place);

  Operation *op = tensor.getDefiningOp();
  bool isFree = !buffers.count(tensor) && !producers.count(tensor) && op;
  if (isFree && isa<stablehlo::ReshapeOp>(op))
    return emitFlat(op->getOperand(0), place);
  bool isElementwise = isFree && stablehlo::isElementwise(op);
  if (!isElementwise && !buffers.count(tensor))
    return emit(tensor, delinearize(place, type.getShape()));

  auto key = makeKey(tensor.getAsOpaquePointer(), 1, place);
  if (Value *known = lookUp(current, &Scope::values, key))
    return *known;
  ScopeChange change(*this, getScope(place));
  Value value;
  if (isElementwise) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(emitFlat(operand, place));
    value = emitScalarOp(*this, op, operands);
  } else {
    value = load(buffers.lookup(tensor), type.getElementType(), place);
  }
  current->values[key] = value;
  return value;
}

Value ElementEmitter::emitUncached(Value tensor, ArrayRef<LinearIndex> index) {
  Operation *op = tensor.getDefiningOp();
  Type type = getComputeType(getElementTypeOrSelf(tensor));
  assert(op && "arguments of a kernel are bound");
  setLoc(op->getLoc());
  if (isa<stablehlo::ConstantOp>(op))
    return emitConstant(op, index);
  if (stablehlo::isElementwise(op)) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          cast<RankedTensorType>(operand.getType()).getRank() == 0
              ? emit(operand, {})
              : emit(operand, index));
    return emitScalarOp(*this, op, operands);
  }
  if (Value value = emitShapeOp(*this, op, index))
    return value;
  if (Value value = emitDynamicOp(*this, op, index))
    return value;
  unsigned number = cast<OpResult>(tensor).getResultNumber();
  if (Value value = emitRandomBits(*this, op, number, index))
    return value;
  if (isReduction(op)) {
    if (trial) {
      trial->uses.push_back({op, ElementIndex(index)});
      return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    }
    return emitReductionInPlace(*this, op, index)[number];
  }
  return refuse(op, type, "no kernel can hold this op; import should have "
                          "refused or rewritten it");
}

void ElementEmitter::emitAt(OpBuilder &at, llvm::function_ref<void()> body) {
  Block *block = at.getInsertionBlock();
  auto point = at.getInsertionPoint();
  Scope scope(current, block, /*isBranch=*/true,
              point == block->end() ? nullptr : &*point);
  ScopeChange change(*this, &scope);
  body();
}

Value ElementEmitter::load(Value flat, Type elementType,
                           const LinearIndex &place) {
  if (trial)
    trial->accesses.push_back({place,
                               (elementType.getIntOrFloatBitWidth() + 7) / 8,
                               flat, elementType});
  else if (loader)
    if (Value value = loader(flat, elementType, place))
      return value;
  Value stored =
      memref::LoadOp::create(builder, loc, flat, materialize(place));
  return fromStorage(builder, loc, stored, elementType);
}

void ElementEmitter::withLoader(Loader newLoader,
                                llvm::function_ref<void()> body) {
  std::swap(loader, newLoader);
  body();
  std::swap(loader, newLoader);
}

void ElementEmitter::store(Value value, Value flat, Type elementType,
                           const LinearIndex &place) {
  Value stored = toStorage(builder, loc, value, elementType);
  memref::StoreOp::create(builder, loc, stored, flat, materialize(place));
}

SmallVector<Value> ElementEmitter::emitBody(Region &body, ValueRange arguments,
                                            bool exact) {
  Block &block = body.front();
  Operation *simple = stablehlo::getSimpleReducer(body);
  llvm::DenseMap<Value, Value> values;
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = value;
  for (Operation &op : block.without_terminator()) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    Value result;
    if (isa<stablehlo::ConstantOp>(op))
      result = emitConstant(&op, {});
    else if (isa<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp>(op))
      result = operands.front();
    else if (stablehlo::isElementwise(&op))
      result = emitScalarOp(*this, &op, operands, exact && simple == &op);
    else
      result = refuse(&op, getComputeType(getElementTypeOrSelf(op.getResult(0))),
                      "it is in a body that works on single elements");
    values[op.getResult(0)] = result;
  }
  SmallVector<Value> results;
  for (Value result : block.getTerminator()->getOperands())
    results.push_back(values.lookup(result));
  return results;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

namespace {

/// The value of an attribute of the op's element type in the compute type.
TypedAttr toComputeAttr(Builder &builder, Type elementType, Attribute value) {
  Type type = getComputeType(elementType);
  if (auto floatValue = dyn_cast<FloatAttr>(value)) {
    APFloat number = floatValue.getValue();
    bool losesInfo;
    number.convert(cast<FloatType>(type).getFloatSemantics(),
                   APFloat::rmNearestTiesToEven, &losesInfo);
    return FloatAttr::get(type, number);
  }
  return IntegerAttr::get(type, cast<IntegerAttr>(value).getValue());
}

/// The elements of a constant as bits of the storage type, row-major.
DenseElementsAttr toStorageAttr(DenseElementsAttr value) {
  Type elementType = value.getElementType();
  Type storage = tsp::getStorageType(elementType);
  auto type = RankedTensorType::get({value.getNumElements()}, storage);
  SmallVector<Attribute> elements;
  for (Attribute element : value.getValues<Attribute>()) {
    if (isa<FloatType>(storage)) {
      elements.push_back(element);
      continue;
    }
    APInt bits = isa<FloatAttr>(element)
                     ? cast<FloatAttr>(element).getValue().bitcastToAPInt()
                     : cast<IntegerAttr>(element).getValue();
    unsigned width = storage.getIntOrFloatBitWidth();
    bits = elementType.isSignlessInteger(4) ? bits.sext(width)
                                            : bits.zext(width);
    elements.push_back(IntegerAttr::get(storage, bits));
  }
  return DenseElementsAttr::get(type, elements);
}

/// The elements of a constant, also of one given as a resource.
DenseElementsAttr getElements(stablehlo::ConstantOp op) {
  if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue()))
    return dense;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue()))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      if (bool isSplat; DenseElementsAttr::isValidRawBuffer(
              resource.getShapedType(), blob->getData(), isSplat))
        return DenseElementsAttr::getFromRawBuffer(resource.getShapedType(),
                                                   blob->getData());
  return {};
}

} // namespace

Value ElementEmitter::emitConstant(Operation *op,
                                   ArrayRef<LinearIndex> index) {
  auto constant = cast<stablehlo::ConstantOp>(op);
  auto type = cast<RankedTensorType>(constant.getType());
  Type elementType = type.getElementType();
  DenseElementsAttr elements = getElements(constant);
  if (!elements)
    return refuse(op, getComputeType(elementType), "its value is not at hand");
  LinearIndex place = linearize(index, type.getShape());
  if (elements.isSplat() || place.isConstant()) {
    Attribute value =
        elements.isSplat()
            ? elements.getSplatValue<Attribute>()
            : *(elements.value_begin<Attribute>() + place.getConstant());
    return arith::ConstantOp::create(
        builder, loc, toComputeAttr(builder, elementType, value));
  }
  return load(getGlobal(op), elementType, place);
}

Value ElementEmitter::getGlobal(Operation *op) {
  std::string &name = globals[op];
  DenseElementsAttr elements = getElements(cast<stablehlo::ConstantOp>(op));
  auto memrefType = MemRefType::get({elements.getNumElements()},
                                    getStorageType(elements.getElementType()));
  OpBuilder::InsertionGuard guard(builder);
  if (name.empty()) {
    unsigned number = globals.size();
    auto kernel = root.block->getParentOp();
    StringAttr kernelName = SymbolTable::getSymbolName(kernel);
    name = (kernelName.getValue() + ".constant" + Twine(number)).str();
    builder.setInsertionPoint(kernel);
    auto global = memref::GlobalOp::create(
        builder, loc, name, builder.getStringAttr("private"), memrefType,
        toStorageAttr(elements), /*constant=*/true,
        builder.getI64IntegerAttr(64));
    global->setDiscardableAttr(kKernelAttr, builder.getUnitAttr());
  }
  moveTo(current);
  return memref::GetGlobalOp::create(builder, loc, memrefType, name);
}
