//===- GlobalChecker.cpp - races between blocks ---------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/GlobalChecker.h"
#include "exec/BlockRunner.h"

#include <algorithm>

namespace tsp::emulation {

void GlobalChecker::startBlock() {
  number = block.gridNumber();
  section = accesses.openSection(number);
  isUsed = acquires = false;
  acquired = 0;
}

void GlobalChecker::release() {
  if (!isUsed)
    return;
  accesses.release(section);
  section = accesses.openSection(number);
  isUsed = false;
}

void GlobalChecker::access(const WarpContext &warp, uint32_t site,
                           uint32_t mask, const uint64_t *addresses,
                           unsigned bytes, Kind kind) {
  if (!mask)
    return;
  // Lanes mostly lie one after the other.
  unsigned first = unsigned(__builtin_ctz(mask));
  Range run = {addresses[first], addresses[first] + bytes};
  for (uint32_t rest = mask & (mask - 1); rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t address = addresses[lane];
    if (address == run.end) {
      run.end += bytes;
    } else if (address < run.begin || address + bytes > run.end) {
      touch(warp, site, first, run, kind);
      first = lane;
      run = {address, address + bytes};
    }
  }
  touch(warp, site, first, run, kind);
}

void GlobalChecker::access(const BulkCopy &copy, Kind kind) {
  const AsyncIssue &issue = copy.issue;
  copy.forEachRange([&](Range range) {
    touch(*issue.warp, issue.site, issue.lane, range, kind);
  });
}

GlobalPage &GlobalChecker::pageOf(uint64_t pageNumber) {
  auto &entry = recent[pageNumber % std::size(recent)];
  if (entry.number != pageNumber)
    entry = {pageNumber, &accesses.page(pageNumber)};
  return *entry.page;
}

bool GlobalChecker::isKnown(const GlobalMark &mark) {
  return mark.section == 0 || mark.section == section ||
         accesses.isKnown(mark.section, number, acquired);
}

/// An earlier access to the place that this one is not ordered behind, though
/// one of the two writes.
const GlobalMark *GlobalChecker::findConflict(const GlobalPlace &place,
                                              Kind kind) {
  bool bothReduce = kind == Kind::Reduce && place.writer.isReduction;
  if (!bothReduce && !isKnown(place.writer))
    return &place.writer;
  if (kind == Kind::Read)
    return nullptr;
  return !isKnown(place.reader)  ? &place.reader
         : !isKnown(place.other) ? &place.other
                                 : nullptr;
}

void GlobalChecker::note(GlobalPlace &place, uint32_t site, Kind kind) {
  GlobalMark mark;
  mark.section = section;
  mark.site = site;
  if (kind == Kind::Read) {
    if (place.reader.section != section)
      place.other = place.reader;
    place.reader = mark;
    return;
  }
  mark.isReduction = kind == Kind::Reduce;
  if (kind == Kind::Synchronize)
    mark.section = GlobalPlace::synchronizes;
  place = GlobalPlace();
  place.writer = mark;
}

void GlobalChecker::touch(const WarpContext &warp, uint32_t site, unsigned lane,
                          Range range, Kind kind) {
  constexpr uint64_t pageBytes = uint64_t(1) << GlobalPage::addressBits;
  isUsed = true;
  if (acquires)
    acquired = accesses.numReleases();
  acquires = false;
  while (range.begin < range.end) {
    uint64_t pageNumber = range.begin / pageBytes;
    uint64_t base = pageNumber * pageBytes;
    uint64_t end = std::min(range.end, base + pageBytes);
    GlobalPage &page = pageOf(pageNumber);
    std::unique_lock<std::mutex> lock(page.mutex);
    unsigned shift = unsigned(__builtin_ctzll(((range.begin | end) & 15) | 16));
    if (shift < page.shift)
      page.refine(shift);
    size_t last = (end - base) >> page.shift;
    for (size_t i = (range.begin - base) >> page.shift; i < last; ++i) {
      GlobalPlace &place = page.places[i];
      if (place.writer.section == GlobalPlace::synchronizes)
        continue;
      if (kind != Kind::Synchronize)
        if (const GlobalMark *found = findConflict(place, kind)) {
          GlobalMark other = *found;
          bool wasWritten = found == &place.writer;
          uint64_t address = base + (uint64_t(i) << page.shift);
          lock.unlock();
          race(warp, site, lane, address, other, wasWritten);
        }
      note(place, site, kind);
    }
    range.begin = end;
  }
}

void GlobalChecker::race(const WarpContext &warp, uint32_t site, unsigned lane,
                         uint64_t address, const GlobalMark &other,
                         bool wasWritten) {
  std::string message;
  {
    const Site &where = block.site(other.site);
    uint64_t from = accesses.blockOf(other.section);
    uint64_t x = warp.gridSize[0], y = warp.gridSize[1];
    Range allocation = block.allocationOf(address);
    message = "race at byte " + std::to_string(address - allocation.begin) +
              " of an allocation of " +
              std::to_string(allocation.end - allocation.begin) +
              " bytes: " + (wasWritten ? "written" : "read") + " by block (" +
              std::to_string(from % x) + "," + std::to_string(from / x % y) +
              "," + std::to_string(from / x / y) + ") at PTX line " +
              std::to_string(where.line) + " (" + where.spelling +
              "), and nothing puts the blocks in order";
  }
  block.fault(warp, site, lane, std::move(message));
}

} // namespace tsp::emulation
