//===- TspAttrs.td - attributes of the tsp dialect ----------*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_ATTRS_TD
#define TSP_ATTRS_TD

include "tsp/Dialect/TSP/IR/TspDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Tsp_CombineKind : I32EnumAttr<"CombineKind",
    "how partial results are combined", [
      I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
      I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"Lse", 3, "lse">,
      I32EnumAttrCase<"ArgMax", 4, "argmax">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::tsp";
}

def Tsp_CombineAttr : EnumAttr<Tsp_Dialect, Tsp_CombineKind, "combine"> {
  let summary = "How partial results over steps or ranks become one.";
  let description = [{
    `sum`, `max`, `min`: elementwise. `lse`: pairs (o, lse) of a partial
    attention, merged by m = max(l1, l2), w_i = exp(l_i - m),
    o = (w1 o1 + w2 o2) / (w1 + w2), l = m + log(w1 + w2); an empty part is
    (0, -inf). `argmax`: pairs (value, index); the lowest index wins a tie.

    Example: `#tsp.combine<sum>`.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Tsp_Layout : I32EnumAttr<"Layout", "which chunks of a dim a rank holds", [
      I32EnumAttrCase<"Contiguous", 0, "contiguous">,
      I32EnumAttrCase<"Zigzag", 1, "zigzag">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::tsp";
}

def Tsp_LayoutAttr : EnumAttr<Tsp_Dialect, Tsp_Layout, "layout"> {
  let summary = "Which chunks of a sharded dim a rank holds.";
  let description = [{
    For a dim of `total` elements over D ranks:

    - `contiguous` with unit u: chunk c = ceil(total / (D u)) u; rank r holds
      elements [r c, (r+1) c), cut at `total`.
    - `zigzag` with unit u: chunk c = ceil(total / (2D u)) u; rank r holds chunk r
      and then chunk 2D-1-r, which balances causal attention.

    A local value always has the full chunk size; what lies past `total` is
    padding, whose content is undefined (zero for arguments).

    ```
    total = 8, D = 2      rank 0        rank 1
    contiguous            0 1 2 3       4 5 6 7
    zigzag                0 1 6 7       2 3 4 5
    ```
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Tsp_Schedule : I32EnumAttr<"Schedule", "how a fold moves its parts", [
      I32EnumAttrCase<"Broadcast", 0, "broadcast">,
      I32EnumAttrCase<"Ring", 1, "ring">,
      I32EnumAttrCase<"Gather", 2, "gather">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::tsp";
}

def Tsp_ScheduleAttr : EnumAttr<Tsp_Dialect, Tsp_Schedule, "schedule"> {
  let summary = "How a fold moves the parts of its weights.";
  let description = [{
    ```
    D = 3        broadcast              ring                    gather
    step 0       all work on part 0     rank r works on r       all parts at once,
    step 1       all work on part 1     ... on r-1 mod 3        then the steps
    step 2       all work on part 2     ... on r-2 mod 3        without transfers
    ```
    Under `broadcast` and `gather` every rank works on the same part, so the
    body may hold collectives over the axis. Under `ring` it may not.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Tsp_MeshAttr : AttrDef<Tsp_Dialect, "Mesh"> {
  let mnemonic = "mesh";
  let summary = "Named axes of the mesh of ranks, major to minor.";
  let description = [{
    Set on the module as `tsp.mesh`. Rank number = row-major coordinate.

    Constraints: (mesh_c1) each axis has a size, of at least 1. (mesh_c2) no axis is
    given twice.

    Example: `#tsp.mesh<["d", "t"] sizes [2, 4]>` has 8 ranks,
    `#tsp.mesh<[] sizes []>` one.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::mlir::StringAttr">:$axes,
                        OptionalArrayRefParameter<"int64_t">:$sizes);
  let assemblyFormat = [{
    `<` `[` (`]`) : ($axes^ `]`)? `sizes` `[` (`]`) : ($sizes^ `]`)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Size of the axis named `axis`; 0 when the mesh has no such axis.
    int64_t getAxisSize(llvm::StringRef axis) const;
    /// Number of the axis named `axis`; -1 when the mesh has no such axis.
    int64_t getAxisIndex(llvm::StringRef axis) const;
    /// Number of ranks of the whole mesh.
    int64_t getNumRanks() const;
  }];
}

def Tsp_DimAttr : AttrDef<Tsp_Dialect, "Dim"> {
  let mnemonic = "dim";
  let summary = "How one dim of a value is split over the mesh.";
  let description = [{
    `axes` (major to minor; empty = whole on every rank), the layout of each and
    the unit that chunks are a multiple of (see `#tsp.layout`).
    A dim with `fold` is folded over that axis: a value inside the body of the
    fold holds one of `steps` equal parts.

    Several axes nest: the first splits the dim, the next one what a rank of the
    first holds. With z = 2 for a zigzag axis and 1 for a contiguous one, the dim
    is cut into the product of all D z equal chunks of a multiple of the unit, so
    that only the last ones of the dim hold padding.

    ```
    total = 8, axes d = 2, t = 2     (0, 0)   (0, 1)   (1, 0)   (1, 1)
    ["d", "t"]                        0 1      2 3      4 5      6 7
    ["t", "d"]                        0 1      4 5      2 3      6 7
    ["d", "t"], t zigzag              0 3      1 2      4 7      5 6
    ```

    An axis with `blocks` m splits each of m equal blocks of what the axes before
    it leave: tokens behind a batch, [2, 8] as [16]. Only values inside a program
    have that, and only where all splits of the dim are even.

    ```
    total = 16, t = 2                 rank 0                 rank 1
    ["t"]                             0 .. 7                 8 .. 15
    ["t"], blocks = [2]               0 .. 3, 8 .. 11        4 .. 7, 12 .. 15
    ```

    Constraints: (dim_c1) no axis is given twice; unit is at least 1. (dim_c2) a
    fold has steps, and only a fold. (dim_c3) there are a layout and a number of
    blocks, at least 1, for each axis.

    Example: `#tsp.dim<["t"]>`, `#tsp.dim<["t"], unit = 64>`,
    `#tsp.dim<[], fold = "t", steps = 4>`,
    `#tsp.dim<["t"], layout = zigzag>`,
    `#tsp.dim<["d", "t"], layout = [contiguous, zigzag]>`,
    `#tsp.dim<["t"], blocks = [2]>`, `#tsp.dim<[]>`.
  }];
  let parameters = (ins
      OptionalArrayRefParameter<"::mlir::StringAttr">:$axes,
      DefaultValuedParameter<"int64_t", "1">:$unit,
      OptionalArrayRefParameter<"::tsp::Layout">:$layouts,
      OptionalArrayRefParameter<"int64_t">:$blocks,
      OptionalParameter<"::mlir::StringAttr">:$fold,
      DefaultValuedParameter<"int64_t", "0">:$steps);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// A dim split over `axes` in contiguous chunks.
    static DimAttr getContiguous(::mlir::MLIRContext *context,
                                 ::llvm::ArrayRef<::mlir::StringAttr> axes);
    bool isSharded() const { return !getAxes().empty(); }
    /// Whether an axis splits blocks of the dim.
    bool hasBlocks() const {
      return ::llvm::any_of(getBlocks(), [](int64_t n) { return n != 1; });
    }
    /// Elements that a rank holds of a dim of `total` elements once it is split
    /// over the first axis, the first two, ...; the last is the local size.
    ::llvm::SmallVector<int64_t> getChunks(int64_t total, MeshAttr mesh) const;
  }];
}

def Tsp_PlacementAttr : AttrDef<Tsp_Dialect, "Placement"> {
  let mnemonic = "placement";
  let summary = "Where the elements of a value live on the mesh.";
  let description = [{
    One `#tsp.dim` for each dim. On each axis of `partial` the value of a rank
    is a summand (by `combine`) of the true value; on every other axis that no
    dim uses it is replicated.

    Constraints: (placement_c1) no axis is used twice by dims and partials (a dim
    may be folded over an axis that shards another one).

    Example: `#tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>`,
    `#tsp.placement<[#tsp.dim<[]>], partial = ["t"], combine = sum>`.
  }];
  let parameters = (ins
      OptionalArrayRefParameter<"::tsp::DimAttr">:$dims,
      OptionalArrayRefParameter<"::mlir::StringAttr">:$partial,
      DefaultValuedParameter<"::tsp::CombineKind", "::tsp::CombineKind::Sum">:$combine);
  let assemblyFormat = [{
    `<` `[` (`]`) : ($dims^ `]`)? (`,` `partial` `=` `[` $partial^ `]`)?
    (`,` `combine` `=` $combine^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Tsp_CodecAttr : AttrDef<Tsp_Dialect, "Codec"> {
  let mnemonic = "codec";
  let summary = "How the bytes of a transfer are encoded.";
  let description = [{
    A transfer with a codec is expanded in the scheduled IR to an encoding kernel, a
    transfer of bytes, and a decoding kernel (with a sum in f32 where the collective
    has one); the runtime never sees it. Without the attribute, or with `none`,
    elements travel as they are.

    Constraints: (codec_c1) the name is one that this compiler expands: `none`.

    Example: `#tsp.codec<none>`.
  }];
  let parameters = (ins StringRefParameter<"name of the codec">:$name);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tsp_ConcatAttr : AttrDef<Tsp_Dialect, "Concat"> {
  let mnemonic = "concat";
  let summary = "A result of a fold that keeps the folded dim.";
  let description = [{
    The slices that the steps yield stand one after the other along `dim`, by
    part number. Example: `#tsp.concat<2>`.
  }];
  let parameters = (ins "int64_t":$dim);
  let assemblyFormat = "`<` $dim `>`";
}

#endif // TSP_ATTRS_TD
