//===- Context.cpp - a loaded model: its values and its ranks -------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Context.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

using namespace tsp::runtime;

Context::Context(const tsp_model &model, const tsp_options &options)
    : desc(ModelDesc::parse(model)) {
  placeValues();
  session = std::make_unique<Session>(desc, options);
}

template <typename Work> void Context::together(Work work) {
  if (!session->processes)
    return work();
  try {
    work();
  } catch (const std::exception &error) {
    session->fail(format("rank %lld: %s",
                         (long long)session->ranks.front()->index,
                         error.what()));
    throw Error(session->processes->error());
  }
}

void Context::open() {
  together([&] { openHere(); });
}

/// Code for another CPU would end in an illegal instruction. Where the kernel does
/// not tell, nothing is refused.
static void requireCpu(const std::vector<std::string> &features) {
  std::ifstream file("/proc/cpuinfo");
  std::string line, lacking;
  while (std::getline(file, line) && line.rfind("flags", 0) != 0)
    ;
  if (!file)
    return;
  std::istringstream words(line);
  std::set<std::string> present{std::istream_iterator<std::string>(words), {}};
  for (const std::string &feature : features)
    if (!present.count(feature))
      lacking += (lacking.empty() ? "" : ", ") + feature;
  if (!lacking.empty())
    throw Error("this binary was compiled for a CPU that has " + lacking +
                ", and this machine's has not: compile it here, or with "
                "--target-cpu=generic or the name of this CPU");
}

void Context::openHere() {
  requireCpu(desc.cpuFeatures);
  session->open();
  int64_t arenaBytes = 0;
  for (const EntryDesc &entry : desc.entries)
    arenaBytes = std::max(arenaBytes, entry.arenaBytes);
  session->runOnRanks([this, arenaBytes](tsp_rank &rank) {
    rank.persistent = rank.device->allocate(persistentBytes);
    rank.arena = rank.device->allocate(arenaBytes);
    session->communicator->addMemory(rank, *rank.persistent);
    session->communicator->addMemory(rank, *rank.arena);
    rank.borders.resize(desc.entries.size());
  });
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

static int64_t reserve(int64_t &bytes, const ValueDesc &value) {
  int64_t offset = bytes;
  bytes += (value.localBytes() + 63) / 64 * 64;
  return offset;
}

void Context::placeValues() {
  entries.resize(desc.entries.size());
  for (size_t e = 0; e < entries.size(); ++e) {
    const EntryDesc &entry = desc.entries[e];
    EntryState &state = entries[e];
    for (const ArgDesc &arg : entry.args) {
      if (arg.kind == ArgKind::Input) {
        state.inputs.push_back(std::make_unique<ArgState>());
        state.inputs.back()->place = {int(e), reserve(state.blockBytes, arg)};
        state.args.push_back(state.inputs.back().get());
        continue;
      }
      // Arguments without a name of their own are not the same in two entries.
      std::string key = arg.name == arg.positional
                            ? entry.name + "/" + arg.positional
                            : arg.name;
      auto &slot = persistent[key];
      if (!slot.first) {
        slot.first = &arg;
        slot.second = std::make_unique<ArgState>();
        slot.second->place = {-1, reserve(persistentBytes, arg)};
      } else if (slot.first->type() != arg.type() ||
                 slot.first->localShape != arg.localShape ||
                 slot.first->kind != arg.kind) {
        throw Error(format("%s '%s' of entry '%s' (%s) is another one in an "
                           "earlier entry (%s %s)",
                           kindName(arg.kind), arg.name.c_str(),
                           entry.name.c_str(), arg.type().c_str(),
                           kindName(slot.first->kind),
                           slot.first->type().c_str()));
      }
      state.args.push_back(slot.second.get());
    }
    state.results.resize(entry.results.size());
    std::vector<bool> inPlace(entry.results.size(), false);
    for (size_t a = 0; a < entry.args.size(); ++a)
      if (int alias = entry.args[a].alias; alias >= 0) {
        state.results[alias] = state.args[a]->place;
        inPlace[alias] = true;
      }
    for (size_t r = 0; r < entry.results.size(); ++r)
      if (!inPlace[r])
        state.results[r] = {int(e),
                            reserve(state.blockBytes, entry.results[r])};
  }
}

int Context::findEntry(const char *name) const {
  std::string wanted = name ? name : "main", known;
  for (size_t i = 0; i < desc.entries.size(); ++i) {
    if (desc.entries[i].name == wanted)
      return int(i);
    known += (i ? ", " : "") + desc.entries[i].name;
  }
  if (!name)
    return 0;
  throw Error("no entry is named '" + wanted + "'; there are: " + known);
}

template <typename Find>
static std::pair<int, int> findValue(const Context &context, const char *entry,
                                     const char *name, const char *what,
                                     Find find) {
  int first = entry ? context.findEntry(entry) : 0;
  int last = entry ? first + 1 : int(context.model().entries.size());
  for (int e = first; e < last; ++e) {
    int found = find(context.model().entries[e]);
    if (found >= 0)
      return {e, found};
  }
  throw Error(format("%s has no %s '%s'",
                     entry ? ("entry '" + std::string(entry) + "'").c_str()
                           : "the model",
                     what, name));
}

std::pair<int, int> Context::findArg(const char *entry,
                                     const char *name) const {
  return findValue(*this, entry, name, "argument",
                   [&](const EntryDesc &desc) { return desc.findArg(name); });
}

std::pair<int, int> Context::findResult(const char *entry,
                                        const char *name) const {
  return findValue(*this, entry, name, "result", [&](const EntryDesc &desc) {
    return desc.findResult(name);
  });
}

const Place &Context::argPlace(int entry, int arg) const {
  const ArgState &state = *entries[entry].args[arg];
  if (!state.loaded)
    throw Error("argument '" + desc.entries[entry].args[arg].name +
                "' has no value yet");
  return state.place;
}

const Place &Context::resultPlace(int entry, int result) const {
  if (!entries[entry].called)
    throw Error("entry '" + desc.entries[entry].name +
                "' has no results: it was not called, or failed");
  return entries[entry].results[result];
}

char *Context::local(const tsp_rank &rank, const Place &place) const {
  const auto &block =
      place.block < 0 ? rank.persistent : rank.borders[place.block];
  return block->data() + place.offset;
}

void Context::prepare(int entry) {
  if (session->ranks.front()->borders[entry])
    return;
  session->runOnRanks([this, entry](tsp_rank &rank) {
    rank.borders[entry] = rank.device->allocate(entries[entry].blockBytes);
    session->communicator->addMemory(rank, *rank.borders[entry]);
  });
}

void Context::checkUsable() const {
  if (session->lost() && !session->isForked())
    throw Error("the context is lost: a rank of an earlier call is stuck");
}

//===----------------------------------------------------------------------===//
// Values from memory
//===----------------------------------------------------------------------===//

void Context::set(int entry, int arg, const void *data) {
  checkUsable();
  prepare(entry);
  const ArgDesc *value = &desc.entries[entry].args[arg];
  ArgState &state = *entries[entry].args[arg];
  state.loaded = false;
  Place place = state.place;
  auto bytes = static_cast<const char *>(data);
  session->runOnRanks([this, value, place, bytes](tsp_rank &rank) {
    scatter(*value, rank, local(rank, place),
            [&](char *dst, int64_t count, int64_t offset) {
              memcpy(dst, bytes + offset, size_t(count));
            });
  });
  state.loaded = true;
}

void Context::setZero(int entry, int arg) {
  checkUsable();
  prepare(entry);
  ArgState &state = *entries[entry].args[arg];
  int64_t bytes = desc.entries[entry].args[arg].localBytes();
  Place place = state.place;
  session->runOnRanks([this, place, bytes](tsp_rank &rank) {
    rank.device->zero(local(rank, place), bytes);
  });
  state.loaded = true;
}

void Context::unload(int entry, int arg) {
  entries[entry].args[arg]->loaded = false;
}

void Context::unloadStates(int entry) {
  const EntryDesc &entryDesc = desc.entries[entry];
  for (size_t i = 0; i < entryDesc.args.size(); ++i)
    if (entryDesc.args[i].kind == ArgKind::State ||
        entryDesc.args[i].alias >= 0)
      entries[entry].args[i]->loaded = false;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {
/// Compiled code with what it is called with.
struct EntryCall {
  tsp_rank &rank;
  tsp_entry_fn fn;
  void **args, **results;
};
} // namespace

/// Runs compiled code on a rank. Errors inside come back here by longjmp, so
/// nothing in this frame needs a destructor.
static void runEntry(void *context) {
  const EntryCall &call = *static_cast<EntryCall *>(context);
  call.rank.activity.store(Activity::Computing);
  if (setjmp(call.rank.unwind) == 0)
    call.fn(&call.rank, call.args, call.results, call.rank.arena->data());
  call.rank.activity.store(Activity::Finished);
}

void Context::load(int entry) {
  together([&] { loadHere(entry); });
}

void Context::call(int entry) {
  together([&] { callHere(entry); });
}

void Context::callHere(int entry) {
  checkUsable();
  loadHere(entry);
  prepare(entry);
  const EntryDesc *code = &desc.entries[entry];
  EntryState *state = &entries[entry];
  for (auto &rank : session->ranks) {
    rank->counts.clear();
    tsp_staging(rank.get(), nullptr, 0);
    rank->activity.store(Activity::Computing);
  }
  session->communicator->reset();
  if (session->roster)
    session->roster->nextCall();
  state->called = false;

  auto run = [this, code, state, entry](tsp_rank &rank) {
    std::vector<void *> args, results;
    for (const ArgState *arg : state->args)
      args.push_back(local(rank, arg->place));
    for (const Place &place : state->results)
      results.push_back(local(rank, place));
    int64_t begin = nowNs();
    EntryCall call{rank, code->fn, args.data(), results.data()};
    rank.device->run(entry, runEntry, &call);
    if (session->roster && !session->failed())
      session->roster->finished(rank.index);
    rank.runSeconds.push_back(double(nowNs() - begin) / 1e9);
    int64_t pending = session->communicator->pending(rank);
    if (pending > 0 && !session->failed())
      session->fail(format("rank %lld: entry '%s' ended with %lld transfers it "
                           "did not wait for",
                           (long long)rank.index, code->name.c_str(),
                           (long long)pending));
  };
  calledEntries.insert(entry);
  try {
    session->runOnRanks(run);
  } catch (const Error &) {
    // Values that were being updated in place are worth nothing now.
    unloadStates(entry);
    throw;
  }
  for (size_t i = 0; i < code->args.size(); ++i)
    if (code->args[i].kind == ArgKind::Input && code->args[i].alias >= 0)
      state->args[i]->loaded = false; // now holds the result
  state->called = true;
}
