//===- EmitterControl.cpp - indices, scopes and loops of the emitter ------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScopeChange.h"
#include "tsp/Kernels/ElementEmitter.h"

#include <numeric>

using namespace mlir;
using namespace tsp;

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

Scope *ElementEmitter::getScope(ArrayRef<LinearIndex> index) {
  Scope *result = current;
  while (result->parent && !result->isBranch)
    result = result->parent;
  for (const LinearIndex &i : index)
    for (auto [id, coefficient] : i.getTerms())
      if (symbols[id].scope->depth > result->depth)
        result = symbols[id].scope;
  return result;
}

void ElementEmitter::moveTo(Scope *scope) {
  current = scope;
  if (scope->before)
    builder.setInsertionPoint(scope->before);
  else
    builder.setInsertionPointToEnd(scope->block);
}

void ElementEmitter::inBlock(Block *block, bool isBranch,
                             llvm::function_ref<void()> body) {
  Scope scope(current, block, isBranch);
  // What the inner code hoists goes before the op that holds it.
  Operation *before = current->before;
  current->before = block->getParentOp();
  {
    ScopeChange change(*this, &scope);
    body();
  }
  current->before = before;
  moveTo(current);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value ElementEmitter::constantIndex(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

LinearIndex ElementEmitter::makeSymbol(Value value, int64_t lower,
                                       int64_t upper) {
  if (lower == upper)
    return LinearIndex(lower);
  symbols.push_back({value, lower, upper, current});
  return LinearIndex::symbol(symbols.size() - 1);
}

std::pair<int64_t, int64_t>
ElementEmitter::getRange(const LinearIndex &index) const {
  int64_t lower = index.getConstant(), upper = lower;
  for (auto [id, coefficient] : index.getTerms()) {
    int64_t a = symbols[id].lower * coefficient;
    int64_t b = symbols[id].upper * coefficient;
    lower += std::min(a, b);
    upper += std::max(a, b);
  }
  return {lower, upper};
}

/// The sum, which may be null, and the terms in an integer type.
Value ElementEmitter::addTerms(Value sum,
                               ArrayRef<std::pair<SymbolId, int64_t>> terms,
                               Type type) {
  auto flags = arith::IntegerOverflowFlags::nsw;
  for (auto [id, coefficient] : terms) {
    Value term = symbols[id].value;
    if (term.getType() != type)
      term = arith::IndexCastOp::create(builder, loc, type, term);
    if (coefficient != 1) {
      Value factor = arith::ConstantOp::create(
          builder, loc, builder.getIntegerAttr(type, coefficient));
      term = arith::MulIOp::create(builder, loc, term, factor, flags);
    }
    sum = sum ? arith::AddIOp::create(builder, loc, sum, term, flags) : term;
  }
  return sum;
}

Value ElementEmitter::materialize(const LinearIndex &index) {
  // Outer terms first, so that LLVM can move their sum out of the loops.
  SmallVector<std::pair<SymbolId, int64_t>> terms(index.getTerms());
  llvm::sort(terms, [&](auto a, auto b) {
    unsigned depthA = symbols[a.first].scope->depth;
    unsigned depthB = symbols[b.first].scope->depth;
    return std::tie(depthA, a.first) < std::tie(depthB, b.first);
  });
  Type type = builder.getIndexType();
  Value constant;
  if (index.getConstant() != 0 || terms.empty())
    constant = constantIndex(index.getConstant());
  if (!hasNarrowIndices || terms.empty() || !areNarrow(terms))
    return addTerms(constant, terms, type);
  Value sum = addTerms(Value(), terms, builder.getI32Type());
  sum = arith::IndexCastOp::create(builder, loc, type, sum);
  if (!constant)
    return sum;
  return arith::AddIOp::create(builder, loc, sum, constant,
                               arith::IntegerOverflowFlags::nsw);
}

/// Whether no partial sum of the terms, and no symbol, needs more than 32 bits.
bool ElementEmitter::areNarrow(
    ArrayRef<std::pair<SymbolId, int64_t>> terms) const {
  int64_t lower = 0, upper = 0;
  for (auto [id, coefficient] : terms) {
    if (!llvm::isInt<32>(symbols[id].lower) ||
        !llvm::isInt<32>(symbols[id].upper) || !llvm::isInt<32>(coefficient))
      return false;
    int64_t a = symbols[id].lower * coefficient;
    int64_t b = symbols[id].upper * coefficient;
    lower += std::min<int64_t>({a, b, 0});
    upper += std::max<int64_t>({a, b, 0});
  }
  return llvm::isInt<32>(lower) && llvm::isInt<32>(upper);
}

LinearIndex ElementEmitter::emitClampedIndex(Value tensor,
                                             ArrayRef<LinearIndex> index,
                                             int64_t lower, int64_t upper) {
  if (lower == upper)
    return LinearIndex(lower);
  SmallVector<int64_t, 12> key{
      reinterpret_cast<intptr_t>(tensor.getAsOpaquePointer()), lower, upper};
  for (const LinearIndex &i : index)
    i.addTo(key);
  for (Scope *scope = current; scope; scope = scope->parent)
    if (auto it = scope->symbols.find(key); it != scope->symbols.end())
      return LinearIndex::symbol(it->second);

  ScopeChange change(*this, getScope(index));
  Value value = emit(tensor, index);
  // Clamped in its own type: its range may be beyond that of index.
  Type type = value.getType();
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = getElementTypeOrSelf(tensor).isUnsignedInteger();
  APInt greatest =
      isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  int64_t bound = greatest.getActiveBits() >= 63
                      ? upper
                      : std::min<int64_t>(upper, greatest.getZExtValue());
  auto constant = [&](int64_t number) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, number));
  };
  Type indexType = builder.getIndexType();
  if (isUnsigned) {
    value = arith::MinUIOp::create(builder, loc, value, constant(bound));
    value = arith::MaxUIOp::create(builder, loc, value, constant(lower));
    value = arith::IndexCastUIOp::create(builder, loc, indexType, value);
  } else {
    value = arith::MinSIOp::create(builder, loc, value, constant(bound));
    value = arith::MaxSIOp::create(builder, loc, value, constant(lower));
    value = arith::IndexCastOp::create(builder, loc, indexType, value);
  }
  LinearIndex symbol = makeSymbol(value, lower, upper);
  current->symbols[key] = *symbol.getSingleSymbol();
  return symbol;
}

std::pair<LinearIndex, LinearIndex>
ElementEmitter::divide(const LinearIndex &index, int64_t divisor) {
  if (divisor == 1)
    return {index, LinearIndex(0)};
  LinearIndex quotient, remainder(index.getConstant());
  for (auto [id, coefficient] : index.getTerms()) {
    LinearIndex symbol = LinearIndex::symbol(id);
    if (coefficient % divisor == 0)
      quotient = quotient + symbol * (coefficient / divisor);
    else
      remainder = remainder + symbol * coefficient;
  }
  auto [lower, upper] = getRange(remainder);
  int64_t shift = llvm::divideFloorSigned(lower, divisor);
  if (shift == llvm::divideFloorSigned(upper, divisor))
    return {quotient + shift, remainder - LinearIndex(shift * divisor)};

  // What is below the common divisor of all terms and the divisor changes only
  // the remainder: neighbours share a quotient.
  int64_t unit = divisor;
  for (auto [id, coefficient] : remainder.getTerms())
    unit = std::gcd(unit, coefficient);
  if (unit > 1) {
    int64_t units = llvm::divideFloorSigned(remainder.getConstant(), unit);
    LinearIndex reduced(units);
    for (auto [id, coefficient] : remainder.getTerms())
      reduced = reduced + LinearIndex::symbol(id) * (coefficient / unit);
    auto [more, rest] = divide(reduced, divisor / unit);
    return {quotient + more,
            rest * unit + (remainder.getConstant() - units * unit)};
  }

  // The rest is only known at run time. Made nonnegative, it divides unsigned.
  int64_t base = std::min<int64_t>(shift, 0);
  LinearIndex rest = remainder - LinearIndex(base * divisor);
  if (trial)
    trial->choosesByIndex = true;
  SmallVector<int64_t, 12> key{-1, divisor};
  rest.addTo(key);
  Scope *scope = current;
  while (scope && !scope->symbols.count(key))
    scope = scope->parent;
  if (!scope) {
    scope = getScope(rest);
    ScopeChange change(*this, scope);
    Value value = materialize(rest), by = constantIndex(divisor);
    if (hasNarrowIndices && llvm::isInt<32>(getRange(rest).second)) {
      Type narrow = builder.getI32Type();
      value = arith::IndexCastOp::create(builder, loc, narrow, value);
      by = arith::IndexCastOp::create(builder, loc, narrow, by);
    }
    Value result = arith::DivUIOp::create(builder, loc, value, by);
    Value product = arith::MulIOp::create(builder, loc, result, by);
    Value modulo = arith::SubIOp::create(builder, loc, value, product);
    auto widen = [&](Value narrow) -> Value {
      if (narrow.getType().isIndex())
        return narrow;
      return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        narrow);
    };
    LinearIndex symbol = makeSymbol(
        widen(result), llvm::divideFloorSigned(lower, divisor) - base,
        llvm::divideFloorSigned(upper, divisor) - base);
    scope->symbols[key] = *symbol.getSingleSymbol();
    SmallVector<int64_t, 12> remainderKey{-2, divisor};
    rest.addTo(remainderKey);
    LinearIndex second = makeSymbol(widen(modulo), 0, divisor - 1);
    scope->symbols[remainderKey] = *second.getSingleSymbol();
  }
  LinearIndex dynamicQuotient = LinearIndex::symbol(scope->symbols[key]);
  key[0] = -2;
  LinearIndex dynamicRemainder = LinearIndex::symbol(scope->symbols[key]);
  return {quotient + dynamicQuotient + base, dynamicRemainder};
}

ElementIndex ElementEmitter::delinearize(const LinearIndex &place,
                                         ArrayRef<int64_t> shape) {
  ElementIndex index(shape.size());
  LinearIndex rest = place;
  int first = 0;
  while (first + 1 < int(shape.size()) && shape[first] == 1)
    ++first;
  for (int i = shape.size() - 1; i > first; --i)
    std::tie(rest, index[i]) = divide(rest, shape[i]);
  if (!shape.empty())
    index[first] = rest;
  return index;
}

std::optional<bool> ElementEmitter::isBelow(const LinearIndex &index,
                                            int64_t bound) {
  auto [lower, upper] = getRange(index);
  if (upper < bound)
    return true;
  if (lower >= bound)
    return false;
  if (trial) {
    trial->choosesByIndex = true;
    if (std::optional<SymbolId> id = index.getSingleSymbol())
      trial->splits[*id].push_back(bound - index.getConstant());
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

SmallVector<Value> ElementEmitter::emitLoop(
    Value lower, Value upper, int64_t rangeLower, int64_t rangeUpper,
    ValueRange inits,
    llvm::function_ref<SmallVector<Value>(LinearIndex, ValueRange)> body) {
  auto loop =
      scf::ForOp::create(builder, loc, lower, upper, constantIndex(1), inits);
  if (inits.empty())
    loop.getBody()->getTerminator()->erase();
  // With one value to take, the index is no symbol that would keep code inside.
  inBlock(loop.getBody(), /*isBranch=*/rangeLower == rangeUpper, [&] {
    LinearIndex index =
        rangeLower == rangeUpper
            ? LinearIndex(rangeLower)
            : makeSymbol(loop.getInductionVar(), rangeLower, rangeUpper);
    SmallVector<Value> next = body(index, loop.getRegionIterArgs());
    scf::YieldOp::create(builder, loc, next);
  });
  return llvm::to_vector(llvm::map_range(
      loop.getResults(), [](OpResult result) { return Value(result); }));
}

SmallVector<Value> ElementEmitter::emitLoop(
    int64_t lower, int64_t upper, ValueRange inits,
    llvm::function_ref<SmallVector<Value>(LinearIndex, ValueRange)> body) {
  if (lower >= upper)
    return llvm::to_vector(inits);
  if (lower + 1 == upper)
    return body(LinearIndex(lower), inits);
  return emitLoop(constantIndex(lower), constantIndex(upper), lower, upper - 1,
                  inits, body);
}

SmallVector<Value>
ElementEmitter::emitIf(Value condition, TypeRange types,
                       llvm::function_ref<SmallVector<Value>()> thenBranch,
                       llvm::function_ref<SmallVector<Value>()> elseBranch) {
  auto op = scf::IfOp::create(builder, loc, types, condition,
                              /*withElseRegion=*/true);
  auto fill = [&](Block *block,
                  llvm::function_ref<SmallVector<Value>()> branch) {
    if (!block->empty())
      block->back().erase();
    inBlock(block, /*isBranch=*/true,
            [&] { scf::YieldOp::create(builder, loc, branch()); });
  };
  fill(op.thenBlock(), thenBranch);
  fill(op.elseBlock(), elseBranch);
  return llvm::to_vector(llvm::map_range(
      op.getResults(), [](OpResult result) { return Value(result); }));
}

void ElementEmitter::emitWhen(Value condition,
                              llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  emitIf(
      condition, {},
      [&] {
        body();
        return SmallVector<Value>();
      },
      [] { return SmallVector<Value>(); });
}

/// In hundredths of a nanosecond: memory moves about 25 bytes a nanosecond,
/// vector units do about 100 simple ops; a call of libm takes 20 ns.
static int64_t estimateCost(Block &block, const Trial &trial) {
  int64_t cost = 0;
  for (const Trial::Access &access : trial.accesses)
    cost += 4 * access.bytes;
  block.walk([&](Operation *op) {
    if (isa<math::MathDialect>(op->getDialect()) &&
        !isa<math::AbsFOp, math::CopySignOp, math::SqrtOp, math::FloorOp,
             math::CeilOp, math::RoundOp, math::RoundEvenOp, math::CtPopOp,
             math::CountLeadingZerosOp>(op))
      cost += 2000;
    else if (!isa<arith::ConstantOp, memref::LoadOp>(op))
      cost += 1;
  });
  return cost;
}

Trial ElementEmitter::tryOut(llvm::function_ref<void()> body) {
  Trial result;
  Block block;
  Scope scope(current, &block, /*isBranch=*/true);
  Trial *outer = trial;
  trial = &result;
  {
    ScopeChange change(*this, &scope);
    body();
  }
  trial = outer;
  result.cost = estimateCost(block, result);
  return result;
}
