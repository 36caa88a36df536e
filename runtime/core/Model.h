//===- Model.h - the description of a compiled model ------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_MODEL_H
#define TSP_RUNTIME_CORE_MODEL_H

#include "core/Placement.h"

#include <string>
#include <vector>

namespace tsp::runtime {

class Json;

enum class ArgKind { Parameter, Input, State };

const char *kindName(ArgKind kind);

/// A value at the border of an entry.
struct ValueDesc {
  std::string name;       ///< the user's name; "argN" or "resultN" without one
  std::string positional; ///< "argN", "resultN"
  int dtype = TSP_F32;
  std::vector<int64_t> shape, localShape;
  std::vector<DimPlacement> placement;

  int64_t elements() const { return countElements(shape); }
  int64_t bytes() const { return elements() * dtypeSize(dtype); }
  int64_t localBytes() const {
    return countElements(localShape) * dtypeSize(dtype);
  }
  std::string type() const { return typeText(dtype, shape); }

  /// The owned segments of each dim on a rank.
  std::vector<std::vector<Segment>>
  owned(const MeshShape &mesh, const std::vector<int64_t> &coordinates) const;
};

struct ArgDesc : ValueDesc {
  ArgKind kind = ArgKind::Input;
  int alias = -1; ///< the result that is this argument's new value
};

struct EntryDesc {
  std::string name, symbol;
  tsp_entry_fn fn = nullptr;
  int64_t arenaBytes = 0, scratchBytes = 0;
  std::vector<ArgDesc> args;
  std::vector<ValueDesc> results;

  /// Number of the argument / result with this name, or -1.
  int findArg(const std::string &name) const;
  int findResult(const std::string &name) const;
};

/// An axis number of the collectives: a mesh axis, or a group of them.
struct AxisGroup {
  std::string name;
  std::vector<int> axes; ///< the major one first
};

struct ModelDesc {
  std::string target = "host"; ///< or "cuda"
  const tsp_device_image *device = nullptr;
  int64_t workspaceBytes = 0; ///< of the device's kernels
  int64_t constantBytes = 0;  ///< that are copied to the device
  MeshShape mesh;
  std::vector<std::string> axisNames;
  std::vector<AxisGroup> groups; ///< the mesh axes, then the groups
  double compileSeconds = 0;
  std::vector<std::string> cpuFeatures; ///< that the code needs
  std::string strategy, json;
  std::vector<EntryDesc> entries;

  bool onDevice() const { return target != "host"; }

  /// Size of a group, and a rank's coordinate in it.
  int64_t groupSize(const AxisGroup &group) const;
  int64_t groupIndex(const AxisGroup &group,
                     const std::vector<int64_t> &coordinates) const;

  int64_t numRanks() const {
    int64_t product = 1;
    for (int64_t size : mesh)
      product *= size;
    return product;
  }

  /// Reads and checks the description; throws an Error that says where.
  static ModelDesc parse(const tsp_model &model);
};

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_MODEL_H
