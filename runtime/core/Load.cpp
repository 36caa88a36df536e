//===- Load.cpp - arguments from files ------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Context.h"

using namespace tsp::runtime;

void tsp::runtime::scatter(
    const ValueDesc &value, const tsp_rank &rank, char *local,
    const std::function<void(char *, int64_t, int64_t)> &read) {
  auto dims = value.owned(rank.session.model.mesh, rank.coordinates);
  int64_t size = dtypeSize(value.dtype);
  std::unique_ptr<Upload> upload =
      rank.device->upload(local, value.localBytes());
  forEachRun(dims, value.shape, value.localShape,
             [&](int64_t to, int64_t from, int64_t run) {
               int64_t bytes;
               for (int64_t done = 0; done < run * size; done += bytes) {
                 bytes = run * size - done;
                 char *dst = upload->piece(to * size + done, bytes);
                 read(dst, bytes, from * size + done);
               }
             });
  upload->finish();
}

void Context::addFile(const std::string &path) {
  files.push_back(TensorFile::open(path));
}

/// The newest source of an argument, or null.
const FileTensor *
Context::findInFiles(const ArgDesc &arg,
                     std::shared_ptr<TensorFile> &file) const {
  for (size_t i = files.size(); i-- > 0;)
    for (const std::string &name : {arg.name, arg.positional})
      if (const FileTensor *tensor = files[i]->find(name)) {
        file = files[i];
        return tensor;
      }
  return nullptr;
}

static void checkMatches(const ArgDesc &arg, const TensorFile &file,
                         const FileTensor &tensor) {
  bool sameShape = tensor.shape == arg.shape;
  if (sameShape && tensor.isReadableAs(arg.dtype))
    return;
  throw Error(format("argument '%s': expected %s, found %s in %s (another %s)",
                     arg.name.c_str(), arg.type().c_str(),
                     tensor.type().c_str(), file.path().c_str(),
                     sameShape ? "dtype" : "shape"));
}

void Context::loadFromFile(const ArgDesc &arg, const Place &place,
                           std::shared_ptr<TensorFile> file,
                           const FileTensor &tensor) {
  checkMatches(arg, *file, tensor);
  std::shared_ptr<std::vector<char>> whole;
  if (tensor.deflated || tensor.columnMajor)
    whole = std::make_shared<std::vector<char>>(file->readWhole(tensor));
  const ArgDesc *value = &arg;
  const FileTensor *source = &tensor;
  session->runOnRanks(
      [this, value, source, place, file, whole](tsp_rank &rank) {
        SliceReader reader = whole ? SliceReader(*file, *source, *whole)
                                   : SliceReader(*file, *source);
        scatter(*value, rank, local(rank, place),
                [&](char *dst, int64_t bytes, int64_t offset) {
                  reader.read(dst, uint64_t(bytes), uint64_t(offset));
                });
      });
}

/// Names in the files that are no argument's: a misspelt one may be there.
std::string Context::unusedNames() const {
  std::string names;
  int count = 0;
  for (const auto &file : files)
    for (const FileTensor &tensor : file->tensors()) {
      bool used = false;
      for (const EntryDesc &entry : desc.entries)
        used |= entry.findArg(tensor.name) >= 0;
      if (!used && ++count <= 8)
        names += (count > 1 ? ", '" : "'") + tensor.name + "'";
    }
  if (count == 0)
    return "";
  return "\nthe files have tensors that no argument takes: " + names +
         (count > 8 ? format(" and %d more", count - 8) : "");
}

void Context::zeroMissingStates(int entry) {
  const EntryDesc &code = desc.entries[entry];
  std::shared_ptr<TensorFile> file;
  for (size_t i = 0; i < code.args.size(); ++i)
    if (code.args[i].kind == ArgKind::State &&
        !entries[entry].args[i]->loaded && !findInFiles(code.args[i], file))
      setZero(entry, int(i));
}

void Context::loadHere(int entry) {
  checkUsable();
  prepare(entry);
  const EntryDesc &code = desc.entries[entry];
  std::string missing;
  int missingCount = 0;
  for (size_t i = 0; i < code.args.size(); ++i) {
    ArgState &state = *entries[entry].args[i];
    const ArgDesc &arg = code.args[i];
    if (state.loaded)
      continue;
    std::shared_ptr<TensorFile> file;
    const FileTensor *tensor = findInFiles(arg, file);
    if (tensor) {
      loadFromFile(arg, state.place, file, *tensor);
      state.loaded = true;
    } else if (++missingCount <= 8) {
      missing +=
          format("\n  %s '%s' (%s): %s", kindName(arg.kind), arg.name.c_str(),
                 arg.positional.c_str(), arg.type().c_str());
    }
  }
  if (missingCount == 0)
    return;
  if (missingCount > 8)
    missing += format("\n  and %d more", missingCount - 8);
  missing += unusedNames();
  throw MissingValues(format("entry '%s': no value for %d argument%s:%s",
                             code.name.c_str(), missingCount,
                             missingCount == 1 ? "" : "s", missing.c_str()));
}
