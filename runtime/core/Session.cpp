//===- Session.cpp - the ranks of a context and what they share -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Session.h"

#include <algorithm>
#include <sched.h>

using namespace tsp::runtime;

/// Cores that this process may use.
static int64_t availableCores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
    return std::max(1, CPU_COUNT(&cores));
  return std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
}

static int chooseThreads(const ModelDesc &model, const tsp_options &options) {
  const int most = 1024;
  if (options.threads < 0 || options.threads > most)
    throw Error(format("threads of a rank: expected 1 to %d, or 0 (cores / "
                       "ranks), found %d",
                       most, options.threads));
  if (model.onDevice()) // only launches and waits
    return 1;
  if (options.threads > 0)
    return options.threads;
  return int(std::max<int64_t>(1, availableCores() / model.numRanks()));
}

Session::Session(const ModelDesc &model, const tsp_options &options)
    : model(model), options(options), threads(chooseThreads(model, options)),
      spin(threads * model.numRanks() <= availableCores()), origin(nowNs()) {
  const double meetingTime = 60;
  if (options.launched)
    processes = meetProcesses(meetingTime);
  int64_t first = 0, count = model.numRanks();
  if (processes) {
    if (count % processes->count() != 0)
      throw Error(format("%s started %lld processes for a model of %lld ranks; "
                         "their number must divide the ranks'",
                         processes->how().launcher.c_str(),
                         (long long)processes->count(), (long long)count));
    count /= processes->count();
    first = processes->index() * count;
    roster = std::make_unique<Roster>(model, options.watchdog_s);
  }
  backend = model.onDevice() ? makeCudaBackend(model, options)
            : processes      ? makeProcessBackend()
                             : makeHostBackend();
  for (int64_t i = 0; i < count; ++i)
    ranks.push_back(std::make_unique<tsp_rank>(*this, first + i, i));
  for (auto &rank : ranks)
    rankThreads.emplace_back([this, &rank] { rankLoop(*rank); });
}

void Session::open() {
  if (processes)
    watchProcesses();
  runOnRanks(
      [this](tsp_rank &rank) { rank.device = backend->makeDevice(rank); });
  communicator = backend->makeCommunicator(*this);
  communicator->open();
}

void Session::finish() {
  if (!processes || isFinished)
    return;
  isFinished = true;
  processes->finish();
}

tsp_rank *Session::findRank(int64_t index) const {
  int64_t slot = ranks.empty() ? -1 : index - ranks.front()->index;
  return slot >= 0 && slot < int64_t(ranks.size()) ? ranks[slot].get()
                                                   : nullptr;
}

Session::~Session() {
  if (processes) {
    try {
      finish();
    } catch (const std::exception &) {
      // Others have failed; whoever ran into it has said so.
    }
    processes->unwatch();
  }
  stop.store(true);
  commandBell.ring();
  for (std::thread &thread : rankThreads)
    thread.join();
}

void Session::rankLoop(tsp_rank &rank) {
  uint64_t seen = 0;
  while (true) {
    uint32_t ticket = commandBell.ticket();
    if (generation.load() != seen) {
      seen = generation.load();
      try {
        command(rank);
      } catch (const std::bad_alloc &) {
        fail(format("rank %lld: out of memory", (long long)rank.index));
      } catch (const std::exception &error) {
        fail(error.what());
      }
      if (running.fetch_sub(1) == 1)
        doneBell.ring();
      continue;
    }
    if (stop.load())
      return;
    commandBell.sleep(ticket, 1000000000);
  }
}

void Session::runOnRanks(std::function<void(tsp_rank &)> fn) {
  if (isForked())
    throw Error("the context belongs to the process that this one is a fork "
                "of: make one here, or start processes without fork");
  if (processes && processes->failed())
    throw Error(processes->error());
  {
    std::lock_guard<std::mutex> lock(errorMutex);
    aborted.store(false);
    error.clear();
  }
  command = std::move(fn);
  running.store(int64_t(ranks.size()));
  generation.fetch_add(1);
  commandBell.ring();
  int64_t failedAt = 0;
  std::vector<Seen> seen(ranks.size());
  while (true) {
    uint32_t ticket = doneBell.ticket();
    if (running.load() == 0)
      break;
    if (!failed())
      watchRanks(seen);
    // After a failure every rank that waits comes back at once. One that does
    // not is stuck in its own code; nothing can stop it.
    if (failed()) {
      if (failedAt == 0)
        failedAt = nowNs();
      // Of several processes the others are gone by then.
      int64_t grace =
          int64_t(std::max(2.0, processes ? 0 : options.watchdog_s) * 1e9);
      if (nowNs() - failedAt > grace) {
        isLost = true;
        break;
      }
    }
    doneBell.sleep(ticket, failed() ? 50000000 : 200000000);
  }
  if (failed()) {
    std::lock_guard<std::mutex> lock(errorMutex);
    throw Error(error);
  }
}

/// A driver takes no more work when a device stands still, and does not give
/// back the rank's thread, which therefore cannot say so. Whoever can is given
/// the time to.
void Session::watchRanks(std::vector<Seen> &seen) {
  if (!model.onDevice() || options.watchdog_s <= 0)
    return;
  const double limit = 2 * options.watchdog_s + 2;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const tsp_rank &rank = *ranks[i];
    Activity activity = rank.activity.load();
    bool works =
        activity == Activity::Computing || activity == Activity::Waiting;
    uint64_t progress = rank.progress.load();
    if (!works || progress != seen[i].progress || seen[i].since == 0)
      seen[i] = {progress, nowNs()};
    else if (double(nowNs() - seen[i].since) > limit * 1e9)
      return fail(format("rank %lld: for %.1f s its device has taken no more "
                         "work; %s",
                         (long long)rank.index, limit,
                         rank.activityText().c_str()));
  }
}

void Session::fail(const std::string &message) {
  if (processes)
    processes->fail(message);
  failHere(message);
}

void Session::failHere(const std::string &message) {
  // Processes that were interrupted are no longer in step.
  if (processes)
    isLost = true;
  {
    std::lock_guard<std::mutex> lock(errorMutex);
    if (error.empty())
      error = message;
    aborted.store(true);
  }
  if (communicator)
    communicator->wakeAll();
}

void tsp::runtime::unwind(tsp_rank &rank) { longjmp(rank.unwind, 1); }

//===----------------------------------------------------------------------===//
// Several processes
//===----------------------------------------------------------------------===//

std::string Session::report() const {
  std::vector<std::pair<int64_t, std::string>> activity;
  for (const auto &rank : ranks)
    activity.push_back({rank->index, rank->activityText()});
  return roster->report(activity);
}

/// "rank 2 is gone: ..", with what it and a rank that needs it were doing.
std::string Session::lostText(int64_t process) const {
  int64_t count = model.numRanks() / processes->count();
  int64_t first = process * count;
  std::string out = count == 1 ? format("rank %lld", (long long)first)
                               : format("ranks %lld to %lld", (long long)first,
                                        (long long)(first + count - 1));
  out += " ended without a word (killed?); " + roster->lastOf(first);
  // The ranks here may be about to find out that they need it; who finds an
  // error of the transport meanwhile waits for this (waitForExplanation).
  std::string waiting;
  for (int tries = 0; tries < 240 && waiting.empty(); ++tries) {
    timespec pause{0, 5000000};
    if (tries > 0)
      nanosleep(&pause, nullptr);
    roster->take(report());
    waiting = roster->waiting(first, first + count);
  }
  return waiting.empty() ? out : out + "; " + waiting;
}

void Session::watchProcesses() {
  Processes::Events events;
  events.failed = [this](const std::string &message) { failHere(message); };
  events.lost = [this](int64_t process) { return lostText(process); };
  events.report = [this] { return report(); };
  events.reported = [this](int64_t, const std::string &report) {
    return roster->take(report);
  };
  processes->watch(events);
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

tsp_rank::tsp_rank(Session &session, int64_t index, int64_t slot)
    : session(session), index(index), slot(slot),
      coordinates(rankCoordinates(session.model.mesh, index)),
      pool(session.threads, session.spin ? 20000 : 0, progress) {
  transfers.name = "transfers";
}

int64_t tsp_rank::axisIndex(int32_t group) const {
  return session.model.groupIndex(session.model.groups[group], coordinates);
}

int64_t tsp_rank::axisSize(int32_t group) const {
  return session.model.groupSize(session.model.groups[group]);
}

int64_t tsp_rank::touchedBytes() const {
  int64_t sum = persistent->touched() + arena->touched() +
                pool.scratchTouched() + device->touched();
  for (const auto &border : borders)
    sum += border ? border->touched() : 0;
  return sum;
}

std::string tsp_rank::activityText() const {
  const char *kernel = lastKernel.load(), *collective = lastCollective.load();
  if (activity.load() == Activity::Waiting)
    return format("it waits in %s", collective ? collective : "a transfer");
  return format("it computes%s%s", kernel ? ", last kernel " : "",
                kernel ? kernel : "");
}
