//===- Executable.cpp - main() of a compiled executable -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp_runtime.h"

int main(int argc, char **argv) { return tsp_main(argc, argv); }
