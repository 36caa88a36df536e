//===- Host.td - passes of host code ----------------------*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_PASSES_HOST_TD
#define TSP_PASSES_HOST_TD

include "mlir/Pass/PassBase.td"

def StartCollectives : Pass<"tsp-start-collectives", "::mlir::func::FuncOp"> {
  let summary = "Lets collectives run beside kernels";
  let description = [{
    Splits each collective into its start, as early as its operands allow but not
    before another collective (all ranks start the same ones in the same order),
    and its wait, in front of the first use.

    ```
    %0 = tsp.launch @a(%x)                    %0 = tsp.launch @a(%x)
    %1 = tsp.launch @b(%x)                    %f = tsp.all_gather %0 (started)
    %2 = tsp.all_gather %0              ->    %1 = tsp.launch @b(%x)
    %3 = tsp.launch @c(%1)                    %3 = tsp.launch @c(%1)
    %4 = tsp.launch @d(%2, %3)                %2 = tsp.wait %f
                                              %4 = tsp.launch @d(%2, %3)
    ```
  }];
  let statistics = [
    Statistic<"numOverlapped", "overlapped", "Collectives with work between start and wait">
  ];
  let dependentDialects = ["::tsp::TspDialect"];
}

def PipelineFolds : Pass<"tsp-pipeline-folds", "::mlir::func::FuncOp"> {
  let summary = "Runs the transfers of a fold's body under the step before";
  let description = [{
    A fold whose body exchanges what it makes of its parts (attention: K and V of a
    head group) waits for that in every step. With prefetch, the ops that lead to
    such transfers, and their starts, move to the front of the body and run one step
    ahead of the rest (`ahead` of tsp.fold_loop).

    ```
    %k = tsp.launch @k(%x, %wk)               %k = tsp.launch @k(%x, %wk)
    %f = tsp.all_gather %k (started)          %f = tsp.all_gather %k (started)
    %q = tsp.launch @q(%x, %wq)        ->     ---- ahead = 2
    %w = tsp.wait %f                          %q = tsp.launch @q(%x, %wq)
    %o = tsp.launch @core(%q, %w)             %w = tsp.wait %f
                                              %o = tsp.launch @core(%q, %w)
    ```
    What crosses the border, with both sides of the transfers, is kept for two steps.
    An all_reduce stays: it works in place.
  }];
  let statistics = [
    Statistic<"numPipelined", "pipelined", "Fold loops whose transfers run a step ahead">
  ];
  let dependentDialects = ["::tsp::TspDialect"];
}

def PlanBuffers : Pass<"tsp-plan-buffers", "::mlir::ModuleOp"> {
  let summary = "Gives every value of the entries a buffer in one arena";
  let description = [{
    Turns each public function (launches, collectives, fold loops, while, case,
    reshapes, constants) into destination form on buffers: arguments, results,
    constants, and views of one arena at static offsets.

    ```
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = tsp.launch @k0(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = tsp.launch @k1(%0) : (tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    ->
    func.func @main(%x: memref<4xf32>, %result: memref<4xf32>, %arena: memref<64xi8>) {
      %0 = memref.view %arena[%c0][] : memref<64xi8> to memref<4xf32>
      tsp.buffer.launch @k0 ins(%x) outs(%0)
      tsp.buffer.launch @k1 ins(%0) outs(%result)
      return
    }
    ```
    Values share a buffer when their lifetimes allow it and something is gained:
    a result that the kernel may write over its operand (`tsp.tied`), what a loop
    carries, what is returned. Transfers keep both buffers until their wait. The
    first fetches of a fold start in the last step of the fold before it.

    The plan is kept in the function's attribute `tsp.plan`.
  }];
  let options = [
    Option<"remarks", "remarks", "bool", "false", "Print what fills the arena at its peak">
  ];
  let statistics = [
    Statistic<"numCopies", "copies", "Copies that no shared buffer could save">
  ];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect", "::tsp::TspDialect"];
}

def BuffersToLLVM : Pass<"tsp-buffers-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Turns entries on buffers into calls of the runtime";
  let description = [{
    Each entry becomes `tsp_entry_<name>(rank, args, results, arena)`, every
    buffer a pointer, launches and transfers calls of the functions in
    runtime/include/tsp_runtime.h; the table of entries is added.

    With `device`, all buffers are in a device's memory: kernels are launched from
    the device image, each with a `tsp_device_kernel`; scalars that the host program
    knows are written by `tsp_write`, constants put there by `tsp_constant`.
  }];
  let options = [
    Option<"device", "device", "bool", "false", "Buffers and kernels are a device's">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect",
                           "::tsp::TspDialect"];
}

#endif // TSP_PASSES_HOST_TD
