/* Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A C program that calls a model: cc embed.c -I runtime/include ./libmodel.so
 * Its arguments are float32 [8] each; prints the result. */
#include "tsp_runtime.h"

#include <stdio.h>

static int check(tsp_context *context, int failed) {
  if (failed)
    fprintf(stderr, "error: %s\n", tsp_error(context));
  return failed;
}

int main(void) {
  tsp_options options;
  tsp_options_init(&options);
  options.threads = 1;
  tsp_context *context = tsp_context_create(NULL, &options);
  if (*tsp_error(context))
    return check(context, 1);

  const int64_t shape[1] = {8};
  float x[8], y[8], z[8];
  for (int i = 0; i < 8; ++i) {
    x[i] = (float)i;
    y[i] = 100;
  }
  int failed = check(context, tsp_set(context, NULL, "x", TSP_F32, 1, shape, x)) ||
               check(context, tsp_set(context, NULL, "y", TSP_F32, 1, shape, y)) ||
               check(context, tsp_call(context, NULL)) ||
               check(context, tsp_read_result(context, NULL, "result0", z, sizeof z));
  if (!failed) {
    printf("%d ranks:", (int)tsp_num_ranks(context));
    for (int i = 0; i < 8; ++i)
      printf(" %g", z[i]);
    printf("\n");
  }
  tsp_context_destroy(context);
  return failed;
}
