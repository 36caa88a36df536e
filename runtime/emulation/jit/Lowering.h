//===- Lowering.h - a function of PTX to LLVM IR ------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A register that is the same in all lanes is a scalar, others are vectors of
// 32 elements; both are integers of the register's width. Values that stay
// within one block or that only uniform blocks see become SSA values; what
// lives across the dispatch of divergent blocks stays in memory.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_JIT_LOWERING_H
#define TSP_EMULATION_JIT_LOWERING_H

#include "exec/WarpContext.h"
#include "ptx/Control.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <map>
#include <set>
#include <unordered_map>

namespace tsp::emulation {

/// What the functions of one kernel share.
struct KernelState {
  const ptx::Module &source;
  llvm::Module &module;
  /// Offsets of the shared variables that the kernel uses.
  std::map<const ptx::Variable *, uint64_t> sharedOffsets;
  uint64_t dynamicOffset = 0;
  std::vector<Site> sites;
  /// Functions called, and those among them not lowered yet.
  std::map<const ptx::Function *, llvm::Function *> functions;
  std::vector<const ptx::Function *> pending;
  uint32_t localBytes = 0;
};

class Lowering {
public:
  Lowering(KernelState &kernel, const ptx::Function &function,
           llvm::Function &target);
  /// Throws ptx::Error for what is not supported.
  void run();

private:
  using Instruction = ptx::Instruction;
  using Operand = ptx::Operand;
  using Type = ptx::Type;
  using Value = llvm::Value;
  using Handler = void (Lowering::*)(const Instruction &);
  static const std::unordered_map<std::string, Handler> &handlers();

  [[noreturn]] void fail(const std::string &message) const;
  [[noreturn]] void unsupported() const;
  void expectOperands(unsigned count) const;

  // LowerControl.cpp
  void allocateRegisters();
  void lowerBlock(unsigned number);
  void lowerTerminator();
  void lowerInstruction(const Instruction &instruction);
  void goTo(unsigned number);
  void leave();
  void emitDispatch();
  Value *countDispatch();
  Value *isStarved();
  Value *chooseFairly(Value *next);
  Value *targets(const ptx::Block &block, const Instruction &last);
  void branchUniformly(const ptx::Block &block, const Instruction &last);
  void call(const Instruction &);
  void trap(const Instruction &);
  void nothing(const Instruction &);

  // Operands.cpp: values and registers.
  llvm::Type *shaped(llvm::Type *element, unsigned perLane = 1) const;
  llvm::IntegerType *intType(unsigned bits) const {
    return llvm::IntegerType::get(context, bits);
  }
  Value *constant(uint64_t bits, unsigned width) const;
  Value *splat(Value *scalar);
  Value *widen(Value *value) { return wide ? splat(value) : value; }
  Value *laneNumbers(unsigned bits) const;
  Value *readRegister(int reg);
  Value *special(const std::string &name);
  Value *symbolAddress(const Operand &operand);
  bool isKernelParameter(const ptx::Variable *variable) const;
  Value *parameterBase();
  Value *sharedBase();
  /// The operand as an integer of the type's width, a vector when `wide`.
  Value *read(const Operand &operand, Type type);
  Value *read(unsigned index, Type type) { return read(operand(index), type); }
  /// As float or double; packed types as vectors of two elements a lane; f16
  /// and bf16 widened to float.
  Value *readFloat(unsigned index, Type type);
  Value *toFloat(Value *bits, Type type);
  Value *fromFloat(Value *value, Type type);
  Value *truncateToFloat(Value *value);
  Value *roundToHalf(Value *value);
  Value *roundToBFloat(Value *value);
  Value *readPredicate(const Operand &operand);
  Value *readMembers(unsigned index);
  void write(const Operand &operand, Value *value);
  void write(Value *value) { write(operand(0), value); }
  void writeRegister(int reg, Value *value);
  const Operand &operand(unsigned index) const;
  Value *guardValue();
  /// The lanes that run the current instruction, as bits.
  Value *mask();
  Value *maskOf(Value *predicate);
  Value *fromMask(Value *bits);
  Value *contextField(size_t offset, llvm::Type *type);

  // Calls of helpers.
  llvm::AllocaInst *scratch(unsigned slot, uint64_t bytes);
  llvm::AllocaInst *spill(unsigned slot, llvm::ArrayRef<Value *> values);
  Value *reload(llvm::AllocaInst *memory, unsigned index, llvm::Type *element);
  Value *callHelper(const char *name, llvm::Type *result,
                    llvm::ArrayRef<Value *> arguments);
  /// Calls with context, site and mask first.
  Value *callAt(const char *name, const Site &site, llvm::Type *result,
                llvm::ArrayRef<Value *> arguments);
  Site site() const;
  uint8_t memoryOrder() const;
  /// Calls a helper from float arrays to a float array.
  Value *callMath(const char *name, llvm::ArrayRef<Value *> arguments,
                  unsigned rounding = 0);

  // LowerInteger.cpp
  void addSub(const Instruction &);
  void multiply(const Instruction &);
  void multiplyAdd(const Instruction &);
  void divide(const Instruction &);
  void minMax(const Instruction &);
  void absNeg(const Instruction &);
  void logic(const Instruction &);
  void lop3(const Instruction &);
  void shift(const Instruction &);
  void funnelShift(const Instruction &);
  void bitField(const Instruction &);
  void countBits(const Instruction &);
  void findHighest(const Instruction &);
  void permuteBytes(const Instruction &);
  void dotProduct(const Instruction &);
  void sumDifference(const Instruction &);
  Value *product(const Instruction &, Type type, bool &isWide);

  // LowerFloat.cpp
  void floatBinary(const Instruction &);
  void floatFma(const Instruction &);
  void floatUnary(const Instruction &);
  void floatMinMax(const Instruction &);
  void floatAbsNeg(const Instruction &);
  void testFloat(const Instruction &);
  void copySign(const Instruction &);
  Value *flush(Value *value, Type type);
  Value *saturate(Value *value);
  Value *oddSum(Value *x, Value *y, Value *z);
  Value *upperHalf(Value *value);
  Value *finish(Value *value, Type type);
  unsigned rounding() const;

  // LowerCompare.cpp
  void setPredicate(const Instruction &);
  void set(const Instruction &);
  void select(const Instruction &);
  void selectBySign(const Instruction &);
  Value *compare();

  // LowerConvert.cpp
  void convert(const Instruction &);
  void convertPacked(Type to, Type from);
  void move(const Instruction &);
  void convertAddress(const Instruction &);
  void isSpace(const Instruction &);
  Value *roundToInteger(Value *value);
  Value *floatToInt(Value *value, Type to);

  // LowerFloat8.cpp
  void convertFloat8(Type to, Type from);
  Value *narrowToFloat8(Value *value, Type to);
  Value *widenFloat8(Value *byte, Type from);

  // LowerMemory.cpp
  void load(const Instruction &);
  void store(const Instruction &);
  void atomic(const Instruction &);
  void asyncCopy(const Instruction &);
  AtomicOp atomicOperation(const Instruction &) const;
  Value *address(const Operand &operand, ptx::Space space);
  bool loadParameter(const Instruction &);

  // LowerBarrier.cpp
  void mbarrier(const Instruction &);
  void arriveAtPhase(const Instruction &);
  void waitForPhase(const Instruction &);
  void fence(const Instruction &);
  void setMaxRegisters(const Instruction &);
  Value *barrierAddresses(unsigned index);
  Value *countOr(unsigned index, uint32_t otherwise);

  // LowerBulk.cpp
  void bulkCopy(const Instruction &);
  void readReduction(const Instruction &, Site &where);
  void copyTensor(Site where, bool isStore);
  void copyBulk(Site where, bool isStore);
  void copyInCluster(const Site &where);
  void storeAsync(const Instruction &, const Site &where,
                  llvm::ArrayRef<Value *> values);
  void addBarrier(unsigned index, llvm::SmallVector<Value *> &arguments);
  unsigned tensorRank() const;
  std::pair<Value *, llvm::SmallVector<Value *>> tensorOperand(unsigned index,
                                                               unsigned rank);

  // LowerTensorMap.cpp
  void tensorMap(const Instruction &);

  // LowerCluster.cpp
  void clusterBarrier(const Instruction &);
  void mapShared(const Instruction &);
  void rankOfShared(const Instruction &);
  Value *sharedOperand(unsigned index);
  Value *ofFirstLane(Value *value);
  Value *convertCluster(Value *from, bool toCluster);
  Value *isOfCluster(Value *address);
  Value *clusterAddress(const Operand &operand, Site &where);

  // LowerWarp.cpp
  void shuffle(const Instruction &);
  void vote(const Instruction &);
  void activeMask(const Instruction &);
  void match(const Instruction &);
  void reduce(const Instruction &);
  void barrier(const Instruction &);
  void elect(const Instruction &);

  // LowerMatrix.cpp
  void loadMatrix(const Instruction &);
  void storeMatrix(const Instruction &);
  void moveMatrix(const Instruction &);
  void multiplyMatrix(const Instruction &);
  ProductForm productTypes(const Instruction &, unsigned count) const;
  void multiplyDoubles();
  void checkFragment(unsigned index, unsigned registers) const;
  Value *fragmentPointer(const Operand &element, unsigned slot);
  Value *pointerTable(llvm::ArrayRef<Value *> pointers);
  void findFragments();

  // LowerWgmma.cpp
  void warpgroupMatrix(const Instruction &);
  void warpgroupMultiply(const Instruction &);
  ProductForm wgmmaForm(const Instruction &) const;
  void touchProductRegisters(const Instruction &);

  KernelState &kernel;
  const ptx::Function &function;
  llvm::Function &target;
  llvm::LLVMContext &context;
  llvm::IRBuilder<> builder;
  ptx::Control control;
  ptx::Uniformity uniformity;

  std::vector<llvm::AllocaInst *> registers;
  std::vector<llvm::AllocaInst *> promotable;
  /// Registers of matrix fragments: they stay in memory, where helpers read and
  /// write them.
  std::vector<bool> isFragment;
  /// Those of them that hold sums or A of a wgmma.mma_async.
  std::vector<bool> isOfProduct;
  std::map<const ptx::Variable *, Value *> laneMemory;
  std::map<std::pair<unsigned, uint64_t>, llvm::AllocaInst *> scratchSlots;
  std::vector<llvm::BasicBlock *> blocks;
  llvm::BasicBlock *dispatchBlock = nullptr;
  /// Blocks that lanes reach through the dispatch.
  std::set<unsigned> dispatched;
  llvm::AllocaInst *nextBlock = nullptr;

  // Of the current block and instruction.
  const ptx::Block *block = nullptr;
  const Instruction *current = nullptr;
  Value *blockMask = nullptr;
  Value *guard = nullptr;
  bool wide = false;
  /// Registers of products and whether they were written, in this block since
  /// the last wgmma instruction.
  std::set<std::pair<int, bool>> touched;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_JIT_LOWERING_H
