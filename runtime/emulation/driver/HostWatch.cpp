//===- HostWatch.cpp - the host and memory that streams use ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/HostWatch.h"

#include "driver/Context.h"
#include "driver/Memory.h"
#include "driver/Races.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>

using namespace tsp::emulation;

static thread_local bool isOfDevice = false;
/// The page that is open for one instruction of this thread; or empty.
static thread_local Range openPage;
static struct sigaction faultsBefore, stepsBefore;

/// Leaves a signal to who had it before.
static void passOn(struct sigaction &before, int signal, siginfo_t *info,
                   void *context) {
  if (before.sa_flags & SA_SIGINFO)
    return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(signal);
  // The instruction faults again, and ends the process.
  sigaction(signal, &before, nullptr);
}

/// Whether the processor stops behind the instruction that a signal returns to.
static void setSingleStep(void *context, bool on) {
#ifdef __x86_64__
  constexpr greg_t trapFlag = 0x100;
  greg_t &flags =
      static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_EFL];
  flags = on ? flags | trapFlag : flags & ~trapFlag;
#else
  // The page stays open: what comes later in it is not found.
  (void)context, (void)on;
#endif
}

static void onFault(int signal, siginfo_t *info, void *context) {
  HostWatch &watch = HostWatch::get();
  if (!watch.handleFault(uintptr_t(info->si_addr), openPage))
    return passOn(faultsBefore, signal, info, context);
  if (openPage.end)
    setSingleStep(context, true);
}

static void onStep(int signal, siginfo_t *info, void *context) {
  if (!openPage.end)
    return passOn(stepsBefore, signal, info, context);
  setSingleStep(context, false);
  HostWatch::get().closeAgain(openPage);
  openPage = {};
}

HostWatch &HostWatch::get() {
  static auto *watch = new HostWatch;
  return *watch;
}

void HostWatch::enterDevice() { isOfDevice = true; }

static bool overlap(const Range &one, const Range &other) {
  return one.begin < other.end && other.begin < one.end;
}

static uint64_t hashOf(const HostUse &use) {
  auto *bytes = reinterpret_cast<const char *>(use.view);
  size_t size = use.range.end - use.range.begin;
  uint64_t hash = size;
  for (size_t at = 0; at < size; at += 8) {
    uint64_t word = 0;
    memcpy(&word, bytes + at, std::min<size_t>(8, size - at));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

static Range pagesOf(const Range &range) {
  static const auto size = uint64_t(sysconf(_SC_PAGESIZE));
  return {range.begin / size * size, (range.end + size - 1) / size * size};
}

static void setAccess(const Range &pages, int access) {
  mprotect(reinterpret_cast<void *>(pages.begin), pages.end - pages.begin,
           access);
}

/// The report, which ends the task's context.
static void fail(const TaskRef &task, const HostUse &use,
                 const std::string &host) {
  Allocation range;
  Memory::get().find(use.range.begin, range);
  report("race on bytes " + std::to_string(use.range.begin - range.begin) +
         " to " + std::to_string(use.range.end - range.begin - 1) +
         " of an allocation of " + std::to_string(range.size) +
         " bytes, on the host: a copy on stream " +
         std::to_string(task->stream()) + " of device " +
         std::to_string(task->context()->device) +
         (use.writes ? " writes them, " : " reads them, ") + host +
         ", and no synchronization lets the host wait for the copy");
  setStickyError(task->context(), CUDA_ERROR_LAUNCH_FAILED);
}

//===----------------------------------------------------------------------===//
// From submission to synchronization
//===----------------------------------------------------------------------===//

void HostWatch::begin(const TaskRef &task, const std::vector<HostUse> &uses) {
  std::vector<Watched> changed;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (const HostUse &use : uses) {
      bool isWritten = false;
      for (Place at = list.begin(); at != list.end();) {
        Place place = at++;
        if (!overlap(place->use.range, use.range))
          continue;
        isWritten |= place->use.writes;
        // Last chance to look: what is read may be written from now on.
        if (place->use.writes)
          continue;
        bool isOver = isChanged(*place);
        if (isOver)
          changed.push_back(*place);
        if (isOver || use.writes)
          remove(place);
      }
      // What a stream still writes cannot be compared.
      if (use.writes || !isWritten)
        add(task, use);
    }
  }
  for (const Watched &one : changed)
    fail(one.task, one.use, "the host has changed them");
}

void HostWatch::add(const TaskRef &task, const HostUse &use) {
  Watched watched{task, use, 0, TaskOrder::knownToHost()};
  if (!use.writes) {
    watched.hash = hashOf(use);
  } else if (use.view != use.range.begin) {
    static std::once_flag installed;
    std::call_once(installed, [] {
      struct sigaction action = {};
      action.sa_flags = SA_SIGINFO | SA_NODEFER;
      action.sa_sigaction = onFault;
      sigaction(SIGSEGV, &action, &faultsBefore);
      action.sa_sigaction = onStep;
      sigaction(SIGTRAP, &action, &stepsBefore);
    });
    setAccess(pagesOf(use.range), PROT_NONE);
  }
  list.push_back(std::move(watched));
}

/// Whether what a copy reads has changed, by nothing that devices have done.
bool HostWatch::isChanged(const Watched &watched) const {
  return hashOf(watched.use) != watched.hash &&
         !Races::get().isWritten(watched.use.range, watched.known);
}

void HostWatch::end(const Clock &known) {
  std::vector<Watched> changed;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (Place at = list.begin(); at != list.end();) {
      Place place = at++;
      if (!place->task->order.isIn(known))
        continue;
      if (!place->use.writes && isChanged(*place))
        changed.push_back(*place);
      remove(place);
    }
  }
  for (const Watched &one : changed)
    fail(one.task, one.use, "the host has changed them");
}

void HostWatch::forget(uintptr_t begin, size_t size) {
  std::lock_guard<std::mutex> lock(mutex);
  for (Place at = list.begin(); at != list.end();) {
    Place place = at++;
    if (overlap(place->use.range, {begin, begin + size}))
      remove(place);
  }
}

void HostWatch::remove(Place place) {
  HostUse use = place->use;
  list.erase(place);
  if (use.writes && use.view != use.range.begin)
    open(use.range);
}

void HostWatch::open(const Range &range) {
  Range pages = pagesOf(range);
  setAccess(pages, PROT_READ | PROT_WRITE);
  close(pages);
}

void HostWatch::closeAgain(const Range &page) {
  std::lock_guard<std::mutex> lock(mutex);
  close(page);
}

void HostWatch::close(const Range &pages) {
  for (const Watched &other : list)
    if (other.use.writes && other.use.view != other.use.range.begin &&
        overlap(pagesOf(other.use.range), pages))
      setAccess(pagesOf(other.use.range), PROT_NONE);
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

bool HostWatch::handleFault(uintptr_t address, Range &openPage) {
  Allocation range;
  if (!Memory::get().find(address, range) || !range.deviceView)
    return false;
  Range byte = {address, address + 1};
  std::optional<Watched> found;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto isMeant = [&](const Watched &one) {
      return one.use.writes && overlap(one.use.range, byte);
    };
    Place place = std::find_if(list.begin(), list.end(), isMeant);
    if (!isOfDevice && place != list.end()) {
      found = *place;
      remove(place);
    }
    // Other bytes of the page may be used: for one access by the host. What
    // devices do there is seen by other means.
    setAccess(pagesOf(byte), PROT_READ | PROT_WRITE);
    openPage = isOfDevice ? Range() : pagesOf(byte);
  }
  if (found)
    fail(found->task, found->use,
         "the host uses byte " + std::to_string(address - range.begin));
  return true;
}
