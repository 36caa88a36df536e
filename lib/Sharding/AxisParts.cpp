//===- AxisParts.cpp - axes that a program uses in parts ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisParts.h"

#include "llvm/ADT/Twine.h"
#include <map>
#include <set>

using namespace mlir;
using namespace tsp;

static StringAttr partName(MLIRContext *context, StringRef axis, size_t i) {
  return StringAttr::get(context, axis + "." + llvm::Twine(i));
}

FailureOr<MeshAttr> tsp::splitAxes(ModuleOp module, MeshAttr mesh) {
  // Where each axis is cut: products of the sizes of the parts before a cut.
  std::map<StringRef, std::set<int64_t>> cuts;
  module.walk([&](Operation *op) {
    op->getAttrDictionary().walk([&](sdy::AxisRefAttr axis) {
      if (sdy::SubAxisInfoAttr part = axis.getSubAxisInfo())
        cuts[axis.getName()].insert(
            {part.getPreSize(), part.getPreSize() * part.getSize()});
    });
  });
  MLIRContext *context = module.getContext();
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> sizes;
  for (auto [axis, size] : llvm::zip(mesh.getAxes(), mesh.getSizes())) {
    auto it = cuts.find(axis.getValue());
    if (it == cuts.end()) {
      axes.push_back(axis);
      sizes.push_back(size);
      continue;
    }
    it->second.insert(size);
    int64_t before = 1;
    size_t number = 0;
    for (int64_t cut : it->second) {
      if (cut == before)
        continue;
      if (cut % before != 0)
        return module.emitError("the program uses axis ")
               << axis << " of " << size << " ranks in parts that end at "
               << before << " and " << cut
               << ", which do not divide each other; split the axis in the "
                  "mesh of the program";
      StringAttr name = partName(context, axis, number++);
      if (mesh.getAxisIndex(name) >= 0)
        return module.emitError("the program uses parts of axis ")
               << axis << ", one of which would be called " << name
               << " as another axis of the mesh; rename that one";
      axes.push_back(name);
      sizes.push_back(cut / before);
      before = cut;
    }
  }
  return MeshAttr::get(context, axes, sizes);
}

SmallVector<StringAttr> tsp::axesOf(sdy::AxisRefAttr axis, MeshAttr mesh) {
  MLIRContext *context = mesh.getContext();
  auto whole = StringAttr::get(context, axis.getName());
  if (mesh.getAxisIndex(whole) >= 0)
    return {whole};
  SmallVector<StringAttr> parts;
  sdy::SubAxisInfoAttr wanted = axis.getSubAxisInfo();
  int64_t before = 1;
  for (size_t i = 0;; ++i) {
    StringAttr name = partName(context, axis.getName(), i);
    int64_t size = mesh.getAxisSize(name);
    if (size == 0)
      return parts;
    if (!wanted || (before >= wanted.getPreSize() &&
                    before < wanted.getPreSize() * wanted.getSize()))
      parts.push_back(name);
    before *= size;
  }
}
