//===- DeviceNestPlan.cpp - how a GPU divides a nest ----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceNest.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Kernels/Kernels.h"

using namespace mlir;
using namespace tsp;

namespace {

/// The widest access of a thread, in bytes.
constexpr int64_t kGreatestAccess = 16;
/// Threads that a GPU needs to be busy: wide accesses must leave as many.
constexpr int64_t kBusyThreads = 32768;
/// Code of one element (Trial::cost) up to which it is repeated for each of a
/// thread's elements.
constexpr int64_t kGreatestRepeated = 4000;
/// Elements of a row for each thread of a team.
constexpr int64_t kElementsPerLane = 16;
/// Rows that leave most of a GPU idle, and elements of a row for each thread of
/// a block from which on more threads are better.
constexpr int64_t kFewRows = 64;
constexpr int64_t kLongRow = 64;
/// Threads of a team whose rows are side by side: a warp reads one line.
constexpr int64_t kColumns = 32;

int64_t getBytes(Type elementType) {
  return getStorageType(elementType).getIntOrFloatBitWidth() / 8;
}

} // namespace

DeviceNest::DeviceNest(ElementEmitter &emitter, BlockCode &code,
                       int64_t numThreads, ArrayRef<Target> targets,
                       ArrayRef<Range> ranges)
    : Nest(emitter, targets, ranges), code(code), numThreads(numThreads) {
  findWork();
  if (!misfits.empty() || divideRows())
    return;
  for (RowReduction &row : reductions)
    for (unsigned loop : innerLoops)
      if (llvm::is_contained(row.loops, loop))
        row.ownLoops.push_back(loop);
  for (unsigned loop : rowLoops)
    numRows *= loops[loop].size();
  if (reductions.empty())
    planElements();
  else
    planTeams();
}

/// Choices between inputs are made by giving parts of a loop to different
/// blocks.
bool DeviceNest::divideRows() {
  for (unsigned loop : rowLoops) {
    SmallVector<int64_t> points;
    addSplits(points, elementTrial, trialIndex[loop]);
    for (RowReduction &row : reductions)
      addSplits(points, row.trial, trialIndex[loop]);
    if (divide(loop, points, [&](ArrayRef<Range> ranges) {
          return std::make_unique<DeviceNest>(emitter, code, numThreads,
                                              targets, ranges);
        }))
      return true;
  }
  return false;
}

/// How many elements along a loop of `size` a thread may take at once: 16 bytes
/// of the narrowest type, if all accesses are contiguous or the same.
int64_t DeviceNest::getWidth(const Trial &trial, const LinearIndex &symbol,
                             int64_t size, bool isStored) const {
  std::optional<SymbolId> id = symbol.getSingleSymbol();
  if (!id || trial.cost > kGreatestRepeated || trial.splits.count(*id))
    return 1;
  int64_t bytes = kGreatestAccess;
  bool isContiguous = isStored;
  for (const Trial::Access &access : trial.accesses) {
    int64_t coefficient = access.address.getCoefficient(*id);
    if (coefficient == 0)
      continue;
    if (coefficient != 1)
      return 1;
    isContiguous = true;
    bytes = std::min<int64_t>(bytes, access.bytes);
  }
  if (isStored)
    for (const Target &target : targets)
      bytes = std::min(bytes, getBytes(getElementTypeOrSelf(target.tensor)));
  int64_t width = isContiguous ? kGreatestAccess / bytes : 1;
  while (width > 1 &&
         (size % width != 0 || trial.cost * width > kGreatestRepeated))
    width /= 2;
  return width;
}

/// Whether results are side by side along this loop.
bool DeviceNest::isContiguous(unsigned loop) const {
  auto type = cast<RankedTensorType>(targets.front().tensor.getType());
  return isFlat || llvm::all_of(type.getShape().drop_front(loop + 1),
                                [](int64_t size) { return size == 1; });
}

void DeviceNest::planElements() {
  if (planTile())
    return;
  if (!rowLoops.empty()) {
    unsigned last = rowLoops.back();
    elementWidth = getWidth(elementTrial, trialIndex[last], loops[last].size(),
                            isContiguous(last));
    while (elementWidth > 1 && (loops[last].lower % elementWidth != 0 ||
                                numRows / elementWidth < kBusyThreads))
      elementWidth /= 2;
  }
  grid = llvm::divideCeil(numRows / elementWidth, numThreads);
}

bool DeviceNest::hasLongRows() const {
  return !reductions.empty() && !shape.isStrided && numRows <= kFewRows &&
         rowWork >= kLongRow * numThreads;
}

void DeviceNest::planTeams() {
  // The work of a row, and the loops along which it walks through memory.
  int64_t work = 1, along = 0, across = 0;
  bool hasOwnLoops = false, hasWindow = false;
  for (unsigned loop : innerLoops)
    work *= loops[loop].size();
  for (RowReduction &row : reductions) {
    int64_t extent = 1;
    for (int64_t size : row.reduction.getExtents())
      extent *= size;
    work = std::max(work, extent);
    hasOwnLoops |= !row.ownLoops.empty();
    hasWindow |= isa<stablehlo::ReduceWindowOp>(row.reduction.getOp());
    for (const LinearIndex &position : llvm::reverse(row.trialPosition))
      if (!position.isConstant()) {
        along += countContiguous(row.trial, position);
        break;
      }
    if (!rowLoops.empty())
      across += countContiguous(row.trial, row.trialLoops[rowLoops.back()]);
  }

  rowWork = work;
  int64_t wanted = llvm::PowerOf2Ceil(llvm::divideCeil(work, kElementsPerLane));
  shape.size = std::clamp<int64_t>(wanted, 1, numThreads);
  if (hasOwnLoops) {
    shape.size = numThreads;
  } else if (across > along && !hasWindow) {
    // A thread for a row if that makes enough of them.
    shape.isStrided = true;
    int64_t columns = std::min<int64_t>(llvm::PowerOf2Ceil(numRows), kColumns);
    shape.size = std::min(shape.size, numThreads / columns);
    if (numRows >= kBusyThreads)
      shape.size = 1;
  } else if (hasWindow) {
    shape.size = 1;
  }
  if (!shape.isStrided && shape.size > 1) {
    // One width for all loops, so that threads keep their elements.
    int64_t width = kGreatestAccess;
    SmallVector<int64_t *> users;
    if (!innerLoops.empty()) {
      unsigned last = innerLoops.back();
      innerWidth = getWidth(elementTrial, trialIndex[last], loops[last].size(),
                            isContiguous(last));
      if (innerWidth > 1)
        width = std::min(width, innerWidth);
    }
    reductionWidth = kGreatestAccess;
    for (RowReduction &row : reductions) {
      ArrayRef<int64_t> extents = row.reduction.getExtents();
      int64_t own = extents.empty()
                        ? 1
                        : getWidth(row.trial, row.trialPosition.back(),
                                   extents.back(), false);
      reductionWidth = std::min(reductionWidth, own);
    }
    if (reductionWidth > 1)
      width = std::min(width, reductionWidth);
    // Narrower, if all threads then have as many elements.
    int64_t even = width;
    while (even > 1 && work % (even * shape.size) != 0)
      even /= 2;
    if (work % (even * shape.size) == 0 &&
        work / shape.size <= kElementsPerLane)
      width = even;
    innerWidth = std::min(innerWidth, width);
    reductionWidth = std::min(reductionWidth, width);
  }
  grid = llvm::divideCeil(numRows, numThreads / shape.size);
}
