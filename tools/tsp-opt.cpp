//===- tsp-opt.cpp - run passes and pipelines on IR -----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Pipelines/Register.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tsp::registerDialects(registry);
  tsp::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "tsp-opt: passes and pipelines of the tsp compiler\n",
      registry));
}
