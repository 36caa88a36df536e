//===- Frontend.td - passes that take in programs ----------*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_PASSES_FRONTEND_TD
#define TSP_PASSES_FRONTEND_TD

include "mlir/Pass/PassBase.td"

def NameArguments : Pass<"tsp-name-arguments", "mlir::ModuleOp"> {
  let summary = "Gives arguments of public functions their names and kinds.";
  let description = [{
    The name of an argument is its attribute `tsp.name`, else the name in its
    location, where JAX puts the path in the pytree; an argument that is only
    handed on to a private function may have its name there. Its kind is its
    attribute `tsp.kind`, else `state` when it is donated, else `parameter` when
    its name matches one of `params` (`*` and `?` stand for any characters),
    else `input`. A state also gets `tsp.alias`, the number of the result that
    holds its new value.

    ```
    func.func public @main(%arg0: tensor<8xf32> loc("p['w']"),
                           %arg1: tensor<8xf32> {tf.aliasing_output = 0 : i32} loc("s"))
    // with params=p*
    func.func public @main(%arg0: tensor<8xf32> {tsp.kind = "parameter", tsp.name = "p['w']"},
                           %arg1: tensor<8xf32> {tsp.alias = 0 : i64, tsp.kind = "state", tsp.name = "s"})
    ```
  }];
  let options = [
    ListOption<"params", "params", "std::string",
               "patterns of the names of parameters">
  ];
}

def InlineCalls : Pass<"tsp-inline-calls", "mlir::ModuleOp"> {
  let summary = "Puts bodies of called functions and composites in their place.";
  let description = [{
    Afterwards each function is one block of ops (with the regions of `while`,
    `case`, `reduce` and the like, in which calls are replaced too); private
    functions have no use any more. Recursion is an error.

    ```
    %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // becomes the ops of @f
    %0 = stablehlo.negate %x : tensor<4xf32>
    ```
  }];
  let statistics = [Statistic<"numInlined", "calls-inlined",
                              "Calls and composites replaced by their body">];
}

def DropAnnotations : Pass<"tsp-drop-annotations", "mlir::ModuleOp"> {
  let summary = "Removes what says nothing about the values of a program.";
  let description = [{
    Goes: `optimization_barrier`, the custom calls by which GSPMD carries
    shardings (they name no mesh axis; shardings of Shardy stay), layout and
    memory placement, assertions on shapes that hold, and the attributes of
    `mhlo`, `jax` and `stablehlo` on module, functions, arguments and ops.

    ```
    %0 = stablehlo.custom_call @Sharding(%x) {..} : (tensor<4xf32>) -> tensor<4xf32>
    // becomes %x
    ```
  }];
  let statistics = [Statistic<"numDropped", "ops-dropped",
                              "Ops that only carried annotations">];
}

def RefuseUnsupported : Pass<"tsp-refuse-unsupported", "mlir::ModuleOp"> {
  let summary = "Says at once, and where, what cannot be compiled.";
  let description = [{
    Dims of unknown size, complex numbers, ops known only by name, custom calls,
    random numbers of hidden state, collectives outside `manual_computation`.
    The error names the first op, the reason and what to do; its notes name the
    others.
  }];
}

#endif // TSP_PASSES_FRONTEND_TD
