//===- DeviceForm.h - kernels of a GPU --------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a GPU a kernel in tensor form (tsp/Kernels/Kernels.h) becomes a kernel in
// device form, which is two functions:
//
//   gpu.module @tsp_device {
//     gpu.func @k(%in: memref..., %out: memref... [, %workspace: memref<Nxi8>])
//       workgroup(%s : memref<..., #gpu.address_space<workgroup>>
//                      {llvm.align = 128 : i64})
//       kernel attributes {known_block_size = array<i32: x, y, z>}
//   }
//   func.func private @k(memref..., memref...)
//     attributes {tsp.kernel, tsp.tied [, tsp.must_tie],
//                 tsp.device_grid = array<i64: x, y, z>,
//                 tsp.device_block = array<i64: x, y, z>,
//                 tsp.device_shared = N : i64, tsp.device_workspace = N : i64}
//
// The first is the code of one thread. Its memrefs are those of buffer form:
// inputs, then outputs, with static shapes, the identity layout and element
// type `getStorageType`; they do not alias, except that a result tied to an
// argument may be the same buffer. All are aligned to 64 bytes, and their
// memory may be read up to the next multiple of 16 bytes, as LLVM does where it
// widens loads. The body may use gpu, nvgpu, nvvm, arith, math, scf, cf,
// vector, memref, affine, ub and LLVM. Static shared memory is at most 48 KB
// (`addSharedBuffer`); more is `gpu.dynamic_shared_memory`, whose size is
// tsp.device_shared. The workspace is device memory that belongs to the launch,
// with undefined contents. Results do not depend on the order in which threads
// run.
//
// The second is what the host program launches.
//
// Variants. A kernel may have further forms, each for one architecture, with the
// same buffers but code and launch of its own: @k_sm_90a, both of whose functions
// have tsp.device_architecture = "sm_90a", while those of @k have
// tsp.device_variant = @k_sm_90a; a further one is the tsp.device_variant of that.
// Code for sm_90a then holds @k_sm_90a in place of @k; the runtime launches the
// one that the loaded code has.
//
// Tensor maps. Behind buffers and workspace a kernel may have one !llvm.ptr a
// tensor map: the address of a CUtensorMap in parameter space, which the
// runtime encodes as `tsp.device_maps` of the second function says
// (TensorMap.h).
//
// Clusters. tsp.device_cluster = array<i64: x, y, z>, when there is one, is the
// number of blocks that are launched together.
//
// Tiles. tsp.device_tiles = N : i64, when there is one, is the number of tiles
// of the results that the blocks take one after the other.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_GPU_DEVICEFORM_H
#define TSP_KERNELS_GPU_DEVICEFORM_H

#include "tsp/Kernels/GPU/TensorMap.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <array>

namespace tsp {

struct TargetDescription;

inline constexpr llvm::StringLiteral kDeviceModule = "tsp_device";
inline constexpr llvm::StringLiteral kDeviceGridAttr = "tsp.device_grid";
inline constexpr llvm::StringLiteral kDeviceBlockAttr = "tsp.device_block";
inline constexpr llvm::StringLiteral kDeviceSharedAttr = "tsp.device_shared";
inline constexpr llvm::StringLiteral kDeviceWorkspaceAttr =
    "tsp.device_workspace";
inline constexpr llvm::StringLiteral kDeviceClusterAttr = "tsp.device_cluster";
inline constexpr llvm::StringLiteral kDeviceTilesAttr = "tsp.device_tiles";
inline constexpr llvm::StringLiteral kDeviceVariantAttr = "tsp.device_variant";
inline constexpr llvm::StringLiteral kDeviceArchitectureAttr =
    "tsp.device_architecture";
/// Of a kernel that could have had a variant: why it has none (a string).
inline constexpr llvm::StringLiteral kDeviceNoVariantAttr =
    "tsp.device_no_variant";

/// Static shared memory of a kernel, at most.
inline constexpr int64_t kMaxStaticShared = 48 * 1024;

/// Parameters of a kernel, at most.
inline constexpr int64_t kMaxParameterBytes = 32764;

/// Blocks of a grid in each dim, at most ("Technical Specifications per Compute
/// Capability" of the CUDA C++ Programming Guide).
inline constexpr std::array<int64_t, 3> kMaxGrid = {INT32_MAX, 65535, 65535};

/// A kernel on its way from tensor form to device form.
struct DeviceKernel {
  mlir::gpu::GPUFuncOp function;
  llvm::SmallVector<mlir::Value> inputs, outputs;
  mlir::Value workspace; // memref<0xi8> until finishDeviceForm
  llvm::SmallVector<DeviceTensorMap> maps;
};

/// How a kernel is launched.
struct DeviceLaunch {
  std::array<int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  int64_t sharedBytes = 0;    // of gpu.dynamic_shared_memory
  int64_t workspaceBytes = 0; // 0: the kernel has no such parameter
  std::array<int64_t, 3> cluster = {1, 1, 1}; // blocks; divides the grid
  int64_t tiles = 0; // that blocks take one after the other; 0: each has one
};

/// Whether `function` is what the host program launches of a device kernel.
bool isDeviceKernel(mlir::func::FuncOp function);

/// The module's gpu.module @tsp_device; made when there is none.
mlir::gpu::GPUModuleOp getDeviceModule(mlir::ModuleOp module);

/// Moves the body of `kernel` into `tensorBody`, leaves `kernel` a declaration,
/// and makes the device function with an empty block. Its results are described
/// by the terminator of `tensorBody`; the caller fills the block, calls
/// `finishDeviceForm` and lets `tensorBody` go.
DeviceKernel startDeviceForm(mlir::func::FuncOp kernel,
                             mlir::Region &tensorBody);

/// Clones `kernel`, which is in tensor form still, into a variant for `target`.
/// The caller brings both to device form, each by its own generator.
mlir::func::FuncOp startVariant(mlir::func::FuncOp kernel,
                                const TargetDescription &target);

/// Whether the code for an architecture has this kernel: `kernel` is either of
/// the functions above, or the first one in the NVVM dialect.
bool hasCodeFor(mlir::Operation *kernel, llvm::StringRef architecture);

/// A tensor map for the device function: the parameter, an !llvm.ptr.
mlir::Value addTensorMap(DeviceKernel &kernel, const DeviceTensorMap &map);

/// Static shared memory for the device function, aligned to 128 bytes.
mlir::Value addSharedBuffer(DeviceKernel &kernel, llvm::ArrayRef<int64_t> shape,
                            mlir::Type elementType);

/// Ends the last block with a gpu.return and says how the kernel is launched.
/// The workspace size is rounded up to 256 bytes.
void finishDeviceForm(mlir::func::FuncOp kernel, DeviceKernel &device,
                      const DeviceLaunch &launch);

/// How a kernel in device form is launched.
DeviceLaunch getDeviceLaunch(mlir::func::FuncOp kernel);

} // namespace tsp

#endif // TSP_KERNELS_GPU_DEVICEFORM_H
