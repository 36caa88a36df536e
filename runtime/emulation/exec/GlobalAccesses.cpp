//===- GlobalAccesses.cpp - what a launch does to global memory -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/GlobalAccesses.h"
#include "exec/WarpContext.h"

#include <algorithm>

namespace tsp::emulation {

void GlobalPage::refine(unsigned newShift) {
  size_t parts = size_t(1) << (shift - newShift);
  std::vector<GlobalPlace> finer;
  finer.reserve(places.size() * parts);
  for (const GlobalPlace &place : places)
    finer.insert(finer.end(), parts, place);
  places = std::move(finer);
  shift = newShift;
}

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

uint32_t GlobalAccesses::openSection(uint64_t block) {
  std::lock_guard<std::mutex> lock(mutex);
  sections.push_back({block, 0});
  return uint32_t(sections.size());
}

void GlobalAccesses::release(uint32_t section) {
  std::lock_guard<std::mutex> lock(mutex);
  sections[section - 1].release = ++releases;
}

uint64_t GlobalAccesses::blockOf(uint32_t section) {
  std::lock_guard<std::mutex> lock(mutex);
  return sections[section - 1].block;
}

bool GlobalAccesses::isKnown(uint32_t section, uint64_t block,
                             uint64_t acquired) {
  std::lock_guard<std::mutex> lock(mutex);
  const Section &found = sections[section - 1];
  return found.block == block ||
         (found.release != 0 && found.release <= acquired);
}

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

GlobalPage &GlobalAccesses::page(uint64_t number) {
  Shard &shard = shards[number % numShards];
  std::lock_guard<std::mutex> lock(shard.mutex);
  std::unique_ptr<GlobalPage> &page = shard.pages[number];
  if (!page)
    page = std::make_unique<GlobalPage>();
  return *page;
}

/// Adds what happened to bytes behind those of the last use.
static void append(std::vector<GlobalUse> &uses, GlobalUse::Kind kind,
                   Range range, uint32_t line) {
  bool extends = !uses.empty() && uses.back().kind == kind &&
                 uses.back().range.end == range.begin;
  if (!extends)
    uses.push_back({range, kind, {}});
  GlobalUse &last = uses.back();
  last.range.end = range.end;
  auto &lines = last.lines;
  if (lines.size() < GlobalUse::maxLines &&
      std::find(lines.begin(), lines.end(), line) == lines.end())
    lines.push_back(line);
}

std::vector<GlobalUse> GlobalAccesses::uses(const std::vector<Site> &sites) {
  std::vector<std::pair<uint64_t, const GlobalPage *>> pages;
  for (Shard &shard : shards)
    for (const auto &[number, page] : shard.pages)
      pages.push_back({number, page.get()});
  std::sort(pages.begin(), pages.end());
  std::vector<GlobalUse> result;
  for (const auto &[number, page] : pages) {
    uint64_t address = number << GlobalPage::addressBits;
    uint64_t size = uint64_t(1) << page->shift;
    for (const GlobalPlace &place : page->places) {
      Range range = {address, address + size};
      address += size;
      bool isWritten = place.writer.section != 0;
      if (!isWritten && !place.reader.section)
        continue;
      bool isAtomic = place.writer.section == GlobalPlace::synchronizes ||
                      place.writer.isReduction;
      append(result,
             !isWritten ? GlobalUse::Kind::Read
             : isAtomic ? GlobalUse::Kind::Atomic
                        : GlobalUse::Kind::Write,
             range, sites[(isWritten ? place.writer : place.reader).site].line);
    }
  }
  return result;
}

} // namespace tsp::emulation
