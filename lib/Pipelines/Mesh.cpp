//===- Mesh.cpp - the mesh that a program is compiled for -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Pipelines/Mesh.h"
#include "tsp/Dialect/Sdy/IR/SdyDialect.h"

using namespace mlir;
using namespace tsp;

std::string tsp::parseMesh(StringRef text,
                           SmallVectorImpl<std::pair<std::string, int64_t>> &axes) {
  int64_t ranks = 1;
  SmallVector<StringRef> items;
  text.split(items, ',', -1, /*KeepEmpty=*/true);
  for (StringRef item : items) {
    auto [name, number] = item.split('=');
    int64_t size = 0;
    if (name.empty() || number.getAsInteger(10, size) || size < 1)
      return ("expected AXIS=SIZE,... with sizes of at least 1, found '" + item + "'").str();
    for (auto &[other, _] : axes)
      if (other == name)
        return ("axis '" + name + "' is given twice").str();
    if (size > 65536 / ranks)
      return "expected at most 65536 ranks";
    ranks *= size;
    axes.push_back({name.str(), size});
  }
  return "";
}

LogicalResult tsp::setMesh(ModuleOp module, StringRef text) {
  SmallVector<std::pair<std::string, int64_t>> axes;
  if (!text.empty())
    if (std::string error = parseMesh(text, axes); !error.empty())
      return module.emitError("--mesh: ") << error;
  sdy::MeshOp own;
  for (auto mesh : module.getOps<sdy::MeshOp>()) {
    if (mesh.getMesh().getAxes().empty())
      continue;
    if (own && own.getMesh() != mesh.getMesh()) {
      auto diag = mesh.emitError("expected one mesh in a program, found two that differ");
      diag.attachNote(own.getLoc()) << "the other one";
      return diag;
    }
    own = mesh;
  }
  if (own) {
    for (sdy::MeshAxisAttr axis : own.getMesh().getAxes()) {
      auto given = llvm::find_if(axes, [&](auto &item) { return item.first == axis.getName(); });
      if (text.empty())
        axes.push_back({axis.getName().str(), axis.getSize()});
      else if (given == axes.end() && axis.getSize() > 1)
        return own.emitError("the program has an axis \"")
               << axis.getName() << "\" of size " << axis.getSize() << ", --mesh=" << text
               << " has none; add " << axis.getName() << "=" << axis.getSize();
      else if (given != axes.end() && given->second != axis.getSize())
        return own.emitError("the program has axis \"")
               << axis.getName() << "\" of size " << axis.getSize() << ", --mesh gives it "
               << given->second;
    }
  }
  if (axes.empty())
    return success();
  Builder builder(module.getContext());
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (auto &[name, size] : axes) {
    names.push_back(builder.getStringAttr(name));
    sizes.push_back(size);
  }
  auto mesh = MeshAttr::get(module.getContext(), names, sizes);
  auto already = module->getAttrOfType<MeshAttr>("tsp.mesh");
  if (already && already != mesh)
    return module.emitError("the program has the mesh ") << already << ", --mesh gives " << mesh;
  module->setAttr("tsp.mesh", mesh);
  return success();
}
