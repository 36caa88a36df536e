//===- NameArguments.cpp - names and kinds of arguments -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Frontend/Frontend.h"
#include "tsp/Frontend/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

namespace tsp {
#define GEN_PASS_DEF_NAMEARGUMENTS
#include "tsp/Passes/Frontend.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

/// Whether text matches a pattern of characters, `*` and `?`. Brackets have no
/// meaning: they are frequent in names.
static bool matches(StringRef pattern, StringRef text) {
  // Where the last star was, and how much of the text it covers so far.
  size_t star = StringRef::npos, covered = 0, p = 0, t = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      covered = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != StringRef::npos) {
      p = star + 1;
      t = ++covered;
    } else {
      return false;
    }
  }
  return pattern.drop_front(p).find_first_not_of('*') == StringRef::npos;
}

/// The name that a location carries, or "".
static StringRef getNameOfLocation(Location loc) {
  auto name = dyn_cast<NameLoc>(loc);
  return name ? name.getName().getValue() : StringRef();
}

/// The name of an argument by its location or by that of the private
/// function's argument that it is handed on to.
static StringRef findName(BlockArgument argument, SymbolTable &symbols) {
  StringRef name = getNameOfLocation(argument.getLoc());
  for (OpOperand &use : argument.getUses()) {
    auto call = dyn_cast<func::CallOp>(use.getOwner());
    if (!name.empty() || !call)
      break;
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (callee && callee.isPrivate() && !callee.isExternal() &&
        use.getOperandNumber() < callee.getNumArguments())
      name = getNameOfLocation(callee.getArgument(use.getOperandNumber()).getLoc());
  }
  return name;
}

namespace {
/// Names and kinds of the arguments of one function.
class ArgumentNamer {
public:
  ArgumentNamer(func::FuncOp function, ArrayRef<std::string> params,
                std::vector<bool> &used)
      : function(function), params(params), used(used),
        builder(function.getContext()) {}

  LogicalResult run(SymbolTable &symbols) {
    if (failed(nameArguments(symbols)))
      return failure();
    collectAliases();
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      if (failed(setKind(index)))
        return failure();
    return success();
  }

private:
  LogicalResult nameArguments(SymbolTable &symbols);
  void collectAliases();
  LogicalResult setKind(unsigned index);
  bool isParameter(StringRef name);

  func::FuncOp function;
  ArrayRef<std::string> params;
  std::vector<bool> &used;
  Builder builder;
  DenseMap<unsigned, int64_t> resultOfState;
};
} // namespace

LogicalResult ArgumentNamer::nameArguments(SymbolTable &symbols) {
  unsigned count = function.getNumArguments();
  SmallVector<StringRef> names(count);
  llvm::StringMap<unsigned> given, seen;
  for (unsigned index = 0; index < count; ++index) {
    Attribute attr = function.getArgAttr(index, kNameAttr);
    if (!attr) {
      names[index] = findName(function.getArgument(index), symbols);
      ++seen[names[index]];
      continue;
    }
    auto name = dyn_cast<StringAttr>(attr);
    if (!name || name.getValue().empty())
      return function.emitError("expected a string as ")
             << kNameAttr << " of argument " << index << ", found " << attr;
    auto [it, isNew] = given.try_emplace(name.getValue(), index);
    if (!isNew)
      return function.emitError("arguments ")
             << it->second << " and " << index << " have the same "
             << kNameAttr << " \"" << name.getValue() << "\"";
  }
  // A name by location has to be the argument's alone.
  for (unsigned index = 0; index < count; ++index)
    if (!names[index].empty() && seen[names[index]] == 1 &&
        !given.contains(names[index]))
      function.setArgAttr(index, kNameAttr, builder.getStringAttr(names[index]));
  return success();
}

/// Donated arguments with the results that replace them: as said, else the
/// first free result of the same type, as JAX pairs them.
void ArgumentNamer::collectAliases() {
  DenseSet<int64_t> taken;
  SmallVector<unsigned> donors;
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    std::optional<int64_t> result;
    for (StringRef name : {StringRef("tf.aliasing_output"), StringRef(kAliasAttr)})
      if (auto attr = function.getArgAttrOfType<IntegerAttr>(index, name))
        result = attr.getInt();
    if (result) {
      resultOfState[index] = *result;
      taken.insert(*result);
    } else if (function.getArgAttr(index, "jax.buffer_donor")) {
      donors.push_back(index);
    }
    function.removeArgAttr(index, builder.getStringAttr("tf.aliasing_output"));
    function.removeArgAttr(index, builder.getStringAttr("jax.buffer_donor"));
  }
  for (unsigned index : donors)
    for (auto [result, type] : llvm::enumerate(function.getResultTypes()))
      if (type == function.getArgument(index).getType() &&
          taken.insert(result).second) {
        resultOfState[index] = result;
        break;
      }
}

bool ArgumentNamer::isParameter(StringRef name) {
  bool found = false;
  for (auto [index, pattern] : llvm::enumerate(params))
    if (!name.empty() && matches(pattern, name))
      found = used[index] = true;
  return found;
}

LogicalResult ArgumentNamer::setKind(unsigned index) {
  auto name = function.getArgAttrOfType<StringAttr>(index, kNameAttr);
  bool isParam = isParameter(name ? name.getValue() : "");
  Attribute given = function.getArgAttr(index, kKindAttr);
  auto kind = dyn_cast_or_null<StringAttr>(given);
  if (given && (!kind || !llvm::is_contained({"parameter", "input", "state"},
                                             kind.getValue())))
    return function.emitError("expected \"parameter\", \"input\" or \"state\" as ")
           << kKindAttr << " of argument " << index << ", found " << given;
  auto alias = resultOfState.find(index);
  if (!kind)
    kind = builder.getStringAttr(alias != resultOfState.end() ? "state"
                                 : isParam                    ? "parameter"
                                                              : "input");
  function.setArgAttr(index, kKindAttr, kind);
  function.removeArgAttr(index, builder.getStringAttr(kAliasAttr));
  if (alias == resultOfState.end() || kind.getValue() != "state")
    return success();
  int64_t result = alias->second;
  if (result < 0 || result >= function.getNumResults() ||
      function.getResultTypes()[result] != function.getArgumentTypes()[index])
    return function.emitError("argument ")
           << index << " of type " << function.getArgumentTypes()[index]
           << " is donated to result " << result
           << ", which is not there or has another type";
  function.setArgAttr(index, kAliasAttr, builder.getI64IntegerAttr(result));
  return success();
}

namespace {
struct NameArguments : tsp::impl::NameArgumentsBase<NameArguments> {
  using NameArgumentsBase::NameArgumentsBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    std::vector<std::string> patterns(params.begin(), params.end());
    std::vector<bool> used(patterns.size(), false);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() &&
          failed(ArgumentNamer(function, patterns, used).run(symbols)))
        return signalPassFailure();
    for (auto [pattern, found] : llvm::zip(patterns, used))
      if (!found) {
        getOperation().emitError("no argument has a name that matches params=")
            << pattern << "; names are tsp.name or the location of an argument";
        return signalPassFailure();
      }
  }
};
} // namespace
