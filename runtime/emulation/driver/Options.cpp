//===- Options.cpp - what the emulated machine is -------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Options.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <thread>

using namespace tsp::emulation;

/// Reads a number in [low, high] into `value` if the variable is set.
template <typename T>
static void read(const char *name, T &value, double low, double high,
                 double scale, std::string &error) {
  const char *text = getenv(name);
  if (!text || !*text)
    return;
  char *end = nullptr;
  double number = strtod(text, &end);
  if (*end || !(number >= low && number <= high)) {
    error += std::string(name) + "=" + text + ": expected a number from " +
             std::to_string(low) + " to " + std::to_string(high) + "; ";
    return;
  }
  value = T(number * scale);
}

/// Numbers of devices up to the first that the machine does not have, as the
/// driver reads CUDA_VISIBLE_DEVICES.
static std::vector<int> readVisible(int devices) {
  std::vector<int> visible;
  const char *text = getenv("CUDA_VISIBLE_DEVICES");
  for (int i = 0; !text && i < devices; ++i)
    visible.push_back(i);
  while (text && *text) {
    char *end = nullptr;
    long number = strtol(text, &end, 10);
    if (end == text || number < 0 || number >= devices)
      break;
    visible.push_back(int(number));
    text = *end == ',' ? end + 1 : "";
  }
  return visible;
}

/// A list of capabilities, one a device of the machine; the last one repeats.
static void readCapabilities(Options &options) {
  const char *name = "TSP_EMULATED_CAPABILITY";
  const char *text = getenv(name);
  std::vector<Capability> list;
  for (const char *at = text ? text : "8.0"; at;) {
    Capability &one = list.emplace_back();
    char *end = nullptr;
    one.major = int(strtol(at, &end, 10));
    bool isWhole = *end == '.' && isdigit(end[1]) && (!end[2] || end[2] == ',');
    if (!isWhole || one.major < 5 || one.major > 20) {
      options.error += std::string(name) + "=" + text +
                       ": expected a compute capability such as 8.0, or a "
                       "list of them, one a device; ";
      break;
    }
    one.minor = end[1] - '0';
    at = end[2] ? end + 3 : nullptr;
  }
  for (int device : options.visible)
    options.capabilities.push_back(
        list[std::min(size_t(device), list.size() - 1)]);
}

bool tsp::emulation::wantsChecker() {
  const char *text = getenv("TSP_EMULATION_CHECK");
  return text && *text && std::string(text) != "0";
}

static Options readOptions() {
  Options result;
  result.threads = std::max(2u, std::thread::hardware_concurrency());
  read("TSP_EMULATED_DEVICES", result.devices, 0, 64, 1, result.error);
  read("TSP_EMULATED_MULTIPROCESSORS", result.multiprocessors, 1, 1024, 1,
       result.error);
  read("TSP_EMULATED_MEMORY", result.memoryBytes, 0.001, 65536, double(1 << 30),
       result.error);
  read("TSP_EMULATION_SEED", result.seed, 0, 4294967295.0, 1, result.error);
  read("TSP_EMULATION_THREADS", result.threads, 1, 1024, 1, result.error);
  read("TSP_EMULATION_VERBOSE", result.verbose, 0, 1, 1, result.error);
  result.checks = wantsChecker();
  result.visible = readVisible(result.devices);
  readCapabilities(result);
  result.devices = int(result.visible.size());
  return result;
}

const Options &tsp::emulation::options() {
  static const Options result = readOptions();
  return result;
}
