//===- Order.cpp - what happened before what ------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/Order.h"
#include "exec/WarpContext.h"

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
  inits.join(other.inits);
  for (const OfThread &one : other.alone) {
    auto same =
        std::find_if(alone.begin(), alone.end(), [&](const OfThread &mine) {
          return mine.thread == one.thread;
        });
    if (same == alone.end())
      alone.push_back(one);
    else
      same->time = std::max(same->time, one.time);
  }
  // What is known of the warp has come up with it.
  alone.erase(std::remove_if(alone.begin(), alone.end(),
                             [&](const OfThread &one) {
                               return one.time <= known[one.thread / warpSize];
                             }),
              alone.end());
}

bool Knowledge::knows(uint32_t thread, uint32_t time) const {
  return std::any_of(alone.begin(), alone.end(), [&](const OfThread &one) {
    return one.thread == thread && time <= one.time;
  });
}

bool Knowledge::knowsOfWarp(unsigned agent, uint32_t time) const {
  return std::any_of(alone.begin(), alone.end(), [&](const OfThread &one) {
    return one.thread / warpSize == agent && time <= one.time;
  });
}

void Knowledge::clear() {
  known.clear();
  fenced.clear();
  inits.clear();
  alone.clear();
}

void Order::start(unsigned warps) {
  knowledge.assign(warps, Knowledge());
  released.assign(warps, Knowledge());
  synchronized.assign(warps, 0);
  nextAgent = warps;
  // A warp's own time begins at 1: 0 is what nobody has seen.
  for (unsigned warp = 0; warp < warps; ++warp)
    knowledge[warp].known.set(warp, 1);
}

void Order::arrive(unsigned agent, Knowledge &into) {
  into.join(knowledge[agent]);
  knowledge[agent].known.set(agent, now(agent) + 1);
}

Knowledge Order::knowledgeOf(unsigned agent, uint32_t thread) const {
  Knowledge own = knowledge[agent];
  own.known.set(agent, synchronized[agent]);
  own.alone.push_back({thread, now(agent)});
  return own;
}

void Order::arriveAlone(unsigned agent, uint32_t thread, Knowledge &into) {
  into.join(knowledgeOf(agent, thread));
  knowledge[agent].known.set(agent, now(agent) + 1);
}

void Order::release(unsigned agent) {
  released[agent].join(knowledge[agent]);
  knowledge[agent].known.set(agent, now(agent) + 1);
}

void Order::releaseInits(unsigned agent) {
  released[agent].inits.join(knowledge[agent].known);
  released[agent].inits.join(knowledge[agent].inits);
  knowledge[agent].known.set(agent, now(agent) + 1);
}

void Order::synchronize(unsigned agent) {
  synchronized[agent] = now(agent);
  knowledge[agent].known.set(agent, now(agent) + 1);
}

void Order::fence(unsigned agent) {
  Knowledge &own = knowledge[agent];
  own.fenced.join(own.known);
  // What it writes later is not fenced by this.
  own.known.set(agent, now(agent) + 1);
}

} // namespace tsp::emulation
