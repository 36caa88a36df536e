//===- Handlers.cpp - which function lowers which opcode ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jit/Lowering.h"

namespace tsp::emulation {

const std::unordered_map<std::string, Lowering::Handler> &Lowering::handlers() {
  static const std::unordered_map<std::string, Handler> table = {
      // Integers (and what floats share with them).
      {"add", &Lowering::addSub},
      {"sub", &Lowering::addSub},
      {"addc", &Lowering::addSub},
      {"subc", &Lowering::addSub},
      {"mul", &Lowering::multiply},
      {"mul24", &Lowering::multiply},
      {"mad", &Lowering::multiplyAdd},
      {"mad24", &Lowering::multiplyAdd},
      {"madc", &Lowering::multiplyAdd},
      {"div", &Lowering::divide},
      {"rem", &Lowering::divide},
      {"min", &Lowering::minMax},
      {"max", &Lowering::minMax},
      {"abs", &Lowering::absNeg},
      {"neg", &Lowering::absNeg},
      {"and", &Lowering::logic},
      {"or", &Lowering::logic},
      {"xor", &Lowering::logic},
      {"not", &Lowering::logic},
      {"cnot", &Lowering::logic},
      {"lop3", &Lowering::lop3},
      {"shl", &Lowering::shift},
      {"shr", &Lowering::shift},
      {"shf", &Lowering::funnelShift},
      {"bfe", &Lowering::bitField},
      {"bfi", &Lowering::bitField},
      {"brev", &Lowering::countBits},
      {"popc", &Lowering::countBits},
      {"clz", &Lowering::countBits},
      {"bfind", &Lowering::findHighest},
      {"prmt", &Lowering::permuteBytes},
      {"dp4a", &Lowering::dotProduct},
      {"dp2a", &Lowering::dotProduct},
      {"sad", &Lowering::sumDifference},
      // Floats.
      {"fma", &Lowering::floatFma},
      {"rcp", &Lowering::floatUnary},
      {"sqrt", &Lowering::floatUnary},
      {"rsqrt", &Lowering::floatUnary},
      {"ex2", &Lowering::floatUnary},
      {"lg2", &Lowering::floatUnary},
      {"sin", &Lowering::floatUnary},
      {"cos", &Lowering::floatUnary},
      {"tanh", &Lowering::floatUnary},
      {"copysign", &Lowering::copySign},
      {"testp", &Lowering::testFloat},
      // Comparison, conversion, moves.
      {"setp", &Lowering::setPredicate},
      {"set", &Lowering::set},
      {"selp", &Lowering::select},
      {"slct", &Lowering::selectBySign},
      {"mov", &Lowering::move},
      {"cvt", &Lowering::convert},
      {"cvta", &Lowering::convertAddress},
      {"isspacep", &Lowering::isSpace},
      // Memory.
      {"ld", &Lowering::load},
      {"ldu", &Lowering::load},
      {"st", &Lowering::store},
      {"atom", &Lowering::atomic},
      {"red", &Lowering::atomic},
      {"cp", &Lowering::asyncCopy},
      {"tensormap", &Lowering::tensorMap},
      {"mbarrier", &Lowering::mbarrier},
      {"mapa", &Lowering::mapShared},
      {"getctarank", &Lowering::rankOfShared},
      {"fence", &Lowering::fence},
      {"membar", &Lowering::fence},
      {"prefetch", &Lowering::nothing},
      {"prefetchu", &Lowering::nothing},
      {"nanosleep", &Lowering::nothing},
      {"pmevent", &Lowering::nothing},
      // Kernels run one after the other.
      {"griddepcontrol", &Lowering::nothing},
      {"setmaxnreg", &Lowering::setMaxRegisters},
      // Warps and blocks.
      {"shfl", &Lowering::shuffle},
      {"vote", &Lowering::vote},
      {"activemask", &Lowering::activeMask},
      {"elect", &Lowering::elect},
      {"match", &Lowering::match},
      {"redux", &Lowering::reduce},
      {"bar", &Lowering::barrier},
      {"barrier", &Lowering::barrier},
      {"call", &Lowering::call},
      // Nobody would go on after a breakpoint.
      {"brkpt", &Lowering::trap},
      // Matrices.
      {"ldmatrix", &Lowering::loadMatrix},
      {"stmatrix", &Lowering::storeMatrix},
      {"movmatrix", &Lowering::moveMatrix},
      {"mma", &Lowering::multiplyMatrix},
      {"wgmma", &Lowering::warpgroupMatrix},
  };
  return table;
}

} // namespace tsp::emulation
