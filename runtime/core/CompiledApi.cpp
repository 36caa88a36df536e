//===- CompiledApi.cpp - what compiled code calls -------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Session.h"

#include <cstring>

using namespace tsp::runtime;

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {
struct Launch {
  tsp_rank *rank;
  const char *name;
  tsp_kernel_fn fn;
  void **args;
  int64_t scratchBytes;
};
} // namespace

/// Runs a part of the grid on one worker.
static void launchPart(void *context, int64_t begin, int64_t end, int worker) {
  const Launch &launch = *static_cast<const Launch *>(context);
  ThreadPool &pool = launch.rank->pool;
  void *scratch =
      launch.scratchBytes ? pool.scratch(worker, launch.scratchBytes) : nullptr;
  if (!launch.rank->session.tracing())
    return launch.fn(launch.args, begin, end, scratch);
  int64_t start = nowNs();
  launch.fn(launch.args, begin, end, scratch);
  pool.track(worker).events.push_back({launch.name, start, nowNs(), -1});
}

/// Returns false when scratch memory cannot be had.
static bool launch(tsp_rank &rank, Launch &work, int64_t grid) {
  try {
    ThreadPool &pool = rank.pool;
    // Short kernels stay on this thread: waking others costs microseconds.
    const double shortest = 8000, piece = 4000;
    if (pool.threads() == 1 || grid == 1) {
      launchPart(&work, 0, grid, 0);
      rank.progress.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    // Scratch is taken here, where a failure can be reported.
    if (work.scratchBytes)
      for (int worker = 0; worker < pool.threads(); ++worker)
        pool.scratch(worker, work.scratchBytes);
    double &cost = rank.kernelCost.emplace(work.fn, -1).first->second;
    int64_t chunk = std::max<int64_t>(1, grid / (4 * pool.threads()));
    if (cost >= 0)
      chunk = cost * double(grid) < shortest
                  ? grid
                  : std::max(chunk, int64_t(piece / std::max(cost, 1e-3)));
    int64_t begin = nowNs();
    int took = pool.run(launchPart, &work, grid, chunk);
    double measured = double(nowNs() - begin) * took / double(grid);
    cost = cost < 0 ? measured : 0.75 * cost + 0.25 * measured;
    return true;
  } catch (const std::exception &error) {
    rank.session.fail(format("rank %lld, kernel %s: %s", (long long)rank.index,
                             work.name, error.what()));
    return false;
  }
}

/// With tsp_options.check: fails where `what` uses memory that a transfer in
/// flight keeps busy.
static bool checkFree(tsp_rank &rank, const std::string &what,
                      const Transfer::Range &range, bool writes) {
  std::string busy =
      rank.session.options.check && range.bytes > 0
          ? rank.session.communicator->findConflict(rank, range, writes)
          : "";
  if (!busy.empty())
    rank.session.fail(format("rank %lld: %s %s %s, which was not waited for",
                             (long long)rank.index, what.c_str(),
                             writes ? "writes" : "uses", busy.c_str()));
  return busy.empty();
}

/// What a kernel does with an argument is not known here, nor its size.
static bool checkArguments(tsp_rank &rank, const char *kernel, int64_t nargs,
                           void **args) {
  for (int64_t i = 0; rank.session.options.check && i < nargs; ++i)
    if (!checkFree(rank, format("kernel %s", kernel), {args[i], 1}, false))
      return false;
  return true;
}

void tsp_launch(tsp_rank *rank, int32_t, const char *name, tsp_kernel_fn fn,
                int64_t grid, int64_t scratch_bytes, int64_t nargs,
                void **args) {
  if (rank->session.failed() || !checkArguments(*rank, name, nargs, args))
    unwind(*rank);
  if (grid <= 0)
    return;
  rank->lastKernel.store(name, std::memory_order_relaxed);
  Launch work{rank, name, fn, args, scratch_bytes};
  if (!launch(*rank, work, grid))
    unwind(*rank);
}

//===----------------------------------------------------------------------===//
// Small things
//===----------------------------------------------------------------------===//

/// Whether the mesh has this axis number; otherwise fails.
static bool checkAxis(tsp_rank *rank, int32_t axis) {
  if (axis >= 0 && size_t(axis) < rank->session.model.groups.size())
    return true;
  rank->session.fail(format("rank %lld: the mesh has no axis number %d",
                            (long long)rank->index, axis));
  return false;
}

int64_t tsp_axis_index(tsp_rank *rank, int32_t axis) {
  if (!checkAxis(rank, axis))
    unwind(*rank);
  return rank->axisIndex(axis);
}

/// Does something on the rank's device, or in host memory when `space` says so;
/// notes an error. Objects of the work are gone before the caller unwinds.
template <typename OnDevice, typename OnHost>
static bool inSpace(tsp_rank &rank, int32_t space, OnDevice onDevice,
                    OnHost onHost) {
  if (rank.session.failed())
    return false;
  try {
    if (space == rank.device->space())
      onDevice(*rank.device);
    else if (space == TSP_SPACE_HOST)
      onHost();
    else
      throw Error(format("there is no memory space %d; the model's target is "
                         "'%s'",
                         space, rank.session.model.target.c_str()));
    return true;
  } catch (const std::exception &error) {
    rank.session.fail(
        format("rank %lld: %s", (long long)rank.index, error.what()));
    return false;
  }
}

static void copyOnHost(void *dst, const void *src, int64_t bytes) {
  if (bytes > 0 && dst != src)
    memcpy(dst, src, size_t(bytes));
}

void tsp_copy(tsp_rank *rank, int32_t space, int32_t stream, void *dst,
              const void *src, int64_t bytes) {
  if (!checkFree(*rank, "tsp_copy", {src, bytes}, false) ||
      !checkFree(*rank, "tsp_copy", {dst, bytes}, true) ||
      !inSpace(
          *rank, space,
          [&](Device &device) { device.copy(stream, dst, src, bytes); },
          [&] { copyOnHost(dst, src, bytes); }))
    unwind(*rank);
}

void tsp_read(tsp_rank *rank, int32_t space, int32_t stream, void *host_dst,
              const void *src, int64_t bytes) {
  if (!checkFree(*rank, "tsp_read", {src, bytes}, false) ||
      !inSpace(
          *rank, space,
          [&](Device &device) { device.read(stream, host_dst, src, bytes); },
          [&] { copyOnHost(host_dst, src, bytes); }))
    unwind(*rank);
}

void tsp_write(tsp_rank *rank, int32_t space, int32_t stream, void *dst,
               const void *host_src, int64_t bytes) {
  if (!checkFree(*rank, "tsp_write", {dst, bytes}, true) ||
      !inSpace(
          *rank, space,
          [&](Device &device) { device.write(stream, dst, host_src, bytes); },
          [&] { copyOnHost(dst, host_src, bytes); }))
    unwind(*rank);
}

void *tsp_constant(tsp_rank *rank, int32_t space, const void *host_data,
                   int64_t bytes) {
  void *result = const_cast<void *>(host_data);
  if (!inSpace(
          *rank, space,
          [&](Device &device) { result = device.constant(host_data, bytes); },
          [] {}))
    unwind(*rank);
  return result;
}

void tsp_device_launch(tsp_rank *rank, int32_t stream,
                       const tsp_device_kernel *kernel, int64_t nargs,
                       void **args) {
  rank->lastKernel.store(kernel->name, std::memory_order_relaxed);
  if (!checkArguments(*rank, kernel->name, nargs, args) ||
      !inSpace(
          *rank, rank->device->space(),
          [&](Device &device) { device.launch(stream, *kernel, nargs, args); },
          [] {}))
    unwind(*rank);
  rank->progress.fetch_add(1, std::memory_order_relaxed);
}

void tsp_fail(tsp_rank *rank, const char *message) {
  rank->session.fail(format("rank %lld: %s", (long long)rank->index, message));
  unwind(*rank);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// The same of a transfer that is about to start.
static bool checkTransfer(tsp_rank &rank, Transfer transfer) {
  if (!rank.session.options.check || !checkAxis(&rank, transfer.axis))
    return !rank.session.options.check;
  transfer.dim.ranks = transfer.dim1.ranks = rank.axisSize(transfer.axis);
  if (!transfer.check().empty()) // which its start says
    return true;
  std::string what = collectiveName(transfer.kind);
  for (const Transfer::Range &source : transfer.sources())
    if (!checkFree(rank, what, source, false))
      return false;
  for (const Transfer::Range &target : transfer.targets())
    if (!checkFree(rank, what, target, true))
      return false;
  return true;
}

/// Starts a transfer, or leaves the compiled code.
static tsp_event start(tsp_rank *rank, Transfer transfer) {
  if (!checkTransfer(*rank, transfer))
    unwind(*rank);
  transfer.staging = rank->staging;
  transfer.stagingBytes = rank->stagingBytes;
  tsp_event event = -1;
  if (!rank->session.communicator->start(*rank, transfer, event))
    unwind(*rank);
  return event;
}

static Transfer makeTransfer(Collective kind, int32_t axis, int32_t dtype,
                             void *dst, const void *src) {
  Transfer transfer;
  transfer.kind = kind;
  transfer.axis = axis;
  transfer.dtype = dtype;
  transfer.dst = dst;
  transfer.src = src;
  return transfer;
}

static Transfer makeTransfer(Collective kind, int32_t axis, int32_t dtype,
                             void *dst, const void *src, int64_t outer,
                             int64_t total, int64_t inner, int32_t layout,
                             int64_t unit) {
  Transfer transfer = makeTransfer(kind, axis, dtype, dst, src);
  transfer.outer = outer;
  transfer.dim = {total, 1, layout, unit};
  transfer.inner = inner;
  return transfer;
}

void tsp_staging(tsp_rank *rank, void *memory, int64_t bytes) {
  rank->staging = static_cast<char *>(memory);
  rank->stagingBytes = bytes;
}

tsp_event tsp_all_gather_start(tsp_rank *rank, int32_t, int32_t, int32_t axis,
                               int32_t dtype, void *dst, const void *src,
                               int64_t outer, int64_t total,
                               int64_t inner_bytes, int32_t layout,
                               int64_t unit) {
  return start(rank, makeTransfer(Collective::AllGather, axis, dtype, dst, src,
                                  outer, total, inner_bytes, layout, unit));
}

tsp_event tsp_reduce_scatter_start(tsp_rank *rank, int32_t, int32_t,
                                   int32_t axis, int32_t dtype, int32_t combine,
                                   void *dst, const void *src, int64_t outer,
                                   int64_t total, int64_t inner_bytes,
                                   int32_t layout, int64_t unit) {
  Transfer transfer =
      makeTransfer(Collective::ReduceScatter, axis, dtype, dst, src, outer,
                   total, inner_bytes, layout, unit);
  transfer.combine = combine;
  return start(rank, transfer);
}

tsp_event tsp_all_reduce_start(tsp_rank *rank, int32_t, int32_t, int32_t axis,
                               int32_t dtype, int32_t combine, void *dst,
                               const void *src, int64_t count) {
  Transfer transfer =
      makeTransfer(Collective::AllReduce, axis, dtype, dst, src);
  transfer.combine = combine;
  transfer.dim.total = count;
  transfer.inner = isDtype(dtype) ? dtypeSize(dtype) : 0;
  return start(rank, transfer);
}

tsp_event tsp_all_reduce_pair_start(tsp_rank *rank, int32_t, int32_t,
                                    int32_t axis, int32_t dtype, int32_t dtype2,
                                    int32_t combine, void *dst, void *dst2,
                                    const void *src, const void *src2,
                                    int64_t rows, int64_t inner) {
  Transfer transfer =
      makeTransfer(Collective::AllReduce, axis, dtype, dst, src);
  transfer.dtype2 = isDtype(dtype2) ? dtype2 : int32_t(TSP_I1);
  transfer.combine = combine;
  transfer.dst2 = dst2;
  transfer.src2 = src2;
  transfer.dim.total = rows;
  transfer.inner = inner * (isDtype(dtype) ? dtypeSize(dtype) : 0);
  return start(rank, transfer);
}

tsp_event tsp_all_to_all_start(tsp_rank *rank, int32_t, int32_t, int32_t axis,
                               int32_t dtype, void *dst, const void *src,
                               int64_t outer, int64_t total0, int64_t mid,
                               int64_t total1, int64_t inner_bytes,
                               int32_t split, int32_t layout0, int64_t unit0,
                               int32_t layout1, int64_t unit1) {
  Transfer transfer = makeTransfer(Collective::AllToAll, axis, dtype, dst, src,
                                   outer, total0, inner_bytes, layout0, unit0);
  transfer.mid = mid;
  transfer.dim1 = {total1, 1, layout1, unit1};
  transfer.split = split;
  return start(rank, transfer);
}

tsp_event tsp_broadcast_start(tsp_rank *rank, int32_t, int32_t, int32_t axis,
                              int32_t dtype, void *dst, const void *src,
                              int64_t outer, int64_t total, int64_t inner_bytes,
                              int32_t layout, int64_t unit, int64_t offset,
                              int64_t size) {
  Transfer transfer = makeTransfer(Collective::Broadcast, axis, dtype, dst, src,
                                   outer, total, inner_bytes, layout, unit);
  transfer.offset = offset;
  transfer.size = size;
  return start(rank, transfer);
}

tsp_event tsp_send_recv_start(tsp_rank *rank, int32_t, int32_t, int32_t axis,
                              int32_t dtype, void *dst, const void *src,
                              int64_t bytes, int64_t shift) {
  if (!checkAxis(rank, axis))
    unwind(*rank);
  int64_t size = rank->axisSize(axis), me = rank->axisIndex(axis);
  int64_t step = ((shift % size) + size) % size;
  Transfer transfer = makeTransfer(Collective::SendRecv, axis, dtype, dst, src);
  transfer.inner = bytes;
  transfer.source = int32_t((me + size - step) % size);
  transfer.target = int32_t((me + step) % size);
  return start(rank, transfer);
}

tsp_event tsp_permute_start(tsp_rank *rank, int32_t, int32_t, int32_t axis,
                            int32_t dtype, void *dst, const void *src,
                            int64_t bytes, const int32_t *sources) {
  if (!checkAxis(rank, axis))
    unwind(*rank);
  int64_t size = rank->axisSize(axis), me = rank->axisIndex(axis);
  Transfer transfer = makeTransfer(Collective::SendRecv, axis, dtype, dst, src);
  transfer.inner = bytes;
  transfer.source = sources[me];
  for (int64_t i = 0; i < size; ++i) {
    bool twice = sources[i] == me && transfer.target >= 0;
    if (sources[i] < -1 || sources[i] >= size || twice)
      tsp_fail(rank, "permute: the sources are not a permutation");
    if (sources[i] == me)
      transfer.target = int32_t(i);
  }
  return start(rank, transfer);
}

void tsp_wait(tsp_rank *rank, int32_t, tsp_event event) {
  if (!rank->session.communicator->wait(*rank, event))
    unwind(*rank);
}
