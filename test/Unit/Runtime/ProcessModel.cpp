//===- ProcessModel.cpp - a model for runs as several processes -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An executable as tsp-compile makes them, its code written by hand; for
// test/Python/test_processes.py. Each of 4 ranks holds 3 rows of x [10, 3]:
//   total = the sum of the ranks' rows, whole = x gathered, head = its first
//   rows, y = the rows of the rank before, fourfold = the sum of what they have
//   gathered, a part each, turned = x with its columns on the ranks.
// TSP_TEST_FAULT makes a rank go wrong. With TSP_TEST_CUDA it is for devices.
//
//===----------------------------------------------------------------------===//

#include "TestKernels.h"
#include "tsp_runtime.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#ifdef TSP_TEST_CUDA
#define TSP_TEST_TARGET "cuda"
constexpr int32_t space = TSP_SPACE_DEVICE;
#else
#define TSP_TEST_TARGET "host"
constexpr int32_t space = TSP_SPACE_HOST;
#endif

constexpr int64_t rows = 10, columns = 3, local = 3, arenaBytes = 1024;

static bool isFault(const char *name) {
  const char *fault = getenv("TSP_TEST_FAULT");
  return fault && strcmp(fault, name) == 0;
}

static tsp_event sumStart(tsp_rank *rank, void **args, void **results) {
  return tsp_all_reduce_start(rank, space, TSP_STREAM_COMM, 0, TSP_F32, TSP_SUM,
                              results[1], args[0], local * columns);
}

static tsp_event gatherStart(tsp_rank *rank, void **args, void **results) {
  return tsp_all_gather_start(rank, space, TSP_STREAM_COMM, 0, TSP_F32,
                              results[2], args[0], 1, rows, columns * 4,
                              TSP_CONTIGUOUS, 1);
}

static void run(tsp_rank *rank, void **args, void **results, void *arena) {
  tsp_staging(rank, arena, arenaBytes);
  int64_t me = tsp_axis_index(rank, 0);
  if (me == 2 && isFault("killed"))
    raise(SIGKILL);
  while (me == 1 && isFault("stuck"))
    sleep(1);
  if (me == 3 && isFault("fails"))
    tsp_fail(rank, "no such token");
  if (me == 1 && isFault("ends"))
    return;
  if (me == 1 && (isFault("swapped") || isFault("removed"))) {
    tsp_wait(rank, TSP_STREAM_COMPUTE, gatherStart(rank, args, results));
    if (isFault("swapped"))
      tsp_wait(rank, TSP_STREAM_COMPUTE, sumStart(rank, args, results));
  } else {
    tsp_event sum = sumStart(rank, args, results);
    tsp_event gather = gatherStart(rank, args, results);
    tsp_wait(rank, TSP_STREAM_COMPUTE, sum);
    if (!isFault("unwaited") && !(me == 1 && isFault("forgotten")))
      tsp_wait(rank, TSP_STREAM_COMPUTE, gather);
    tsp_copy(rank, space, TSP_STREAM_COMPUTE, results[3], results[2],
             local * columns * 4);
    if (isFault("unwaited"))
      tsp_wait(rank, TSP_STREAM_COMPUTE, gather);
  }
  tsp_wait(rank, TSP_STREAM_COMPUTE,
           tsp_send_recv_start(rank, space, TSP_STREAM_COMM, 0, TSP_F32,
                               results[0], args[0], local * columns * 4, 1));
  tsp_wait(rank, TSP_STREAM_COMPUTE,
           tsp_reduce_scatter_start(rank, space, TSP_STREAM_COMM, 0, TSP_F32,
                                    TSP_SUM, results[4], results[2], 1, rows,
                                    columns * 4, TSP_CONTIGUOUS, 1));
  tsp_wait(rank, TSP_STREAM_COMPUTE,
           tsp_all_to_all_start(rank, space, TSP_STREAM_COMM, 0, TSP_F32,
                                results[5], args[0], 1, rows, 1, columns, 4,
                                /*split=*/1, TSP_CONTIGUOUS, 1, TSP_CONTIGUOUS,
                                1));
}

extern "C" {
extern const char tsp_model_json[];
extern const tsp_entry_point tsp_entry_table[];
extern const tsp_device_image tsp_device_code;

const char tsp_model_json[] = R"({
  "version": 1, "target": ")" TSP_TEST_TARGET R"(",
  "mesh": [{"name": "t", "size": 4}], "entries": [{
    "name": "main", "arena_bytes": 1024,
    "args": [{"name": "x", "kind": "parameter", "dtype": "f32",
              "shape": [10, 3], "placement": [{"axes": ["t"]}, {}]}],
    "results": [{"name": "y", "dtype": "f32", "shape": [10, 3],
                 "placement": [{"axes": ["t"]}, {}]},
                {"name": "total", "dtype": "f32", "shape": [3, 3]},
                {"name": "whole", "dtype": "f32", "shape": [10, 3]},
                {"name": "head", "dtype": "f32", "shape": [3, 3]},
                {"name": "fourfold", "dtype": "f32", "shape": [10, 3],
                 "placement": [{"axes": ["t"]}, {}]},
                {"name": "turned", "dtype": "f32", "shape": [10, 3],
                 "placement": [{}, {"axes": ["t"]}]}]}]})";
const tsp_entry_point tsp_entry_table[] = {{"tsp_entry_main", run},
                                           {nullptr, nullptr}};
const tsp_device_image tsp_device_code = {reduceKernel4, sizeof(reduceKernel4)};
}
