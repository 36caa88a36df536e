//===- BulkHelpers.cpp - instructions that copy in bulk -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/BlockRunner.h"
#include "exec/Helpers.h"
#include "exec/Scheduler.h"

#include <algorithm>

namespace tsp::emulation::helpers {

/// PTX ISA, "cp.async.bulk" and "cp.async.bulk.tensor": to what addresses in
/// shared memory are aligned.
constexpr unsigned bulkAlignment = 16, tileAlignment = 128;

/// A copy of a lane with its place in shared memory.
static BulkCopy makeCopy(Context context, uint32_t siteIndex, unsigned lane,
                         uint64_t shared, uint32_t bytes, unsigned alignment) {
  BlockRunner &block = *context->block;
  BulkCopy copy;
  copy.issue = {context, siteIndex, lane, {}};
  if (Checker *checker = block.checker())
    copy.issue =
        checker->issueAsync(*context, siteIndex, lane, /*isWarp=*/false);
  SharedPlace place = block.sharedPlace(*context, siteIndex, lane, shared,
                                        bytes, alignment, ptx::Space::Shared);
  copy.block = place.block;
  copy.shared = place.offset;
  copy.bytes = bytes;
  return copy;
}

/// The tensor map at a lane's address, checked.
static const TensorMap &mapOf(Context context, uint32_t siteIndex,
                              unsigned lane, Lanes64 maps) {
  BlockRunner &block = *context->block;
  block.checkAccess(*context, siteIndex, uint32_t(1) << lane, maps, mapBytes,
                    mapAlignment, ptx::Space::Generic);
  const auto &map = *reinterpret_cast<const TensorMap *>(maps[lane]);
  unsigned rank = block.site(siteIndex).count;
  if (!map.isEncoded())
    block.fault(*context, siteIndex, lane,
                "there is no tensor map at this address");
  if (map.rank != rank)
    block.fault(*context, siteIndex, lane,
                "the tensor map is of " + std::to_string(map.rank) +
                    " dimensions, the copy of " + std::to_string(rank));
  return map;
}

static BulkCopy makeTensorCopy(Context context, uint32_t siteIndex,
                               unsigned lane, uint64_t shared, Lanes64 maps,
                               Lanes32 coordinates) {
  const TensorMap &map = mapOf(context, siteIndex, lane, maps);
  BulkCopy copy =
      makeCopy(context, siteIndex, lane, shared, map.boxBytes(), tileAlignment);
  copy.isTensor = true;
  copy.map = map;
  for (unsigned dim = 0; dim < map.rank; ++dim)
    copy.coordinates[dim] = int32_t(coordinates[dim * warpSize + lane]);
  Range touched = map.touched(copy.coordinates);
  if (touched.begin != touched.end)
    context->block->checkGlobal(*context, siteIndex, lane, touched);
  return copy;
}

static void checkPieces(Context context, uint32_t siteIndex, unsigned lane,
                        uint32_t bytes, uint64_t global) {
  if (bytes % bulkAlignment || global % bulkAlignment)
    context->block->fault(
        *context, siteIndex, lane,
        "a bulk copy of " + std::to_string(bytes) +
            " bytes that is not in pieces of 16 bytes: sizes and addresses "
            "must be multiples");
}

static BulkCopy makePlainCopy(Context context, uint32_t siteIndex,
                              unsigned lane, uint64_t shared, uint64_t global,
                              uint32_t bytes) {
  checkPieces(context, siteIndex, lane, bytes, global);
  BulkCopy copy =
      makeCopy(context, siteIndex, lane, shared, bytes, bulkAlignment);
  copy.global = global;
  context->block->checkGlobal(*context, siteIndex, lane,
                              {global, global + bytes});
  return copy;
}

/// Into the blocks whose ranks are set in `ranks`, to the same place in each,
/// whose mbarriers are told; without any into that of the addresses.
static void issueLoad(const BulkCopy &copy, uint64_t barrier, uint32_t ranks) {
  const AsyncIssue &issue = copy.issue;
  BlockRunner &block = *issue.warp->block;
  SharedPlace place = block.sharedPlace(*issue.warp, issue.site, issue.lane,
                                        barrier, 8, 8, ptx::Space::Shared);
  auto issueTo = [&](BlockRunner &target) {
    BulkCopy one = copy;
    one.block = &target;
    one.barrier = &target.phaseBarriers().find(*issue.warp, issue.site,
                                               issue.lane, place.offset);
    block.scheduler().copies().issue(std::move(one));
  };
  if (!ranks && place.block != copy.block)
    block.fault(*issue.warp, issue.site, issue.lane,
                "the mbarrier is in another block than what is copied to");
  if (!ranks)
    return issueTo(*copy.block);
  for (; ranks; ranks &= ranks - 1) {
    unsigned rank = unsigned(__builtin_ctz(ranks));
    BlockRunner *target = block.ofCluster(rank);
    if (!target)
      block.fault(*issue.warp, issue.site, issue.lane,
                  "multicast to block " + std::to_string(rank) +
                      ", which the cluster does not have");
    issueTo(*target);
  }
}

/// A copy within the cluster: its mbarrier is where it is copied to.
static void issueInCluster(BulkCopy copy, uint64_t barrier) {
  const AsyncIssue &issue = copy.issue;
  BlockRunner &block = *issue.warp->block;
  SharedPlace place = block.sharedPlace(*issue.warp, issue.site, issue.lane,
                                        barrier, 8, 8, ptx::Space::Shared);
  if (place.block != copy.block)
    block.fault(*issue.warp, issue.site, issue.lane,
                "the mbarrier is in another block than what is copied to");
  copy.barrier = &place.block->phaseBarriers().find(*issue.warp, issue.site,
                                                    issue.lane, place.offset);
  block.scheduler().copies().issue(std::move(copy));
}

static void issueStore(BulkCopy copy) {
  BulkStores &stores = copy.issue.warp->block->warpOf(copy.issue.warp).stores;
  copy.group = stores.groups[copy.issue.lane];
  stores.pending.push_back(std::move(copy));
}

void bulkTensorLoad(Context context, uint32_t site, uint32_t mask,
                    Lanes64 shared, Lanes64 maps, Lanes32 coordinates,
                    Lanes64 barriers, Lanes32 ranks) {
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    issueLoad(
        makeTensorCopy(context, site, lane, shared[lane], maps, coordinates),
        barriers[lane], ranks[lane]);
  }
}

void bulkLoad(Context context, uint32_t site, uint32_t mask, Lanes64 shared,
              Lanes64 global, Lanes32 bytes, Lanes64 barriers, Lanes32 ranks) {
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    issueLoad(makePlainCopy(context, site, lane, shared[lane], global[lane],
                            bytes[lane]),
              barriers[lane], ranks[lane]);
  }
}

void bulkTensorStore(Context context, uint32_t site, uint32_t mask,
                     Lanes64 shared, Lanes64 maps, Lanes32 coordinates) {
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    issueStore(
        makeTensorCopy(context, site, lane, shared[lane], maps, coordinates));
  }
}

void bulkStore(Context context, uint32_t site, uint32_t mask, Lanes64 shared,
               Lanes64 global, Lanes32 bytes) {
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    issueStore(makePlainCopy(context, site, lane, shared[lane], global[lane],
                             bytes[lane]));
  }
}

void bulkClusterCopy(Context context, uint32_t site, uint32_t mask, Lanes64 to,
                     Lanes64 from, Lanes32 bytes, Lanes64 barriers) {
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    checkPieces(context, site, lane, bytes[lane], 0);
    BulkCopy copy =
        makeCopy(context, site, lane, to[lane], bytes[lane], bulkAlignment);
    SharedPlace source = context->block->sharedPlace(
        *context, site, lane, from[lane], bytes[lane], bulkAlignment,
        ptx::Space::Shared);
    copy.from = source.block;
    copy.fromShared = source.offset;
    issueInCluster(std::move(copy), barriers[lane]);
  }
}

void storeAsync(Context context, uint32_t siteIndex, uint32_t mask, Lanes64 to,
                const void *values, Lanes64 barriers) {
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    const Site &site = context->block->site(siteIndex);
    unsigned bytes = unsigned(site.size) * site.count;
    BulkCopy copy = makeCopy(context, siteIndex, lane, to[lane], bytes, bytes);
    copy.issue.isAsync = false;
    for (unsigned i = 0; i < site.count; ++i) {
      auto *value = static_cast<const uint8_t *>(values) +
                    (i * warpSize + lane) * site.size;
      copy.data.insert(copy.data.end(), value, value + site.size);
    }
    issueInCluster(std::move(copy), barriers[lane]);
  }
}

void bulkCommit(Context context, uint32_t, uint32_t mask) {
  for (; mask; mask &= mask - 1)
    ++context->block->warpOf(context)
          .stores.groups[unsigned(__builtin_ctz(mask))];
}

void bulkWait(Context context, uint32_t siteIndex, uint32_t mask,
              uint32_t pending) {
  if (!mask)
    return;
  BlockRunner &block = *context->block;
  BulkStores &stores = block.warpOf(context).stores;
  bool readOnly = block.site(siteIndex).flags & BulkFlags::ReadOnly;
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    uint32_t groups = stores.groups[lane];
    stores.complete(lane, groups - std::min(pending, groups), readOnly);
  }
}

} // namespace tsp::emulation::helpers
