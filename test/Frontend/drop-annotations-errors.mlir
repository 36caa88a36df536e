// RUN: tsp-opt %s --tsp-drop-annotations -verify-diagnostics

// expected-error @below {{expected 1 replica, found 8 (pmap); write the program with jit and shardings or shard_map}}
module @pmap attributes {mhlo.num_replicas = 8 : i32} {
}
