//===- Segment.cpp - memory that the ranks of a communicator share --------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nccl/Segment.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <linux/futex.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

using namespace tsp::emulation;

/// State and start of a process, as the kernel counts it; false if it is gone.
static bool readProcess(int process, char &state, uint64_t &start) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line) || line.rfind(')') == std::string::npos)
    return false;
  // The name, in parentheses, may hold anything; fields 3 and 22 follow it.
  std::istringstream rest(line.substr(line.rfind(')') + 2));
  std::string field;
  rest >> state;
  for (int i = 4; i <= 21; ++i)
    rest >> field;
  rest >> start;
  return !rest.fail();
}

/// The offset of `count` objects, behind what ends at `end`.
template <typename T> static size_t reserve(size_t &end, size_t count) {
  constexpr size_t line = 64;
  size_t offset = (end + line - 1) / line * line;
  end = offset + sizeof(T) * count;
  return offset;
}

Segment *Segment::open(const std::string &name, int rank, int ranks, int bus,
                       std::string &why) {
  size_t bytes = 0;
  size_t numRanks = size_t(ranks);
  const size_t headerAt = reserve<Header>(bytes, 1);
  const size_t membersAt = reserve<Member>(bytes, numRanks);
  const size_t channelsAt = reserve<Channel>(bytes, numRanks * numRanks);

  // Whoever comes first makes it; only pages that are used take memory.
  int file = shm_open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, off_t(bytes)) != 0) {
    why = "shared memory " + name + ": " + strerror(errno);
    if (file >= 0)
      close(file);
    return nullptr;
  }
  void *base =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (base == MAP_FAILED) {
    why = "shared memory " + name + ": " + strerror(errno);
    return nullptr;
  }
  auto *segment = new Segment;
  segment->segmentName = name;
  segment->numRanks = ranks;
  segment->bytes = bytes;
  segment->base = base;
  char *begin = static_cast<char *>(base);
  segment->header = reinterpret_cast<Header *>(begin + headerAt);
  segment->members = reinterpret_cast<Member *>(begin + membersAt);
  segment->channels = reinterpret_cast<Channel *>(begin + channelsAt);

  int32_t agreed = 0;
  if (!segment->header->ranks.compare_exchange_strong(agreed, ranks) &&
      agreed != ranks) {
    why = "rank " + std::to_string(rank) + " makes a communicator of " +
          std::to_string(ranks) + " ranks, another rank one of " +
          std::to_string(agreed) + " with the same id";
    segment->fail(ncclInvalidArgument, why);
    delete segment;
    return nullptr;
  }
  Member &self = segment->member(rank);
  char state;
  uint64_t start = 0;
  readProcess(getpid(), state, start);
  uint32_t absent = Member::Absent;
  self.bus = bus;
  self.process = getpid();
  self.processStart = start;
  if (!self.state.compare_exchange_strong(absent, Member::Joined)) {
    why = "two ranks of a communicator are rank " + std::to_string(rank);
    segment->fail(ncclInvalidArgument, why);
    delete segment;
    return nullptr;
  }
  segment->ringAll();
  return segment;
}

Segment::~Segment() { munmap(base, bytes); }

void Segment::removeName() { shm_unlink(segmentName.c_str()); }

bool Segment::fail(ncclResult_t code, const std::string &why) {
  uint32_t none = 0;
  if (!header->failed.compare_exchange_strong(none, 1))
    return false;
  header->code = code;
  snprintf(header->why, sizeof(header->why), "%s", why.c_str());
  header->failed = 2;
  ringAll();
  return true;
}

ncclResult_t Segment::failure(std::string &why) const {
  if (header->failed == 0)
    return ncclSuccess;
  // Being written; by somebody who may die over it.
  for (int ms = 0; header->failed == 1 && ms < 1000; ++ms)
    usleep(1000);
  why = header->why;
  return header->code ? ncclResult_t(header->code) : ncclRemoteError;
}

void Segment::ring(int rank) {
  Member &other = member(rank);
  other.bell.fetch_add(1);
  if (other.isAsleep)
    syscall(SYS_futex, &other.bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Segment::ringAll() {
  for (int rank = 0; rank < numRanks; ++rank)
    ring(rank);
}

void Segment::sleep(int rank, uint32_t ticket, int64_t ns) {
  Member &self = member(rank);
  timespec time{time_t(ns / 1000000000), long(ns % 1000000000)};
  self.isAsleep = 1;
  syscall(SYS_futex, &self.bell, FUTEX_WAIT, ticket, &time, nullptr, 0);
  self.isAsleep = 0;
}

std::string Segment::whyGone(int rank) {
  Member &other = member(rank);
  std::string name = "rank " + std::to_string(rank);
  switch (other.state.load()) {
  case Member::Absent:
    return "";
  case Member::Left:
    return name + " has destroyed its communicator";
  case Member::Aborted:
    return name + " has aborted";
  }
  char state;
  uint64_t start;
  bool isThere = readProcess(other.process, state, start);
  // A zombie has ended; another process may have got its number.
  if (!isThere || state == 'Z' || state == 'X' || start != other.processStart)
    return name + " has died (process " + std::to_string(other.process) + ")";
  return "";
}

bool Segment::isInThisProcess(int rank) {
  return member(rank).process == getpid();
}

bool Segment::mayVanish(int rank) {
  return header->failed != 0 || member(rank).state == Member::Aborted;
}
