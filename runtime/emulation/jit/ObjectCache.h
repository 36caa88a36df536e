//===- ObjectCache.h - machine code kept between processes ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_JIT_OBJECTCACHE_H
#define TSP_EMULATION_JIT_OBJECTCACHE_H

#include "llvm/ExecutionEngine/ObjectCache.h"

#include <mutex>
#include <string>
#include <unordered_map>

namespace tsp::emulation {

/// Object files in a folder, named by a hash of what they are made of: the
/// kernel's LLVM IR, the processor and LLVM's version. Files appear under their
/// names when they are whole, so processes may share the folder. What cannot be
/// read or written is compiled as if there was no folder.
class ObjectCache : public llvm::ObjectCache {
public:
  /// `target`: processor and features that code is made for.
  ObjectCache(std::string folder, std::string target)
      : folder(std::move(folder)), target(std::move(target)) {}

  void notifyObjectCompiled(const llvm::Module *module,
                            llvm::MemoryBufferRef object) override;
  std::unique_ptr<llvm::MemoryBuffer>
  getObject(const llvm::Module *module) override;

private:
  std::string pathOf(const llvm::Module &module) const;

  std::string folder, target;
  /// Of modules that are being compiled; several threads may.
  std::mutex mutex;
  std::unordered_map<const llvm::Module *, std::string> paths;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_JIT_OBJECTCACHE_H
