//===- TestKernels.h - device kernels for tests, as PTX ---------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_TEST_UNIT_RUNTIME_TESTKERNELS_H
#define TSP_TEST_UNIT_RUNTIME_TESTKERNELS_H

// tsp_reduce_sum_f32_<D> as tsp_runtime.h says, for up to four ranks; `affine`:
// out[i] = in[i] * scale[0] + i, by way of the workspace.

#define TSP_TEST_SOURCE(N) "  .param .u64 src" #N ",\n"
#define TSP_TEST_ADD(N)                                                        \
  "  ld.param.u64 %d10, [src" #N "];\n"                                        \
  "  add.s64 %d10, %d10, %d7;\n"                                               \
  "  ld.global.f32 %f2, [%d10];\n"                                             \
  "  add.rn.f32 %f1, %f1, %f2;\n"
#define TSP_TEST_REDUCE(RANKS, SOURCES, ADDS)                                  \
  ".visible .entry tsp_reduce_sum_f32_" #RANKS "(\n  .param .u64 dst,\n" SOURCES \
  R"(  .param .u64 count)
{
  .reg .pred %p<2>;
  .reg .b32 %r<7>;
  .reg .b64 %d<12>;
  .reg .f32 %f<3>;
  ld.param.u64 %d1, [dst];
  ld.param.u64 %d3, [count];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mad.lo.s32 %r5, %r1, %r2, %r3;
  mul.lo.s32 %r6, %r4, %r2;
  cvt.u64.u32 %d5, %r5;
  cvt.u64.u32 %d6, %r6;
LOOP:
  setp.ge.u64 %p1, %d5, %d3;
  @%p1 bra END;
  shl.b64 %d7, %d5, 2;
  mov.f32 %f1, 0f80000000;
)" ADDS R"(
  add.s64 %d11, %d1, %d7;
  st.global.f32 [%d11], %f1;
  add.s64 %d5, %d5, %d6;
  bra LOOP;
END:
  ret;
}
)"
#define TSP_TEST_UP_TO_2(F) F(0) F(1)
#define TSP_TEST_UP_TO_3(F) TSP_TEST_UP_TO_2(F) F(2)
#define TSP_TEST_UP_TO_4(F) TSP_TEST_UP_TO_3(F) F(3)

#define TSP_TEST_REDUCE_4                                                      \
  TSP_TEST_REDUCE(4, TSP_TEST_UP_TO_4(TSP_TEST_SOURCE),                        \
                  TSP_TEST_UP_TO_4(TSP_TEST_ADD))
#define TSP_TEST_HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

inline constexpr char reduceKernel4[] = TSP_TEST_HEAD TSP_TEST_REDUCE_4;

inline constexpr char testKernels[] =
    TSP_TEST_HEAD TSP_TEST_REDUCE(1, TSP_TEST_SOURCE(0), TSP_TEST_ADD(0))
    TSP_TEST_REDUCE(2, TSP_TEST_UP_TO_2(TSP_TEST_SOURCE),
                    TSP_TEST_UP_TO_2(TSP_TEST_ADD))
    TSP_TEST_REDUCE(3, TSP_TEST_UP_TO_3(TSP_TEST_SOURCE),
                    TSP_TEST_UP_TO_3(TSP_TEST_ADD))
    TSP_TEST_REDUCE_4 R"(
.visible .entry affine(
  .param .u64 in, .param .u64 scale, .param .u64 out, .param .u64 workspace)
{
  .reg .b32 %r<5>;
  .reg .b64 %d<9>;
  .reg .f32 %f<5>;
  ld.param.u64 %d1, [in];
  ld.param.u64 %d2, [scale];
  ld.param.u64 %d3, [out];
  ld.param.u64 %d4, [workspace];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %d5, %r4;
  shl.b64 %d5, %d5, 2;
  add.s64 %d6, %d1, %d5;
  add.s64 %d7, %d3, %d5;
  add.s64 %d8, %d4, %d5;
  ld.global.f32 %f1, [%d6];
  ld.global.f32 %f2, [%d2];
  mul.rn.f32 %f3, %f1, %f2;
  st.global.f32 [%d8], %f3;
  cvt.rn.f32.u32 %f4, %r4;
  ld.global.f32 %f3, [%d8];
  add.rn.f32 %f3, %f3, %f4;
  st.global.f32 [%d7], %f3;
  ret;
}
)";

#endif // TSP_TEST_UNIT_RUNTIME_TESTKERNELS_H
