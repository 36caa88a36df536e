//===- TensorMapApi.cpp - descriptors of bulk tensor copies ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Context.h"
#include "driver/Options.h"
#include "exec/TensorMap.h"

#include <cstring>

using namespace tsp::emulation;

/// None for types that the emulation does not have.
static ptx::Type elementOf(CUtensorMapDataType type) {
  switch (type) {
  case CU_TENSOR_MAP_DATA_TYPE_UINT8:
    return ptx::parseType("u8");
  case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    return ptx::parseType("u16");
  case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    return ptx::parseType("u32");
  case CU_TENSOR_MAP_DATA_TYPE_INT32:
    return ptx::parseType("s32");
  case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    return ptx::parseType("u64");
  case CU_TENSOR_MAP_DATA_TYPE_INT64:
    return ptx::parseType("s64");
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    return ptx::parseType("f16");
  case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
    return ptx::parseType("bf16");
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    return ptx::parseType("f32");
  case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    return ptx::parseType("tf32");
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
    return ptx::parseType("f64");
  default:
    return {};
  }
}

static CUresult invalid(const std::string &why) {
  report("cuTensorMapEncodeTiled: " + why);
  return CUDA_ERROR_INVALID_VALUE;
}

static CUresult checkDimension(const TensorMap &map, unsigned dim,
                               uint64_t size, uint64_t box,
                               uint32_t elementStride) {
  std::string name = "dimension " + std::to_string(dim);
  if (size == 0 || size > uint64_t(1) << 32)
    return invalid(name + " has " + std::to_string(size) +
                   " elements: it may have 1 to 2^32");
  if (box == 0 || box > 256)
    return invalid("the box has " + std::to_string(box) + " elements in " +
                   name + ": it may have 1 to 256");
  if (dim && (map.strides[dim - 1] % 16 || map.strides[dim - 1] >> 40))
    return invalid("the stride of " + name + ", " +
                   std::to_string(map.strides[dim - 1]) +
                   " bytes, must be a multiple of 16 below 2^40");
  if (elementStride == 0 || elementStride > 8)
    return invalid("the element stride of " + name + " must be 1 to 8");
  if (dim && elementStride != 1)
    return notSupported("cuTensorMapEncodeTiled with element strides");
  return CUDA_SUCCESS;
}

static CUresult checkInnerBox(const TensorMap &map) {
  unsigned bytes = unsigned(map.box[0]) * map.elementBytes;
  if (bytes % 16)
    return invalid("the box has " + std::to_string(bytes) +
                   " bytes in dimension 0: they must be a multiple of 16");
  if (map.swizzle && bytes > map.swizzle)
    return invalid("the box has " + std::to_string(bytes) +
                   " bytes in dimension 0, more than the swizzle's " +
                   std::to_string(map.swizzle));
  if (map.swizzle && bytes < map.swizzle)
    return notSupported("cuTensorMapEncodeTiled with a box narrower than its "
                        "swizzle");
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuTensorMapEncodeTiled(
    CUtensorMap *result, CUtensorMapDataType type, cuuint32_t rank,
    void *address, const cuuint64_t *sizes, const cuuint64_t *strides,
    const cuuint32_t *box, const cuuint32_t *elementStrides,
    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  if (!isInitialized())
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!result || !sizes || !box || !elementStrides || (rank > 1 && !strides))
    return CUDA_ERROR_INVALID_VALUE;
  if (reinterpret_cast<uint64_t>(result) % 64)
    return invalid("the map's address must be a multiple of 64");
  if (rank == 0 || rank > TensorMap::maxRank)
    return invalid(std::to_string(rank) + " dimensions: it takes 1 to 5");
  if (!address || reinterpret_cast<uint64_t>(address) % 16)
    return invalid("the tensor's address must be a multiple of 16");
  if (unsigned(promotion) > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
    return CUDA_ERROR_INVALID_VALUE;
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
      fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ||
      swizzle > CU_TENSOR_MAP_SWIZZLE_128B || !elementOf(type))
    return notSupported("cuTensorMapEncodeTiled with interleaving, a fill of "
                        "NaN, packed types or swizzles of larger atoms");
  TensorMap map;
  map.magic = TensorMap::encoded;
  map.address = reinterpret_cast<uint64_t>(address);
  map.rank = uint8_t(rank);
  map.elementBytes = uint8_t(elementOf(type).bits / 8);
  map.elementKind = elementOf(type).kind;
  static const uint8_t swizzles[] = {0, 32, 64, 128};
  map.swizzle = swizzles[swizzle];
  for (unsigned dim = 0; dim < rank; ++dim) {
    if (dim)
      map.strides[dim - 1] = strides[dim - 1];
    if (CUresult error =
            checkDimension(map, dim, sizes[dim], box[dim], elementStrides[dim]))
      return error;
    map.lastIndex[dim] = uint32_t(sizes[dim] - 1);
    map.box[dim] = uint16_t(box[dim]);
  }
  if (CUresult error = checkInnerBox(map))
    return error;
  *result = CUtensorMap();
  memcpy(result, &map, sizeof(map));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuTensorMapReplaceAddress(CUtensorMap *tensorMap,
                                           void *address) {
  if (!tensorMap || !address || reinterpret_cast<uint64_t>(address) % 16)
    return CUDA_ERROR_INVALID_VALUE;
  TensorMap map;
  memcpy(&map, tensorMap, sizeof(map));
  if (!map.isEncoded())
    return CUDA_ERROR_INVALID_VALUE;
  map.address = reinterpret_cast<uint64_t>(address);
  memcpy(tensorMap, &map, sizeof(map));
  return CUDA_SUCCESS;
}
