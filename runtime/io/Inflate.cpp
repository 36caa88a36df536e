//===- Inflate.cpp - decompression of zip members -------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "io/Inflate.h"
#include "core/Types.h"

using namespace tsp::runtime;

namespace {
/// Canonical Huffman codes: how many there are of each length, and the symbols
/// in order of their codes.
struct Huffman {
  int counts[16] = {0};
  std::vector<int> symbols;

  Huffman(const int *lengths, int size) : symbols(size) {
    for (int i = 0; i < size; ++i)
      ++counts[lengths[i]];
    counts[0] = 0;
    int left = 1, offsets[16] = {0};
    for (int bits = 1; bits < 16; ++bits) {
      left = 2 * left - counts[bits];
      if (left < 0)
        throw Error("malformed deflate data: too many codes");
      offsets[bits] = offsets[bits - 1] + counts[bits - 1];
    }
    for (int i = 0; i < size; ++i)
      if (lengths[i] != 0)
        symbols[offsets[lengths[i]]++] = i;
  }
};

class Inflater {
public:
  Inflater(const std::vector<char> &in, size_t limit) : in(in), limit(limit) {}

  std::vector<char> run() {
    bool last = false;
    while (!last && out.size() < limit) {
      last = bits(1);
      int type = bits(2);
      if (type == 0) {
        stored();
      } else if (type == 1) {
        int lengths[288], distances[30];
        for (int i = 0; i < 288; ++i)
          lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
        for (int &length : distances)
          length = 5;
        block(Huffman(lengths, 288), Huffman(distances, 30));
      } else if (type == 2) {
        dynamicBlock();
      } else {
        fail();
      }
    }
    return std::move(out);
  }

private:
  [[noreturn]] void fail() { throw Error("malformed deflate data"); }

  int bits(int count) {
    while (available < count) {
      if (at >= in.size())
        throw Error("deflate data is truncated");
      buffer |= unsigned((unsigned char)in[at++]) << available;
      available += 8;
    }
    int value = int(buffer & ((1u << count) - 1));
    buffer >>= count;
    available -= count;
    return value;
  }

  int symbol(const Huffman &codes) {
    int code = 0, first = 0, index = 0;
    for (int length = 1; length < 16; ++length) {
      code |= bits(1);
      int count = codes.counts[length];
      if (code - count < first)
        return codes.symbols[index + (code - first)];
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    fail();
  }

  void stored() {
    buffer = 0;
    available = 0;
    int length = bits(8);
    length |= bits(8) << 8;
    int check = bits(8);
    check |= bits(8) << 8;
    if (length != (~check & 0xffff))
      fail();
    if (size_t(length) > in.size() - at) {
      if (out.size() + (in.size() - at) < limit)
        throw Error("deflate data is truncated");
      length = int(in.size() - at);
    }
    out.insert(out.end(), in.begin() + at, in.begin() + at + length);
    at += size_t(length);
  }

  void dynamicBlock() {
    static const int order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                  11, 4,  12, 3, 13, 2, 14, 1, 15};
    int literals = bits(5) + 257, distances = bits(5) + 1;
    int codeCount = bits(4) + 4, lengths[320] = {0};
    if (literals > 286 || distances > 30)
      fail();
    for (int i = 0; i < codeCount; ++i)
      lengths[order[i]] = bits(3);
    Huffman codes(lengths, 19);
    std::fill(lengths, lengths + 320, 0);
    for (int i = 0; i < literals + distances;) {
      int code = symbol(codes);
      if (code < 16) {
        lengths[i++] = code;
        continue;
      }
      if (code == 16 && i == 0)
        fail();
      int value = code == 16 ? lengths[i - 1] : 0;
      int repeat = code == 16   ? 3 + bits(2)
                   : code == 17 ? 3 + bits(3)
                                : 11 + bits(7);
      if (i + repeat > literals + distances)
        fail();
      while (repeat-- > 0)
        lengths[i++] = value;
    }
    block(Huffman(lengths, literals), Huffman(lengths + literals, distances));
  }

  void block(const Huffman &literals, const Huffman &distances) {
    static const int lengthBase[] = {
        3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
        31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const int lengthBits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1,
                                     1, 1, 2, 2, 2, 2, 3, 3, 3, 3,
                                     4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const int distanceBase[] = {
        1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
        33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
        1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    static const int distanceBits[] = {0, 0, 0,  0,  1,  1,  2,  2,  3,  3,
                                       4, 4, 5,  5,  6,  6,  7,  7,  8,  8,
                                       9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
    while (out.size() < limit) {
      int code = symbol(literals);
      if (code == 256)
        return;
      if (code < 256) {
        out.push_back(char(code));
        continue;
      }
      code -= 257;
      if (code >= 29)
        fail();
      int length = lengthBase[code] + bits(lengthBits[code]);
      int far = symbol(distances);
      if (far >= 30)
        fail();
      size_t distance = size_t(distanceBase[far] + bits(distanceBits[far]));
      if (distance > out.size())
        fail();
      for (int i = 0; i < length; ++i)
        out.push_back(out[out.size() - distance]);
    }
  }

  const std::vector<char> &in;
  const size_t limit;
  size_t at = 0;
  unsigned buffer = 0;
  int available = 0;
  std::vector<char> out;
};
} // namespace

std::vector<char> tsp::runtime::inflate(const std::vector<char> &packed,
                                        size_t limit) {
  return Inflater(packed, limit).run();
}
