//===- Segment.h - memory that the ranks of a communicator share -*- C++
//-*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_NCCL_SEGMENT_H
#define TSP_EMULATION_NCCL_SEGMENT_H

#include "nccl/Operation.h"

#include <atomic>
#include <string>

namespace tsp::emulation {

/// What a rank has told the others. All of it starts as zeros, so the memory
/// needs no setting up.
struct Member {
  enum State : uint32_t { Absent, Joined, Left, Aborted };
  std::atomic<uint32_t> state;
  /// The bus of its device, by which a device of the machine is known.
  std::atomic<int32_t> bus;
  std::atomic<int32_t> process;
  std::atomic<uint64_t> processStart;
  /// Counts what others have done for this rank; it sleeps on it.
  std::atomic<uint32_t> bell;
  std::atomic<uint32_t> isAsleep;

  /// The rank's last collectives, by number: number n (from 1) is in entry
  /// n % history. No rank can be as far ahead of another as to overwrite one
  /// that is still compared.
  static constexpr int history = 256;
  struct Entry {
    std::atomic<uint64_t> number;
    Signature signature;
  } collectives[history];
  std::atomic<uint64_t> lastCollective;

  /// Answers to the last two ncclCommSplit, by number.
  struct Split {
    std::atomic<uint64_t> number;
    int32_t color, key;
  } splits[2];
};

/// Messages from one rank to another, one at a time.
struct Channel {
  std::atomic<uint64_t> posted;
  std::atomic<uint64_t> taken;
  /// Of the message that is posted and not taken yet:
  Signature signature;
  uint64_t number;
  uint64_t bytes;
  /// Where it is in the memory of the sender's process, and whether a receiver
  /// of the same process reads it there.
  const char *source;
  /// The token of the sender's work, in its process.
  void *sender;
  std::atomic<uint32_t> isRead;
  /// Bytes that went into and came out of `ring`, between processes.
  std::atomic<uint64_t> produced;
  std::atomic<uint64_t> consumed;
  static constexpr size_t ringBytes = 256 * 1024;
  char ring[ringBytes];
};

/// The memory of one communicator: in POSIX shared memory, under a name made of
/// the unique id, until all ranks have it.
class Segment {
public:
  ~Segment();
  Segment(const Segment &) = delete;

  /// Joins as `rank`, with the device on a bus; returns null with a reason if
  /// that cannot be.
  static Segment *open(const std::string &name, int rank, int ranks, int bus,
                       std::string &why);

  int ranks() const { return numRanks; }
  const std::string &name() const { return segmentName; }
  Member &member(int rank) { return members[rank]; }
  Channel &channel(int from, int to) { return channels[from * numRanks + to]; }

  /// Takes the name away; who has the memory keeps it.
  void removeName();

  /// Ends the communicator for all ranks. Only the first reason is kept; true
  /// if it was this one.
  bool fail(ncclResult_t code, const std::string &why);
  /// ncclSuccess as long as nobody has failed.
  ncclResult_t failure(std::string &why) const;

  void ring(int rank);
  void ringAll();
  /// Sleeps until somebody rings for `rank` after `ticket` was read from its
  /// bell, or for `ns` nanoseconds.
  void sleep(int rank, uint32_t ticket, int64_t ns);

  /// Why a rank will do nothing more (its process is gone, it left or aborted);
  /// empty while it is well.
  std::string whyGone(int rank);
  bool isInThisProcess(int rank);
  /// Whether a rank's buffers may go away, since it has aborted or all have
  /// failed.
  bool mayVanish(int rank);

private:
  struct Header {
    std::atomic<int32_t> ranks;
    /// 0: none, 1: being written, 2: there.
    std::atomic<uint32_t> failed;
    int32_t code;
    char why[1024];
  };

  Segment() = default;

  std::string segmentName;
  int numRanks = 0;
  size_t bytes = 0;
  void *base = nullptr;
  Header *header = nullptr;
  Member *members = nullptr;
  Channel *channels = nullptr;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_NCCL_SEGMENT_H
