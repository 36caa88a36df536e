//===- TensorMap.cpp - what bulk tensor copies read and write -------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/GPU/DeviceForm.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tsp;

Value tsp::addTensorMap(DeviceKernel &kernel, const DeviceTensorMap &map) {
  gpu::GPUFuncOp function = kernel.function;
  unsigned number = function.getFunctionType().getNumInputs();
  LogicalResult inserted = function.insertArgument(
      number, LLVM::LLVMPointerType::get(function.getContext()), {},
      function.getLoc());
  assert(succeeded(inserted) && "a gpu.func takes any type");
  (void)inserted;
  kernel.maps.push_back(map);
  return function.getArgument(number);
}

void tsp::setTensorMaps(func::FuncOp kernel, ArrayRef<DeviceTensorMap> maps) {
  if (maps.empty())
    return;
  Builder builder(kernel.getContext());
  SmallVector<Attribute> list;
  for (const DeviceTensorMap &map : maps)
    list.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("buffer", builder.getI64IntegerAttr(map.buffer)),
         builder.getNamedAttr("offset", builder.getI64IntegerAttr(map.offset)),
         builder.getNamedAttr("element", TypeAttr::get(map.element)),
         builder.getNamedAttr("sizes", builder.getDenseI64ArrayAttr(map.sizes)),
         builder.getNamedAttr("strides",
                              builder.getDenseI64ArrayAttr(map.strides)),
         builder.getNamedAttr("box", builder.getDenseI64ArrayAttr(map.box)),
         builder.getNamedAttr("swizzle",
                              builder.getI64IntegerAttr(map.swizzle))}));
  kernel->setAttr(kDeviceMapsAttr, builder.getArrayAttr(list));
}

SmallVector<DeviceTensorMap> tsp::getTensorMaps(func::FuncOp kernel) {
  SmallVector<DeviceTensorMap> maps;
  auto list = kernel->getAttrOfType<ArrayAttr>(kDeviceMapsAttr);
  if (!list)
    return maps;
  for (auto entry : list.getAsRange<DictionaryAttr>()) {
    auto number = [&](StringRef name) {
      return entry.getAs<IntegerAttr>(name).getInt();
    };
    auto numbers = [&](StringRef name) {
      return llvm::to_vector(entry.getAs<DenseI64ArrayAttr>(name).asArrayRef());
    };
    DeviceTensorMap &map = maps.emplace_back();
    map.buffer = number("buffer");
    map.offset = number("offset");
    map.element = entry.getAs<TypeAttr>("element").getValue();
    map.sizes = numbers("sizes");
    map.strides = numbers("strides");
    map.box = numbers("box");
    map.swizzle = number("swizzle");
  }
  return maps;
}

std::optional<int64_t> tsp::getTensorMapElement(Type element) {
  using Number = std::optional<int64_t>;
  return llvm::TypeSwitch<Type, Number>(element)
      .Case<IntegerType>([](IntegerType type) -> Number {
        switch (type.getWidth()) {
        case 8:
          return 0;
        case 16:
          return 1;
        case 32:
          return type.isUnsigned() ? 2 : 3;
        case 64:
          return type.isUnsigned() ? 4 : 5;
        default:
          return std::nullopt;
        }
      })
      .Case<Float8E4M3FNType, Float8E5M2Type>([](Type) { return 0; })
      .Case<Float16Type>([](Type) { return 6; })
      .Case<Float32Type>([](Type) { return 7; })
      .Case<Float64Type>([](Type) { return 8; })
      .Case<BFloat16Type>([](Type) { return 9; })
      .Case<FloatTF32Type>([](Type) { return 11; })
      .Default([](Type) { return std::nullopt; });
}

/// What is wrong with a map of a buffer of `bufferBytes`, or "".
static std::string findFault(const DeviceTensorMap &map, int64_t bufferBytes) {
  auto isMultiple = [](int64_t bytes) { return bytes % 16 == 0; };
  if (!getTensorMapElement(map.element))
    return "its element type is none that the driver has";
  size_t rank = map.sizes.size();
  if (rank < 1 || rank > 5 || map.strides.size() + 1 != rank ||
      map.box.size() != rank)
    return "expected 1 to 5 sizes, as many box sizes, and a stride less";
  if (map.offset < 0 || !isMultiple(map.offset) ||
      !llvm::all_of(map.strides, isMultiple))
    return "expected offset and strides that are multiples of 16 bytes";
  int64_t bytes = map.element.isTF32()
                      ? 4
                      : map.element.getIntOrFloatBitWidth() / 8,
          last = map.offset + map.sizes[0] * bytes;
  for (size_t i = 0; i < rank; ++i) {
    if (map.sizes[i] < 1 || map.sizes[i] > int64_t(1) << 32)
      return "expected sizes from 1 to 2^32";
    if (map.box[i] < 1 || map.box[i] > 256)
      return "expected box sizes from 1 to 256";
    if (i > 0 && (map.strides[i - 1] < 0 || map.strides[i - 1] >> 40))
      return "expected strides from 0 to below 2^40";
    if (i > 0)
      last += (map.sizes[i] - 1) * map.strides[i - 1];
  }
  int64_t line = map.box[0] * bytes;
  if (!isMultiple(line))
    return "expected lines of a box that are multiples of 16 bytes";
  if (!llvm::is_contained({0, 32, 64, 128}, map.swizzle))
    return "expected a swizzle of 0, 32, 64 or 128 bytes";
  if (map.swizzle && line > map.swizzle)
    return "lines of a box have " + std::to_string(line) +
           " bytes, more than the swizzle's " + std::to_string(map.swizzle);
  if (last > bufferBytes)
    return "it ends at byte " + std::to_string(last) +
           " of a buffer that has " + std::to_string(bufferBytes);
  return "";
}

LogicalResult tsp::checkTensorMaps(func::FuncOp kernel) {
  for (auto [i, map] : llvm::enumerate(getTensorMaps(kernel))) {
    std::string fault =
        "it has no buffer of number " + std::to_string(map.buffer);
    if (map.buffer < kernel.getNumArguments()) {
      auto type = cast<MemRefType>(kernel.getArgumentTypes()[map.buffer]);
      fault = findFault(map, type.getNumElements() *
                                 type.getElementTypeBitWidth() / 8);
    }
    if (!fault.empty())
      return kernel.emitError("kernel @")
             << kernel.getName() << ", tensor map " << i << ": " << fault;
  }
  return success();
}
