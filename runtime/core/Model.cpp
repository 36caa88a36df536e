//===- Model.cpp - the description of a compiled model --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Model.h"
#include "core/Json.h"

#include <set>

using namespace tsp::runtime;

const char *tsp::runtime::kindName(ArgKind kind) {
  switch (kind) {
  case ArgKind::Parameter:
    return "parameter";
  case ArgKind::Input:
    return "input";
  case ArgKind::State:
    return "state";
  }
  return "";
}

std::vector<std::vector<Segment>>
ValueDesc::owned(const MeshShape &mesh,
                 const std::vector<int64_t> &coordinates) const {
  std::vector<std::vector<Segment>> dims;
  for (size_t i = 0; i < shape.size(); ++i)
    dims.push_back(ownedSegments(mesh, placement[i], shape[i], coordinates));
  return dims;
}

template <typename Values>
static int findByName(const Values &values, const std::string &name) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].name == name)
      return int(i);
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].positional == name)
      return int(i);
  return -1;
}

int EntryDesc::findArg(const std::string &name) const {
  return findByName(args, name);
}

int EntryDesc::findResult(const std::string &name) const {
  return findByName(results, name);
}

namespace {
/// Reads the JSON into a ModelDesc; `path` names the place in messages.
class Reader {
public:
  explicit Reader(ModelDesc &model) : model(model) {}

  void read(const Json &json, const tsp_entry_point *table) {
    const std::string root = "the model's description";
    int64_t version = json.at("version", root).asInt("version");
    if (version != 1)
      throw Error(format("the model's description has version %lld; this "
                         "runtime reads version 1",
                         (long long)version));
    if (const Json *target = json.find("target"))
      model.target = target->asString("target");
    if (model.target != "host" && model.target != "cuda")
      throw Error("the model is for target '" + model.target +
                  "'; this runtime has host and cuda");
    readSize(json, "device_workspace_bytes", root, model.workspaceBytes);
    readSize(json, "device_constant_bytes", root, model.constantBytes);
    readMesh(json.at("mesh", root));
    if (const Json *groups = json.find("groups"))
      readGroups(*groups);
    if (const Json *seconds = json.find("compile_seconds"))
      model.compileSeconds = seconds->asDouble("compile_seconds");
    if (const Json *strategy = json.find("strategy"))
      model.strategy = strategy->asString("strategy");
    if (const Json *features = json.find("cpu_features"))
      for (const Json &feature : features->asArray("cpu_features"))
        model.cpuFeatures.push_back(feature.asString("cpu_features"));
    std::set<std::string> names;
    for (const Json &entry : json.at("entries", root).asArray("entries")) {
      model.entries.push_back(readEntry(entry, table));
      if (!names.insert(model.entries.back().name).second)
        throw Error("two entries are named '" + model.entries.back().name +
                    "'");
    }
    if (model.entries.empty())
      throw Error("the model has no entries");
  }

private:
  void readMesh(const Json &json) {
    int64_t ranks = 1;
    for (const Json &axis : json.asArray("mesh")) {
      std::string name = axis.at("name", "mesh").asString("mesh: name");
      int64_t size = axis.at("size", "mesh").asInt("mesh: size");
      if (size < 1 || size > 4096 || (ranks *= size) > 4096)
        throw Error("mesh axis '" + name + "' has the size " +
                    std::to_string(size) + "; 1 to 4096 ranks are possible");
      model.groups.push_back({name, {int(model.mesh.size())}});
      model.axisNames.push_back(name);
      model.mesh.push_back(size);
    }
  }

  int axisNumber(const std::string &name, const std::string &path) {
    for (size_t i = 0; i < model.axisNames.size(); ++i)
      if (model.axisNames[i] == name)
        return int(i);
    throw Error(path + ": the mesh has no axis '" + name + "'");
  }

  void readGroups(const Json &json) {
    for (const Json &group : json.asArray("groups")) {
      AxisGroup result;
      for (const Json &axis : group.asArray("groups")) {
        result.axes.push_back(axisNumber(axis.asString("groups"), "groups"));
        result.name += (result.name.empty() ? "" : ",") + axis.text;
      }
      model.groups.push_back(result);
    }
  }

  template <typename T, typename Get>
  T perAxis(const Json &dim, const char *key, size_t index, size_t count,
            T missing, Get get, const std::string &path) {
    const Json *value = dim.find(key);
    if (!value)
      return missing;
    if (value->kind != Json::Kind::Array)
      return get(*value);
    if (value->items.size() != count)
      throw Error(path + ": '" + key + "' needs one value an axis");
    return get(value->items[index]);
  }

  DimPlacement readDim(const Json &dim, const std::string &path) {
    DimPlacement result;
    const Json *axes = dim.find("axes");
    if (!axes)
      return result;
    size_t count = axes->asArray(path + ": axes").size();
    for (size_t i = 0; i < count; ++i) {
      AxisSplit split;
      split.axis = axisNumber(axes->items[i].asString(path), path);
      split.layout = perAxis<int32_t>(
          dim, "layout", i, count, TSP_CONTIGUOUS,
          [&](const Json &value) -> int32_t {
            const std::string &name = value.asString(path + ": layout");
            if (name == "contiguous")
              return TSP_CONTIGUOUS;
            if (name == "zigzag")
              return TSP_ZIGZAG;
            throw Error(path + ": unknown layout '" + name + "'");
          },
          path);
      split.unit = perAxis<int64_t>(
          dim, "unit", i, count, 1,
          [&](const Json &value) { return value.asInt(path + ": unit"); },
          path);
      if (split.unit < 1 || split.unit > (int64_t(1) << 40))
        throw Error(path + ": unit " + std::to_string(split.unit) +
                    " is out of range");
      result.push_back(split);
    }
    return result;
  }

  void readValue(const Json &json, const std::string &positional,
                 const std::string &path, ValueDesc &value) {
    value.positional = value.name = positional;
    if (const Json *name = json.find("name"))
      if (!name->asString(path + ": name").empty())
        value.name = name->text;
    const std::string &dtype =
        json.at("dtype", path).asString(path + ": dtype");
    value.dtype = dtypeFromName(dtype);
    if (value.dtype < 0)
      throw Error(path + ": unknown dtype '" + dtype + "'");
    value.shape = json.at("shape", path).asInts(path + ": shape");
    value.placement.resize(value.shape.size());
    if (const Json *placement = json.find("placement")) {
      if (placement->asArray(path + ": placement").size() != value.shape.size())
        throw Error(path + ": 'placement' needs one object a dim");
      for (size_t i = 0; i < value.shape.size(); ++i)
        value.placement[i] = readDim(placement->items[i], path);
    }
    countElements(value.shape);
    for (size_t i = 0; i < value.shape.size(); ++i)
      value.localShape.push_back(
          localSize(model.mesh, value.placement[i], value.shape[i]));
    countElements(value.localShape);
    if (const Json *local = json.find("local_shape")) {
      std::vector<int64_t> given = local->asInts(path + ": local_shape");
      if (given != value.localShape)
        throw Error(path + ": local_shape is " + typeText(value.dtype, given) +
                    ", but the placement gives " +
                    typeText(value.dtype, value.localShape));
    }
  }

  EntryDesc readEntry(const Json &json, const tsp_entry_point *table) {
    EntryDesc entry;
    entry.name = json.at("name", "an entry").asString("entry: name");
    std::string path = "entry '" + entry.name + "'";
    const Json *symbol = json.find("symbol");
    entry.symbol = symbol ? symbol->asString(path + ": symbol")
                          : "tsp_entry_" + entry.name;
    for (const tsp_entry_point *point = table; point && point->symbol; ++point)
      if (entry.symbol == point->symbol)
        entry.fn = point->fn;
    if (!entry.fn)
      throw Error(path + ": the binary has no code for it (symbol '" +
                  entry.symbol + "')");
    readSize(json, "arena_bytes", path, entry.arenaBytes);
    readSize(json, "scratch_bytes", path, entry.scratchBytes);
    const auto &args = json.at("args", path).asArray(path + ": args");
    for (size_t i = 0; i < args.size(); ++i) {
      ArgDesc arg;
      readValue(args[i], "arg" + std::to_string(i),
                path + ", argument " + std::to_string(i), arg);
      readArg(args[i], path + ", argument '" + arg.name + "'", arg);
      entry.args.push_back(arg);
    }
    const auto &results = json.at("results", path).asArray(path + ": results");
    for (size_t i = 0; i < results.size(); ++i) {
      ValueDesc result;
      readValue(results[i], "result" + std::to_string(i),
                path + ", result " + std::to_string(i), result);
      entry.results.push_back(result);
    }
    for (const ArgDesc &arg : entry.args)
      checkAlias(entry, arg, path);
    return entry;
  }

  static void readSize(const Json &json, const char *key,
                       const std::string &path, int64_t &size) {
    if (const Json *value = json.find(key))
      size = value->asInt(path + ": " + key);
    if (size < 0 || size > (int64_t(1) << 46))
      throw Error(path + ": " + key + " is out of range");
  }

  static void readArg(const Json &json, const std::string &path, ArgDesc &arg) {
    const std::string &kind = json.at("kind", path).asString(path + ": kind");
    if (kind == "parameter")
      arg.kind = ArgKind::Parameter;
    else if (kind == "state")
      arg.kind = ArgKind::State;
    else if (kind != "input")
      throw Error(path + ": unknown kind '" + kind + "'");
    if (const Json *alias = json.find("alias"))
      if (alias->kind != Json::Kind::Null)
        arg.alias = int(alias->asInt(path + ": alias"));
  }

  static void checkAlias(const EntryDesc &entry, const ArgDesc &arg,
                         const std::string &path) {
    if (arg.alias < 0)
      return;
    if (size_t(arg.alias) >= entry.results.size())
      throw Error(path + ": the alias of '" + arg.name +
                  "' is no result of the entry");
    const ValueDesc &result = entry.results[arg.alias];
    if (result.dtype != arg.dtype || result.shape != arg.shape ||
        result.localShape != arg.localShape)
      throw Error(path + ": '" + arg.name + "' (" + arg.type() +
                  ") and its new value '" + result.name + "' (" +
                  result.type() + ") are not alike");
  }

  ModelDesc &model;
};
} // namespace

ModelDesc ModelDesc::parse(const tsp_model &model) {
  if (!model.json)
    throw Error("the model has no description");
  ModelDesc result;
  result.json = model.json;
  Reader(result).read(Json::parse(result.json), model.entries);
  result.device = model.device;
  if (result.onDevice() && !(result.device && result.device->data))
    throw Error("the model is for target '" + result.target +
                "', but has no device code (tsp_device_code)");
  return result;
}

int64_t ModelDesc::groupSize(const AxisGroup &group) const {
  int64_t size = 1;
  for (int axis : group.axes)
    size *= mesh[axis];
  return size;
}

int64_t ModelDesc::groupIndex(const AxisGroup &group,
                              const std::vector<int64_t> &coordinates) const {
  int64_t index = 0;
  for (int axis : group.axes)
    index = index * mesh[axis] + coordinates[axis];
  return index;
}
