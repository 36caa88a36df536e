//===- BufferEmitter.cpp - writes the program on buffers ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferEmitter.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tsp;

static MemRefType toMemref(RankedTensorType type) {
  return MemRefType::get(type.getShape(), type.getElementType());
}

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

BufferEmitter::BufferEmitter(func::FuncOp entry, MeshAttr mesh, SymbolTable &symbols)
    : entry(entry), mesh(mesh), symbols(symbols), plan(entry, mesh),
      builder(entry.getContext()), loc(entry.getLoc()) {
  entry.walk([&](FoldLoopOp fold) {
    if (FoldLoopOp before = plan.getFold(fold).before)
      nextFold[before] = fold;
  });
}

FailureOr<func::FuncOp> BufferEmitter::emit() {
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  auto addArgument = [&](Type type, DictionaryAttr attrs) {
    types.push_back(type);
    attributes.push_back(attrs ? attrs : builder.getDictionaryAttr({}));
  };
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes()))
    addArgument(toMemref(cast<RankedTensorType>(type)), entry.getArgAttrDict(i));
  for (auto [i, type] : llvm::enumerate(entry.getResultTypes()))
    addArgument(toMemref(cast<RankedTensorType>(type)), entry.getResultAttrDict(i));
  addArgument(MemRefType::get({plan.getArenaBytes()}, builder.getI8Type()), {});

  builder.setInsertionPoint(entry);
  auto function = func::FuncOp::create(builder, loc, entry.getName(),
                                       builder.getFunctionType(types, {}));
  function.setAllArgAttrs(attributes);
  function->setAttr("tsp.entry", builder.getI64IntegerAttr(entry.getNumArguments()));
  body = function.addEntryBlock();
  arena = body->getArguments().back();
  builder.setInsertionPointToStart(body);
  if (failed(emitBlock(entry.getBody().front()))) {
    function.erase();
    return failure();
  }
  return function;
}

//===----------------------------------------------------------------------===//
// Memrefs
//===----------------------------------------------------------------------===//

Value BufferEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value BufferEmitter::i64(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 64);
}

Value BufferEmitter::getView(Value byteOffset, RankedTensorType type) {
  return memref::ViewOp::create(builder, loc, toMemref(type), arena, byteOffset, ValueRange());
}

Value BufferEmitter::reshape(Value memref, RankedTensorType type) {
  MemRefType wanted = toMemref(type);
  if (memref.getType() == wanted)
    return memref;
  SmallVector<int64_t> strides(type.getRank(), 1);
  for (int64_t i = type.getRank() - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * type.getDimSize(i + 1);
  return memref::ReinterpretCastOp::create(builder, loc, wanted, memref, /*offset=*/0,
                                           type.getShape(), strides);
}

/// Equal constants are one global.
Value BufferEmitter::getConstant(Value root, RankedTensorType type) {
  ElementsAttr value = root.getDefiningOp<stablehlo::ConstantOp>().getValue();
  Operation *module = symbols.getOp();
  memref::GlobalOp global;
  for (auto other : module->getRegion(0).getOps<memref::GlobalOp>())
    if (other.getInitialValueAttr() == value)
      global = other;
  if (!global) {
    OpBuilder atEnd = OpBuilder::atBlockEnd(&module->getRegion(0).front());
    MemRefType memref = toMemref(cast<RankedTensorType>(root.getType()));
    global = memref::GlobalOp::create(atEnd, loc, "tsp_data", builder.getStringAttr("private"),
                                      memref, value, /*constant=*/true,
                                      builder.getI64IntegerAttr(bufferAlign));
    symbols.insert(global);
  }
  Value memref = memref::GetGlobalOp::create(builder, loc, global.getType(), global.getSymName());
  return reshape(memref, type);
}

Value BufferEmitter::getMemref(const Buffer &buffer, RankedTensorType type) {
  switch (buffer.place) {
  case Place::Arena:
    return getView(index(buffer.memory.offset), type);
  case Place::Argument:
    return reshape(body->getArgument(buffer.number), type);
  case Place::Result:
    return reshape(body->getArgument(entry.getNumArguments() + buffer.number), type);
  case Place::Constant:
    return getConstant(buffer.values.front(), type);
  }
  llvm_unreachable("all places are handled");
}

Value BufferEmitter::getMemref(Value value) {
  if (Value slot = slots.lookup(plan.getLiveness().getRoot(value)))
    return reshape(slot, tensorType(value));
  return getMemref(*plan.getBuffer(value), tensorType(value));
}

/// Stores a number of the host program as the scalar tensor `value`.
void BufferEmitter::storeScalar(Value number, Value value) {
  auto type = cast<IntegerType>(tensorType(value).getElementType());
  if (type.getWidth() < 64)
    number = arith::TruncIOp::create(builder, loc, type, number);
  memref::StoreOp::create(builder, loc, number, getMemref(value), ValueRange());
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult BufferEmitter::emitBlock(Block &block) {
  // Folds whose first fetches nothing before them can start.
  for (auto fold : block.getOps<FoldLoopOp>())
    if (plan.getFold(fold).atBlockStart)
      fetched[fold] = emitFirstFetches(fold);
  return emitOps(block.begin(), block.end());
}

LogicalResult BufferEmitter::emitOps(Block::iterator begin, Block::iterator end) {
  for (Operation &op : llvm::make_range(begin, end)) {
    loc = op.getLoc();
    if (failed(emitOp(&op)))
      return failure();
    if (auto it = behind.find(&op); it != behind.end())
      it->second();
  }
  return success();
}

LogicalResult BufferEmitter::emitOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](LaunchOp launch) {
        emitLaunch(launch);
        return success();
      })
      .Case<AllGatherOp, ReduceScatterOp, AllReduceOp, AllToAllOp, BroadcastOp, SendRecvOp>(
          [&](Operation *collective) {
            Value result = collective->getResult(0);
            auto future = dyn_cast<FutureType>(result.getType());
            if (!future) {
              BufferWaitOp::create(builder, loc, emitStart(collective, result));
              return success();
            }
            auto wait = result.hasOneUse() ? dyn_cast<WaitOp>(*result.user_begin()) : nullptr;
            if (!wait || wait->getBlock() != collective->getBlock())
              return LogicalResult(collective->emitOpError(
                  "expected one tsp.wait for the started transfer, in the same block"));
            events[result] = emitStart(collective, wait.getResult());
            return success();
          })
      .Case([&](WaitOp wait) {
        BufferWaitOp::create(builder, loc, events.lookup(wait.getFuture()));
        return success();
      })
      .Case([&](AxisIndexOp axis) {
        storeScalar(BufferAxisIndexOp::create(builder, loc, axis.getAxisAttr()), axis.getResult());
        return success();
      })
      .Case([&](FoldLoopOp fold) { return emitFold(fold); })
      .Case([&](stablehlo::WhileOp loop) { return emitWhile(loop); })
      .Case([&](stablehlo::CaseOp branches) { return emitCase(branches); })
      .Case<stablehlo::ReshapeOp, stablehlo::ConstantOp, UndefinedOp>([](Operation *) { return success(); })
      .Case<stablehlo::ReturnOp, YieldOp>([&](Operation *end) {
        emitCopies(end);
        return success();
      })
      .Case([&](func::ReturnOp end) {
        emitCopies(end);
        func::ReturnOp::create(builder, loc);
        return success();
      })
      .Default([](Operation *other) {
        return other->emitOpError("is not part of the host program; it belongs into a kernel "
                                  "(tsp-form-kernels)");
      });
}

void BufferEmitter::emitCopies(Operation *site) {
  ArrayRef<PlannedCopy> copies = plan.getCopies(site);
  auto copyTo = [&](Value from, Value to) {
    BufferCopyOp::create(builder, loc, from, to);
    ++numCopies;
  };
  for (const PlannedCopy &copy : copies)
    if (copy.temporary >= 0)
      copyTo(getMemref(copy.from),
             getMemref(plan.getBuffer(copy.temporary), tensorType(copy.from)));
  for (const PlannedCopy &copy : copies) {
    Value from = copy.temporary >= 0
                     ? getMemref(plan.getBuffer(copy.temporary), tensorType(copy.from))
                     : getMemref(copy.from);
    copyTo(from, getMemref(plan.getBuffer(copy.to), tensorType(copy.from)));
  }
}

void BufferEmitter::emitLaunch(LaunchOp launch) {
  Operation *kernel = lookupKernel(launch);
  SmallVector<Value> inputs, outputs;
  for (Value input : launch.getInputs())
    inputs.push_back(getMemref(input));
  for (Value output : launch.getResults())
    outputs.push_back(getMemref(output));
  // A kernel that writes a part of its result needs the rest in place.
  auto tied = kernel->getAttrOfType<DenseI64ArrayAttr>("tsp.tied");
  if (tied && mustTie(kernel))
    for (auto [k, argument] : llvm::enumerate(tied.asArrayRef())) {
      if (argument < 0)
        continue;
      Value input = launch.getInputs()[argument];
      if (plan.getBuffer(input) != plan.getBuffer(launch.getResult(k))) {
        BufferCopyOp::create(builder, loc, inputs[argument], outputs[k]);
        ++numCopies;
      }
      inputs[argument] = outputs[k];
    }
  BufferLaunchOp::create(builder, loc, launch.getKernelAttr(), inputs, outputs);
}

/// Tells where the started transfer packs its parts, as it was planned for `op`.
Value BufferEmitter::withStaging(Value event, Operation *op) {
  if (const Buffer *staging = plan.getStaging(op))
    event.getDefiningOp()->setAttr(
        kStagingAttr,
        builder.getDenseI64ArrayAttr({staging->memory.offset, staging->memory.bytes}));
  return event;
}

Value BufferEmitter::emitStart(Operation *collective, Value result) {
  Value source = getMemref(collective->getOperand(0)), target = getMemref(result);
  Type event = builder.getI64Type();
  Value started = llvm::TypeSwitch<Operation *, Value>(collective)
      .Case([&](AllGatherOp op) {
        return BufferAllGatherOp::create(builder, loc, event, source, target, op.getAxis(),
                                         op.getDim(), op.getTotal(), op.getUnit(), op.getLayout());
      })
      .Case([&](ReduceScatterOp op) {
        return BufferReduceScatterOp::create(builder, loc, event, source, target, op.getAxis(),
                                             op.getDim(), op.getTotal(), op.getUnit(),
                                             op.getLayout(), op.getCombine());
      })
      .Case([&](AllReduceOp op) {
        return BufferAllReduceOp::create(builder, loc, event, source, target, op.getAxis(),
                                         op.getCombine());
      })
      .Case([&](AllToAllOp op) {
        return BufferAllToAllOp::create(builder, loc, event, source, target, op.getAxis(),
                                        op.getSplitDim(), op.getSplitTotal(), op.getSplitUnit(),
                                        op.getConcatDim(), op.getConcatTotal(),
                                        op.getConcatUnit(), op.getSplitLayout(),
                                        op.getConcatLayout());
      })
      .Case([&](BroadcastOp op) {
        Value offset = BufferReadOp::create(builder, loc, builder.getI32Type(),
                                            getMemref(op.getOffset()));
        offset = arith::ExtSIOp::create(builder, loc, event, offset);
        return BufferBroadcastOp::create(builder, loc, event, source, offset, target, op.getAxis(),
                                         op.getDim(), op.getTotal(), op.getUnit());
      })
      .Case([&](SendRecvOp op) {
        return BufferSendRecvOp::create(builder, loc, event, source, target, op.getAxis(),
                                        op.getShift());
      });
  return withStaging(started, collective);
}

LogicalResult BufferEmitter::emitWhile(Operation *op) {
  auto loop = cast<stablehlo::WhileOp>(op);
  emitCopies(op);
  auto created = scf::WhileOp::create(builder, loc, TypeRange(), ValueRange());
  OpBuilder::InsertionGuard guard(builder);
  Block &cond = loop.getCond().front();
  builder.createBlock(&created.getBefore());
  if (failed(emitBlock(cond)))
    return failure();
  loc = op->getLoc();
  Value goOn = BufferReadOp::create(builder, loc, builder.getI1Type(),
                                    getMemref(cond.getTerminator()->getOperand(0)));
  scf::ConditionOp::create(builder, loc, goOn, ValueRange());
  builder.createBlock(&created.getAfter());
  if (failed(emitBlock(loop.getBody().front())))
    return failure();
  scf::YieldOp::create(builder, loc);
  return success();
}

LogicalResult BufferEmitter::emitCase(Operation *op) {
  auto branches = cast<stablehlo::CaseOp>(op);
  // A number out of range runs the last branch.
  unsigned last = branches.getBranches().size() - 1;
  Value number = BufferReadOp::create(builder, loc, builder.getI32Type(),
                                      getMemref(branches.getIndex()));
  number = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), number);
  SmallVector<int64_t> cases = llvm::to_vector(llvm::seq<int64_t>(0, last));
  auto created = scf::IndexSwitchOp::create(builder, loc, TypeRange(), number, cases, last);
  OpBuilder::InsertionGuard guard(builder);
  for (auto [i, branch] : llvm::enumerate(branches.getBranches())) {
    builder.createBlock(i == last ? &created.getDefaultRegion() : &created.getCaseRegions()[i]);
    if (failed(emitBlock(branch.front())))
      return failure();
    scf::YieldOp::create(builder, loc);
  }
  return success();
}
