//===- TspBufferOps.td - the program of one rank on buffers -------- *- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Made by tsp-plan-buffers, gone after tsp-buffers-to-llvm. Every value is a
// memref, row-major and contiguous: an argument, a result, a constant
// (memref.get_global) or a view of the entry's one arena (memref.view at a
// planned offset). Control flow is scf. Nothing here names a target: memory space
// and stream are given by the level below.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_BUFFER_OPS_TD
#define TSP_BUFFER_OPS_TD

include "tsp/Dialect/TSP/IR/TspBase.td"

class Tsp_BufferOp<string mnemonic, list<Trait> traits = []>
    : Tsp_Op<"buffer." # mnemonic, traits>;

def Tsp_BufferLaunchOp : Tsp_BufferOp<"launch", [AttrSizedOperandSegments]> {
  let summary = "Runs a kernel on buffers.";
  let description = [{
    `tsp.launch` in destination form. An output may be one of the inputs where
    the kernel's `tsp.tied` allows it.

    Example: `tsp.buffer.launch @k ins(%a, %b : memref<4xf32>, memref<4xf32>)
    outs(%a : memref<4xf32>)`
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
      Arg<Variadic<AnyMemRef>, "", [MemRead]>:$inputs,
      Arg<Variadic<AnyMemRef>, "", [MemWrite]>:$outputs);
  let assemblyFormat = [{
    $kernel (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    (`outs` `(` $outputs^ `:` type($outputs) `)`)? attr-dict
  }];
}

def Tsp_BufferCopyOp : Tsp_BufferOp<"copy"> {
  let summary = "Copies one buffer to another that does not overlap it.";
  let description = [{
    Constraints: (buffer_copy_c1) source and target have one element type and equal
    numbers of elements.

    Example: `tsp.buffer.copy %a to %b : memref<4xf32>, memref<2x2xf32>`
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
                       Arg<AnyMemRef, "", [MemWrite]>:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `,` type($target)";
  let hasVerifier = 1;
}

def Tsp_BufferReadOp : Tsp_BufferOp<"read"> {
  let summary = "Brings a scalar to the host program.";
  let description = [{
    Waits for the kernels before it. For predicates and dynamic offsets.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source);
  let results = (outs AnySignlessInteger:$value);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($value)";
}

def Tsp_BufferAxisIndexOp : Tsp_BufferOp<"axis_index", [Pure]> {
  let summary = "Coordinate of this rank on a mesh axis, in the host program.";
  let arguments = (ins StrAttr:$axis);
  let results = (outs I64:$result);
  let assemblyFormat = "$axis attr-dict";
}

// Collectives start a transfer and give its event; `tsp.buffer.wait` ends it.
// Both buffers are busy in between. (buffer_transfer_c1) source and target have one
// element type and equal numbers of dims. What else must hold is known from the
// collective on tensors.
class Tsp_BufferCollectiveOp<string mnemonic> : Tsp_BufferOp<mnemonic> {
  let results = (outs I64:$event);
  let hasVerifier = 1;
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `,` type($target)";
}

def Tsp_BufferAllGatherOp : Tsp_BufferCollectiveOp<"all_gather"> {
  let summary = "Starts `tsp.all_gather`.";
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
      Arg<AnyMemRef, "", [MemWrite]>:$target, StrAttr:$axis, I64Attr:$dim,
      I64Attr:$total, I64Attr:$unit, Tsp_LayoutAttr:$layout);
}

def Tsp_BufferReduceScatterOp : Tsp_BufferCollectiveOp<"reduce_scatter"> {
  let summary = "Starts `tsp.reduce_scatter`.";
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
      Arg<AnyMemRef, "", [MemWrite]>:$target, StrAttr:$axis, I64Attr:$dim,
      I64Attr:$total, I64Attr:$unit, Tsp_LayoutAttr:$layout, Tsp_CombineAttr:$combine);
}

def Tsp_BufferAllReduceOp : Tsp_BufferCollectiveOp<"all_reduce"> {
  let summary = "Starts `tsp.all_reduce`; the target may be the source.";
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
      Arg<AnyMemRef, "", [MemWrite]>:$target, StrAttr:$axis, Tsp_CombineAttr:$combine);
}

def Tsp_BufferAllToAllOp : Tsp_BufferCollectiveOp<"all_to_all"> {
  let summary = "Starts `tsp.all_to_all`.";
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
      Arg<AnyMemRef, "", [MemWrite]>:$target, StrAttr:$axis,
      I64Attr:$split_dim, I64Attr:$split_total, I64Attr:$split_unit,
      I64Attr:$concat_dim, I64Attr:$concat_total, I64Attr:$concat_unit,
      Tsp_LayoutAttr:$split_layout, Tsp_LayoutAttr:$concat_layout);
}

def Tsp_BufferBroadcastOp : Tsp_BufferCollectiveOp<"broadcast"> {
  let summary = "Starts `tsp.broadcast` of the interval at `offset`.";
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source, I64:$offset,
      Arg<AnyMemRef, "", [MemWrite]>:$target, StrAttr:$axis, I64Attr:$dim,
      I64Attr:$total, I64Attr:$unit);
  let assemblyFormat = [{
    $source `at` $offset `to` $target attr-dict `:` type($source) `,` type($target)
  }];
}

def Tsp_BufferSendRecvOp : Tsp_BufferCollectiveOp<"send_recv"> {
  let summary = "Starts `tsp.send_recv`.";
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
      Arg<AnyMemRef, "", [MemWrite]>:$target, StrAttr:$axis, I64Attr:$shift);
}

def Tsp_BufferWaitOp : Tsp_BufferOp<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Waits for the transfer of this event.";
  let arguments = (ins I64:$event);
  let assemblyFormat = "$event attr-dict";
}

#endif // TSP_BUFFER_OPS_TD
