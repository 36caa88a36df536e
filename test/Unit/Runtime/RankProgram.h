//===- RankProgram.h - compiled code for tests ------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_TEST_UNIT_RUNTIME_RANKPROGRAM_H
#define TSP_TEST_UNIT_RUNTIME_RANKPROGRAM_H

#include "core/Context.h"

#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace tsp::runtime::test {

/// A model whose entry "main" is a function of the test, run by every rank,
/// with the arena as the staging memory of its transfers. The function has no
/// objects with destructors on its stack where it calls the runtime, as errors
/// jump over it.
class RankProgram {
public:
  using Body = std::function<void(tsp_rank *rank, void **args, void **results)>;

  explicit RankProgram(const std::string &mesh, const std::string &values = "",
                       tsp_options options = defaults(),
                       const tsp_device_image *device = nullptr)
      : json("{\"version\":1,\"target\":\"" +
             std::string(device ? "cuda" : "host") +
             "\",\"device_workspace_bytes\":4096,\"mesh\":" + mesh +
             ",\"entries\":[{\"name\":\"main\"," +
             (values.empty()
                  ? "\"arena_bytes\":4194304,\"args\":[],\"results\":[]"
                  : values) +
             "}]}"),
        model{json.c_str(), table(), device}, options(options) {
    context = std::make_unique<Context>(model, this->options);
    context->open();
  }

  static tsp_options defaults() {
    tsp_options options;
    tsp_options_init(&options);
    options.threads = 1;
    options.watchdog_s = 20;
    return options;
  }

  /// Runs the body on all ranks; the text of the error, or "".
  std::string run(Body newBody) {
    body() = std::move(newBody);
    try {
      context->call(0);
      return "";
    } catch (const Error &error) {
      return error.what();
    }
  }

  Session &session() { return context->running(); }

  /// Leaves a context with a stuck rank alone.
  void abandon() { context.release(); }

  /// Counted bytes of a collective on a rank.
  int64_t bytes(int64_t rank, Collective kind, int axis = 0) {
    return session().ranks[rank]->counts[{int(kind), axis}].bytes;
  }

  std::unique_ptr<Context> context;

private:
  static Body &body() {
    static Body current;
    return current;
  }
  static const tsp_entry_point *table() {
    static const tsp_entry_point entries[] = {
        {"tsp_entry_main",
         [](tsp_rank *rank, void **args, void **results, void *arena) {
           tsp_staging(rank, arena, rank->arena->size());
           body()(rank, args, results);
         }},
        {nullptr, nullptr}};
    return entries;
  }

  std::string json;
  tsp_model model;
  tsp_options options;
};

inline std::string lineMesh(int64_t ranks) {
  return format("[{\"name\":\"t\",\"size\":%lld}]", (long long)ranks);
}

/// Values of all ranks.
template <typename T> using PerRank = std::vector<std::vector<T>>;

/// Buffers of all ranks, in the memory that their transfers use.
template <typename T> class Buffers {
public:
  Buffers(RankProgram &program, const PerRank<T> &values) : program(program) {
    blocks.resize(values.size());
    program.session().runOnRanks([&](tsp_rank &rank) {
      const std::vector<T> &from = values[rank.index];
      int64_t bytes = int64_t(from.size() * sizeof(T));
      blocks[rank.index] = rank.device->allocate(bytes);
      char *block = blocks[rank.index]->data();
      std::unique_ptr<Upload> upload = rank.device->upload(block, bytes);
      int64_t count;
      for (int64_t done = 0; done < bytes; done += count) {
        count = bytes - done;
        char *piece = upload->piece(done, count);
        memcpy(piece, reinterpret_cast<const char *>(from.data()) + done,
               size_t(count));
      }
      upload->finish();
    });
  }

  T *operator[](int64_t rank) const {
    return reinterpret_cast<T *>(blocks[rank]->data());
  }

  /// What the buffers hold now.
  PerRank<T> values() const {
    PerRank<T> result;
    std::vector<char> buffer;
    for (size_t i = 0; i < blocks.size(); ++i) {
      int64_t bytes = blocks[i]->size();
      result.emplace_back(size_t(bytes) / sizeof(T));
      if (bytes > 0)
        memcpy(result[i].data(),
               program.session().ranks[i]->device->fetch(blocks[i]->data(),
                                                         bytes, buffer),
               size_t(bytes));
    }
    return result;
  }

private:
  RankProgram &program;
  std::vector<std::unique_ptr<Block>> blocks;
};

/// The memory space of a rank's buffers.
inline int32_t spaceOf(const tsp_rank *rank) { return rank->device->space(); }

template <typename T>
PerRank<T> randomBuffers(int64_t ranks, int64_t size, unsigned seed) {
  std::mt19937 random(seed);
  PerRank<T> result(ranks, std::vector<T>(size));
  for (auto &buffer : result)
    for (T &value : buffer)
      value = T(int(random() % 2001) - 1000) / T(8);
  return result;
}

} // namespace tsp::runtime::test

#endif // TSP_TEST_UNIT_RUNTIME_RANKPROGRAM_H
