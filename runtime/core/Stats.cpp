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

std::string Context::stats() const {
  // What a rank holds at most: its blocks, the largest arena and scratch among
  // the entries called.
  int64_t parameterBytes = 0, arenaBytes = 0, scratchBytes = 0, borders = 0;
  for (const auto &[name, slot] : persistent)
    if (slot.first->kind == ArgKind::Parameter && slot.second->loaded)
      parameterBytes += slot.first->localBytes();
  for (int entry : calledEntries) {
    arenaBytes = std::max(arenaBytes, desc.entries[entry].arenaBytes);
    scratchBytes = std::max(scratchBytes, desc.entries[entry].scratchBytes);
    borders += wholePages(entries[entry].blockBytes);
  }
  int64_t planned = wholePages(persistentBytes) + borders +
                    wholePages(arenaBytes) +
                    session->threads * wholePages(scratchBytes) +
                    (desc.onDevice() ? desc.workspaceBytes : 0);

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
    ranks += "],\n     \"collectives\": " + collectivesText(*rank) + "}";
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
  std::vector<TraceProcess> processes;
  for (const auto &rank : session->ranks) {
    TraceProcess tracks;
    for (int i = 0; i < session->threads; ++i)
      tracks.push_back(&rank->pool.track(i));
    rank->device->addTracks(tracks);
    tracks.push_back(&rank->transfers);
    processes.push_back(tracks);
  }
  return traceHeader() +
         ofAllProcesses(traceEvents(processes, session->ranks.front()->index,
                                    session->origin)) +
         traceFooter();
}
