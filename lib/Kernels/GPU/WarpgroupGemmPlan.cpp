//===- WarpgroupGemmPlan.cpp - how a product is divided on sm_90a ---------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CostModel.h"
#include "WarpgroupGemm.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tsp;

/// Dims of a tensor map, at most.
static constexpr size_t kMapDims = 5;

static bool isFloat8(Type element) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(element);
}

/// Whether warpgroups can multiply these elements.
static bool canMultiply(const GemmSpec &spec, stablehlo::DotGeneralOp dot) {
  Type a = spec.a.element, b = spec.b.element;
  if (!spec.compute.isF32())
    return false;
  if (isFloat8(a) && isFloat8(b))
    return true;
  return a == b && (a.isF16() || a.isBF16() || (a.isF32() && allowsTf32(dot)));
}

namespace {

/// Finds out how a side is read through a tensor map.
class SidePlanner {
public:
  SidePlanner(const GemmSpec &spec, const GemmOperand &operand, int64_t size,
              int64_t offset, char name)
      : spec(spec), operand(operand), size(size), offset(offset), name(name),
        bytes(operand.element.getIntOrFloatBitWidth() / 8) {}

  /// Fills `side`, but for what depends on the shape of tiles. Returns why it
  /// cannot be read, or "".
  std::string plan(WarpgroupSide &side) {
    side.tile.element = operand.element;
    side.tile.alongK = operand.k.back() == 1;
    if (!side.tile.alongK && (operand.free != 1 || bytes != 2))
      return operand.free == 1
                 ? say("does not run along k, as elements of {0} bits have to",
                       8 * bytes)
                 : say("has no dim whose elements follow each other");
    side.map.offset = offset * bytes;
    side.map.element = operand.element.isF32()
                           ? FloatTF32Type::get(operand.element.getContext())
                           : operand.element;
    int64_t line =
        side.tile.alongK ? (size > 1 ? operand.free : 0) : operand.k.back();
    side.map.sizes = {spec.k.back(), size};
    if (!side.tile.alongK)
      std::swap(side.map.sizes[0], side.map.sizes[1]);
    // A dim of one line is never left.
    side.map.strides = {line == 0 ? 16 : line * bytes};
    addDims(side, side.k, ArrayRef(spec.k).drop_back(), operand.k);
    addDims(side, side.outer, spec.outer, operand.outer);
    if (side.map.sizes.size() > kMapDims)
      return say("has {0} dims, more than the {1} of a tensor map",
                 side.map.sizes.size(), kMapDims);
    if (side.map.offset % 16 != 0)
      return say("starts {0} bytes into a buffer, which is no multiple of 16",
                 side.map.offset);
    for (int64_t stride : side.map.strides)
      if (stride % 16 != 0 || stride <= 0)
        return say("has lines {0} bytes apart, which is no multiple of 16",
                   stride);
    return "";
  }

private:
  /// Dims that the side does not have, or that are one, are none of the map.
  void addDims(WarpgroupSide &side, SmallVector<unsigned> &numbers,
               ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
    for (auto [i, dim] : llvm::enumerate(sizes))
      if (dim > 1 && strides[i] != 0) {
        numbers.push_back(i);
        side.map.sizes.push_back(dim);
        side.map.strides.push_back(strides[i] * bytes);
      }
  }

  template <typename... Ts>
  std::string say(const char *format, Ts &&...values) {
    return name +
           (" " + llvm::formatv(format, std::forward<Ts>(values)...).str());
  }

  const GemmSpec &spec;
  const GemmOperand &operand;
  int64_t size, offset;
  char name;
  int64_t bytes;
};

/// A tile of C, 128 bytes of k deep, and how two warpgroups multiply it. Sums
/// of a warpgroup, 64 times 256 of it, take half of its registers.
struct TileShape {
  int64_t bm, bn, wm;

  bool isPingPong() const { return bm == wm; }
  int64_t area() const { return bm * bn; }
};

} // namespace

static const TileShape shapes[] = {
    {128, 256, 64}, {256, 128, 128}, {128, 128, 128}, {64, 256, 64},
    {256, 64, 256}, {128, 64, 128},  {64, 128, 64},   {64, 64, 64},
};

/// Time of a product in ns. Each multiprocessor has one tile after the other,
/// and what it needs is copied all the time; storing results is hidden but for
/// the last tile if another warpgroup multiplies meanwhile.
static double estimateTiles(const GemmSpec &spec, const TileShape &shape,
                            int64_t cluster, int64_t resultBytes,
                            const TargetDescription &target) {
  int64_t bytes = spec.a.element.getIntOrFloatBitWidth() / 8;
  // Each 64 rows are multiplied by columns that they read for themselves.
  double lines = std::min(shape.bm, spec.m) +
                 std::min<double>(shape.bn, spec.n) / cluster,
         read = shape.bm + shape.bm / 64 * shape.bn;
  StepCost step{2.0 * shape.bm * shape.bn,
                target.bf16TeraFlops * 1e3 * 2 / bytes, bytes * read,
                bytes * lines};
  double multiply = estimateStep(step, target) * spec.depth();
  // Sums go through shared memory and back.
  double store = estimateStep(
      {0, 1, 8.0 * shape.area(), double(resultBytes * shape.area())}, target);
  int64_t tiles = countOuter(spec) * llvm::divideCeil(spec.m, shape.bm) *
                  llvm::divideCeil(spec.n, shape.bn);
  int64_t each = llvm::divideCeil(tiles, target.numProcessors);
  double time = shape.isPingPong()
                    ? std::max(each * multiply + store,
                               llvm::divideCeil(each, 2) * (multiply + store))
                    : each * (multiply + store);
  return time + kBlockTime;
}

namespace {
struct Choice {
  TileShape shape;
  int64_t cluster;
  double time;
};
} // namespace

/// Blocks of a cluster have tiles below each other; each copies whole boxes of
/// the columns that they share.
static Choice chooseShape(const GemmSpec &spec, bool isAlongK,
                          int64_t resultBytes,
                          const TargetDescription &target) {
  std::optional<Choice> best;
  for (const TileShape &shape : shapes)
    for (int64_t cluster : {1, 2}) {
      if (llvm::divideCeil(spec.m, shape.bm) % cluster != 0 ||
          (!isAlongK && shape.bn < 64 * cluster))
        continue;
      double time = estimateTiles(spec, shape, cluster, resultBytes, target);
      // Of those with the same bound, the one that multiplies less in vain.
      if (!best || time < best->time ||
          (time == best->time && shape.area() < best->shape.area()))
        best = {shape, cluster, time};
    }
  return *best;
}

/// How bulk copies store results that are only rounded, if they lie as a tensor
/// map wants it.
static std::optional<DeviceTensorMap> mapResult(const WarpgroupGemmPlan &plan,
                                                const GemmKernel &kernel) {
  if (!plan.roundsFirst())
    return std::nullopt;
  const DotProduct &dot = kernel.product;
  const GemmSpec &spec = dot.spec;
  DeviceTensorMap map;
  map.buffer = kernel.dot->getBlock()->getNumArguments();
  map.element = plan.staged;
  map.sizes = {spec.n, spec.m};
  map.strides = {dot.mStride * 2};
  map.box = {64, 16};
  for (auto [size, stride] : llvm::zip_equal(spec.outer, dot.outerStrides))
    if (size > 1) {
      map.sizes.push_back(size);
      map.strides.push_back(stride * 2);
      map.box.push_back(1);
    }
  auto isAligned = [](int64_t bytes) { return bytes % 16 == 0; };
  if (map.sizes.size() > kMapDims || !llvm::all_of(map.strides, isAligned))
    return std::nullopt;
  return map;
}

std::optional<WarpgroupGemmPlan>
tsp::planWarpgroupGemm(const GemmKernel &kernel, int64_t resultBytes,
                       const TargetDescription &target, std::string &reason) {
  const DotProduct &dot = kernel.product;
  const GemmSpec &spec = dot.spec;
  reason = "";
  // Few rows are bound by reading B.
  if (spec.m <= 4 || !canMultiply(spec, kernel.dot))
    return std::nullopt;
  // Bulk copies bring what lies in memory.
  if (!kernel.a || !kernel.b) {
    reason = std::string(kernel.a ? "B" : "A") + " is computed by the kernel";
    return std::nullopt;
  }
  WarpgroupGemmPlan plan;
  for (auto [side, operand, size, offset, name] :
       {std::tuple(&plan.sideA, &spec.a, spec.m, dot.offsetA, 'A'),
        std::tuple(&plan.sideB, &spec.b, spec.n, dot.offsetB, 'B')}) {
    reason = SidePlanner(spec, *operand, size, offset, name).plan(*side);
    if (!reason.empty())
      return std::nullopt;
  }
  plan.sideA.map.buffer = kernel.a.getArgNumber();
  plan.sideB.map.buffer = kernel.b.getArgNumber();

  Choice choice =
      chooseShape(spec, plan.sideB.tile.alongK, resultBytes, target);
  plan.kind = DeviceGemmPlan::tensorCore;
  plan.element = spec.a.element;
  plan.bm = choice.shape.bm;
  plan.bn = plan.wn = choice.shape.bn;
  plan.wm = choice.shape.wm;
  plan.bk = plan.sideA.tile.lineDepth();
  plan.threads = WarpgroupRoles{kMultipliers}.threads();
  plan.cluster = choice.cluster;
  plan.time = choice.time;
  for (auto [side, extent, parts] :
       {std::tuple(&plan.sideA, plan.bm, int64_t(1)),
        std::tuple(&plan.sideB, plan.bn, plan.cluster)}) {
    side->tile.lines = side->tile.alongK ? extent / parts : plan.bk;
    side->boxes = side->tile.alongK ? parts : extent / 64;
    side->map.box.assign(side->map.sizes.size(), 1);
    side->map.box[0] = side->tile.alongK ? plan.bk : 64;
    side->map.box[1] = side->tile.lines;
  }
  constexpr int64_t most = 8;
  plan.stages = 0;
  plan.stages = std::min(most, (target.sharedPerBlock - plan.barriers() -
                                StageRing::barrierBytes(most)) /
                                   plan.stageBytes());
  completePlan(plan, kernel, resultBytes, target);
  plan.grid =
      std::min(plan.tiles, target.numProcessors / plan.cluster * plan.cluster);
  plan.group = llvm::alignTo(plan.group, plan.cluster);
  plan.result = mapResult(plan, kernel);
  // Sums that threads store are staged by 16 x 32.
  plan.slabColumns = plan.roundsFirst() ? 64 : 32;
  plan.sharedBytes = plan.barriers() + StageRing::barrierBytes(plan.stages);
  return plan;
}
