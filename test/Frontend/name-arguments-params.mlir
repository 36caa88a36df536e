// RUN: not tsp-opt %s --tsp-name-arguments="params=weights*" 2>&1 | FileCheck %s
// CHECK: error: no argument has a name that matches params=weights*; names are tsp.name or the location of an argument

func.func public @main(%arg0: tensor<f32> loc("x")) {
  return
}
