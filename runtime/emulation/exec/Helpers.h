//===- Helpers.h - functions that compiled code calls -------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values of a warp are passed as arrays, a lane an element; several registers
// are one array after the other. Lanes outside `mask` take no part: nothing of
// theirs is read from or written to memory. With an empty mask a helper does
// nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_HELPERS_H
#define TSP_EMULATION_EXEC_HELPERS_H

#include "exec/WarpContext.h"

namespace tsp::emulation::helpers {

using Context = WarpContext *;
using Lanes64 = const uint64_t *;
using Lanes32 = const uint32_t *;

// Memory.cpp: the suffix is the size of an element.
void load1(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
           void *result);
void load2(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
           void *result);
void load4(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
           void *result);
void load8(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
           void *result);
void store1(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
            const void *values);
void store2(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
            const void *values);
void store4(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
            const void *values);
void store8(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
            const void *values);
/// One address for all lanes; the elements lie one after the other.
void loadUniform(Context, uint32_t site, uint32_t mask, uint64_t address,
                 void *result);

// Atomics.cpp. `third` is the new value of a compare-and-swap.
void atomic(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
            Lanes64 second, Lanes64 third, uint64_t *result);

// AsyncCopy.cpp. `sourceBytes`: the rest of each copy is zeros.
void asyncCopy(Context, uint32_t site, uint32_t mask, Lanes64 to, Lanes64 from,
               Lanes32 sourceBytes);
void asyncCommit(Context, uint32_t site, uint32_t mask);
/// Ends all but the last `pending` groups of each lane.
void asyncWait(Context, uint32_t site, uint32_t mask, uint32_t pending);
void asyncWaitAll(Context, uint32_t site, uint32_t mask);
/// Arrives at mbarriers when the copies so far have come.
void asyncArrive(Context, uint32_t site, uint32_t mask, Lanes64 addresses);

// Barrier.cpp: the phases of mbarrier objects. Addresses are of the site's
// space; flags of the site say what an arrival does and what `phases` are.
void mbarrierInit(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
                  Lanes32 counts);
void mbarrierInvalidate(Context, uint32_t site, uint32_t mask,
                        Lanes64 addresses);
void mbarrierArrive(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
                    Lanes32 counts, Lanes32 bytes, uint64_t *states);
void mbarrierExpect(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
                    Lanes32 bytes);
void mbarrierComplete(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
                      Lanes32 bytes);
/// The lanes whose phases have completed; others may ask again.
uint32_t mbarrierWait(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
                      Lanes64 phases);

/// For the checker: what a fence orders.
void fence(Context, uint32_t site, uint32_t mask);

// BulkHelpers.cpp: a copy a lane. Coordinates of a dimension are 32 lanes;
// `ranks` are a set of blocks for multicast, or empty.
void bulkTensorLoad(Context, uint32_t site, uint32_t mask, Lanes64 shared,
                    Lanes64 maps, Lanes32 coordinates, Lanes64 barriers,
                    Lanes32 ranks);
void bulkLoad(Context, uint32_t site, uint32_t mask, Lanes64 shared,
              Lanes64 global, Lanes32 bytes, Lanes64 barriers, Lanes32 ranks);
void bulkTensorStore(Context, uint32_t site, uint32_t mask, Lanes64 shared,
                     Lanes64 maps, Lanes32 coordinates);
void bulkStore(Context, uint32_t site, uint32_t mask, Lanes64 shared,
               Lanes64 global, Lanes32 bytes);
/// From the block's shared memory to that of a block of its cluster.
void bulkClusterCopy(Context, uint32_t site, uint32_t mask, Lanes64 to,
                     Lanes64 from, Lanes32 bytes, Lanes64 barriers);
/// st.async: `values` as for stores, of elements of the site's size.
void storeAsync(Context, uint32_t site, uint32_t mask, Lanes64 to,
                const void *values, Lanes64 barriers);
void bulkCommit(Context, uint32_t site, uint32_t mask);
/// Ends all but the last `pending` groups of each lane.
void bulkWait(Context, uint32_t site, uint32_t mask, uint32_t pending);

// ReplaceMap.cpp: tensormap.replace of a MapField, and of which dimension.
void replaceInMap(Context, uint32_t site, uint32_t mask, Lanes64 maps,
                  uint32_t field, uint32_t dimension, Lanes64 values);
/// tensormap.cp_fenceproxy, by a whole warp.
void copyMap(Context, uint32_t site, uint32_t mask, Lanes64 to, Lanes64 from);

// Cluster.cpp
void clusterArrive(Context, uint32_t site, uint32_t mask);
void clusterWait(Context, uint32_t site, uint32_t mask);
/// The same places in the blocks of these ranks, in the addresses' space.
void mapShared(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
               Lanes32 ranks, uint64_t *results);
void rankOfShared(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
                  uint32_t *results);
/// Addresses of the host for addresses of shared::cluster.
void clusterAddresses(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
                      uint64_t *results);
/// And the other way round.
void clusterOffsets(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
                    uint64_t *results);
/// The lanes whose addresses are in shared memory of the cluster.
uint32_t isOfCluster(Context, uint32_t site, uint32_t mask, Lanes64 addresses);

// Warp.cpp
/// Faults unless all living lanes of `members` are in `mask`.
void checkMembers(Context, uint32_t site, uint32_t mask, uint32_t members);
/// Returns the lanes whose source was in range.
uint32_t shuffle(Context, uint32_t site, uint32_t mask, Lanes32 values,
                 Lanes32 lane, Lanes32 clamp, Lanes32 members,
                 uint32_t *result);
void reduce(Context, uint32_t site, uint32_t mask, Lanes32 values,
            uint32_t members, uint32_t *result);
/// The lanes with the same value; for match.all all of them or none.
void match(Context, uint32_t site, uint32_t mask, Lanes64 values,
           uint32_t members, uint32_t *result);
/// What all lanes have; a fault when they differ.
uint32_t sameInLanes(Context, uint32_t site, uint32_t mask, Lanes32 values);
uint32_t barrier(Context, uint32_t site, uint32_t mask, uint32_t id,
                 uint32_t threads, uint32_t predicate);
/// The highest of the lanes' blocks among those that are divergent, else the
/// lowest of all.
uint32_t chooseFairly(Lanes32 blocks, const uint8_t *isDivergent,
                      uint32_t count);
void trap(Context, uint32_t site, uint32_t mask);

// Print.cpp: vprintf. Each lane has 16 bytes for each operand.
void print(Context, uint32_t site, uint32_t mask, const uint8_t *formats,
           const uint8_t *arguments, uint8_t *results);

// Math.cpp: 32 lanes each.
void exp2(const float *x, float *result);
void log2(const float *x, float *result);
void sin(const float *x, float *result);
void cos(const float *x, float *result);
void tanh(const float *x, float *result);
/// Of f32, with 1: toward zero, 2: toward minus, 3: toward plus infinity.
void addRounded(const float *x, const float *y, float *result,
                uint32_t rounding);
void mulRounded(const float *x, const float *y, float *result,
                uint32_t rounding);
void fmaRounded(const float *x, const float *y, const float *z, float *result,
                uint32_t rounding);
void divRounded(const float *x, const float *y, float *result,
                uint32_t rounding);
void sqrtRounded(const float *x, float *result, uint32_t rounding);
void narrowRounded(const double *x, float *result, uint32_t rounding);
/// Of f64.
void addRounded64(const double *x, const double *y, double *result,
                  uint32_t rounding);
void mulRounded64(const double *x, const double *y, double *result,
                  uint32_t rounding);
void fmaRounded64(const double *x, const double *y, const double *z,
                  double *result, uint32_t rounding);
void divRounded64(const double *x, const double *y, double *result,
                  uint32_t rounding);
void sqrtRounded64(const double *x, double *result, uint32_t rounding);

// Matrix.cpp: a pointer a register.
void ldmatrix(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
              uint32_t *const *results);
void ldmatrixTrans(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
                   uint32_t *const *results);
void stmatrix(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
              Lanes32 values);
void stmatrixTrans(Context, uint32_t site, uint32_t mask, Lanes64 addresses,
                   Lanes32 values);
void movmatrix(Context, uint32_t site, uint32_t mask, Lanes32 values,
               uint32_t *result);
/// Faults unless all 32 lanes take part.
void checkWhole(Context context, uint32_t site, uint32_t mask);

// Mma.cpp: pointers to the registers of d, a, b and c, one after the other, in
// the layout of fragments that the PTX manual gives.
void mma(Context, uint32_t site, uint32_t mask, uint32_t *const *registers);

// Wgmma.cpp. `sums` and `fragment` point to the registers of D and, when they
// hold A, of A; `accumulates`: the lanes that add to D.
void wgmma(Context, uint32_t site, uint32_t mask, uint32_t *const *sums,
           uint32_t *const *fragment, Lanes64 a, Lanes64 b,
           uint32_t accumulates);
void wgmmaFence(Context, uint32_t site, uint32_t mask);
void wgmmaCommit(Context, uint32_t site, uint32_t mask);
/// Ends all but the last `pending` groups.
void wgmmaWait(Context, uint32_t site, uint32_t mask, uint32_t pending);
/// Another instruction accesses a register of sums or of A.
void wgmmaTouch(Context, uint32_t site, uint32_t mask, const uint32_t *place,
                uint32_t writes);

/// Name and address of every helper.
struct Entry {
  const char *name;
  void *address;
};
const std::vector<Entry> &all();

} // namespace tsp::emulation::helpers

#endif // TSP_EMULATION_EXEC_HELPERS_H
