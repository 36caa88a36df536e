//===- ObjectCache.cpp - machine code kept between processes --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jit/ObjectCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA1.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace tsp::emulation {

std::string ObjectCache::pathOf(const Module &module) const {
  SmallString<0> code;
  raw_svector_ostream stream(code);
  WriteBitcodeToFile(module, stream);
  SHA1 hash;
  hash.update(LLVM_VERSION_STRING);
  hash.update(target);
  hash.update(code);
  return folder + "/" + toHex(hash.final(), /*LowerCase=*/true) + ".o";
}

void ObjectCache::notifyObjectCompiled(const Module *module,
                                       MemoryBufferRef object) {
  std::string path;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto known = paths.find(module);
    path = std::move(known->second);
    paths.erase(known);
  }
  if (sys::fs::create_directories(folder))
    return;
  Expected<sys::fs::TempFile> file =
      sys::fs::TempFile::create(path + ".%%%%%%%%");
  if (!file) {
    consumeError(file.takeError());
    return;
  }
  raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  stream << object.getBuffer();
  stream.flush();
  bool failed = stream.has_error();
  stream.clear_error();
  consumeError(failed ? file->discard() : file->keep(path));
}

static std::unique_ptr<MemoryBuffer> readObject(const std::string &path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(
      path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return nullptr;
  // A file that something else has cut or written.
  auto object = object::ObjectFile::createObjectFile(**file);
  if (!object) {
    consumeError(object.takeError());
    return nullptr;
  }
  return std::move(*file);
}

std::unique_ptr<MemoryBuffer> ObjectCache::getObject(const Module *module) {
  std::string path = pathOf(*module);
  if (std::unique_ptr<MemoryBuffer> object = readObject(path))
    return object;
  // Compiling changes the module.
  std::lock_guard<std::mutex> lock(mutex);
  paths[module] = std::move(path);
  return nullptr;
}

} // namespace tsp::emulation
