//===- RuntimeABI.h - what compiled code calls and exports ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that the compiler knows of the runtime: names and signatures of
// runtime/include/tsp_runtime.h, against which test/Unit checks this file.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_HOST_RUNTIMEABI_H
#define TSP_HOST_RUNTIMEABI_H

namespace tsp {

/// A function of the runtime. The signature holds a letter for the result and
/// one for each parameter: v void, i int32_t, l int64_t, p pointer.
struct RuntimeFunction {
  const char *name;
  const char *signature;
};

namespace abi {
inline constexpr RuntimeFunction launch{"tsp_launch", "vpipplllp"};
inline constexpr RuntimeFunction deviceLaunch{"tsp_device_launch", "vpiplp"};
inline constexpr RuntimeFunction write{"tsp_write", "vpiippl"};
inline constexpr RuntimeFunction constant{"tsp_constant", "ppipl"};
inline constexpr RuntimeFunction axisIndex{"tsp_axis_index", "lpi"};
inline constexpr RuntimeFunction copy{"tsp_copy", "vpiippl"};
inline constexpr RuntimeFunction read{"tsp_read", "vpiippl"};
inline constexpr RuntimeFunction allGather{"tsp_all_gather_start", "lpiiiipplllil"};
inline constexpr RuntimeFunction reduceScatter{"tsp_reduce_scatter_start", "lpiiiiipplllil"};
inline constexpr RuntimeFunction allReduce{"tsp_all_reduce_start", "lpiiiiippl"};
inline constexpr RuntimeFunction allToAll{"tsp_all_to_all_start", "lpiiiippllllliilil"};
inline constexpr RuntimeFunction broadcast{"tsp_broadcast_start", "lpiiiipplllilll"};
inline constexpr RuntimeFunction sendRecv{"tsp_send_recv_start", "lpiiiippll"};
inline constexpr RuntimeFunction staging{"tsp_staging", "vppl"};
inline constexpr RuntimeFunction wait{"tsp_wait", "vpil"};

/// Memory spaces, and the streams of a rank.
inline constexpr int spaceHost = 0, spaceDevice = 1;
inline constexpr int streamCompute = 0, streamComm = 1;

/// Names of the data types, in the order of the header's `tsp_dtype`.
inline constexpr const char *dtypeNames[] = {
    "f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i1",   "i4",  "i8",
    "i16", "i32", "i64", "ui4",  "ui8",      "ui16",   "ui32", "ui64"};

/// What an object exports: description, table of entries, the device's code
/// (only for a device), and the prefix of the entries' own names.
inline constexpr const char *modelJson = "tsp_model_json";
inline constexpr const char *entryTable = "tsp_entry_table";
inline constexpr const char *deviceCode = "tsp_device_code";
inline constexpr const char *entryPrefix = "tsp_entry_";
} // namespace abi

} // namespace tsp

#endif // TSP_HOST_RUNTIMEABI_H
