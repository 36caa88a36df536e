// A C program calls a shared object through tsp_runtime.h, on the host and on (emulated) devices, two ranks each.
// RUN: tsp-compile %s --mesh=t=2 --strategy=tsp --emit=so -o %t-host.so
// RUN: cc -std=c99 -Wall -Werror %S/Inputs/embed.c -I %tsp_source/runtime/include %t-host.so -o %t-host
// RUN: %t-host | FileCheck %s

// RUN: tsp-compile %s --mesh=t=2 --strategy=tsp --target=cuda:sm_80 --emit=so -o %t-cuda.so
// RUN: ldd %t-cuda.so | FileCheck %s --check-prefix=LDD --implicit-check-not=cuda. --implicit-check-not=nccl
// LDD: libc.so
// RUN: cc -std=c99 -Wall -Werror %S/Inputs/embed.c -I %tsp_source/runtime/include %t-cuda.so -o %t-cuda
// RUN: env TSP_EMULATION=%tsp_binary/lib/emulation %t-cuda | FileCheck %s

// CHECK: 2 ranks: 0 101 202 303 404 505 606 707

func.func @main(%x: tensor<8xf32> {tsp.name = "x"}, %y: tensor<8xf32> {tsp.name = "y"}) -> tensor<8xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<8xf32>
  %1 = stablehlo.add %0, %x : tensor<8xf32>
  return %1 : tensor<8xf32>
}
