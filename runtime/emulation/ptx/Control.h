//===- Control.h - blocks of a function and where lanes part *- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp runs its lanes together where it can. Blocks that only the whole warp
// enters are *uniform*; those between a branch on which lanes may disagree and
// its post-dominator are *divergent*: there every lane has its own next block,
// and the lowest number runs first. Blocks are numbered so that a loop's blocks
// are together and a post-dominator comes after all that it joins: the lanes
// meet there.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_PTX_CONTROL_H
#define TSP_EMULATION_PTX_CONTROL_H

#include "ptx/Syntax.h"

namespace tsp::emulation::ptx {

struct Block {
  /// Instructions [begin, end); a terminator, if any, is the last.
  unsigned begin = 0;
  unsigned end = 0;
  /// Numbers of blocks; Control::exit leaves the function. A conditional branch
  /// has the taken side first.
  std::vector<unsigned> successors;
  bool divergent = false;
  /// Reads what other threads write: in a loop, it may wait for them.
  bool mayWait = false;
  /// Waits for a phase of an mbarrier.
  bool waitsForPhase = false;
};

class Control {
public:
  explicit Control(const Function &function);

  /// In the order of their numbers; the entry is the first.
  std::vector<Block> blocks;
  /// The number that stands for having left.
  unsigned exit() const { return unsigned(blocks.size()); }

  /// True for an instruction that ends a block.
  static bool isTerminator(const Instruction &instruction);
  /// True for what a thread may ask again and again until another has written.
  static bool readsFromOthers(const Instruction &instruction);

  /// True when lanes may wait for each other in a loop: then they must take
  /// turns.
  bool needsTurns() const { return takesTurns; }

  /// True when lanes that have parted wait for phases, perhaps for arrivals of
  /// others of their warp.
  bool mayStarve() const { return starves; }

  /// Marks as divergent what lanes may run apart when they disagree at the end
  /// of `block`. True when a block became divergent by it.
  bool markDivergent(unsigned block);

private:
  void findBlocks(const Function &function);
  void order();
  void findPostDominators();

  std::vector<unsigned> postDominator;
  bool takesTurns = false;
  bool starves = false;
};

/// What is the same in all lanes of a warp, found together with the divergence
/// of blocks.
class Uniformity {
public:
  Uniformity(const Function &function, Control &control);

  bool isUniform(int reg) const { return !varying[reg]; }
  bool isUniform(const Operand &operand) const;
  /// True when the register may live across the dispatch of divergent blocks.
  bool crossesDivergence(int reg) const { return crosses[reg]; }

private:
  bool isBroadcast(const Instruction &instruction) const;
  bool resultVaries(const Instruction &instruction, const Block &block) const;
  void findLocals(const Function &function, const Control &control);

  const Function &function;
  std::vector<bool> varying;
  /// Registers that occur in one block only, first as a result that needs no
  /// guard: nothing of them outlives the block.
  std::vector<bool> local;
  std::vector<bool> crosses;
};

} // namespace tsp::emulation::ptx

#endif // TSP_EMULATION_PTX_CONTROL_H
