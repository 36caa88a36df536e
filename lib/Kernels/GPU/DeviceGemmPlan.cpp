//===- DeviceGemmPlan.cpp - how a product is divided over a GPU -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CostModel.h"
#include "DeviceGemm.h"
#include "tsp/Kernels/GPU/DeviceForm.h"
#include "tsp/Kernels/Kernels.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tsp;

int64_t tsp::countTiles(const GemmSpec &spec, int64_t bk) {
  return spec.depth() / spec.k.back() * llvm::divideCeil(spec.k.back(), bk);
}

/// How a side whose free dim has `size` elements is best read; it starts
/// `offset` elements into a buffer that is aligned to 64 bytes. A computed side
/// is in memory as elements of `loaded`.
static DeviceRead planRead(const GemmSpec &spec, const GemmOperand &operand,
                           int64_t size, int64_t offset, bool isComputed,
                           Type loaded) {
  int64_t bytes = getStorageType(loaded).getIntOrFloatBitWidth() / 8;
  /// The widest read along a dim of stride 1 and `extent` elements, the other
  /// of the two having `stride`.
  auto widest = [&](int64_t extent, int64_t stride) {
    int64_t width = 16 / bytes;
    auto fits = [&] {
      auto divides = [&](int64_t x) { return x % width == 0; };
      if (isComputed)
        return divides(extent);
      return divides(extent) && divides(stride) && divides(offset) &&
             llvm::all_of(operand.outer, divides) &&
             llvm::all_of(ArrayRef(operand.k).drop_back(), divides);
    };
    while (width > 1 && !fits())
      width /= 2;
    return width;
  };
  int64_t strideK = operand.k.back(), strideFree = size > 1 ? operand.free : 0;
  int64_t alongK = strideK == 1 ? widest(spec.k.back(), strideFree) : 0;
  int64_t alongFree = operand.free == 1 && size > 1 ? widest(size, strideK) : 0;
  DeviceRead read;
  read.alongK =
      alongK > 0 || alongFree > 0 ? alongK >= alongFree : strideK <= strideFree;
  read.width = std::max<int64_t>({alongK, alongFree, 1});
  read.loaded = loaded;
  read.isComputed = isComputed;
  read.async = !isComputed && read.width * bytes >= 4;
  return read;
}

bool tsp::allowsTf32(stablehlo::DotGeneralOp dot) {
  auto algorithm = dot.getAlgorithmAttr();
  return algorithm && isa<FloatTF32Type>(algorithm.getLhsPrecisionType()) &&
         isa<FloatTF32Type>(algorithm.getRhsPrecisionType()) &&
         algorithm.getLhsComponentCount() == 1 &&
         algorithm.getRhsComponentCount() == 1 &&
         algorithm.getNumPrimitiveOperations() == 1;
}

/// Whether four elements of 8 bits that are neighbours along k are in memory as
/// a register of tensor-core operands has them.
static bool hasBytesAlongK(const DeviceGemmPlan &plan) {
  return plan.a.alongK && plan.a.async && plan.b.alongK && plan.b.async;
}

/// Sets the types of tensor-core operands (f32: tf32), if they can be had.
static bool findTensorCoreElements(DeviceGemmPlan &plan,
                                   const GemmKernel &kernel,
                                   const TargetDescription &target) {
  const GemmSpec &spec = kernel.product.spec;
  Type a = spec.a.element, b = spec.b.element;
  auto isF8 = [](Type type) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(type);
  };
  if (spec.compute.isF64()) {
    a = b = target.f64TeraFlops > 0 ? spec.compute : Type();
  } else if (spec.compute.isInteger(32)) {
    a = b = hasBytesAlongK(plan) ? a : Type();
  } else if (a.getIntOrFloatBitWidth() == 8 && b.getIntOrFloatBitWidth() == 8) {
    // f8 values are f16 values.
    if (!target.hasFp8Mma || !isF8(a) || !isF8(b) || !hasBytesAlongK(plan))
      a = b = Float16Type::get(a.getContext());
  } else if (a != b || (a.isF32() && !allowsTf32(kernel.dot))) {
    return false;
  }
  plan.element = a;
  plan.elementB = b;
  return bool(a);
}

/// Registers for the sums of a thread leave room for fragments.
static constexpr int64_t kMostSumBytes = 128 * 4;

namespace {
/// `bk` is for elements of 16 bits.
struct TileShape {
  int64_t bm, bn, bk, wm, wn, stages;

  int64_t warps() const { return bm / wm * (bn / wn); }
  int64_t threads() const { return warps() * 32; }
  int64_t pipelineBytes() const { return stages * (bm + bn) * bk * 2; }
};
} // namespace

/// Warps of 64 x 64 multiply four times per fragment that they read. Three
/// stages of 64 or four of 32 are in time for memory that answers after 600
/// cycles. Of equal tiles the first that fits is taken.
static const TileShape asyncShapes[] = {
    {128, 256, 64, 64, 64, 3}, {128, 256, 32, 64, 64, 4},
    {256, 128, 64, 64, 64, 3}, {256, 128, 32, 64, 64, 4},
    {128, 128, 32, 64, 64, 4}, {64, 128, 32, 32, 64, 4},
    {128, 64, 32, 64, 32, 4},  {64, 64, 64, 32, 32, 4},
    {32, 64, 64, 16, 32, 4},   {16, 128, 64, 16, 32, 4},
};

/// What goes through registers as vectors leaves fewer for sums. Reads are one
/// step ahead, so that two stages would do; a third lets the other side, which
/// cp.async may copy, be in time.
static const TileShape registerShapes[] = {
    {128, 128, 32, 64, 32, 3}, {64, 128, 32, 32, 64, 3},
    {128, 64, 32, 64, 32, 3},  {64, 64, 32, 32, 32, 3},
    {32, 64, 64, 16, 32, 3},   {16, 128, 64, 16, 32, 3},
};

/// Copies of single elements, through registers or not, leave registers for
/// small tiles only.
static const TileShape narrowShapes[] = {{64, 64, 32, 32, 32, 3}};

int64_t tsp::countOuter(const GemmSpec &spec) {
  int64_t result = 1;
  for (int64_t size : spec.outer)
    result *= size;
  return result;
}

double tsp::estimateStep(const StepCost &step,
                         const TargetDescription &target) {
  // Shared memory gives 128 bytes a cycle of about 1.5 GHz, the second cache
  // 2.5 times what memory does.
  double processors = target.numProcessors;
  return std::max({step.operations / (step.rate / processors),
                   step.sharedBytes / 192,
                   step.globalBytes / (2.5 * target.memoryGBs / processors)});
}

double tsp::estimateProduct(const GemmSpec &spec, int64_t bm, int64_t bn,
                            const StepCost &step,
                            const TargetDescription &target) {
  int64_t blocks = countOuter(spec) * llvm::divideCeil(spec.m, bm) *
                   llvm::divideCeil(spec.n, bn);
  int64_t each = llvm::divideCeil(blocks, target.numProcessors);
  return each * (estimateStep(step, target) * spec.depth() + kBlockTime);
}

static void planTensorCore(DeviceGemmPlan &plan, const GemmSpec &spec,
                           const TargetDescription &target) {
  plan.kind = DeviceGemmPlan::tensorCore;
  int64_t bytes = plan.element.getIntOrFloatBitWidth() / 8;
  int64_t sumBytes = spec.compute.getIntOrFloatBitWidth() / 8;
  double rate = spec.compute.isF64() ? target.f64TeraFlops
                                     : target.bf16TeraFlops * 2 / bytes;
  bool manyCopies = false, registers = false;
  for (auto [read, operand, element] :
       {std::tuple(&plan.a, &spec.a, plan.element),
        std::tuple(&plan.b, &spec.b, plan.elementB)}) {
    // What is converted or computed goes through registers.
    read->async &= operand->element == element;
    registers |= !read->async;
    manyCopies |=
        read->async ? bytes == 4 && read->width == 1 : read->width < 4;
  }
  ArrayRef<TileShape> shapes = asyncShapes;
  if (manyCopies)
    shapes = narrowShapes;
  else if (registers)
    shapes = registerShapes;
  const TileShape *best = nullptr;
  double least = 0;
  for (const TileShape &shape : shapes) {
    if (shape.pipelineBytes() > target.sharedPerBlock ||
        shape.wm * shape.wn / 32 * sumBytes > kMostSumBytes)
      continue;
    double lines = shape.bm + shape.bn;
    StepCost step{2.0 * shape.bm * shape.bn, rate * 1e3,
                  double(bytes * shape.warps() * (shape.wm + shape.wn)),
                  bytes * lines};
    double time = estimateProduct(spec, shape.bm, shape.bn, step, target);
    if (!best || time < least) {
      best = &shape;
      least = time;
    }
  }
  plan.bm = best->bm;
  plan.bn = best->bn;
  plan.bk = best->bk * 2 / bytes;
  plan.wm = best->wm;
  plan.wn = best->wn;
  plan.stages = best->stages;
  plan.time = least;
  plan.threads = best->threads();
  plan.sharedBytes = best->pipelineBytes();
}

/// As many rows of a warp as fit into the memory of the pipeline are stored at
/// a time.
static void planSlabs(DeviceGemmPlan &plan) {
  plan.slabColumns = plan.wn;
  int64_t line = StagedSums::lineOf(plan.wn, plan.staged) *
                 plan.staged.getIntOrFloatBitWidth() / 8 * (plan.threads / 32);
  for (int64_t rows = 16; rows <= plan.wm; rows += 16)
    if (plan.wm % rows == 0 && rows * line <= plan.sharedBytes)
      plan.slabRows = rows;
  plan.sharedBytes = std::max(plan.sharedBytes, plan.slabRows * line);
}

static void planVectorUnit(DeviceGemmPlan &plan, const GemmSpec &spec,
                           const TargetDescription &target) {
  plan.kind = DeviceGemmPlan::vectorUnit;
  plan.element = spec.compute;
  plan.a.async = plan.b.async = false;
  // What is in memory is copied one by one.
  if (!plan.a.isComputed)
    plan.a.width = 1;
  if (!plan.b.isComputed)
    plan.b.width = 1;
  plan.threads = 256;
  plan.bk = 16;
  int64_t bytes = spec.compute.getIntOrFloatBitWidth() / 8;
  double rate = target.f32TeraFlops * 1e3 * 4 / bytes;
  int64_t side = 0;
  double least = 0;
  for (int64_t next = 32; next * bytes <= 512; next *= 2) {
    // A lane reads what it multiplies, also where others read the same.
    double tile = next * next, read = plan.threads * 2.0 * next / 16;
    StepCost step{2 * tile, rate, read * bytes, double(2 * next * bytes)};
    double time = estimateProduct(spec, next, next, step, target);
    if (side == 0 || time < least) {
      side = next;
      least = time;
    }
  }
  plan.time = least;
  plan.bm = plan.bn = side;
  plan.tm = plan.tn = side / 16;
  int64_t pipeline = 2 * 2 * plan.bk * (side + kLinePadding) * bytes;
  plan.sharedBytes =
      std::max(pipeline, side * StagedSums::lineOf(side, spec.compute) * bytes);
}

static void planRows(DeviceGemmPlan &plan, const GemmSpec &spec,
                     const TargetDescription &target) {
  plan.kind = DeviceGemmPlan::rows;
  plan.element = spec.compute;
  plan.bm = spec.m;
  plan.bk = 1;
  // Columns of a thread: fewer when there would be too few blocks.
  int64_t perColumn = plan.b.alongK ? plan.threads / 32 : 32;
  plan.tn = plan.b.alongK ? 4 : plan.b.width;
  auto blocks = [&]() -> int64_t {
    return countOuter(spec) * llvm::divideCeil(spec.n, perColumn * plan.tn);
  };
  while (plan.tn > 1 && blocks() < 2 * target.numProcessors)
    plan.tn /= 2;
  plan.bn = perColumn * plan.tn;
  double bytesOfB = spec.b.element.getIntOrFloatBitWidth() / 8;
  int64_t access =
      bytesOfB * (plan.b.alongK ? plan.b.width * plan.tn : plan.tn);
  plan.time =
      estimateReading(bytesOfB * countOuter(spec) * spec.n * spec.depth(),
                      blocks(), plan.threads * access, target);
  int64_t parts = plan.b.alongK ? 1 : plan.threads / 32;
  plan.sharedBytes = parts * spec.m *
                     StagedSums::lineOf(plan.bn, spec.compute) *
                     spec.compute.getIntOrFloatBitWidth() / 8;
}

/// Tiles below each other for which those that run at the same time read least.
static int64_t chooseGroup(const DeviceGemmPlan &plan,
                           const TargetDescription &target) {
  auto lines = [&](int64_t group) {
    return group * plan.bm +
           llvm::divideCeil(target.numProcessors, group) * plan.bn;
  };
  int64_t group = 1;
  while (2 * group <= plan.tilesM && lines(2 * group) <= lines(group))
    group *= 2;
  return group;
}

void tsp::completePlan(DeviceGemmPlan &plan, const GemmKernel &kernel,
                       int64_t resultBytes, const TargetDescription &target) {
  const DotProduct &dot = kernel.product;
  const GemmSpec &spec = dot.spec;
  plan.tilesM = llvm::divideCeil(spec.m, plan.bm);
  plan.tilesN = llvm::divideCeil(spec.n, plan.bn);
  plan.tiles = plan.grid = plan.tilesM * plan.tilesN * countOuter(spec);
  plan.group = chooseGroup(plan, target);

  // Runs that lie together in memory, of 16 bytes at most, without an edge.
  if (dot.nStride == 1) {
    plan.run = std::min<int64_t>(8, 16 / resultBytes);
    while (spec.n % plan.run != 0 || plan.bn % plan.run != 0)
      plan.run /= 2;
  }
  plan.staged = spec.compute;
  if (plan.kind == DeviceGemmPlan::tensorCore && kernel.roundings &&
      spec.compute.isF32() && plan.run == 8) {
    Type result = kernel.roundings->back();
    if (result.isF16() || result.isBF16())
      plan.staged = result;
  }
}

std::optional<DeviceGemmPlan>
tsp::planDeviceGemm(const GemmKernel &kernel, int64_t resultBytes,
                    const TargetDescription &target) {
  const DotProduct &dot = kernel.product;
  const GemmSpec &spec = dot.spec;
  DeviceGemmPlan plan;
  plan.a = planRead(spec, spec.a, spec.m, dot.offsetA, !kernel.a,
                    findLoadedType(dot.baseA));
  plan.b = planRead(spec, spec.b, spec.n, dot.offsetB, !kernel.b,
                    findLoadedType(dot.baseB));
  if (spec.m <= 4 && isa<FloatType>(spec.compute))
    planRows(plan, spec, target);
  else if (findTensorCoreElements(plan, kernel, target))
    planTensorCore(plan, spec, target);
  else if (!isa<FloatType>(spec.compute))
    return std::nullopt;
  else
    planVectorUnit(plan, spec, target);
  completePlan(plan, kernel, resultBytes, target);
  if (plan.kind == DeviceGemmPlan::tensorCore)
    planSlabs(plan);
  return plan;
}
