//===- Transfer.cpp - one collective as one rank sees it ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Transfer.h"

using namespace tsp::runtime;

const char *tsp::runtime::collectiveName(Collective kind) {
  static const char *const names[numCollectives] = {
      "all_gather", "reduce_scatter", "all_reduce",
      "all_to_all", "broadcast",      "send_recv"};
  return names[int(kind)];
}

const char *tsp::runtime::combineName(int combine) {
  static const char *const names[] = {"sum", "max", "min", "lse", "argmax"};
  return names[combine];
}

/// Number of a rank's owned elements inside [begin, end).
static int64_t ownedIn(const Chunking &dim, int64_t rank, int64_t begin,
                       int64_t end) {
  Segment parts[2];
  int64_t sum = 0;
  for (int i = 0, n = dim.segments(rank, parts); i < n; ++i)
    sum += std::max<int64_t>(0, std::min(end, parts[i].global + parts[i].size) -
                                    std::max(begin, parts[i].global));
  return sum;
}

int64_t Transfer::bytesReceived(int64_t coordinate) const {
  switch (kind) {
  case Collective::AllGather:
  case Collective::ReduceScatter:
    return outer * (dim.total - dim.owned(coordinate)) * inner;
  case Collective::AllReduce: {
    int64_t bytes = outer * dim.total * inner;
    if (dtype2 >= 0)
      bytes += dim.total * dtypeSize(dtype2);
    return 2 * (ranks() - 1) * bytes / ranks();
  }
  case Collective::AllToAll: {
    int64_t own0 = dim.owned(coordinate), own1 = dim1.owned(coordinate);
    int64_t result = split == 0 ? own0 * dim1.total : dim.total * own1;
    return outer * mid * inner * (result - own0 * own1);
  }
  case Collective::Broadcast: {
    int64_t begin = std::max<int64_t>(0, offset);
    int64_t end = std::min(dim.total, offset + size);
    int64_t all = std::max<int64_t>(0, end - begin);
    return outer * inner * (all - ownedIn(dim, coordinate, begin, end));
  }
  case Collective::SendRecv:
    return source < 0 || source == coordinate ? 0 : inner;
  }
  return 0;
}

bool Transfer::reads(int64_t to, int64_t from) const {
  if (to == from)
    return false;
  switch (kind) {
  case Collective::Broadcast:
    return ownedIn(dim, from, offset, offset + size) > 0;
  default:
    return true;
  }
}

std::string Transfer::difference(const Transfer &other) const {
  if (kind != other.kind)
    return format("the kind: %s != %s", collectiveName(kind),
                  collectiveName(other.kind));
  if (dtype != other.dtype || dtype2 != other.dtype2)
    return format("the dtype: %s != %s", dtypeName(dtype),
                  dtypeName(other.dtype));
  struct {
    const char *name;
    int64_t mine, theirs;
  } numbers[] = {{"the combine", combine, other.combine},
                 {"the outer size", outer, other.outer},
                 {"the total", dim.total, other.dim.total},
                 {"the inner bytes", inner, other.inner},
                 {"the layout", dim.layout, other.dim.layout},
                 {"the unit", dim.unit, other.dim.unit},
                 {"the middle size", mid, other.mid},
                 {"the second total", dim1.total, other.dim1.total},
                 {"the second layout", dim1.layout, other.dim1.layout},
                 {"the second unit", dim1.unit, other.dim1.unit},
                 {"the split", split, other.split},
                 {"the offset", offset, other.offset},
                 {"the size", size, other.size}};
  for (const auto &number : numbers)
    if (number.mine != number.theirs)
      return format("%s: %lld != %lld", number.name, (long long)number.mine,
                    (long long)number.theirs);
  return "";
}

std::string Transfer::text() const {
  std::string out = collectiveName(kind);
  if (kind == Collective::SendRecv)
    return out + format(" of %lld bytes", (long long)inner);
  out += format(" of %s [%lld][%lld]", dtypeName(dtype), (long long)outer,
                (long long)dim.total);
  if (kind == Collective::AllToAll)
    out += format("[%lld][%lld]", (long long)mid, (long long)dim1.total);
  return out + format("[%lld bytes]", (long long)inner);
}

std::string Transfer::signature() const {
  std::string out = text();
  auto add = [&](const char *name, int64_t value, int64_t usual) {
    if (value != usual)
      out += format(" %s %lld", name, (long long)value);
  };
  add("second dtype", dtype2, -1);
  if (combine >= 0)
    out += std::string(" ") + combineName(combine);
  for (const Chunking *chunking : {&dim, &dim1}) {
    add("layout", chunking->layout, TSP_CONTIGUOUS);
    add("unit", chunking->unit, 1);
  }
  add("split", split, 0);
  add("offset", offset, 0);
  add("size", size, 0);
  return out;
}

bool Transfer::Range::meets(const Range &other) const {
  auto mine = static_cast<const char *>(begin),
       theirs = static_cast<const char *>(other.begin);
  return mine < theirs + other.bytes && theirs < mine + bytes;
}

/// The local value [outer][dim 0][mid][dim 1][inner], which is sharded in dim 0
/// or dim 1 or not at all.
static int64_t localBytes(const Transfer &transfer, bool local0, bool local1) {
  const Chunking &dim0 = transfer.dim, &dim1 = transfer.dim1;
  bool isExchange = transfer.kind == Collective::AllToAll;
  int64_t columns = !isExchange ? 1 : local1 ? dim1.local() : dim1.total;
  return transfer.outer * (local0 ? dim0.local() : dim0.total) * transfer.mid *
         columns * transfer.inner;
}

/// A buffer, and the second one of pairs.
static std::vector<Transfer::Range> ranges(const Transfer &transfer,
                                           const void *first, int64_t bytes,
                                           const void *second) {
  if (transfer.dtype2 < 0)
    return {{first, bytes}};
  return {{first, bytes},
          {second, transfer.dim.total * dtypeSize(transfer.dtype2)}};
}

std::vector<Transfer::Range> Transfer::sources() const {
  bool isShard = kind == Collective::AllGather || kind == Collective::Broadcast;
  bool isExchange = kind == Collective::AllToAll;
  return ranges(*this, src,
                kind == Collective::SendRecv
                    ? inner
                    : localBytes(*this, isShard || (isExchange && split == 1),
                                 isExchange && split == 0),
                src2);
}

std::vector<Transfer::Range> Transfer::targets() const {
  bool isExchange = kind == Collective::AllToAll;
  bool isShard =
      kind == Collective::ReduceScatter || (isExchange && split == 0);
  int64_t bytes = kind == Collective::SendRecv ? inner
                  : kind == Collective::Broadcast
                      ? outer * size * inner
                      : localBytes(*this, isShard, isExchange && split == 1);
  return ranges(*this, dst, bytes, dst2);
}

char *Transfer::stage(int64_t bytes) const {
  if (bytes > stagingBytes)
    throw Error(format("it packs %lld bytes, but tsp_staging gave it %lld",
                       (long long)bytes, (long long)stagingBytes));
  return staging;
}

std::string Transfer::check() const {
  if (!isDtype(dtype))
    return format("unknown dtype %d", dtype);
  for (const Chunking *chunking : {&dim, &dim1}) {
    if (chunking->total < 0 || chunking->unit < 1)
      return "a size is negative, or a unit less than 1";
    if (chunking->layout != TSP_CONTIGUOUS && chunking->layout != TSP_ZIGZAG)
      return format("unknown layout %d", chunking->layout);
  }
  if (outer < 0 || inner < 0 || mid < 0 || size < 0 || (split & ~1))
    return "a size is negative";
  bool reduces =
      kind == Collective::AllReduce || kind == Collective::ReduceScatter;
  if (reduces && inner % dtypeSize(dtype) != 0)
    return "the inner bytes are not whole elements";
  if (!reduces)
    return "";
  if (dtype2 < 0)
    return combine < TSP_SUM || combine > TSP_MIN
               ? "the combine is not sum, max or min"
               : "";
  if (combine == TSP_LSE) {
    bool isFloat = dtype >= TSP_F64 && dtype <= TSP_BF16;
    bool isLse = dtype2 == TSP_F32 || (dtype == TSP_F64 && dtype2 == TSP_F64);
    return isFloat && isLse ? ""
                            : "lse needs f64, f32, f16 or bf16 with an f32 (or "
                              "f64 with f64) lse";
  }
  if (combine != TSP_ARGMAX)
    return "the combine of pairs is not lse or argmax";
  bool isIndex = dtype2 == TSP_I32 || dtype2 == TSP_I64 || dtype2 == TSP_UI32 ||
                 dtype2 == TSP_UI64;
  return isIndex && inner == dtypeSize(dtype)
             ? ""
             : "argmax needs single values with an integer index of 32 or 64 "
               "bits";
}
