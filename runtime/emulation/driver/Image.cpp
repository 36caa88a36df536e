//===- Image.cpp - PTX within what modules are loaded from ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Image.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <zstd.h>

using namespace tsp::emulation;

namespace {
/// What nvcc registers: a pointer to the fatbin.
struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const void *fatbin;
};

struct FatbinHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t headerBytes;
  uint64_t payloadBytes;
};

/// One image of a fatbin. The first 64 bytes of its header; its payload follows
/// after `headerBytes`.
struct Entry {
  uint16_t kind;
  uint16_t version;
  uint32_t headerBytes;
  uint64_t payloadBytes;
  uint32_t compressedBytes;
  uint32_t optionsOffset;
  uint16_t minor, major;
  uint32_t architecture;
  uint32_t nameOffset, nameBytes;
  uint64_t flags;
  uint64_t reserved;
  uint64_t uncompressedBytes;
};

enum : uint32_t { wrapperMagic = 0x466243b1, fatbinMagic = 0xba55ed50 };
enum : uint16_t { ptxKind = 1, cubinKind = 2 };
enum : uint64_t { lz4Flag = 0x2000, zstdFlag = 0x8000 };

} // namespace

/// Expands an LZ4 block; false if it is damaged.
static bool expandLz4(const uint8_t *in, size_t size, std::string &out,
                      size_t expected) {
  const uint8_t *end = in + size;
  auto extend = [&](size_t &length) {
    if (length != 15)
      return true;
    uint8_t more;
    do {
      if (in == end)
        return false;
      more = *in++;
      length += more;
    } while (more == 255);
    return true;
  };
  while (in < end) {
    uint8_t token = *in++;
    size_t literals = token >> 4, match = token & 15;
    if (!extend(literals) || literals > size_t(end - in))
      return false;
    out.append(reinterpret_cast<const char *>(in), literals);
    in += literals;
    if (in == end)
      break;
    if (end - in < 2)
      return false;
    size_t distance = in[0] | size_t(in[1]) << 8;
    in += 2;
    if (!extend(match) || distance == 0 || distance > out.size() ||
        out.size() + match + 4 > expected)
      return false;
    for (size_t i = 0; i < match + 4; ++i)
      out.push_back(out[out.size() - distance]);
  }
  return out.size() == expected;
}

/// The text of a PTX entry; false if it cannot be expanded.
static bool textOf(const Entry &entry, const char *payload, std::string &text) {
  text.clear();
  if (entry.flags & zstdFlag) {
    text.resize(entry.uncompressedBytes);
    size_t size = ZSTD_decompress(text.data(), text.size(), payload,
                                  entry.compressedBytes);
    if (ZSTD_isError(size) || size != text.size())
      return false;
  } else if (entry.flags & lz4Flag) {
    if (!expandLz4(reinterpret_cast<const uint8_t *>(payload),
                   entry.compressedBytes, text, entry.uncompressedBytes))
      return false;
  } else {
    text.assign(payload, entry.payloadBytes);
  }
  text.resize(strnlen(text.data(), text.size()));
  return true;
}

/// The architecture after `.target`; number 0 if there is none.
Image::Target Image::Target::of(const std::string &ptx) {
  Target target;
  size_t at = ptx.find("\n.target");
  at = at == std::string::npos ? at : ptx.find("sm_", at);
  if (at == std::string::npos)
    return target;
  char *end = nullptr;
  target.number = int(strtol(ptx.c_str() + at + 3, &end, 10));
  if (*end == 'a' || *end == 'f')
    target.variant = *end;
  return target;
}

std::string Image::Target::str() const {
  return "sm_" + std::to_string(number) +
         (variant ? std::string(1, variant) : "");
}

bool Image::Target::runsOn(const Capability &device) const {
  if (variant == 'a')
    return number == device.number();
  if (variant == 'f' && number / 10 != device.major)
    return false;
  return number > 0 && number <= device.number();
}

CUresult Image::readFatbin(const char *data, std::string &why) {
  FatbinHeader header;
  memcpy(&header, data, sizeof(header));
  const char *at = data + header.headerBytes;
  const char *end = at + header.payloadBytes;
  for (Entry entry; at + sizeof(entry) <= end;
       at += entry.headerBytes + entry.payloadBytes) {
    memcpy(&entry, at, sizeof(entry));
    if (entry.kind == cubinKind)
      contents += " a cubin of sm_" + std::to_string(entry.architecture) + ",";
    if (entry.kind != ptxKind)
      continue;
    Code &code = codes.emplace_back();
    if (!textOf(entry, at + entry.headerBytes, code.ptx)) {
      why = "the PTX of sm_" + std::to_string(entry.architecture) +
            " in the fatbin cannot be expanded";
      return CUDA_ERROR_INVALID_IMAGE;
    }
    code.target = Target::of(code.ptx);
    contents += " PTX of " + code.target.str() + ",";
  }
  if (contents.empty())
    contents = " nothing,";
  contents.pop_back();
  return CUDA_SUCCESS;
}

CUresult Image::read(const void *image, std::string &why) {
  const char *data = static_cast<const char *>(image);
  uint32_t magic;
  memcpy(&magic, data, sizeof(magic));
  if (magic == wrapperMagic) {
    Wrapper wrapper;
    memcpy(&wrapper, data, sizeof(wrapper));
    return read(wrapper.fatbin, why);
  }
  if (magic == fatbinMagic)
    return readFatbin(data, why);
  if (memcmp(data,
             "\x7f"
             "ELF",
             4) == 0) {
    why = "the image is a cubin without PTX";
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  std::string ptx = data;
  if (ptx.find(".version") == std::string::npos) {
    why = "the image is neither PTX nor a fatbin";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  codes.push_back({Target::of(ptx), std::move(ptx)});
  return CUDA_SUCCESS;
}

CUresult Image::choose(const Capability &device, const std::string *&ptx,
                       std::string &why) const {
  const Code *best = nullptr;
  auto rank = [](const Code &code) {
    return 2 * code.target.number + (code.target.variant != 0);
  };
  for (const Code &code : codes)
    if (code.target.runsOn(device) && (!best || rank(code) >= rank(*best)))
      best = &code;
  if (best) {
    ptx = &best->ptx;
    return CUDA_SUCCESS;
  }
  if (contents.empty())
    why = "the PTX is for " + codes.front().target.str() + ", the device has " +
          device.str();
  else
    why = "no PTX for compute capability " + device.str() +
          " in the fatbin, which has" + contents;
  return CUDA_ERROR_NO_BINARY_FOR_GPU;
}
