// RUN: tsp-opt %s --tsp-gpu-split-reductions=architecture=sm_70 --verify-diagnostics

// expected-error @below {{architecture: expected one of sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_120, found 'sm_70'}}
module {}
