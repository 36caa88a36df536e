//===- Order.cpp - what happened before what ------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/Order.h"

#include <algorithm>

namespace tsp::emulation {

void Clock::set(size_t agent, uint32_t time) {
  if (agent >= times.size())
    times.resize(agent + 1);
  times[agent] = time;
}

void Clock::join(const Clock &other) {
  if (other.times.size() > times.size())
    times.resize(other.times.size());
  for (size_t i = 0; i < other.times.size(); ++i)
    times[i] = std::max(times[i], other.times[i]);
}

void Knowledge::join(const Knowledge &other) {
  known.join(other.known);
  fenced.join(other.fenced);
}

void Knowledge::clear() {
  known.clear();
  fenced.clear();
}

void Order::start(unsigned warps) {
  knowledge.assign(warps, Knowledge());
  nextAgent = warps;
  // A warp's own time begins at 1: 0 is what nobody has seen.
  for (unsigned warp = 0; warp < warps; ++warp)
    knowledge[warp].known.set(warp, 1);
}

void Order::arrive(unsigned agent, Knowledge &into) {
  into.join(knowledge[agent]);
  knowledge[agent].known.set(agent, now(agent) + 1);
}

void Order::fence(unsigned agent) {
  Knowledge &own = knowledge[agent];
  own.fenced.join(own.known);
  // What it writes later is not fenced by this.
  own.known.set(agent, now(agent) + 1);
}

} // namespace tsp::emulation
