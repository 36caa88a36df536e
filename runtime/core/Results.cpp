//===- Results.cpp - whole values from the ranks' parts -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Context.h"

#include <algorithm>

using namespace tsp::runtime;

bool tsp::runtime::isFirstReplica(const ValueDesc &value,
                                  const std::vector<int64_t> &coordinates) {
  std::vector<bool> splits(coordinates.size(), false);
  for (const DimPlacement &dim : value.placement)
    for (const AxisSplit &split : dim)
      splits[split.axis] = true;
  for (size_t axis = 0; axis < splits.size(); ++axis)
    if (!splits[axis] && coordinates[axis] != 0)
      return false;
  return true;
}

void Context::read(const ValueDesc &value, const Place &place,
                   char *dst) const {
  gatherInOrder(
      value, *session, [&](const tsp_rank &rank) { return local(rank, place); },
      [&](const char *data, int64_t bytes) {
        memcpy(dst, data, size_t(bytes));
        dst += bytes;
      },
      true);
}

namespace {
/// Elements that are contiguous in a local buffer and in the whole value.
struct Run {
  int64_t local, global, size;
};
} // namespace

/// The part of the segments with global elements in [begin, end).
static std::vector<Segment> clip(const std::vector<Segment> &segments,
                                 int64_t begin, int64_t end) {
  std::vector<Segment> result;
  for (const Segment &segment : segments) {
    int64_t from = std::max(begin, segment.global);
    int64_t to = std::min(end, segment.global + segment.size);
    if (from < to)
      result.push_back(
          {segment.local + from - segment.global, from, to - from});
  }
  return result;
}

/// Bytes of a rank's buffer; a rank of another process sends them to process 0.
/// Null where there is nothing to do with them.
static const char *
fetchPart(const Session &session, int64_t index, int64_t begin, int64_t end,
          const std::function<const char *(const tsp_rank &)> &local,
          std::vector<char> &buffer) {
  const tsp_rank *here = session.findRank(index);
  const char *part =
      here ? here->device->fetch(local(*here) + begin, end - begin, buffer)
           : nullptr;
  if (session.isFirst() == (here != nullptr))
    return part;
  if (here) {
    session.processes->sendToFirst(std::string(part, size_t(end - begin)));
    return nullptr;
  }
  if (!session.isFirst())
    return nullptr;
  int64_t perProcess = int64_t(session.ranks.size());
  std::string data = session.processes->receive(index / perProcess);
  buffer.assign(data.begin(), data.end());
  return buffer.data();
}

void tsp::runtime::gatherInOrder(
    const ValueDesc &value, const Session &session,
    const std::function<const char *(const tsp_rank &)> &local,
    const OutputTensor::Sink &sink, bool everywhere) {
  const MeshShape &mesh = session.model.mesh;
  const int64_t limit = int64_t(4) << 20;
  int64_t size = dtypeSize(value.dtype);
  if (value.elements() == 0)
    return;

  // Blocks are ranges of one dim `split`, for fixed indices of those before it.
  int64_t inner = size;
  size_t split = value.shape.size();
  while (split > 0 && inner * value.shape[split - 1] <= limit)
    inner *= value.shape[--split];
  bool whole = split == 0;
  if (!whole)
    --split;
  int64_t outer = 1;
  for (size_t i = 0; i < split; ++i)
    outer *= value.shape[i];
  int64_t dim = whole ? 1 : value.shape[split];
  int64_t step = whole ? 1 : std::max<int64_t>(1, limit / inner);
  std::vector<char> block(size_t(inner * std::min(dim, step))), fetched;
  std::vector<Run> runs;

  for (int64_t prefix = 0; prefix < outer; ++prefix)
    for (int64_t begin = 0; begin < dim; begin += step) {
      int64_t end = std::min(dim, begin + step);
      int64_t first = (prefix * dim + begin) * (inner / size);
      for (int64_t index = 0; index < session.model.numRanks(); ++index) {
        std::vector<int64_t> coordinates = rankCoordinates(mesh, index);
        if (!isFirstReplica(value, coordinates))
          continue;
        auto dims = value.owned(mesh, coordinates);
        int64_t rest = prefix;
        for (size_t i = split; i-- > 0; rest /= value.shape[i])
          dims[i] =
              clip(dims[i], rest % value.shape[i], rest % value.shape[i] + 1);
        if (!whole)
          dims[split] = clip(dims[split], begin, end);
        runs.clear();
        forEachRun(dims, value.shape, value.localShape,
                   [&](int64_t from, int64_t to, int64_t run) {
                     runs.push_back({from, to, run});
                   });
        if (runs.empty())
          continue;
        // Runs ascend in the local buffer: one copy from the device has all.
        int64_t low = runs.front().local;
        int64_t high = runs.back().local + runs.back().size;
        const char *src =
            fetchPart(session, index, low * size, high * size, local, fetched);
        if (!src)
          continue;
        for (const Run &run : runs)
          memcpy(&block[size_t((run.global - first) * size)],
                 src + (run.local - low) * size, size_t(run.size * size));
      }
      int64_t bytes = (end - begin) * inner;
      if (everywhere && session.processes) {
        std::string data(block.data(), size_t(bytes));
        session.processes->broadcast(data);
        sink(data.data(), bytes);
      } else if (session.isFirst()) {
        sink(block.data(), bytes);
      }
    }
}

std::vector<OutputTensor> Context::results(int entry) const {
  std::vector<OutputTensor> tensors;
  const EntryDesc &code = desc.entries[entry];
  for (size_t i = 0; i < code.results.size(); ++i) {
    const ValueDesc *value = &code.results[i];
    Place place = resultPlace(entry, int(i));
    OutputTensor tensor;
    tensor.name = value->name;
    tensor.dtype = value->dtype;
    tensor.shape = value->shape;
    tensor.produce = [this, value, place](const OutputTensor::Sink &sink) {
      gatherInOrder(
          *value, *session,
          [&](const tsp_rank &rank) { return local(rank, place); }, sink);
    };
    tensors.push_back(tensor);
  }
  return tensors;
}

void Context::writeResults(int entry, const std::string &path) const {
  std::vector<OutputTensor> tensors = results(entry);
  if (session->isFirst())
    return writeTensors(path, tensors);
  for (const OutputTensor &tensor : tensors)
    tensor.produce([](const char *, int64_t) {});
}
