//===- Stats.cpp - statistics and trace of a context ----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Context.h"
#include "core/Json.h"

using namespace tsp::runtime;

/// A list of a rank's collectives, by kind and axis.
static std::string collectivesText(const tsp_rank &rank) {
  std::string out = "[";
  for (const auto &[key, count] : rank.counts) {
    out += out.size() > 1 ? ", " : "";
    out +=
        format("{\"collective\": \"%s\", \"axis\": %s, \"count\": %lld, "
               "\"bytes_received\": %lld}",
               collectiveName(Collective(key.first)),
               jsonString(rank.session.model.groups[key.second].name).c_str(),
               (long long)count.count, (long long)count.bytes);
  }
  return out + "]";
}

/// All that a rank has traced.
static TraceProcess tracksOf(tsp_rank &rank) {
  TraceProcess tracks;
  for (int i = 0; i < rank.session.threads; ++i)
    tracks.push_back(&rank.pool.track(i));
  rank.device->addTracks(tracks);
  tracks.push_back(&rank.transfers);
  return tracks;
}

/// The transfers of all calls that no kernel hid completely.
static std::string exposedText(tsp_rank &rank) {
  std::string out = "[";
  for (const TracedTransfer &transfer : findTransfers(tracksOf(rank))) {
    const TraceEvent &event = *transfer.event;
    if (transfer.exposed == 0)
      continue;
    out += out.size() > 1 ? ",\n       " : "\n       ";
    out += format("{\"collective\": \"%s\", \"begin_us\": %.3f, \"us\": %.3f, "
                  "\"exposed_us\": %.3f, \"bytes\": %lld}",
                  event.name, double(event.begin - rank.session.origin) / 1e3,
                  double(event.end - event.begin) / 1e3,
                  double(transfer.exposed) / 1e3, (long long)event.bytes);
  }
  return out + "]";
}

/// What a rank holds at most: its blocks, the largest arena and scratch among
/// the entries called. A device's memory is allocated for all entries, and
/// holds the kernels' workspace and constants.
int64_t Context::plannedBytes() const {
  int64_t arena = 0, scratch = 0, borders = 0;
  for (size_t entry = 0; entry < entries.size(); ++entry) {
    if (session->ranks.front()->borders[entry])
      borders += wholePages(entries[entry].blockBytes);
    if (!desc.onDevice() && !calledEntries.count(int(entry)))
      continue;
    arena = std::max(arena, desc.entries[entry].arenaBytes);
    scratch = std::max(scratch, desc.entries[entry].scratchBytes);
  }
  int64_t planned = wholePages(persistentBytes) + borders + wholePages(arena);
  return desc.onDevice() ? planned + desc.workspaceBytes + desc.constantBytes
                         : planned + session->threads * wholePages(scratch);
}

std::string Context::stats() const {
  int64_t parameterBytes = 0, planned = plannedBytes();
  for (const auto &[name, slot] : persistent)
    if (slot.first->kind == ArgKind::Parameter && slot.second->loaded)
      parameterBytes += slot.first->localBytes();

  std::string out =
      format("{\n  \"compile_seconds\": %.6f,\n"
             "  \"strategy\": %s,\n  \"mesh\": {",
             desc.compileSeconds, jsonString(desc.strategy).c_str());
  for (size_t i = 0; i < desc.mesh.size(); ++i)
    out +=
        format("%s%s: %lld", i ? ", " : "",
               jsonString(desc.axisNames[i]).c_str(), (long long)desc.mesh[i]);
  out += format("},\n  \"threads\": %d,\n  \"process_peak_bytes\": %lld,\n"
                "  \"ranks\": [",
                session->threads, (long long)processPeakBytes());
  std::string ranks;
  for (const auto &rank : session->ranks) {
    ranks += ranks.empty() ? "\n" : ",\n";
    ranks += format("    {\"rank\": %lld, \"parameter_bytes\": %lld, "
                    "\"planned_peak_bytes\": %lld, \"peak_bytes\": %lld,\n"
                    "     \"run_seconds\": [",
                    (long long)rank->index, (long long)parameterBytes,
                    (long long)planned, (long long)rank->touchedBytes());
    for (size_t i = 0; i < rank->runSeconds.size(); ++i)
      ranks += format("%s%.6f", i ? ", " : "", rank->runSeconds[i]);
    ranks += "],\n     \"collectives\": " + collectivesText(*rank);
    if (session->tracing())
      ranks += ",\n     \"exposed_transfers\": " + exposedText(*rank);
    ranks += "}";
  }
  return out + ofAllProcesses(ranks) + "\n  ]\n}\n";
}

/// The texts of all processes, one after the other, in process 0.
std::string Context::ofAllProcesses(const std::string &mine) const {
  if (!session->processes)
    return mine;
  std::string all;
  for (const std::string &text : session->processes->gather(mine))
    all += (all.empty() ? "" : ",") + text;
  return all;
}

std::string Context::trace() const {
  if (!session->tracing())
    throw Error("no trace was recorded: the context was made without "
                "tsp_options.trace");
  std::vector<TraceProcess> processes;
  for (const auto &rank : session->ranks)
    processes.push_back(tracksOf(*rank));
  return traceHeader() +
         ofAllProcesses(traceEvents(processes, session->ranks.front()->index,
                                    session->origin)) +
         traceFooter();
}
