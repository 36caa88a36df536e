//===- Control.cpp - blocks of a function and where lanes part ------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ptx/Control.h"
#include "ptx/Lexer.h"

#include <algorithm>
#include <functional>
#include <set>

namespace tsp::emulation::ptx {

bool Control::isTerminator(const Instruction &instruction) {
  return instruction.opcode == "bra" || instruction.opcode == "brx" ||
         instruction.opcode == "ret" || instruction.opcode == "exit" ||
         instruction.opcode == "trap";
}

Control::Control(const Function &function) {
  findBlocks(function);
  order();
  findPostDominators();
}

bool Control::readsFromOthers(const Instruction &instruction) {
  if (instruction.opcode == "atom")
    return instruction.has("cas") || instruction.has("exch");
  return instruction.opcode == "ld" &&
         (instruction.has("volatile") || instruction.has("relaxed") ||
          instruction.has("acquire"));
}

static bool waitsForPhase(const Instruction &instruction) {
  return instruction.opcode == "mbarrier" &&
         (instruction.has("test_wait") || instruction.has("try_wait"));
}

void Control::findBlocks(const Function &function) {
  const std::vector<Instruction> &body = function.body;
  std::set<unsigned> starts = {0};
  auto target = [&](const Operand &label, uint32_t line) {
    auto it = function.labels.find(label.name);
    if (it == function.labels.end())
      throw Error(line,
                  "no label '" + label.name + "' in '" + function.name + "'");
    return it->second;
  };
  for (const auto &label : function.labels)
    starts.insert(label.second);
  for (unsigned i = 0; i < body.size(); ++i)
    if (isTerminator(body[i]))
      starts.insert(i + 1);
  starts.insert(unsigned(body.size()));

  std::vector<unsigned> begins(starts.begin(), starts.end());
  // The last one, empty, is what falls off the end: it leaves too.
  auto blockAt = [&](unsigned instruction) {
    return unsigned(
        std::lower_bound(begins.begin(), begins.end(), instruction) -
        begins.begin());
  };
  blocks.resize(begins.size());
  unsigned leave = exit();
  for (unsigned b = 0; b < blocks.size(); ++b) {
    Block &block = blocks[b];
    block.begin = begins[b];
    block.end = b + 1 < begins.size() ? begins[b + 1] : begins[b];
    for (unsigned i = block.begin; i < block.end; ++i) {
      block.mayWait |= readsFromOthers(body[i]);
      block.waitsForPhase |= waitsForPhase(body[i]);
    }
    unsigned next = b + 1 < begins.size() ? b + 1 : leave;
    if (block.begin == block.end || !isTerminator(body[block.end - 1])) {
      block.successors = {next};
      continue;
    }
    const Instruction &last = body[block.end - 1];
    if (last.opcode == "bra") {
      block.successors = {blockAt(target(last.operands.at(0), last.line))};
    } else if (last.opcode == "brx") {
      auto list = function.branchTargets.find(last.operands.at(1).name);
      if (list == function.branchTargets.end())
        throw Error(last.line,
                    "no branch targets '" + last.operands.at(1).name + "'");
      if (last.guard >= 0)
        throw Error(last.line, "a guard on brx is not supported");
      for (const std::string &name : list->second) {
        Operand label;
        label.name = name;
        block.successors.push_back(blockAt(target(label, last.line)));
      }
    } else {
      block.successors = {leave};
    }
    if (last.guard >= 0)
      block.successors.push_back(next);
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

namespace {
/// Puts blocks in an order where a loop's are together and, its back edges
/// aside, a block comes before its successors. A loop with several back edges
/// gets an empty block that they all pass: it is the loop's last, where its
/// lanes meet.
class LoopOrder {
public:
  explicit LoopOrder(std::vector<Block> &blocks)
      : blocks(blocks), leave(blocks.size()) {
    std::vector<unsigned> reachable = reachableFrom(0);
    place(reachable, 0);
  }

  /// Old numbers in their new order; numbers from `leave` + 1 are new latches.
  std::vector<unsigned> result;

  struct Latch {
    unsigned header;
    std::vector<unsigned> sources;
  };
  std::vector<Latch> latches;

private:
  std::vector<unsigned> reachableFrom(unsigned start) {
    std::vector<bool> seen(blocks.size());
    std::vector<unsigned> list = {start};
    seen[start] = true;
    for (unsigned i = 0; i < list.size(); ++i)
      for (unsigned successor : blocks[list[i]].successors)
        if (successor != leave && !seen[successor]) {
          seen[successor] = true;
          list.push_back(successor);
        }
    return list;
  }

  /// Orders a set of blocks that is entered through `header`.
  void place(const std::vector<unsigned> &members, unsigned header) {
    std::vector<bool> inside(blocks.size());
    for (unsigned member : members)
      inside[member] = true;
    auto edges = [&](unsigned block) {
      std::vector<unsigned> list;
      for (unsigned successor : blocks[block].successors)
        if (successor != leave && inside[successor] && successor != header)
          list.push_back(successor);
      return list;
    };
    for (const std::vector<unsigned> &component :
         components(members, header, edges)) {
      bool selfLoop = component.size() == 1;
      if (selfLoop) {
        result.push_back(component[0]);
        continue;
      }
      placeLoop(component, inside, header);
    }
  }

  void placeLoop(const std::vector<unsigned> &component,
                 const std::vector<bool> &outer, unsigned outerHeader) {
    std::vector<bool> inside(blocks.size());
    for (unsigned member : component)
      inside[member] = true;
    // The block that is entered from outside; of several (an irreducible loop)
    // the first in the text.
    unsigned header = ~0u;
    for (unsigned block = 0; block < blocks.size(); ++block) {
      if (!outer[block] || inside[block])
        continue;
      for (unsigned successor : blocks[block].successors)
        if (successor != leave && inside[successor] && successor != outerHeader)
          header = std::min(header, successor);
    }
    if (header == ~0u)
      header = *std::min_element(component.begin(), component.end());
    Latch latch = {header, {}};
    for (unsigned member : component)
      for (unsigned successor : blocks[member].successors)
        if (successor == header) {
          latch.sources.push_back(member);
          break;
        }
    place(component, header);
    if (latch.sources.size() > 1) {
      result.push_back(leave + 1 + unsigned(latches.size()));
      latches.push_back(std::move(latch));
    }
  }

  /// Strongly connected components in topological order (Tarjan's algorithm).
  template <typename Edges>
  std::vector<std::vector<unsigned>>
  components(const std::vector<unsigned> &members, unsigned start,
             Edges edges) {
    std::vector<int> index(blocks.size(), -1), low(blocks.size(), 0);
    std::vector<bool> onStack(blocks.size());
    std::vector<unsigned> stack;
    std::vector<std::vector<unsigned>> found;
    int counter = 0;
    std::function<void(unsigned)> visit = [&](unsigned block) {
      index[block] = low[block] = counter++;
      stack.push_back(block);
      onStack[block] = true;
      std::vector<unsigned> next = edges(block);
      for (auto it = next.rbegin(); it != next.rend(); ++it) {
        if (index[*it] < 0) {
          visit(*it);
          low[block] = std::min(low[block], low[*it]);
        } else if (onStack[*it]) {
          low[block] = std::min(low[block], index[*it]);
        }
      }
      if (low[block] != index[block])
        return;
      found.emplace_back();
      unsigned member;
      do {
        member = stack.back();
        stack.pop_back();
        onStack[member] = false;
        found.back().push_back(member);
      } while (member != block);
    };
    visit(start);
    // Members of a loop reach each other, so all are visited from its header.
    for (unsigned member : members)
      if (index[member] < 0)
        visit(member);
    std::reverse(found.begin(), found.end());
    return found;
  }

  std::vector<Block> &blocks;
  unsigned leave;
};
} // namespace

void Control::order() {
  LoopOrder order(blocks);
  unsigned oldLeave = exit();
  std::vector<unsigned> number(oldLeave + 1 + order.latches.size(), ~0u);
  for (unsigned i = 0; i < order.result.size(); ++i)
    number[order.result[i]] = i;
  number[oldLeave] = unsigned(order.result.size());

  std::vector<Block> ordered(order.result.size());
  for (unsigned i = 0; i < ordered.size(); ++i) {
    unsigned old = order.result[i];
    if (old > oldLeave) {
      // A latch has no instructions; its place in the text does not matter.
      ordered[i].successors = {
          number[order.latches[old - oldLeave - 1].header]};
      continue;
    }
    ordered[i] = std::move(blocks[old]);
    for (unsigned &successor : ordered[i].successors)
      successor = number[successor];
  }
  for (unsigned l = 0; l < order.latches.size(); ++l) {
    unsigned header = number[order.latches[l].header];
    for (unsigned source : order.latches[l].sources)
      for (unsigned &successor : ordered[number[source]].successors)
        if (successor == header)
          successor = number[oldLeave + 1 + l];
  }
  blocks = std::move(ordered);
}

//===----------------------------------------------------------------------===//
// Divergence
//===----------------------------------------------------------------------===//

void Control::findPostDominators() {
  unsigned leave = exit();
  // A block that cannot leave (an endless loop) counts as if it could.
  std::vector<std::vector<unsigned>> successors(leave), predecessors(leave + 1);
  for (unsigned b = 0; b < leave; ++b)
    successors[b] = blocks[b].successors;
  std::vector<bool> leaves(leave + 1);
  auto spread = [&] {
    for (bool changed = true; changed;) {
      changed = false;
      for (unsigned b = leave; b-- > 0;)
        for (unsigned successor : successors[b])
          if (!leaves[b] && leaves[successor])
            leaves[b] = changed = true;
    }
  };
  leaves[leave] = true;
  spread();
  for (unsigned b = leave; b-- > 0;)
    if (!leaves[b]) {
      successors[b].push_back(leave);
      spread();
    }

  // Reverse post-order of the reversed graph.
  for (unsigned b = 0; b < leave; ++b)
    for (unsigned successor : successors[b])
      predecessors[successor].push_back(b);
  std::vector<unsigned> postOrder;
  std::vector<bool> seen(leave + 1);
  std::function<void(unsigned)> visit = [&](unsigned block) {
    seen[block] = true;
    for (unsigned predecessor : predecessors[block])
      if (!seen[predecessor])
        visit(predecessor);
    postOrder.push_back(block);
  };
  visit(leave);
  std::vector<unsigned> rank(leave + 1);
  for (unsigned i = 0; i < postOrder.size(); ++i)
    rank[postOrder[i]] = i;

  postDominator.assign(leave + 1, ~0u);
  postDominator[leave] = leave;
  auto common = [&](unsigned a, unsigned b) {
    while (a != b) {
      while (rank[a] < rank[b])
        a = postDominator[a];
      while (rank[b] < rank[a])
        b = postDominator[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = postOrder.rbegin(); it != postOrder.rend(); ++it) {
      if (*it == leave)
        continue;
      unsigned best = ~0u;
      for (unsigned successor : successors[*it])
        if (postDominator[successor] != ~0u)
          best = best == ~0u ? successor : common(best, successor);
      if (postDominator[*it] != best) {
        postDominator[*it] = best;
        changed = true;
      }
    }
  }
}

bool Control::markDivergent(unsigned block) {
  // Lanes meet at the nearest post-dominator that is numbered after all blocks
  // that they may visit before it.
  unsigned meeting = postDominator[block];
  while (true) {
    std::vector<bool> seen(blocks.size() + 1);
    std::vector<unsigned> region;
    auto add = [&](unsigned from) {
      for (unsigned successor : blocks[from].successors)
        if (successor != meeting && successor != exit() && !seen[successor]) {
          seen[successor] = true;
          region.push_back(successor);
        }
    };
    add(block);
    for (unsigned i = 0; i < region.size(); ++i)
      add(region[i]);
    // A lane that leaves a loop in which others wait for it must get on before
    // they leave: nothing after the loop waits for all lanes.
    bool mayWait = blocks[block].mayWait;
    for (unsigned b : region)
      mayWait |= blocks[b].mayWait;
    if (mayWait && seen[block]) {
      takesTurns = true;
      if (meeting != exit()) {
        meeting = exit();
        continue;
      }
    }
    bool last = std::all_of(region.begin(), region.end(),
                            [&](unsigned b) { return b < meeting; });
    if (!last) {
      meeting = postDominator[meeting];
      continue;
    }
    bool changed = false;
    for (unsigned b : region) {
      changed |= !blocks[b].divergent;
      blocks[b].divergent = true;
      starves |= blocks[b].waitsForPhase;
    }
    return changed;
  }
}

} // namespace tsp::emulation::ptx
