//===- Order.h - what happened before what ------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector clocks. Warps of a cluster are ordered by barriers only. Each has a
// clock and knows up to which time of every other it has waited. Phases of
// mbarriers have clocks too: what a bulk copy writes is known to those who know
// its phase to be over.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_ORDER_H
#define TSP_EMULATION_EXEC_ORDER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tsp::emulation {

/// A time for each agent: a warp or an mbarrier. 0: nothing of it is known.
class Clock {
public:
  uint32_t operator[](size_t agent) const {
    return agent < times.size() ? times[agent] : 0;
  }
  void set(size_t agent, uint32_t time);
  void join(const Clock &other);
  void clear() { times.clear(); }

private:
  std::vector<uint32_t> times;
};

/// What has happened before a point: all of it, and as far as generic writes
/// have been fenced for the async proxy (PTX ISA, "Proxies").
struct Knowledge {
  Clock known;
  Clock fenced;
  /// mbarriers that were initialised.
  Clock inits;
  /// What single threads did that their warps had not synchronized before they
  /// told it.
  struct OfThread {
    uint32_t thread, time;
  };
  std::vector<OfThread> alone;

  /// Whether this is known of a thread, or, when that is not clear, of one of
  /// its warp.
  bool knows(uint32_t thread, uint32_t time) const;
  bool knowsOfWarp(unsigned agent, uint32_t time) const;

  void join(const Knowledge &other);
  void clear();
};

class Order {
public:
  /// A new cluster of so many warps begins.
  void start(unsigned warps);

  const Knowledge &of(unsigned agent) const { return knowledge[agent]; }
  uint32_t now(unsigned agent) const { return knowledge[agent].known[agent]; }
  /// One for what is no warp: an mbarrier, the products of a warpgroup.
  unsigned addAgent() { return nextAgent++; }
  /// A warp tells what it knows to those who will leave.
  void arrive(unsigned agent, Knowledge &into);
  /// One of its threads does, without the others: of what they did since the
  /// warp synchronized it does not know.
  void arriveAlone(unsigned agent, uint32_t thread, Knowledge &into);
  Knowledge knowledgeOf(unsigned agent, uint32_t thread) const;
  /// A warp has come without telling what no fence has released.
  void arriveRelaxed(unsigned agent, Knowledge &into) {
    into.join(released[agent]);
  }
  /// fence.acq_rel and its like, and fence.mbarrier_init.
  void release(unsigned agent);
  void releaseInits(unsigned agent);
  /// The threads of a warp wait for each other.
  void synchronize(unsigned agent);
  void leave(unsigned agent, const Knowledge &from) {
    knowledge[agent].join(from);
  }
  /// A warp has waited for what another agent did up to a time.
  void learn(unsigned agent, unsigned other, uint32_t time) {
    knowledge[agent].known.set(other, time);
  }
  /// The async proxy sees what the warp knows.
  void fence(unsigned agent);

private:
  std::vector<Knowledge> knowledge, released;
  /// Of warps: their times when they synchronized last.
  std::vector<uint32_t> synchronized;
  unsigned nextAgent = 0;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_ORDER_H
