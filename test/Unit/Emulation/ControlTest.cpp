//===- ControlTest.cpp - blocks, regions, uniformity ----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ptx/Control.h"
#include "ptx/Parser.h"

#include "gtest/gtest.h"

using namespace tsp::emulation;
using namespace tsp::emulation::ptx;

namespace {
/// A kernel of this body, with registers %p0-3, %r0-7 and %d0-3.
std::unique_ptr<ptx::Module> parseKernel(const std::string &body) {
  return parse(".version 8.0\n.target sm_80\n.address_size 64\n"
               ".visible .entry k(.param .u64 k_0) {\n"
               ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<4>;\n" +
               body + "\n}\n");
}

struct Analyzed {
  explicit Analyzed(const std::string &body)
      : module(parseKernel(body)), function(*module->functions[0]),
        control(function), uniformity(function, control) {}

  bool isUniform(const std::string &name) const {
    for (unsigned i = 0; i < function.registers.size(); ++i)
      if (function.registers[i].name == name)
        return uniformity.isUniform(int(i));
    ADD_FAILURE() << "no register " << name;
    return false;
  }
  std::vector<bool> divergent() const {
    std::vector<bool> result;
    for (const Block &block : control.blocks)
      result.push_back(block.divergent);
    return result;
  }

  std::unique_ptr<ptx::Module> module;
  const Function &function;
  Control control;
  Uniformity uniformity;
};

const char *const readThread =
    "mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 7;\n";

TEST(Control, UniformBranchKeepsAllBlocksUniform) {
  Analyzed code("mov.u32 %r0, %ctaid.x; setp.lt.u32 %p0, %r0, 7;\n"
                "@%p0 bra A; add.u32 %r1, %r0, 1; A: ret;");
  EXPECT_EQ(code.divergent(), std::vector<bool>({false, false, false}));
  EXPECT_TRUE(code.isUniform("%r1"));
}

TEST(Control, LanesMeetAtThePostDominator) {
  Analyzed code(std::string(readThread) +
                "@%p0 bra A; add.u32 %r1, 3, 1; bra B; A: mov.u32 %r1, 5;\n"
                "B: mov.u32 %r2, 9; ret;");
  ASSERT_EQ(code.control.blocks.size(), 4u);
  EXPECT_EQ(code.divergent(), std::vector<bool>({false, true, true, false}));
  // What only some lanes write differs between lanes, even if it is a constant.
  EXPECT_FALSE(code.isUniform("%r1"));
  EXPECT_TRUE(code.isUniform("%r2"));
}

TEST(Control, ALoopIsTogetherAndItsExitAfterIt) {
  // The exit stands in the middle of the text.
  Analyzed code(std::string(readThread) +
                "bra H; X: mov.u32 %r3, 1; ret;\n"
                "H: add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, 50;\n"
                "@!%p1 bra X; add.u32 %r4, %r4, 1; bra H;");
  const std::vector<Block> &blocks = code.control.blocks;
  unsigned exit = unsigned(blocks.size()) - 1;
  EXPECT_EQ(blocks[exit].successors,
            std::vector<unsigned>{code.control.exit()});
  EXPECT_FALSE(blocks[exit].divergent);
  for (unsigned b = 1; b < exit; ++b)
    EXPECT_TRUE(blocks[b].divergent) << b;
}

TEST(Control, SeveralBackEdgesMeetInALatch) {
  // `continue` on a lane's own condition: lanes meet before the next iteration,
  // whose count stays uniform.
  Analyzed code(std::string(readThread) +
                "mov.u32 %r5, 0; H: add.u32 %r5, %r5, 1;\n"
                "setp.ge.u32 %p1, %r5, 9; @%p1 bra X;\n"
                "@%p0 bra H; add.u32 %r6, %r6, 1; bra H; X: ret;");
  EXPECT_TRUE(code.isUniform("%r5"));
  EXPECT_FALSE(code.isUniform("%r6"));
  bool hasLatch = false;
  for (const Block &block : code.control.blocks)
    hasLatch |= block.begin == block.end && block.successors.size() == 1 &&
                block.successors[0] != code.control.exit();
  EXPECT_TRUE(hasLatch);
}

TEST(Control, ValuesWithinADivergentBlockStayUniform) {
  Analyzed code(std::string(readThread) +
                "@%p0 bra A; ld.param.u64 %d0, [k_0]; add.u64 %d1, %d0, 8;\n"
                "st.global.u32 [%d1], %r0; A: ret;");
  EXPECT_TRUE(code.isUniform("%d1"));
}

TEST(Parser, ErrorsNameTheLine) {
  auto message = [](const std::string &body) -> std::string {
    try {
      parseKernel(body);
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message("add.u32 %r0, %r1, ;"),
            "PTX line 6: expected an operand but found ';'");
  EXPECT_EQ(message("\nmov.u32 %r0, 1 ret;"),
            "PTX line 7: expected ';' but found 'ret'");
  EXPECT_NE(message("mov.u32 %r0, 0x1g;").find("malformed number"),
            std::string::npos);
}

TEST(Parser, CarriesAreOperands) {
  auto module =
      parseKernel("add.cc.u32 %r0, %r1, %r2; addc.u32 %r3, %r4, %r5;");
  const std::vector<Instruction> &body = module->functions[0]->body;
  ASSERT_EQ(body[0].operands[0].elements.size(), 2u);
  EXPECT_EQ(body[0].operands[0].elements[1].index,
            body[1].operands.back().index);
}

TEST(Parser, VariablesAndTheirInitialValues) {
  auto module = parse(".version 8.0\n.target sm_80\n.address_size 64\n"
                      ".global .align 8 .b8 bytes[4] = {1, 2, 255};\n"
                      ".const .f32 value = 0f3F800000;\n"
                      ".global .u64 pointer = generic(bytes)+2;\n"
                      ".extern .shared .align 16 .b8 dynamic[];\n");
  ASSERT_EQ(module->variables.size(), 4u);
  EXPECT_EQ(module->variables[0]->size, 4u);
  EXPECT_EQ(module->variables[0]->initial, std::vector<uint8_t>({1, 2, 255}));
  EXPECT_EQ(module->variables[1]->initial,
            std::vector<uint8_t>({0, 0, 0x80, 0x3f}));
  ASSERT_EQ(module->variables[2]->relocations.size(), 1u);
  EXPECT_EQ(module->variables[2]->relocations[0].symbol, "bytes");
  EXPECT_EQ(module->variables[2]->relocations[0].addend, 2);
  EXPECT_TRUE(module->variables[3]->dynamic);
}
} // namespace
