//===- Atomics.cpp - atomics of a warp ------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/Atomics.h"
#include "exec/BlockRunner.h"
#include "exec/Helpers.h"
#include "exec/Scheduler.h"

#include <cmath>
#include <cstring>
#include <type_traits>

namespace tsp::emulation {

namespace {
template <typename To, typename From> To as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

float fromHalf(uint16_t bits) { return float(as<_Float16>(bits)); }
uint16_t toHalf(float value) { return as<uint16_t>(_Float16(value)); }
float fromBFloat(uint16_t bits) { return as<float>(uint32_t(bits) << 16); }
uint16_t toBFloat(float value) {
  uint32_t bits = as<uint32_t>(value);
  if (std::isnan(value))
    return 0x7fff;
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// The new value of one element of a float type, both as bits.
template <typename T>
T combineFloat(AtomicOp operation, T old, T second, ptx::Kind kind) {
  if constexpr (sizeof(T) == 8)
    return operation == AtomicOp::Add
               ? as<T>(as<double>(old) + as<double>(second))
               : second;
  if constexpr (sizeof(T) == 4)
    return operation == AtomicOp::Add
               ? as<T>(as<float>(old) + as<float>(second))
               : second;
  if constexpr (sizeof(T) == 2) {
    if (kind == ptx::Kind::BFloat)
      return toBFloat(fromBFloat(old) + fromBFloat(second));
    return toHalf(fromHalf(old) + fromHalf(second));
  }
  return second;
}

template <typename T>
T combine(AtomicOp operation, ptx::Type type, T old, T second, T third) {
  using Signed = std::make_signed_t<T>;
  if (operation == AtomicOp::Add && type.isFloat()) {
    if constexpr (sizeof(T) == 4) {
      if (type.packed) {
        auto half = [&](unsigned shift) {
          return uint32_t(combineFloat<uint16_t>(
                     operation, uint16_t(old >> shift),
                     uint16_t(second >> shift), type.kind))
                 << shift;
        };
        return half(0) | half(16);
      }
    }
    return combineFloat<T>(operation, old, second, type.kind);
  }
  switch (operation) {
  case AtomicOp::Add:
    return T(old + second);
  case AtomicOp::Min:
    return type.isSigned() ? T(std::min(Signed(old), Signed(second)))
                           : std::min(old, second);
  case AtomicOp::Max:
    return type.isSigned() ? T(std::max(Signed(old), Signed(second)))
                           : std::max(old, second);
  case AtomicOp::And:
    return old & second;
  case AtomicOp::Or:
    return old | second;
  case AtomicOp::Xor:
    return old ^ second;
  case AtomicOp::Exch:
    return second;
  case AtomicOp::Cas:
    return old == second ? third : old;
  case AtomicOp::Inc:
    return old >= second ? T(0) : T(old + 1);
  case AtomicOp::Dec:
    return old == 0 || old > second ? second : T(old - 1);
  }
  return old;
}

template <typename T>
uint64_t update(AtomicOp operation, ptx::Type type, uint64_t address,
                uint64_t second, uint64_t third) {
  T *place = reinterpret_cast<T *>(address);
  T old = __atomic_load_n(place, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(
      place, &old, combine<T>(operation, type, old, T(second), T(third)),
      /*weak=*/true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return old;
}
} // namespace

uint64_t updateAtomically(AtomicOp operation, ptx::Type type, unsigned size,
                          uint64_t address, uint64_t second, uint64_t third) {
  switch (size) {
  case 2:
    return update<uint16_t>(operation, type, address, second, third);
  case 4:
    return update<uint32_t>(operation, type, address, second, third);
  default:
    return update<uint64_t>(operation, type, address, second, third);
  }
}

namespace helpers {

void atomic(Context context, uint32_t siteIndex, uint32_t mask,
            Lanes64 addresses, Lanes64 second, Lanes64 third,
            uint64_t *result) {
  if (!mask)
    return;
  BlockRunner &block = *context->block;
  const Site &site = block.site(siteIndex);
  uint64_t base = block.checkAccess(*context, siteIndex, mask, addresses,
                                    site.size, site.size, site.space);
  if (site.polls)
    block.scheduler().poll(block.warpOf(context));
  if (Checker *checker = block.checker())
    checker->access(*context, siteIndex, mask, addresses, site.size,
                    AccessKind::Atomic, site.space);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t address = base + addresses[lane];
    result[lane] =
        updateAtomically(AtomicOp(site.operation), site.type, site.size,
                         address, second[lane], third[lane]);
  }
}

} // namespace helpers
} // namespace tsp::emulation
