//===- DeviceTest.cpp - what compiled code asks of a device ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceImage.h"
#include "backends/cuda/CudaDevice.h"
#include "backends/cuda/Emulation.h"
#include "core/DynamicLibrary.h"

using namespace tsp::runtime;
using namespace tsp::runtime::test;

// x [5, 3] is split in rows (the last rank has padding), y is whole.
static const char *const values =
    "\"arena_bytes\":4096,\"args\":["
    "{\"name\":\"x\",\"kind\":\"input\",\"dtype\":\"f32\",\"shape\":[5,3],"
    "\"placement\":[{\"axes\":[\"t\"]},{}]}],"
    "\"results\":[{\"name\":\"y\",\"dtype\":\"f32\",\"shape\":[5,3],"
    "\"placement\":[{\"axes\":[\"t\"]},{}]}]";

static bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

static float scale = 2;
static const float constantScale = 3;

/// One block of `threads` threads.
static tsp_device_kernel makeKernel(const char *name, int64_t threads,
                                    int64_t sharedBytes,
                                    int64_t workspaceBytes) {
  tsp_device_kernel kernel = {};
  kernel.name = name;
  kernel.grid[0] = kernel.grid[1] = kernel.grid[2] = 1;
  kernel.block[0] = threads;
  kernel.block[1] = kernel.block[2] = 1;
  kernel.shared_bytes = sharedBytes;
  kernel.workspace_bytes = workspaceBytes;
  return kernel;
}

static const tsp_device_kernel affine9 =
    makeKernel("affine", 9, 0, 9 * sizeof(float));
static const tsp_device_kernel affineOf32 =
    makeKernel("affine", 32, 1024, 32 * sizeof(float));

static std::vector<float> input() {
  std::vector<float> x(15);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i) + 0.5f;
  return x;
}

/// y as the kernel makes it of each rank's rows; 3 rows a rank.
static std::vector<float> affineOf(const std::vector<float> &x, float factor) {
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = x[i] * factor + float(i % 9);
  return y;
}

static std::vector<float> result(RankProgram &program) {
  std::vector<float> y(15);
  program.context->read(program.context->model().entries[0].results[0],
                        program.context->resultPlace(0, 0),
                        reinterpret_cast<char *>(y.data()));
  return y;
}

TEST(Device, LaunchWithScalarsConstantsAndWorkspace) {
  RankProgram program =
      makeProgram(Where::OneDevice, 2, RankProgram::defaults(), values);
  std::vector<float> x = input();
  for (bool isConstant : {false, true}) {
    program.context->set(0, 0, x.data());
    ASSERT_EQ(program.run([&](tsp_rank *rank, void **args, void **results) {
      void *factor = rank->arena->data();
      tsp_write(rank, TSP_SPACE_DEVICE, 0, factor, &scale, sizeof(scale));
      if (isConstant)
        factor = tsp_constant(rank, TSP_SPACE_DEVICE, &constantScale,
                              sizeof(constantScale));
      void *buffers[] = {args[0], factor, results[0]};
      tsp_device_launch(rank, 0, &affine9, 3, buffers);
    }),
              "");
    EXPECT_EQ(result(program), affineOf(x, isConstant ? 3 : 2));
  }
  for (auto &rank : program.session().ranks) {
    // Blocks, the workspace and the constant count whole: x and y are 3 rows
    // each, aligned to 64 bytes.
    EXPECT_EQ(rank->touchedBytes(), 2 * 64 + 4096 + 4096 + 4);
  }
}

/// What the loaded code has is launched, as its own description says: the
/// variant before the general form.
TEST(Device, Variants) {
  tsp_device_kernel missing = makeKernel("no_such", 32, 1 << 30, 1 << 30);
  tsp_device_kernel hasMissingVariant = affine9, isMissing = missing;
  hasMissingVariant.variant = &missing;
  isMissing.variant = &affine9;
  RankProgram program =
      makeProgram(Where::OneDevice, 2, RankProgram::defaults(), values);
  std::vector<float> x = input();
  for (const tsp_device_kernel *kernel : {&hasMissingVariant, &isMissing}) {
    program.context->set(0, 0, x.data());
    ASSERT_EQ(program.run([&](tsp_rank *rank, void **args, void **results) {
      void *factor = tsp_constant(rank, TSP_SPACE_DEVICE, &constantScale,
                                  sizeof(constantScale));
      void *buffers[] = {args[0], factor, results[0]};
      tsp_device_launch(rank, 0, kernel, 3, buffers);
    }),
              "");
    EXPECT_EQ(result(program), affineOf(x, 3));
  }
}

TEST(Device, CopyReadAndWrite) {
  RankProgram program = makeProgram(Where::OneDevice, 1);
  Buffers<char> buffers(program, PerRank<char>(1, std::vector<char>(128, 7)));
  char bytes[13] = {}, found[13] = {};
  for (int i = 0; i < 13; ++i)
    bytes[i] = char(i + 1);
  ASSERT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
    // Odd places and sizes; the source is reused at once.
    char *dst = buffers[0] + 3;
    char source[13];
    memcpy(source, bytes, sizeof(source));
    tsp_write(rank, TSP_SPACE_DEVICE, 0, dst, source, sizeof(source));
    memset(source, 0, sizeof(source));
    tsp_copy(rank, TSP_SPACE_DEVICE, 0, buffers[0] + 64, dst, 13);
    tsp_read(rank, TSP_SPACE_DEVICE, 0, found, buffers[0] + 64, 13);
  }),
            "");
  EXPECT_EQ(std::string(found, 13), std::string(bytes, 13));
  std::vector<char> all = buffers.values()[0];
  EXPECT_EQ(all[2], 7);
  EXPECT_EQ(all[16], 7);
  EXPECT_EQ(all[77], 7);
}

TEST(Device, UploadsOfSeveralPiecesWithGaps) {
  RankProgram program = makeProgram(Where::OneDevice, 1);
  // More than two pieces of pinned memory, with gaps that become zero.
  const int64_t size = (int64_t(11) << 20) + 13;
  PerRank<char> values(1, std::vector<char>(size, 9));
  Buffers<char> buffer(program, values);
  program.session().runOnRanks([&](tsp_rank &rank) {
    auto upload = rank.device->upload(buffer[0], size);
    auto put = [&](int64_t begin, int64_t end, char value) {
      int64_t bytes;
      for (int64_t at = begin; at < end; at += bytes) {
        bytes = end - at;
        memset(upload->piece(at, bytes), value, size_t(bytes));
      }
    };
    put(5, 100, 1);
    put(200, 5000000, 2);
    put(9999999, 10000001, 3);
    upload->finish();
  });
  std::vector<char> expected(size, 0);
  std::fill(expected.begin() + 5, expected.begin() + 100, 1);
  std::fill(expected.begin() + 200, expected.begin() + 5000000, 2);
  std::fill(expected.begin() + 9999999, expected.begin() + 10000001, 3);
  EXPECT_TRUE(buffer.values()[0] == expected);
}

/// Drivers refuse copies and fills of rows that are farther apart than 2 GB.
TEST(Device, RowsThatAreFarApart) {
  RankProgram program = makeProgram(Where::OneDevice, 1);
  Buffers<char> near(program, PerRank<char>(1, std::vector<char>(256, 7)));
  program.session().runOnRanks([&](tsp_rank &rank) {
    auto &device = static_cast<cuda::CudaDevice &>(*rank.device);
    const int64_t step = int64_t(1) << 31;
    auto far = device.allocate(step + 64);
    cuda::Stream stream = device.stream(TSP_STREAM_COMPUTE);
    Move apart;
    apart.bytes = apart.srcStride[2] = 64;
    apart.count[2] = 2;
    apart.dstStride[2] = step;
    device.enqueueMove(stream, apart, far->data(), near[0]);
    Move together = apart;
    std::swap(together.srcStride, together.dstStride);
    device.enqueueMove(stream, together, near[0] + 128, far->data());
    // Half of each row, and back over the first two.
    apart.bytes = 32;
    device.enqueueZero(stream, apart, far->data());
    device.enqueueMove(stream, together, near[0], far->data());
    EXPECT_TRUE(device.drain(stream));
  });
  std::string zeroed = std::string(32, 0) + std::string(32, 7);
  std::vector<char> all = near.values()[0];
  EXPECT_EQ(std::string(all.begin(), all.end()),
            zeroed + zeroed + std::string(128, 7));
}

TEST(Device, ADeviceThatTakesNoMoreWorkIsNoticed) {
  tsp_options options = RankProgram::defaults();
  options.watchdog_s = 0.2;
  RankProgram program = makeProgram(Where::OneDevice, 1, options, values);
  std::vector<float> x = input();
  program.context->set(0, 0, x.data());
  std::string error =
      program.run([&](tsp_rank *rank, void **args, void **results) {
        auto &device = static_cast<cuda::CudaDevice &>(*rank->device);
        void *factor = tsp_constant(rank, TSP_SPACE_DEVICE, &constantScale,
                                    sizeof(constantScale));
        auto standStill = [](void *session) {
          while (!static_cast<Session *>(session)->failed())
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        };
        device.driver().launchHostFunc(device.stream(TSP_STREAM_COMPUTE),
                                       standStill, &rank->session);
        void *buffers[] = {args[0], factor, results[0]};
        for (int i = 0; i < 3000; ++i)
          tsp_device_launch(rank, 0, &affine9, 3, buffers);
      });
  EXPECT_TRUE(contains(error, "rank 0: for 2.4 s its device has taken no more "
                              "work; it computes, last kernel affine"))
      << error;
}

TEST(Device, WhatIsWrongIsNamed) {
  static const tsp_device_kernel unknown = makeKernel("no_such", 1, 0, 0);
  static const tsp_device_kernel greedy = makeKernel("affine", 1, 0, 1 << 20);
  RankProgram program = makeProgram(Where::OneDevice, 1);
  std::string error = program.run([&](tsp_rank *rank, void **, void **) {
    tsp_device_launch(rank, 0, &unknown, 0, nullptr);
  });
  EXPECT_TRUE(contains(error, "rank 0: device 0 (")) << error;
  EXPECT_TRUE(contains(error, "has no kernel no_such")) << error;
  error = program.run([&](tsp_rank *rank, void **, void **) {
    tsp_device_launch(rank, 0, &greedy, 0, nullptr);
  });
  EXPECT_TRUE(contains(error, "needs a workspace of 1048576 bytes, but the "
                              "description says 4096"))
      << error;
  error = program.run([&](tsp_rank *rank, void **, void **) {
    tsp_copy(rank, 7, 0, nullptr, nullptr, 4);
  });
  EXPECT_TRUE(contains(error, "there is no memory space 7")) << error;

  tsp_options options = RankProgram::defaults();
  options.devices = "0,99";
  try {
    RankProgram other(lineMesh(2), "", options, testImage());
    ADD_FAILURE() << "device 99 was accepted";
  } catch (const Error &caught) {
    EXPECT_TRUE(contains(caught.what(), "'99' is no device")) << caught.what();
  }
}

TEST(Device, AFaultOfAKernelEndsTheContext) {
  RankProgram program = makeProgram(Where::OneDevice, 2);
  Buffers<float> small(program, PerRank<float>(2, std::vector<float>(32)));
  std::string error = program.run([&](tsp_rank *rank, void **, void **) {
    // 32 elements from the 24th on are too many.
    float *own = small[rank->index];
    void *buffers[] = {own, own, own + 24};
    if (rank->index == 1)
      tsp_device_launch(rank, 0, &affineOf32, 3, buffers);
  });
  EXPECT_TRUE(contains(error, "rank 1: device 0 (")) << error;
  EXPECT_TRUE(contains(error, "stopped up to kernel affine: CUDA_ERROR_"))
      << error;
  EXPECT_TRUE(program.session().lost());
}

TEST(Device, HostModelsHaveNone) {
  RankProgram program(lineMesh(1));
  std::string error = program.run([&](tsp_rank *rank, void **, void **) {
    tsp_device_launch(rank, 0, &affine9, 0, nullptr);
  });
  EXPECT_TRUE(contains(error, "the model's target is 'host'")) << error;
}

TEST(Device, TraceHasKernelsAndTransfers) {
  tsp_options options = RankProgram::defaults();
  options.trace = 1;
  RankProgram program = makeProgram(Where::OneDevice, 2, options);
  Buffers<float> in(program, randomBuffers<float>(2, 64, 1)),
      out(program, PerRank<float>(2, std::vector<float>(64)));
  ASSERT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
    int64_t r = rank->index;
    tsp_event event = tsp_send_recv_start(rank, TSP_SPACE_DEVICE, 1, 0, TSP_F32,
                                          out[r], in[r], 128, 1);
    void *buffers[] = {in[r], in[r], out[r] + 32};
    tsp_device_launch(rank, 0, &affineOf32, 3, buffers);
    tsp_wait(rank, 0, event);
  }),
            "");
  for (auto &rank : program.session().ranks) {
    TraceProcess tracks;
    rank->device->addTracks(tracks);
    ASSERT_EQ(tracks.size(), 2u);
    const char *const names[] = {"start", "affine", "wait"};
    ASSERT_EQ(tracks[0]->events.size(), 3u);
    for (int i = 0; i < 3; ++i)
      EXPECT_STREQ(tracks[0]->events[i].name, names[i]);
    ASSERT_EQ(tracks[1]->events.size(), 1u);
    EXPECT_STREQ(tracks[1]->events[0].name, "send_recv");
    EXPECT_EQ(tracks[1]->events[0].bytes, 128);
    EXPECT_GE(tracks[1]->events[0].end, tracks[1]->events[0].begin);
  }
}

/// A link of 20 ms is under a kernel's way of 20 ms, and the other way round.
TEST(Device, SimulatedLinksRunBesideTheHost) {
  tsp_options options = RankProgram::defaults();
  options.link_gbps = 0.001; // 1 MB/s: 40000 bytes take 40 ms
  RankProgram program = makeProgram(Where::OneDevice, 2, options);
  Buffers<char> in(program, PerRank<char>(2, std::vector<char>(40000, 1)));
  Buffers<char> out(program, PerRank<char>(2, std::vector<char>(40000, 0)));
  ASSERT_EQ(program.run([&](tsp_rank *rank, void **, void **) {
    int64_t r = rank->index;
    tsp_wait(rank, 0,
             tsp_send_recv_start(rank, TSP_SPACE_DEVICE, 1, 0, TSP_I8, out[r],
                                 in[r], 40000, 1));
  }),
            "");
  EXPECT_GE(program.session().ranks[0]->runSeconds.back(), 0.04);
  EXPECT_EQ(out.values()[0], std::vector<char>(40000, 1));
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

TEST(Graphs, RecordedCallsGiveTheSame) {
  tsp_options options = RankProgram::defaults();
  options.graphs = 1;
  RankProgram program = makeProgram(Where::Devices, 2, options, values);
  int calls = 0;
  for (int i = 0; i < 4; ++i) {
    std::vector<float> x = input();
    for (float &value : x)
      value += float(i);
    program.context->set(0, 0, x.data());
    ASSERT_EQ(program.run([&](tsp_rank *rank, void **args, void **results) {
      calls += rank->index == 0;
      char *arena = rank->arena->data();
      tsp_write(rank, TSP_SPACE_DEVICE, 0, arena, &scale, sizeof(scale));
      // Rows of the other rank, and back.
      tsp_wait(rank, 0,
               tsp_send_recv_start(rank, TSP_SPACE_DEVICE, 1, 0, TSP_F32,
                                   arena + 256, args[0], 36, 1));
      tsp_wait(rank, 0,
               tsp_send_recv_start(rank, TSP_SPACE_DEVICE, 1, 0, TSP_F32,
                                   arena + 512, arena + 256, 36, 1));
      void *buffers[] = {arena + 512, arena, results[0]};
      tsp_device_launch(rank, 0, &affine9, 3, buffers);
    }),
              "");
    EXPECT_EQ(result(program), affineOf(x, 2)) << "call " << i;
    EXPECT_EQ(program.bytes(0, Collective::SendRecv), 72);
  }
  EXPECT_EQ(calls, 2); // the first one and the recording
}

TEST(Graphs, ReadingBackIsRefused) {
  tsp_options options = RankProgram::defaults();
  options.graphs = 1;
  RankProgram program = makeProgram(Where::OneDevice, 1, options);
  auto body = [&](tsp_rank *rank, void **, void **) {
    int value;
    tsp_read(rank, TSP_SPACE_DEVICE, 0, &value, rank->persistent->data(), 0);
  };
  EXPECT_EQ(program.run(body), "");
  EXPECT_TRUE(contains(program.run(body), "--graphs cannot record this entry"));
}

TEST(Graphs, NeedADeviceForEachRank) {
  tsp_options options = RankProgram::defaults();
  options.graphs = 1;
  try {
    makeProgram(Where::OneDevice, 2, options);
    ADD_FAILURE() << "two ranks on one device were accepted";
  } catch (const Error &error) {
    EXPECT_TRUE(contains(error.what(), "2 ranks share 1 devices"))
        << error.what();
  }
}

//===----------------------------------------------------------------------===//
// Faults between ranks
//===----------------------------------------------------------------------===//

class DeviceFaults : public testing::TestWithParam<Where> {};

TEST_P(DeviceFaults, DisagreeingRanksAreNamed) {
  RankProgram program = makeProgram(GetParam(), 2);
  Buffers<float> buffers(program, PerRank<float>(2, std::vector<float>(64)));
  std::string error = program.run([&](tsp_rank *rank, void **, void **) {
    float *own = buffers[rank->index];
    for (int i = 0; i < 2; ++i) {
      // Rank 1 has the two the other way round.
      if ((i == 0) == (rank->index == 0))
        tsp_wait(rank, 0,
                 tsp_send_recv_start(rank, TSP_SPACE_DEVICE, 1, 0, TSP_F32,
                                     own + 32, own, 16, 1));
      else
        tsp_wait(rank, 0,
                 tsp_all_gather_start(rank, TSP_SPACE_DEVICE, 1, 0, TSP_F32,
                                      own + 32, own, 1, 8, 4, 0, 1));
    }
  });
  EXPECT_TRUE(contains(error, "disagree on transfer number 0 of axis 't'"))
      << error;
}

TEST_P(DeviceFaults, RankThatEndsEarly) {
  RankProgram program = makeProgram(GetParam(), 2);
  Buffers<float> buffers(program, PerRank<float>(2, std::vector<float>(64)));
  std::string error = program.run([&](tsp_rank *rank, void **, void **) {
    float *own = buffers[rank->index];
    if (rank->index == 0)
      tsp_wait(rank, 0,
               tsp_all_gather_start(rank, TSP_SPACE_DEVICE, 1, 0, TSP_F32,
                                    own + 32, own, 1, 8, 4, 0, 1));
  });
  EXPECT_TRUE(contains(error, "rank 1 has ended the program but has not joined "
                              "all_gather of f32 [1][8][4 bytes], number 0 of "
                              "axis 't', in which rank 0 waits for it"))
      << error;
}

/// Rank 1 does not come to a transfer, for which rank 0 waits at the end of the
/// call, or already where it reads a value.
static void checkStuckRankIsNamed(Where where, bool reads) {
  tsp_options options = RankProgram::defaults();
  options.watchdog_s = 0.5;
  RankProgram program = makeProgram(where, 2, options);
  Buffers<float> buffers(program, PerRank<float>(2, std::vector<float>(64)));
  std::string error = program.run([&](tsp_rank *rank, void **, void **) {
    float *own = buffers[rank->index], value = 0;
    while (rank->index == 1 && !rank->session.failed())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    tsp_wait(rank, 0,
             tsp_all_gather_start(rank, TSP_SPACE_DEVICE, 1, 0, TSP_F32,
                                  own + 32, own, 1, 8, 4, 0, 1));
    if (reads)
      tsp_read(rank, TSP_SPACE_DEVICE, 0, &value, own + 32, sizeof(value));
  });
  EXPECT_TRUE(contains(error, "rank 1 is late") ||
              contains(error, "rank 1 has not joined it"))
      << error;
  EXPECT_TRUE(contains(error, "all_gather of f32 [1][8][4 bytes], number 0 of "
                              "axis 't'"))
      << error;
}

TEST_P(DeviceFaults, StuckRankIsNamed) {
  checkStuckRankIsNamed(GetParam(), /*reads=*/false);
}

/// Who waits for a value watches its device as at the end of a call.
TEST_P(DeviceFaults, StuckRankIsNamedByAReader) {
  checkStuckRankIsNamed(GetParam(), /*reads=*/true);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceFaults,
                         testing::Values(Where::OneDevice, Where::Devices),
                         [](const auto &info) {
                           return info.param == Where::Devices ? "Nccl"
                                                               : "Local";
                         });

//===----------------------------------------------------------------------===//
// NCCL
//===----------------------------------------------------------------------===//

/// A kernel that is launched for the first time while a transfer waits for a
/// peer: loading it then could wait for the transfer.
TEST(Nccl, KernelsAreLoadedBeforeTransfers) {
  RankProgram program =
      makeProgram(Where::Devices, 2, RankProgram::defaults(), values);
  std::vector<float> x = input();
  program.context->set(0, 0, x.data());
  std::atomic<bool> isLaunched{false};
  ASSERT_EQ(program.run([&](tsp_rank *rank, void **args, void **results) {
    void *factor = tsp_constant(rank, TSP_SPACE_DEVICE, &constantScale,
                                sizeof(constantScale));
    char *arena = rank->arena->data();
    while (rank->index == 1 && !isLaunched && !rank->session.failed())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    tsp_event event = tsp_send_recv_start(rank, TSP_SPACE_DEVICE, 1, 0, TSP_F32,
                                          arena + 256, arena + 512, 36, 1);
    void *buffers[] = {args[0], factor, results[0]};
    tsp_device_launch(rank, 0, &affine9, 3, buffers);
    isLaunched = true;
    tsp_wait(rank, 0, event);
  }),
            "");
  EXPECT_EQ(result(program), affineOf(x, 3));
}

TEST(Nccl, KnowsTheMemoryOfItsTransfers) {
  DynamicLibrary library(libraryNames("libnccl.so.2"));
  auto registered = reinterpret_cast<size_t (*)()>(
      library.find("tspEmulationRegisteredBytes"));
  if (!registered)
    GTEST_SKIP() << "the emulation tells what is registered, NCCL does not";
  {
    RankProgram program =
        makeProgram(Where::Devices, 2, RankProgram::defaults(), values);
    std::vector<float> x = input();
    program.context->set(0, 0, x.data());
    // On each rank the arena, and 3 rows of x and y, aligned to 64 bytes.
    EXPECT_EQ(registered(), 2u * (4096 + 2 * 64));
  }
  EXPECT_EQ(registered(), 0u);
}
