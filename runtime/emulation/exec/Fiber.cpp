//===- Fiber.cpp - a stack of its own for each warp -----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/Fiber.h"

#include <boost/context/detail/fcontext.hpp>

#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace tsp::emulation {

namespace context = boost::context::detail;

Fiber::Fiber() {
  void *memory =
      mmap(nullptr, stackBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  stack = static_cast<char *>(memory);
  // A frame too large faults instead of reaching a neighbour's stack.
  mprotect(stack, size_t(sysconf(_SC_PAGESIZE)), PROT_NONE);
}

Fiber::~Fiber() { munmap(stack, stackBytes); }

void Fiber::start(void (*newFunction)(void *), void *newArgument) {
  function = newFunction;
  argument = newArgument;
  inside = context::make_fcontext(
      stack + stackBytes, stackBytes, [](context::transfer_t from) {
        auto *fiber = static_cast<Fiber *>(from.data);
        fiber->outside = from.fctx;
        fiber->function(fiber->argument);
        // A function that returns has nowhere to go.
        std::abort();
      });
}

void Fiber::resume() { inside = context::jump_fcontext(inside, this).fctx; }

void Fiber::suspend() {
  outside = context::jump_fcontext(outside, nullptr).fctx;
}

void Fiber::finish() {
  context::jump_fcontext(outside, nullptr);
  std::abort();
}

} // namespace tsp::emulation
