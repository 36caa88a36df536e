//===- Fiber.h - a stack of its own for each warp -----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_FIBER_H
#define TSP_EMULATION_EXEC_FIBER_H

#include <cstddef>
#include <cstdint>

namespace tsp::emulation {

/// Runs a function on its own stack, from which it can go back to whoever
/// resumed it. What runs on it must not throw, and may be left in the middle
/// for good: the next start() forgets it.
class Fiber {
public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /// Prepares `function(argument)`; resume() begins it. Before it returns it
  /// must call finish().
  void start(void (*function)(void *), void *argument);
  /// Runs until the next suspend() or finish().
  void resume();
  /// On the fiber: back to resume().
  void suspend();
  /// On the fiber: back to resume(), never to return.
  [[noreturn]] void finish();

  uint64_t stackBegin() const { return reinterpret_cast<uint64_t>(stack); }
  /// Frames of large kernels hold every register of a warp: hundreds of KB. The
  /// pages come when they are touched.
  static constexpr size_t stackBytes = size_t(8) << 20;

private:
  char *stack = nullptr;
  void *inside = nullptr;
  void *outside = nullptr;
  void (*function)(void *) = nullptr;
  void *argument = nullptr;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_FIBER_H
