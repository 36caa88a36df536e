//===- SdyAttrs.td - dialect and attributes of Shardy ------*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SDY_ATTRS_TD
#define TSP_SDY_ATTRS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Sdy_Dialect : Dialect {
  let name = "sdy";
  let cppNamespace = "::tsp::sdy";
  let summary = "The accepted subset of Shardy: meshes and shardings of a program.";
  let description = [{
    What JAX prints for sharded programs: `sdy.mesh`, the attribute
    `sdy.sharding` of arguments and results, `sdy.sharding_constraint`,
    `sdy.reshard` and `sdy.manual_computation`.
  }];
  let extraClassDeclaration = [{
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attr,
                        ::mlir::DialectAsmPrinter &printer) const override;

  private:
    void registerAttributes();
  }];
}

class Sdy_Attr<string name, string attrMnemonic> : AttrDef<Sdy_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Sdy_MeshAxisAttr : Sdy_Attr<"MeshAxis", "mesh_axis"> {
  let summary = "A named axis of a mesh: `\"tp\"=4`.";
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$size);
  let assemblyFormat = "$name `=` $size";
}

def Sdy_MeshAttr : Sdy_Attr<"Mesh", "mesh"> {
  let summary = "The named axes by which devices are numbered.";
  let description = [{
    `#sdy.mesh<["dp"=2, "tp"=4]>`: device (i, j) has number 4 i + j, unless
    `device_ids=[..]` gives another order.
  }];
  let parameters = (ins ArrayRefParameter<"MeshAxisAttr">:$axes,
                        ArrayRefParameter<"int64_t">:$deviceIds);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The size of an axis, or nothing when the mesh has no such axis.
    std::optional<int64_t> getAxisSize(::llvm::StringRef name) const;
    /// The number of devices.
    int64_t getTotalSize() const;
  }];
}

def Sdy_SubAxisInfoAttr : Sdy_Attr<"SubAxisInfo", "sub_axis_info"> {
  let summary = "A part of an axis: `(2)4` has 2 parts before it and size 4.";
  let parameters = (ins "int64_t":$preSize, "int64_t":$size);
  let assemblyFormat = "`(` $preSize `)` $size";
}

def Sdy_AxisRefAttr : Sdy_Attr<"AxisRef", "axis_ref"> {
  let summary = "An axis or a part of one: `\"tp\"`, `\"tp\":(2)4`.";
  let parameters = (ins StringRefParameter<>:$name,
                        OptionalParameter<"SubAxisInfoAttr">:$subAxisInfo);
  let hasCustomAssemblyFormat = 1;
}

def Sdy_DimensionShardingAttr : Sdy_Attr<"DimensionSharding", "dimension_sharding"> {
  let summary = "The axes that split one dim: `{\"dp\", \"tp\"}`, `{?}`, `{\"tp\", ?}p1`.";
  let description = [{
    `?` leaves the dim open for more axes. `pN` is a priority of propagation.
  }];
  let parameters = (ins ArrayRefParameter<"AxisRefAttr">:$axes, "bool":$isClosed,
                        "std::optional<int64_t>":$priority);
  let hasCustomAssemblyFormat = 1;
}

def Sdy_TensorShardingAttr : Sdy_Attr<"TensorSharding", "sharding"> {
  let summary = "How a tensor is split over a mesh.";
  let description = [{
    `#sdy.sharding<@mesh, [{"dp"}, {"sp"} ], replicated={"tp"}>`: one entry a dim.
    `replicated` axes may not split any dim; over `unreduced` axes the tensor is
    a partial sum.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$meshSymbol,
                        ArrayRefParameter<"DimensionShardingAttr">:$dimShardings,
                        ArrayRefParameter<"AxisRefAttr">:$replicatedAxes,
                        ArrayRefParameter<"AxisRefAttr">:$unreducedAxes);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef getMeshName() const { return getMeshSymbol().getValue(); }
    int64_t getRank() const { return getDimShardings().size(); }
  }];
}

def Sdy_TensorShardingPerValueAttr
    : Sdy_Attr<"TensorShardingPerValue", "sharding_per_value"> {
  let summary = "One sharding for each of several values.";
  let parameters = (ins ArrayRefParameter<"TensorShardingAttr">:$shardings);
  let hasCustomAssemblyFormat = 1;
}

def Sdy_ManualAxesAttr : Sdy_Attr<"ManualAxes", "manual_axes"> {
  let summary = "Names of axes: `#sdy<manual_axes{\"tp\"}>`.";
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$value);
  let hasCustomAssemblyFormat = 1;
}

def Sdy_UnreadAttr : AttrDef<Sdy_Dialect, "Unread"> {
  let attrName = "sdy.unread";
  let summary = "An attribute of no meaning here, kept as its text.";
  let description = [{`#sdy.op_sharding_rule<..>` of custom calls.}];
  let parameters = (ins StringRefParameter<>:$text);
}

#endif // TSP_SDY_ATTRS_TD
