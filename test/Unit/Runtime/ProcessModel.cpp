//===- ProcessModel.cpp - a model for runs as several processes -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An executable as tsp-compile makes them, its code written by hand; for
// test/Python/test_processes.py. Each of 4 ranks holds a part of x [10, 3]:
//   total = the sum of x, y = x + total, whole = x gathered and reversed in
//   rows.
// TSP_TEST_FAULT makes a rank go wrong.
//
//===----------------------------------------------------------------------===//

#include "tsp_runtime.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace {
constexpr int64_t rows = 10, columns = 3, local = 3;

bool isFault(const char *name) {
  const char *fault = getenv("TSP_TEST_FAULT");
  return fault && strcmp(fault, name) == 0;
}

tsp_event sumStart(tsp_rank *rank, float *value) {
  return tsp_all_reduce_start(rank, 0, 1, 0, TSP_F32, TSP_SUM, value, value, 1);
}

tsp_event gatherStart(tsp_rank *rank, float *dst, const float *src) {
  return tsp_all_gather_start(rank, 0, 1, 0, TSP_F32, dst, src, 1, rows,
                              columns * 4, TSP_CONTIGUOUS, 1);
}

void run(tsp_rank *rank, void **args, void **results, void *arena) {
  int64_t me = tsp_axis_index(rank, 0);
  const float *x = static_cast<const float *>(args[0]);
  float *y = static_cast<float *>(results[0]);
  float *total = static_cast<float *>(results[1]);
  float *whole = static_cast<float *>(results[2]);
  float *gathered = static_cast<float *>(arena);

  if (me == 2 && isFault("killed"))
    raise(SIGKILL);
  while (me == 1 && isFault("stuck"))
    sleep(1);
  if (me == 3 && isFault("fails"))
    tsp_fail(rank, "no such token");
  if (me == 1 && isFault("ends"))
    return;

  int64_t owned = me * local < rows ? rows - me * local : 0;
  owned = owned < local ? owned : local;
  *total = 0;
  for (int64_t i = 0; i < owned * columns; ++i)
    *total += x[i];
  if (me == 1 && isFault("swapped")) {
    tsp_wait(rank, 0, gatherStart(rank, gathered, x));
    tsp_wait(rank, 0, sumStart(rank, total));
  } else {
    tsp_event sum = sumStart(rank, total);
    tsp_event gather = gatherStart(rank, gathered, x);
    tsp_wait(rank, 0, sum);
    tsp_wait(rank, 0, gather);
  }
  for (int64_t i = 0; i < local * columns; ++i)
    y[i] = x[i] + *total;
  for (int64_t i = 0; i < rows; ++i)
    memcpy(whole + i * columns, gathered + (rows - 1 - i) * columns,
           columns * 4);
}
} // namespace

extern "C" {
extern const char tsp_model_json[];
extern const tsp_entry_point tsp_entry_table[];

const char tsp_model_json[] = R"({
  "version": 1, "mesh": [{"name": "t", "size": 4}], "entries": [{
    "name": "main", "arena_bytes": 120,
    "args": [{"name": "x", "kind": "parameter", "dtype": "f32",
              "shape": [10, 3], "placement": [{"axes": ["t"]}, {}]}],
    "results": [{"name": "y", "dtype": "f32", "shape": [10, 3],
                 "placement": [{"axes": ["t"]}, {}]},
                {"name": "total", "dtype": "f32", "shape": [1]},
                {"name": "whole", "dtype": "f32", "shape": [10, 3]}]}]})";
const tsp_entry_point tsp_entry_table[] = {{"tsp_entry_main", run},
                                           {nullptr, nullptr}};
}
