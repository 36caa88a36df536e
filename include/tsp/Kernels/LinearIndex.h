//===- LinearIndex.h - indices as sums of loop variables --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While a kernel is generated, the index of an element is known as a linear
// form over symbols: loop variables and other index values whose range is
// known. So a slice, a transpose or a reshape costs no instruction, strides
// can be read off, and most questions ("does this element come from the first
// input of the concatenation?") are answered at compile time.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_LINEARINDEX_H
#define TSP_KERNELS_LINEARINDEX_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tsp {

struct Scope;

/// An index value that is known only at run time, its inclusive range, and the
/// scope of generated code that it belongs to.
struct Symbol {
  mlir::Value value;
  int64_t lower;
  int64_t upper;
  Scope *scope;
};

/// The number of a symbol in its emitter.
using SymbolId = unsigned;

/// constant + sum of coefficient * symbol, by ascending symbol, without zeros.
class LinearIndex {
public:
  LinearIndex(int64_t constant = 0) : constant(constant) {}
  static LinearIndex symbol(SymbolId id);

  LinearIndex operator+(const LinearIndex &other) const;
  LinearIndex operator-(const LinearIndex &other) const;
  LinearIndex operator*(int64_t factor) const;
  bool operator==(const LinearIndex &other) const {
    return constant == other.constant && terms == other.terms;
  }

  bool isConstant() const { return terms.empty(); }
  int64_t getConstant() const { return constant; }
  llvm::ArrayRef<std::pair<SymbolId, int64_t>> getTerms() const {
    return terms;
  }
  int64_t getCoefficient(SymbolId id) const;
  /// The symbol of an index that is symbol + constant.
  std::optional<SymbolId> getSingleSymbol() const;

  /// Appends a form of the index that is equal only for equal indices.
  void addTo(llvm::SmallVectorImpl<int64_t> &key) const;

private:
  int64_t constant;
  llvm::SmallVector<std::pair<SymbolId, int64_t>, 4> terms;
};

/// An index of each dim of a tensor.
using ElementIndex = llvm::SmallVector<LinearIndex, 4>;

/// The place of an element in a row-major buffer of shape `shape`.
LinearIndex linearize(llvm::ArrayRef<LinearIndex> index,
                      llvm::ArrayRef<int64_t> shape);

} // namespace tsp

#endif // TSP_KERNELS_LINEARINDEX_H
