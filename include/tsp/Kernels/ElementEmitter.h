//===- ElementEmitter.h - code for single elements of tensors ---*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fusion by construction: instead of lowering a tensor op to a loop and fusing
// loops afterwards, the emitter is asked for one element of a tensor and makes
// the code that computes it from elements of what is in memory. Loops belong
// to the caller. Values are computed in the outermost scope in which their
// index is known, and once in each scope.
//
// Computed values have a compute type: f64, f32 for every narrower float, and
// signless integers. A value of a narrow float type is an f32 that the type can
// represent: every op rounds its result.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_ELEMENTEMITTER_H
#define TSP_KERNELS_ELEMENTEMITTER_H

#include "tsp/Kernels/LinearIndex.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <functional>
#include <map>

namespace tsp {

/// The type in which elements of this type are computed.
mlir::Type getComputeType(mlir::Type elementType);

/// A block of generated code: of the kernel, of a loop, of a branch. Code goes
/// before `before`, or to the end.
struct Scope {
  Scope(Scope *parent, mlir::Block *block, bool isBranch,
        mlir::Operation *before = nullptr)
      : parent(parent), depth(parent ? parent->depth + 1 : 0), block(block),
        before(before), isBranch(isBranch) {}

  Scope *parent;
  unsigned depth;
  mlir::Block *block;
  mlir::Operation *before;
  /// Code that is asked for inside a branch stays inside.
  bool isBranch;
  /// What this scope has computed: (tensor or op, index) to value.
  std::map<llvm::SmallVector<int64_t, 12>, mlir::Value> values;
  /// Symbols that this scope has made from values and from divisions.
  std::map<llvm::SmallVector<int64_t, 12>, SymbolId> symbols;
};

/// What a trial run of the emitter met; it makes no code that is kept.
struct Trial {
  struct Access {
    LinearIndex address;
    unsigned bytes;
    mlir::Value flat;
    mlir::Type elementType;
  };
  struct Use {
    mlir::Operation *op;
    ElementIndex index;
  };
  /// Loads from buffers.
  std::vector<Access> accesses;
  /// Reductions and contractions whose elements are asked for.
  std::vector<Use> uses;
  /// Values of a symbol where a choice between inputs changes.
  std::map<SymbolId, llvm::SmallVector<int64_t, 4>> splits;
  /// Indices that had to be divided or compared: no flat loop.
  bool choosesByIndex = false;
  /// A measure of time: about 100 for a nanosecond of vector code.
  int64_t cost = 0;
};

class ElementEmitter {
public:
  /// Computes an element of a tensor that has a meaning of its own to the
  /// caller, such as an accumulator.
  using Producer = std::function<mlir::Value(llvm::ArrayRef<LinearIndex>)>;

  /// Makes code at the end of `block`. Constants become globals of `module`.
  ElementEmitter(mlir::Block *block, mlir::ModuleOp module);
  ~ElementEmitter();

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }
  void setLoc(mlir::Location newLoc) { loc = newLoc; }
  bool failed() const { return hasFailed; }
  /// Reports that `op` cannot be compiled, and gives a value of its type.
  mlir::Value refuse(mlir::Operation *op, mlir::Type type,
                     const llvm::Twine &reason);

  //===--------------------------------------------------------------------===//
  // Where tensors are
  //===--------------------------------------------------------------------===//

  /// The elements of `tensor` are in the buffer `memref` (identity layout).
  void bindBuffer(mlir::Value tensor, mlir::Value memref);
  void bind(mlir::Value tensor, Producer producer);
  void unbind(mlir::Value tensor);
  /// The one-dimensional view of a buffer.
  mlir::Value flatten(mlir::Value memref);

  //===--------------------------------------------------------------------===//
  // Elements
  //===--------------------------------------------------------------------===//

  mlir::Value emit(mlir::Value tensor, llvm::ArrayRef<LinearIndex> index);
  /// The element at this place of the row-major order.
  mlir::Value emitFlat(mlir::Value tensor, const LinearIndex &place);
  /// Runs `body` with its code going to the insertion point of `at`, in a block
  /// of the caller.
  void emitAt(mlir::OpBuilder &at, llvm::function_ref<void()> body);
  /// Loads and stores a computed value in a flat buffer of `elementType`.
  mlir::Value load(mlir::Value flat, mlir::Type elementType,
                   const LinearIndex &place);
  /// Asks `loader` first for what is loaded while `body` runs; null has it loaded
  /// as always.
  using Loader = std::function<mlir::Value(
      mlir::Value flat, mlir::Type elementType, const LinearIndex &place)>;
  void withLoader(Loader loader, llvm::function_ref<void()> body);
  void store(mlir::Value value, mlir::Value flat, mlir::Type elementType,
             const LinearIndex &place);
  /// The results of a body for elements of rank 0; `exact` leaves out the
  /// rounding of narrow floats where the body is one op.
  llvm::SmallVector<mlir::Value> emitBody(mlir::Region &body,
                                          mlir::ValueRange arguments,
                                          bool exact);

  //===--------------------------------------------------------------------===//
  // Indices
  //===--------------------------------------------------------------------===//

  /// The index as a value of type index.
  mlir::Value materialize(const LinearIndex &index);
  /// Has indices computed in 32 bits where their range allows it, for machines
  /// on which that is cheaper. Constants are added last, so that neighbours are
  /// seen to be neighbours.
  void useNarrowIndices() { hasNarrowIndices = true; }
  /// Range of an index, inclusive.
  std::pair<int64_t, int64_t> getRange(const LinearIndex &index) const;
  /// A new symbol of the present scope.
  LinearIndex makeSymbol(mlir::Value value, int64_t lower, int64_t upper);
  /// A symbol for an element of an integer tensor, clamped to a range; one
  /// symbol for one element.
  LinearIndex emitClampedIndex(mlir::Value tensor,
                               llvm::ArrayRef<LinearIndex> index,
                               int64_t lower, int64_t upper);
  /// Quotient and remainder, by ranges where they tell.
  std::pair<LinearIndex, LinearIndex> divide(const LinearIndex &index,
                                             int64_t divisor);
  ElementIndex delinearize(const LinearIndex &place,
                           llvm::ArrayRef<int64_t> shape);
  /// Whether index < bound, where ranges tell. Notes a split in a trial.
  std::optional<bool> isBelow(const LinearIndex &index, int64_t bound);

  //===--------------------------------------------------------------------===//
  // Control flow
  //===--------------------------------------------------------------------===//

  /// A loop from `lower` to `upper`, carrying `inits`; its variable is known to
  /// be in [rangeLower, rangeUpper]. Returns the carried values at the end.
  llvm::SmallVector<mlir::Value>
  emitLoop(mlir::Value lower, mlir::Value upper, int64_t rangeLower,
           int64_t rangeUpper, mlir::ValueRange inits,
           llvm::function_ref<llvm::SmallVector<mlir::Value>(
               LinearIndex, mlir::ValueRange)>
               body);
  /// The same with constant bounds; one or no iteration takes no loop.
  llvm::SmallVector<mlir::Value>
  emitLoop(int64_t lower, int64_t upper, mlir::ValueRange inits,
           llvm::function_ref<llvm::SmallVector<mlir::Value>(
               LinearIndex, mlir::ValueRange)>
               body);
  /// Values of one of two branches.
  llvm::SmallVector<mlir::Value>
  emitIf(mlir::Value condition, mlir::TypeRange types,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> thenBranch,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> elseBranch);
  /// Code that runs where the condition (null: always) holds.
  void emitWhen(mlir::Value condition, llvm::function_ref<void()> body);
  /// Code of `block`, which belongs to an op in the present scope.
  void inBlock(mlir::Block *block, bool isBranch,
               llvm::function_ref<void()> body);

  /// Runs `body` without keeping its code, and says what it met.
  Trial tryOut(llvm::function_ref<void()> body);
  Trial *getTrial() { return trial; }

  mlir::Value constantIndex(int64_t value);

private:
  friend struct ScopeChange;

  mlir::Value emitUncached(mlir::Value tensor,
                           llvm::ArrayRef<LinearIndex> index);
  mlir::Value emitConstant(mlir::Operation *op,
                           llvm::ArrayRef<LinearIndex> index);
  bool areNarrow(llvm::ArrayRef<std::pair<SymbolId, int64_t>> terms) const;
  mlir::Value
  addTerms(mlir::Value sum,
           llvm::ArrayRef<std::pair<SymbolId, int64_t>> terms, mlir::Type type);
  /// The innermost scope of the symbols of an index, or of the branch we are
  /// in.
  Scope *getScope(llvm::ArrayRef<LinearIndex> index);
  void moveTo(Scope *scope);
  mlir::Value getGlobal(mlir::Operation *constant);

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::ModuleOp module;
  llvm::SmallVector<Symbol> symbols;
  Scope root;
  Scope *current;
  Trial *trial = nullptr;
  bool hasFailed = false, hasNarrowIndices = false;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<mlir::Value, mlir::Value> flatViews;
  llvm::DenseMap<mlir::Value, Producer> producers;
  Loader loader;
  llvm::DenseMap<mlir::Operation *, std::string> globals;
};

} // namespace tsp

#endif // TSP_KERNELS_ELEMENTEMITTER_H
