//===- Context.h - a loaded model: its values and its ranks -----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_CONTEXT_H
#define TSP_RUNTIME_CORE_CONTEXT_H

#include "core/Session.h"
#include "io/TensorFile.h"
#include "io/Writer.h"

#include <set>

namespace tsp::runtime {

/// Where a value's local buffers are, the same on all ranks.
struct Place {
  int block = -1; ///< number of the entry; -1: the persistent block
  int64_t offset = 0;
};

/// Whether an argument has a value, and where.
struct ArgState {
  Place place;
  bool loaded = false;
};

/// The present state of an entry.
struct EntryState {
  std::vector<ArgState *> args; ///< shared by name for parameters and states
  std::vector<Place> results;
  std::vector<std::unique_ptr<ArgState>> inputs;
  int64_t blockBytes = 0;
  bool called = false; ///< its results are those of a call
};

/// A model with its values. Functions throw an Error on failure.
/// Arguments of an entry have no value: no file gives them, and nobody set
/// them.
struct MissingValues : Error {
  using Error::Error;
};

class Context {
public:
  Context(const tsp_model &model, const tsp_options &options);

  /// Gives the ranks devices and memory and connects them. After an error the
  /// context is of no use, and may be lost (see Session::lost).
  void open();

  const ModelDesc &model() const { return desc; }
  Session &running() { return *session; }

  /// The entry with this name; without one "main", or else the first.
  int findEntry(const char *name) const;

  /// An argument of an entry, or with no entry of the first that has it.
  std::pair<int, int> findArg(const char *entry, const char *name) const;
  std::pair<int, int> findResult(const char *entry, const char *name) const;

  void addFile(const std::string &path);
  void set(int entry, int arg, const void *data);
  void setZero(int entry, int arg);
  /// States that have no value and no source become zero.
  void zeroMissingStates(int entry);
  void unload(int entry, int arg);
  void unloadStates(int entry);

  /// Loads what an entry lacks from the files.
  void load(int entry);
  void call(int entry);

  /// Copies a whole value out of the ranks' memory.
  void read(const ValueDesc &value, const Place &place, char *dst) const;

  /// Writes the results of the last call; of several processes the first does,
  /// with the help of all.
  void writeResults(int entry, const std::string &path) const;

  const Place &argPlace(int entry, int arg) const;
  const Place &resultPlace(int entry, int result) const;
  char *local(const tsp_rank &rank, const Place &place) const;

  /// Of all ranks; of several processes all take part, and the first has the
  /// text.
  std::string stats() const;
  std::string trace() const;

private:
  /// The results of the last call, for writing.
  std::vector<OutputTensor> results(int entry) const;
  /// Runs a part of a call, or of the opening; its errors are those of all
  /// processes.
  template <typename Work> void together(Work work);
  void placeValues();
  void prepare(int entry);
  const FileTensor *findInFiles(const ArgDesc &arg,
                                std::shared_ptr<TensorFile> &file) const;
  void loadFromFile(const ArgDesc &arg, const Place &place,
                    std::shared_ptr<TensorFile> file, const FileTensor &tensor);
  std::string ofAllProcesses(const std::string &mine) const;
  std::string unusedNames() const;
  int64_t plannedBytes() const;
  void checkUsable() const;
  void openHere();
  void loadHere(int entry);
  void callHere(int entry);

  ModelDesc desc;
  std::map<std::string, std::pair<const ArgDesc *, std::unique_ptr<ArgState>>>
      persistent;
  int64_t persistentBytes = 0;
  std::vector<EntryState> entries;
  std::vector<std::shared_ptr<TensorFile>> files;
  std::unique_ptr<Session> session;
  std::set<int> calledEntries;
};

/// Copies the elements that a rank owns into its local buffer, whose padding
/// becomes zero. read(dst, bytes, offset) reads the whole value's bytes.
void scatter(
    const ValueDesc &value, const tsp_rank &rank, char *local,
    const std::function<void(char *dst, int64_t bytes, int64_t offset)> &read);

/// Whether this rank's elements of a value count: of ranks with equal ones the
/// first does.
bool isFirstReplica(const ValueDesc &value,
                    const std::vector<int64_t> &coordinates);

/// Hands the bytes of a whole value to the sink in order, a few megabytes at a
/// time. local(rank) is the rank's buffer. Of several processes all do this
/// together; the sink gets the bytes in process 0, or with `everywhere` in all.
void gatherInOrder(const ValueDesc &value, const Session &session,
                   const std::function<const char *(const tsp_rank &)> &local,
                   const OutputTensor::Sink &sink, bool everywhere = false);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_CONTEXT_H
