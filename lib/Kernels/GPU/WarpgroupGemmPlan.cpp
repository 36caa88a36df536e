//===- WarpgroupGemmPlan.cpp - how a product is divided on sm_90a ---------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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

/// A tile of a block, 128 bytes of k deep. Sums of a warpgroup, 64 times 256 of
/// it, take half of its registers.
struct TileShape {
  int64_t bm, bn, wm;

  int64_t consumers() const { return bm / wm; }
  int64_t area() const { return bm * bn; }
  /// Blocks that share columns: two, which need more than the second cache
  /// gives when each reads for itself. They are below each other in the grid.
  int64_t cluster(const GemmSpec &spec) const {
    return consumers() > 1 && llvm::divideCeil(spec.m, bm) % 2 == 0 ? 2 : 1;
  }
  int64_t stageBytes() const { return (bm + bn) * 128; }
  /// Stages that fit when `blocks` blocks share a multiprocessor. A block takes
  /// 1 KB more than it asks for.
  int64_t stages(const TargetDescription &target, int64_t blocks) const {
    int64_t bytes = std::min(target.sharedPerProcessor / blocks - 1024,
                             target.sharedPerBlock);
    return std::min<int64_t>(8, (bytes - StageRing::barrierBytes(8)) /
                                    stageBytes());
  }
  /// Blocks of a multiprocessor: two hide each other's ends, if that leaves
  /// them enough stages.
  int64_t blocks(const TargetDescription &target) const {
    return consumers() == 1 && stages(target, 2) >= 3 ? 2 : 1;
  }
};

} // namespace

static const TileShape shapes[] = {
    {128, 256, 64}, {256, 128, 128}, {128, 128, 128}, {64, 256, 64},
    {256, 64, 256}, {128, 64, 128},  {64, 128, 64},   {64, 64, 64},
};

static TileShape chooseShape(const GemmSpec &spec,
                             const TargetDescription &target) {
  const TileShape *best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  int64_t bytes = spec.a.element.getIntOrFloatBitWidth() / 8;
  for (const TileShape &shape : shapes) {
    // Each 64 rows are multiplied by columns that they read for themselves.
    double lines = shape.bm + double(shape.bn) / shape.cluster(spec),
           read = shape.bm + shape.bm / 64 * shape.bn;
    StepCost step{2.0 * shape.bm * shape.bn,
                  target.bf16TeraFlops * 1e3 * 2 / bytes, bytes * read,
                  bytes * lines};
    double time = estimateProduct(spec, shape.bm, shape.bn, step, target,
                                  shape.blocks(target));
    // Of those with the same bound, the one that multiplies less in vain.
    bool isLess =
        time < least || (time == least && shape.area() < best->area());
    if (isLess) {
      best = &shape;
      least = time;
    }
  }
  return *best;
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

  TileShape shape = chooseShape(spec, target);
  plan.element = spec.a.element;
  plan.bm = shape.bm;
  plan.bn = plan.wn = shape.bn;
  plan.wm = shape.wm;
  plan.bk = plan.sideA.tile.lineDepth();
  plan.threads = WarpgroupRoles{shape.consumers()}.threads();
  plan.blocksPerProcessor = shape.blocks(target);
  plan.cluster = shape.cluster(spec);
  plan.stages = shape.stages(target, plan.blocksPerProcessor);
  for (auto [side, extent, parts] :
       {std::tuple(&plan.sideA, plan.bm, int64_t(1)),
        std::tuple(&plan.sideB, plan.bn, plan.cluster)}) {
    side->tile.lines = side->tile.alongK ? extent / parts : plan.bk;
    side->boxes = side->tile.alongK ? parts : extent / 64;
    side->map.box.assign(side->map.sizes.size(), 1);
    side->map.box[0] = side->tile.alongK ? plan.bk : 64;
    side->map.box[1] = side->tile.lines;
  }
  completePlan(plan, dot, resultBytes);
  plan.sharedBytes =
      plan.stages * plan.stageBytes() + StageRing::barrierBytes(plan.stages);
  return plan;
}
