//===- ContextTest.cpp - values, entries and states of a context ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankProgram.h"
#include "core/Json.h"

#include <unistd.h>

using namespace tsp::runtime;
using namespace tsp::runtime::test;

static bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// Two entries over a 2x2 mesh: a parameter with nested axes, a zigzag input
/// and a state that both share.
static const char *const description = R"({"version": 1,
  "mesh": [{"name": "d", "size": 2}, {"name": "t", "size": 2}],
  "strategy": "tsp", "compile_seconds": 1.5,
  "entries": [
   {"name": "main", "arena_bytes": 1000000, "scratch_bytes": 128,
    "args": [
     {"name": "w", "kind": "parameter", "dtype": "f32", "shape": [10, 3],
      "placement": [{"axes": ["d", "t"]}, {"axes": []}],
      "local_shape": [3, 3]},
     {"name": "x", "kind": "input", "dtype": "i32", "shape": [2, 11],
      "placement": [{}, {"axes": ["t"], "layout": "zigzag"}],
      "local_shape": [2, 6]},
     {"name": "cache", "kind": "state", "dtype": "i64", "shape": [5],
      "placement": [{"axes": ["d"]}], "alias": 2}],
    "results": [
     {"name": "w2", "dtype": "f32", "shape": [10, 3],
      "placement": [{"axes": ["d", "t"]}, {}]},
     {"dtype": "i32", "shape": [2, 11],
      "placement": [{}, {"axes": ["t"], "layout": ["zigzag"]}]},
     {"name": "cache2", "dtype": "i64", "shape": [5],
      "placement": [{"axes": ["d"]}]}]},
   {"name": "step", "symbol": "other", "args": [
     {"name": "cache", "kind": "state", "dtype": "i64", "shape": [5],
      "placement": [{"axes": ["d"]}], "alias": 0}],
    "results": [{"dtype": "i64", "shape": [5],
      "placement": [{"axes": ["d"]}]}]}]})";

/// Results are copies; the state counts calls.
static void mainEntry(tsp_rank *rank, void **args, void **results,
                      void *arena) {
  memset(arena, 1, 500000);
  tsp_copy(rank, 0, 0, results[0], args[0], 9 * 4);
  tsp_copy(rank, 0, 0, results[1], args[1], 12 * 4);
  for (int i = 0; i < 3; ++i)
    static_cast<int64_t *>(args[2])[i] += 1;
}

static void stepEntry(tsp_rank *, void **args, void **results, void *) {
  for (int i = 0; i < 3; ++i)
    static_cast<int64_t *>(args[0])[i] += 100;
  EXPECT_EQ(args[0], results[0]);
}

static const tsp_entry_point table[] = {
    {"tsp_entry_main", mainEntry}, {"other", stepEntry}, {nullptr, nullptr}};

namespace {
class ContextTest : public testing::Test {
protected:
  ContextTest() {
    for (int i = 0; i < 30; ++i)
      w.push_back(float(i));
    for (int i = 0; i < 22; ++i)
      x.push_back(i);
    tsp_options options;
    tsp_options_init(&options);
    options.threads = 2;
    options.trace = 1;
    context = tsp_context_create(&model, &options);
  }
  ~ContextTest() override {
    tsp_context_destroy(context);
    unlink(npz().c_str());
  }

  static std::string npz() {
    return testing::TempDir() + "tsp-context-" + std::to_string(getpid()) +
           ".npz";
  }
  void setAll() {
    const int64_t wShape[] = {10, 3}, xShape[] = {2, 11}, cShape[] = {5};
    EXPECT_EQ(tsp_set(context, nullptr, "w", TSP_F32, 2, wShape, w.data()), 0);
    EXPECT_EQ(tsp_set(context, "main", "arg1", TSP_I32, 2, xShape, x.data()),
              0);
    EXPECT_EQ(
        tsp_set(context, nullptr, "cache", TSP_I64, 1, cShape, cache.data()),
        0);
  }
  std::vector<int64_t> readCache() {
    std::vector<int64_t> result(5);
    EXPECT_EQ(tsp_read_arg(context, nullptr, "cache", result.data(), 40), 0)
        << tsp_error(context);
    return result;
  }

  tsp_model model{description, table, nullptr};
  tsp_context *context;
  std::vector<float> w;
  std::vector<int32_t> x;
  std::vector<int64_t> cache{10, 20, 30, 40, 50};
};
} // namespace

TEST_F(ContextTest, ScatterCallAndRead) {
  ASSERT_STREQ(tsp_error(context), "");
  EXPECT_EQ(tsp_num_ranks(context), 4);
  setAll();
  ASSERT_EQ(tsp_call(context, nullptr), 0) << tsp_error(context);
  std::vector<float> w2(30);
  std::vector<int32_t> x2(22);
  EXPECT_EQ(tsp_read_result(context, "main", "w2", w2.data(), 120), 0);
  EXPECT_EQ(tsp_read_result(context, nullptr, "result1", x2.data(), 88), 0);
  EXPECT_EQ(w2, w);
  EXPECT_EQ(x2, x);
  EXPECT_EQ(readCache(), (std::vector<int64_t>{11, 21, 31, 41, 51}));

  // Nested: rows 0-4 on d = 0, of these 0-2 on t = 0, 3-4 (and padding) on 1.
  int64_t bytes = 0;
  auto *part =
      static_cast<float *>(tsp_local_buffer(context, nullptr, "w", 3, &bytes));
  ASSERT_NE(part, nullptr);
  EXPECT_EQ(bytes, 36);
  EXPECT_EQ(std::vector<float>(part, part + 9),
            (std::vector<float>{24, 25, 26, 27, 28, 29, 0, 0, 0}));
  // Zigzag of 11 over 2: chunks of 3; rank t = 0 holds 0-2 and 9-10.
  auto *zigzag = static_cast<int32_t *>(
      tsp_local_buffer(context, nullptr, "x", 2, &bytes));
  EXPECT_EQ(std::vector<int32_t>(zigzag, zigzag + 12),
            (std::vector<int32_t>{0, 1, 2, 9, 10, 0, 11, 12, 13, 20, 21, 0}));
}

TEST_F(ContextTest, StatesAreSharedByEntriesAndStay) {
  setAll();
  ASSERT_EQ(tsp_call(context, "main"), 0);
  ASSERT_EQ(tsp_call(context, "step"), 0) << tsp_error(context);
  ASSERT_EQ(tsp_call(context, "main"), 0);
  EXPECT_EQ(readCache(), (std::vector<int64_t>{112, 122, 132, 142, 152}));
  EXPECT_EQ(tsp_set_zero(context, "step", "cache"), 0);
  ASSERT_EQ(tsp_call(context, "step"), 0);
  EXPECT_EQ(readCache(), std::vector<int64_t>(5, 100));
}

TEST_F(ContextTest, FilesGiveWhatIsMissing) {
  setAll();
  ASSERT_EQ(tsp_call(context, nullptr), 0);
  ASSERT_EQ(tsp_write_results(context, nullptr, npz().c_str()), 0)
      << tsp_error(context);
  auto file = TensorFile::open(npz());
  ASSERT_EQ(file->tensors().size(), 3u);

  // The results, as a file, lack an argument and have another by name.
  tsp_context *other = tsp_context_create(&model, nullptr);
  EXPECT_EQ(tsp_call(other, nullptr), 1);
  EXPECT_TRUE(contains(tsp_error(other), "no value for 3 arguments"))
      << tsp_error(other);
  EXPECT_TRUE(contains(tsp_error(other), "parameter 'w' (arg0): 10x3xf32"));
  EXPECT_EQ(tsp_add_file(other, npz().c_str()), 0);
  EXPECT_EQ(tsp_call(other, nullptr), 1);
  EXPECT_TRUE(contains(tsp_error(other), "the files have tensors that no "
                                         "argument takes: 'w2', 'result1', "
                                         "'cache2'"))
      << tsp_error(other);
  tsp_context_destroy(other);
}

TEST_F(ContextTest, ErrorsSayExpectedAndFound) {
  const int64_t shape[] = {3, 10};
  EXPECT_EQ(tsp_set(context, nullptr, "w", TSP_F32, 2, shape, w.data()), 1);
  EXPECT_STREQ(tsp_error(context),
               "argument 'w': expected 10x3xf32, found 3x10xf32");
  EXPECT_EQ(tsp_set(context, nullptr, "q", TSP_F32, 2, shape, w.data()), 1);
  EXPECT_STREQ(tsp_error(context), "the model has no argument 'q'");
  EXPECT_EQ(tsp_call(context, "nope"), 1);
  EXPECT_STREQ(tsp_error(context),
               "no entry is named 'nope'; there are: main, step");
  EXPECT_EQ(tsp_read_result(context, "main", "w2", w.data(), 120), 1);
  EXPECT_TRUE(contains(tsp_error(context), "has no results"));
  setAll();
  ASSERT_EQ(tsp_call(context, nullptr), 0);
  EXPECT_EQ(tsp_read_result(context, "main", "w2", w.data(), 4), 1);
  EXPECT_TRUE(contains(tsp_error(context), "has 120 bytes, but the buffer 4"));
}

TEST_F(ContextTest, StatisticsAndTrace) {
  setAll();
  ASSERT_EQ(tsp_call(context, nullptr), 0);
  ASSERT_EQ(tsp_call(context, nullptr), 0);
  Json stats = Json::parse(tsp_stats(context));
  EXPECT_EQ(stats.find("compile_seconds")->asDouble(""), 1.5);
  ASSERT_EQ(stats.find("ranks")->items.size(), 4u);
  const Json &rank = stats.find("ranks")->items[1];
  EXPECT_EQ(rank.find("parameter_bytes")->asInt(""), 36);
  EXPECT_EQ(rank.find("run_seconds")->items.size(), 2u);
  int64_t peak = rank.find("peak_bytes")->asInt("");
  EXPECT_GE(peak, 500000);
  EXPECT_LE(peak, 600000); // half of the arena was touched
  EXPECT_LE(peak, rank.find("planned_peak_bytes")->asInt(""));
  ASSERT_EQ(tsp_write_trace(context, npz().c_str()), 0);
  InputFile file(npz());
  std::string text(file.size(), '\0');
  file.read(&text[0], text.size(), 0);
  Json trace = Json::parse(text);
  EXPECT_GE(trace.find("traceEvents")->items.size(), 8u);
}

TEST_F(ContextTest, CommandLine) {
  auto run = [&](std::vector<std::string> words, std::string &text) {
    words.insert(words.begin(), "./model");
    std::vector<char *> argv;
    for (std::string &word : words)
      argv.push_back(&word[0]);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int code = tsp_main_model(&model, int(argv.size()), argv.data());
    text = testing::internal::GetCapturedStdout() +
           testing::internal::GetCapturedStderr();
    return code;
  };
  std::string text;
  EXPECT_EQ(run({"--help"}, text), 0);
  EXPECT_TRUE(contains(text, "example:"));
  EXPECT_EQ(run({"--describe"}, text), 0);
  EXPECT_TRUE(contains(text, "arg1       input     x: 2x11xi32; dim 1 on t "
                             "(zigzag); local 2x6xi32"))
      << text;
  EXPECT_EQ(run({"--frobnicate"}, text), 2);
  EXPECT_EQ(run({"--repeat=x"}, text), 2);
  EXPECT_EQ(run({"--link=5"}, text), 2);
  EXPECT_EQ(run({"--args"}, text), 2);
  EXPECT_EQ(run({}, text), 1);
  EXPECT_TRUE(contains(text, "give them in one or more files: --args="));
  EXPECT_EQ(run({"--args=/none.npz"}, text), 1);
  EXPECT_EQ(run({"--out=/no/such/out.npz"}, text), 1);
  EXPECT_TRUE(contains(text, "cannot write /no/such/out.npz")) << text;

  setAll();
  ASSERT_EQ(tsp_call(context, "main"), 0);
  // A file of arguments, by position.
  std::vector<OutputTensor> args;
  auto add = [&](const char *name, int dtype, std::vector<int64_t> shape,
                 const void *data, int64_t bytes) {
    args.push_back({name, dtype, shape, [=](const OutputTensor::Sink &sink) {
                      sink(static_cast<const char *>(data), bytes);
                    }});
  };
  add("arg0", TSP_F32, {10, 3}, w.data(), 120);
  add("x", TSP_I32, {2, 11}, x.data(), 88);
  writeTensors(npz(), args);
  std::string out = npz() + ".safetensors", stats = npz() + ".json";
  EXPECT_EQ(run({"--args", npz(), "--zero-states", "--out=" + out,
                 "--stats=" + stats, "--repeat=3", "--threads=1"},
                text),
            0)
      << text;
  auto file = TensorFile::open(out);
  std::vector<char> bytes = file->readWhole(*file->find("cache2"));
  EXPECT_EQ(*reinterpret_cast<int64_t *>(bytes.data()), 1); // not 3
  bytes = file->readWhole(*file->find("result1"));
  EXPECT_EQ(0, memcmp(bytes.data(), x.data(), 88));
  unlink(out.c_str());
  unlink(stats.c_str());
}

TEST(Model, MistakesInTheDescription) {
  auto error = [](std::string from, std::string to) -> std::string {
    std::string text = description;
    text.replace(text.find(from), from.size(), to);
    tsp_model model{text.c_str(), table, nullptr};
    tsp_context *context = tsp_context_create(&model, nullptr);
    std::string result = tsp_error(context);
    EXPECT_EQ(tsp_call(context, nullptr), 1);
    tsp_context_destroy(context);
    return result;
  };
  EXPECT_TRUE(contains(error("\"version\": 1", "\"version\": 2"), "version 2"));
  EXPECT_TRUE(contains(error("[3, 3]", "[2, 3]"),
                       "local_shape is 2x3xf32, but the placement gives "
                       "3x3xf32"));
  EXPECT_TRUE(contains(error("\"other\"", "\"none\""), "has no code for it"));
  EXPECT_TRUE(contains(error("\"alias\": 2", "\"alias\": 1"), "are not alike"));
  EXPECT_TRUE(contains(error("f32", "f31"), "unknown dtype 'f31'"));
  EXPECT_TRUE(contains(error("\"size\": 2", "\"size\": 0"), "has the size 0"));
  EXPECT_TRUE(contains(error("\"d\", \"t\"]}", "\"d\", \"u\"]}"),
                       "the mesh has no axis 'u'"));
  EXPECT_TRUE(contains(error("\"zigzag\"", "\"zag\""), "unknown layout"));
  EXPECT_TRUE(contains(error("[{\"name\"", "[{\"nam"), "JSON"));
}

TEST(Model, CodeForAnotherCpuIsRefused) {
  auto error = [](std::string feature) -> std::string {
    std::string text = description;
    text.replace(text.find("\"version\""), 0, "\"cpu_features\": [\"fpu\", \"" + feature + "\"], ");
    tsp_model model{text.c_str(), table, nullptr};
    tsp_context *context = tsp_context_create(&model, nullptr);
    std::string result = tsp_error(context);
    tsp_context_destroy(context);
    return result;
  };
  EXPECT_TRUE(contains(error("warp9"), "compiled for a CPU that has warp9, and this machine's has not"));
  EXPECT_EQ(error("cx8"), "");
}

TEST(Model, DamagedDescriptionsAreErrors) {
  std::mt19937 random(7);
  const std::string good = description;
  for (int i = 0; i < 2000; ++i) {
    std::string bad = good;
    for (unsigned n = random() % 3 + 1; n > 0; --n)
      bad[random() % bad.size()] = "0123456789\"[]{}-x:,"[random() % 19];
    tsp_model model{bad.c_str(), table, nullptr};
    try {
      ModelDesc::parse(model);
    } catch (const Error &) {
    }
  }
}

TEST(Launch, EveryPointOnceWhateverTheThreads) {
  for (int threads : {1, 2, 3, 8}) {
    tsp_options options = RankProgram::defaults();
    options.threads = threads;
    RankProgram program(lineMesh(2), "", options);
    std::vector<std::atomic<int>> seen(2 * 1000);
    int64_t bad = 0;
    ASSERT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
      void *args[2] = {&seen[rank->index * 1000], &bad};
      auto kernel = [](void **args, int64_t begin, int64_t end, void *scratch) {
        auto *seen = static_cast<std::atomic<int> *>(args[0]);
        memset(scratch, 1, 1000);
        if (reinterpret_cast<uintptr_t>(scratch) % 64 != 0)
          ++*static_cast<int64_t *>(args[1]);
        for (int64_t i = begin; i < end; ++i)
          seen[i]++;
      };
      for (int64_t grid = 1; grid <= 1000; ++grid)
        tsp_launch(rank, 0, "count", kernel, grid, 1000, 2, args);
    }),
              "");
    for (int r = 0; r < 2; ++r)
      for (int i = 0; i < 1000; ++i)
        EXPECT_EQ(seen[r * 1000 + i], 1000 - i);
    EXPECT_EQ(bad, 0);
  }
}
