//===- TestKernels.h - device kernels for tests, as PTX ---------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_TEST_UNIT_RUNTIME_TESTKERNELS_H
#define TSP_TEST_UNIT_RUNTIME_TESTKERNELS_H

// tsp_reduce_sum_f32 as tsp_runtime.h says; `affine`: out[i] = in[i] * scale[0]
// + i, by way of the workspace.
inline constexpr char testKernels[] = R"(
.version 8.0
.target sm_80
.address_size 64

.visible .entry tsp_reduce_sum_f32(
  .param .u64 dst, .param .u64 srcs, .param .u64 count, .param .u64 ranks)
{
  .reg .pred %p<3>;
  .reg .b32 %r<7>;
  .reg .b64 %d<12>;
  .reg .f32 %f<3>;
  ld.param.u64 %d1, [dst];
  ld.param.u64 %d2, [srcs];
  ld.param.u64 %d3, [count];
  ld.param.u64 %d4, [ranks];
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
  mov.u64 %d8, 0;
  mov.f32 %f1, 0f00000000;
RANK:
  setp.ge.u64 %p2, %d8, %d4;
  @%p2 bra STORE;
  shl.b64 %d9, %d8, 3;
  add.s64 %d9, %d2, %d9;
  ld.global.u64 %d10, [%d9];
  add.s64 %d10, %d10, %d7;
  ld.global.f32 %f2, [%d10];
  add.rn.f32 %f1, %f1, %f2;
  add.s64 %d8, %d8, 1;
  bra RANK;
STORE:
  add.s64 %d11, %d1, %d7;
  st.global.f32 [%d11], %f1;
  add.s64 %d5, %d5, %d6;
  bra LOOP;
END:
  ret;
}

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
