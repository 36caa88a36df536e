//===- LinearIndex.cpp - indices as sums of loop variables ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/LinearIndex.h"

using namespace tsp;

LinearIndex LinearIndex::symbol(SymbolId id) {
  LinearIndex result;
  result.terms.push_back({id, 1});
  return result;
}

LinearIndex LinearIndex::operator+(const LinearIndex &other) const {
  LinearIndex result(constant + other.constant);
  auto a = terms.begin(), b = other.terms.begin();
  while (a != terms.end() || b != other.terms.end()) {
    if (b == other.terms.end() || (a != terms.end() && a->first < b->first)) {
      result.terms.push_back(*a++);
    } else if (a == terms.end() || b->first < a->first) {
      result.terms.push_back(*b++);
    } else {
      if (int64_t sum = a->second + b->second)
        result.terms.push_back({a->first, sum});
      ++a;
      ++b;
    }
  }
  return result;
}

LinearIndex LinearIndex::operator*(int64_t factor) const {
  LinearIndex result(constant * factor);
  if (factor != 0)
    for (auto [id, coefficient] : terms)
      result.terms.push_back({id, coefficient * factor});
  return result;
}

LinearIndex LinearIndex::operator-(const LinearIndex &other) const {
  return *this + other * -1;
}

int64_t LinearIndex::getCoefficient(SymbolId id) const {
  for (auto [symbol, coefficient] : terms)
    if (symbol == id)
      return coefficient;
  return 0;
}

std::optional<SymbolId> LinearIndex::getSingleSymbol() const {
  if (terms.size() != 1 || terms.front().second != 1)
    return std::nullopt;
  return terms.front().first;
}

void LinearIndex::addTo(llvm::SmallVectorImpl<int64_t> &key) const {
  key.push_back(constant);
  key.push_back(terms.size());
  for (auto [id, coefficient] : terms) {
    key.push_back(id);
    key.push_back(coefficient);
  }
}

LinearIndex tsp::linearize(llvm::ArrayRef<LinearIndex> index,
                           llvm::ArrayRef<int64_t> shape) {
  LinearIndex result;
  for (auto [i, size] : llvm::zip_equal(index, shape))
    result = result * size + i;
  return result;
}
