//===- LowerControl.cpp - blocks, branches and calls ----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jit/Lowering.h"
#include "ptx/Lexer.h"

#include "llvm/IR/Dominators.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;

namespace tsp::emulation {

/// The next block of a lane that has left.
static constexpr uint32_t gone = ~uint32_t(0);

Lowering::Lowering(KernelState &kernel, const ptx::Function &function,
                   llvm::Function &target)
    : kernel(kernel), function(function), target(target),
      context(target.getContext()), builder(context), control(function),
      uniformity(function, control) {}

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

void Lowering::findFragments() {
  isFragment.resize(function.registers.size());
  isOfProduct.resize(function.registers.size());
  for (const Instruction &instruction : function.body) {
    const std::string &opcode = instruction.opcode;
    // Those of mma are all fragments; of wgmma, lists of registers are.
    if (opcode != "mma" && opcode != "ldmatrix" && opcode != "wgmma")
      continue;
    // Those of f64 are computed with in place.
    if (instruction.has("f64"))
      continue;
    for (const Operand &operand : instruction.operands) {
      if (opcode == "wgmma" && operand.form != Operand::Form::List)
        break;
      ptx::detail::visitRegisters(operand, [&](int reg) {
        isFragment[reg] = !uniformity.isUniform(reg);
        if (opcode == "wgmma")
          isOfProduct[reg] = isFragment[reg];
      });
      if (opcode == "ldmatrix")
        break;
    }
  }
}

void Lowering::allocateRegisters() {
  findFragments();
  for (unsigned reg = 0; reg < function.registers.size(); ++reg) {
    llvm::Type *type =
        intType(std::max<unsigned>(1, function.registers[reg].type.bits));
    if (!uniformity.isUniform(int(reg)))
      type = FixedVectorType::get(type, warpSize);
    AllocaInst *slot = builder.CreateAlloca(type);
    registers.push_back(slot);
    if (!uniformity.crossesDivergence(int(reg)) && !isFragment[reg])
      promotable.push_back(slot);
  }
  auto reserve = [&](const ptx::Variable &variable) {
    uint64_t stride = (variable.size + 15) / 16 * 16;
    AllocaInst *memory = builder.CreateAlloca(
        ArrayType::get(builder.getInt8Ty(), stride * warpSize));
    memory->setAlignment(Align(64));
    laneMemory[&variable] = memory;
  };
  for (const auto &variable : function.variables)
    if (variable->space != ptx::Space::Shared)
      reserve(*variable);
  if (function.isKernel)
    return;
  // The memory of a called function's parameters and results is its caller's.
  unsigned argument = 2;
  for (const auto &parameter : function.parameters)
    laneMemory[parameter.get()] = target.getArg(argument++);
  for (const auto &result : function.results)
    laneMemory[result.get()] = target.getArg(argument++);
}

void Lowering::run() {
  BasicBlock *entry = BasicBlock::Create(context, "entry", &target);
  builder.SetInsertPoint(entry);
  allocateRegisters();
  for (unsigned b = 0; b < control.blocks.size(); ++b)
    blocks.push_back(
        BasicBlock::Create(context, "b" + std::to_string(b), &target));
  auto *lanes = FixedVectorType::get(builder.getInt32Ty(), warpSize);
  nextBlock = builder.CreateAlloca(lanes);
  promotable.push_back(nextBlock);
  builder.CreateStore(Constant::getAllOnesValue(lanes), nextBlock);
  dispatchBlock = BasicBlock::Create(context, "dispatch", &target);

  BasicBlock *start = builder.GetInsertBlock();
  for (unsigned b = 0; b < control.blocks.size(); ++b)
    lowerBlock(b);
  builder.SetInsertPoint(start);
  builder.CreateBr(blocks[0]);
  emitDispatch();

  // Unreachable blocks would confuse the promotion's dominators.
  EliminateUnreachableBlocks(target);
  DominatorTree dominators(target);
  std::vector<AllocaInst *> slots;
  for (AllocaInst *slot : promotable)
    if (isAllocaPromotable(slot))
      slots.push_back(slot);
  PromoteMemToReg(slots, dominators);
}

/// True in every other 4096 dispatches: lanes then take turns in another way.
Value *Lowering::countDispatch() {
  Value *place = builder.CreateConstInBoundsGEP1_64(
      builder.getInt8Ty(), target.getArg(0), offsetof(WarpContext, dispatches));
  Value *count = builder.CreateAdd(
      builder.CreateLoad(builder.getInt32Ty(), place), builder.getInt32(1));
  builder.CreateStore(count, place);
  return builder.CreateIsNotNull(
      builder.CreateAnd(count, builder.getInt32(4096)));
}

/// True when lanes wait in vain for others of their warp.
Value *Lowering::isStarved() {
  return builder.CreateIsNotNull(
      contextField(offsetof(WarpContext, starved), builder.getInt32Ty()));
}

/// The highest block among divergent ones: lanes that hold what others spin for
/// get on. Blocks of the whole warp still wait for all its lanes.
Value *Lowering::chooseFairly(Value *next) {
  std::vector<uint8_t> isDivergent;
  for (const ptx::Block &each : control.blocks)
    isDivergent.push_back(each.divergent);
  Constant *values = ConstantDataArray::get(context, isDivergent);
  auto *table = new GlobalVariable(kernel.module, values->getType(),
                                   /*isConstant=*/true,
                                   GlobalValue::PrivateLinkage, values);
  return callHelper("chooseFairly", builder.getInt32Ty(),
                    {spill(0, {next}), table,
                     builder.getInt32(uint32_t(isDivergent.size()))});
}

void Lowering::emitDispatch() {
  builder.SetInsertPoint(dispatchBlock);
  if (dispatchBlock->hasNPredecessors(0)) {
    builder.CreateUnreachable();
    return;
  }
  Value *next = builder.CreateLoad(nextBlock->getAllocatedType(), nextBlock);
  Value *lowest = builder.CreateIntMinReduce(next, /*IsSigned=*/false);
  BasicBlock *done = BasicBlock::Create(context, "done", &target);
  Value *number = lowest;
  if (control.needsTurns() || control.mayStarve()) {
    BasicBlock *fair = BasicBlock::Create(context, "fair", &target);
    BasicBlock *chosen = BasicBlock::Create(context, "chosen", &target);
    builder.CreateCondBr(control.needsTurns() ? countDispatch() : isStarved(),
                         fair, chosen);
    builder.SetInsertPoint(fair);
    Value *fairest = chooseFairly(next);
    builder.CreateBr(chosen);
    builder.SetInsertPoint(chosen);
    PHINode *either = builder.CreatePHI(builder.getInt32Ty(), 2);
    either->addIncoming(lowest, dispatchBlock);
    either->addIncoming(fairest, fair);
    number = either;
  }
  SwitchInst *choice = builder.CreateSwitch(number, done);
  for (unsigned b : dispatched)
    choice->addCase(builder.getInt32(b), blocks[b]);
  builder.SetInsertPoint(done);
  builder.CreateRetVoid();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void Lowering::lowerBlock(unsigned number) {
  block = &control.blocks[number];
  touched.clear();
  builder.SetInsertPoint(blocks[number]);
  if (block->divergent) {
    Value *next = builder.CreateLoad(nextBlock->getAllocatedType(), nextBlock);
    Value *here = builder.CreateICmpEQ(
        next, builder.CreateVectorSplat(warpSize, builder.getInt32(number)));
    blockMask = maskOf(here);
  } else {
    blockMask = function.isKernel ? contextField(offsetof(WarpContext, live),
                                                 builder.getInt32Ty())
                                  : static_cast<Value *>(target.getArg(1));
  }
  for (unsigned i = block->begin; i < block->end; ++i)
    if (!ptx::Control::isTerminator(function.body[i]))
      lowerInstruction(function.body[i]);
  lowerTerminator();
}

void Lowering::lowerInstruction(const Instruction &instruction) {
  current = &instruction;
  guard = nullptr;
  bool hasResult = false;
  wide = false;
  instruction.forEachDef([&](int reg) {
    hasResult = true;
    wide |= !uniformity.isUniform(reg);
  });
  // Also when every result is thrown away.
  wide |= !hasResult;
  auto handler = handlers().find(instruction.opcode);
  if (handler == handlers().end())
    unsupported();
  guardValue();
  touchProductRegisters(instruction);
  (this->*handler->second)(instruction);
}

/// The number of the next block, of all lanes alike or of each lane.
Value *Lowering::targets(const ptx::Block &from, const Instruction &last) {
  auto number = [&](unsigned successor) {
    return builder.getInt32(successor == control.exit() ? gone : successor);
  };
  if (last.opcode == "brx") {
    Value *index = read(last.operands[0], ptx::parseType("u32"));
    Value *result =
        builder.CreateVectorSplat(warpSize, number(from.successors.back()));
    for (unsigned i = 0; i + 1 < from.successors.size(); ++i) {
      Value *chosen = builder.CreateICmpEQ(index, constant(i, 32));
      result = builder.CreateSelect(
          chosen,
          builder.CreateVectorSplat(warpSize, number(from.successors[i])),
          result);
    }
    return result;
  }
  if (from.successors.size() == 1)
    return splat(number(from.successors[0]));
  return builder.CreateSelect(splat(guardValue()),
                              splat(number(from.successors[0])),
                              splat(number(from.successors[1])));
}

void Lowering::goTo(unsigned number) {
  if (number == control.exit())
    return leave();
  if (control.blocks[number].divergent) {
    // Into a region from outside: all lanes that live are there.
    Value *living = fromMask(blockMask);
    auto *type = nextBlock->getAllocatedType();
    builder.CreateStore(builder.CreateSelect(living,
                                             ConstantInt::get(type, number),
                                             Constant::getAllOnesValue(type)),
                        nextBlock);
  }
  builder.CreateBr(blocks[number]);
}

void Lowering::leave() { builder.CreateRetVoid(); }

void Lowering::branchUniformly(const ptx::Block &from,
                               const Instruction &last) {
  auto side = [&](unsigned successor) {
    BasicBlock *step = BasicBlock::Create(context, "", &target);
    IRBuilder<>::InsertPointGuard saved(builder);
    builder.SetInsertPoint(step);
    goTo(successor);
    return step;
  };
  if (last.opcode == "brx") {
    wide = false;
    Value *index = read(last.operands[0], ptx::parseType("u32"));
    SwitchInst *choice =
        builder.CreateSwitch(index, side(from.successors.back()));
    for (unsigned i = 0; i + 1 < from.successors.size(); ++i)
      choice->addCase(builder.getInt32(i), side(from.successors[i]));
    return;
  }
  Value *condition = guardValue();
  BasicBlock *taken = side(from.successors[0]);
  BasicBlock *other = side(from.successors[1]);
  builder.CreateCondBr(condition, taken, other);
}

void Lowering::lowerTerminator() {
  static const Instruction fallThrough = [] {
    Instruction instruction;
    instruction.opcode = "bra";
    return instruction;
  }();
  const Instruction *last = &fallThrough;
  if (block->begin != block->end &&
      ptx::Control::isTerminator(function.body[block->end - 1]))
    last = &function.body[block->end - 1];
  current = last;
  guard = nullptr;
  wide = true;
  if (last->opcode == "trap")
    trap(*last);
  if (last->opcode == "exit" && !function.isKernel)
    fail("exit in a function that is called is not supported");

  bool parts = last->guard >= 0 && !uniformity.isUniform(last->guard);
  if (last->opcode == "brx")
    parts = !uniformity.isUniform(last->operands[0]);
  if (!block->divergent && !parts) {
    if (block->successors.size() == 1)
      return goTo(block->successors[0]);
    return branchUniformly(*block, *last);
  }

  Value *next = targets(*block, *last);
  Value *here = fromMask(blockMask);
  Value *before = builder.CreateLoad(nextBlock->getAllocatedType(), nextBlock);
  if (!block->divergent)
    before = Constant::getAllOnesValue(before->getType());
  next = builder.CreateSelect(here, next, before);
  builder.CreateStore(next, nextBlock);
  bool leaves = false;
  for (unsigned successor : block->successors) {
    leaves |= successor == control.exit();
    if (successor != control.exit())
      dispatched.insert(successor);
  }
  if (leaves && function.isKernel) {
    Value *living =
        contextField(offsetof(WarpContext, live), builder.getInt32Ty());
    Value *left = maskOf(
        builder.CreateICmpEQ(next, Constant::getAllOnesValue(next->getType())));
    living = builder.CreateAnd(living, builder.CreateNot(left));
    builder.CreateStore(living, builder.CreateConstInBoundsGEP1_64(
                                    builder.getInt8Ty(), target.getArg(0),
                                    offsetof(WarpContext, live)));
  }
  builder.CreateBr(dispatchBlock);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void Lowering::call(const Instruction &instruction) {
  // call (results), name, (parameters), each list optional.
  const Operand *results = nullptr, *name = nullptr, *parameters = nullptr;
  for (const Operand &operand : instruction.operands) {
    if (operand.form == Operand::Form::List)
      (name ? parameters : results) = &operand;
    else if (!name)
      name = &operand;
    else
      fail("calls through pointers are not supported");
  }
  if (!name || name->form != Operand::Form::Symbol)
    fail("calls through pointers are not supported");
  if (name->name == "__assertfail") {
    // assert() of CUDA C++: it ends the kernel.
    Site where = site();
    where.spelling = "assert";
    callAt("trap", where, builder.getVoidTy(), {});
    return;
  }
  if (name->name == "vprintf") {
    // printf() of CUDA C++: format, arguments, and how many were printed.
    SmallVector<Value *> memory;
    for (const Operand *list : {parameters, results})
      for (size_t i = 0; list && i < list->elements.size(); ++i)
        memory.push_back(laneMemory.at(list->elements[i].variable));
    if (memory.size() != 3)
      fail("'vprintf' takes two parameters and has a result");
    callAt("print", site(), builder.getVoidTy(), memory);
    return;
  }
  const ptx::Function *callee = kernel.source.findFunction(name->name);
  if (!callee || callee->isDeclaration)
    fail("the function '" + name->name + "' is not defined in this module");
  llvm::Function *&lowered = kernel.functions[callee];
  if (!lowered) {
    SmallVector<llvm::Type *> types = {builder.getPtrTy(),
                                       builder.getInt32Ty()};
    types.append(callee->parameters.size() + callee->results.size(),
                 builder.getPtrTy());
    lowered = llvm::Function::Create(
        FunctionType::get(builder.getVoidTy(), types, false),
        GlobalValue::InternalLinkage, callee->name, kernel.module);
    kernel.pending.push_back(callee);
  }
  SmallVector<Value *> arguments = {target.getArg(0), mask()};
  auto pass = [&](const Operand *list, size_t expected, const char *what) {
    if ((list ? list->elements.size() : 0) != expected)
      fail("a call of '" + callee->name + "' with " +
           std::to_string(list ? list->elements.size() : 0) + " " + what +
           " instead of " + std::to_string(expected));
    for (size_t i = 0; i < expected; ++i) {
      auto memory = laneMemory.find(list->elements[i].variable);
      if (memory == laneMemory.end())
        fail("call operands must be .param variables");
      arguments.push_back(memory->second);
    }
  };
  pass(parameters, callee->parameters.size(), "parameters");
  pass(results, callee->results.size(), "results");
  // Lanes that do not call: an empty mask would run the callee for nothing, and
  // forever if it recurses.
  BasicBlock *calling = BasicBlock::Create(context, "call", &target);
  BasicBlock *after = BasicBlock::Create(context, "called", &target);
  builder.CreateCondBr(builder.CreateIsNotNull(arguments[1]), calling, after);
  builder.SetInsertPoint(calling);
  builder.CreateCall(lowered, arguments);
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
}

void Lowering::trap(const Instruction &) {
  callAt("trap", site(), builder.getVoidTy(), {});
}

void Lowering::nothing(const Instruction &) {}

} // namespace tsp::emulation
