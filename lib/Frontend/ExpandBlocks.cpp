//===- ExpandBlocks.cpp - whole blocks to plain ops -----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Frontend/Raise.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cmath>

using namespace mlir;
using namespace tsp;

namespace tsp {
#define GEN_PASS_DEF_EXPANDBLOCKS
#include "tsp/Passes/Raise.h.inc"
} // namespace tsp

namespace {
class Expander {
public:
  Expander(Operation *op, StringAttr axis, bool places)
      : b(op->getLoc(), op), axis(axis), places(places) {}

  void expand(AttentionOp op);
  void expand(GatedMlpOp op);

private:
  static RankedTensorType type(Value value) {
    return cast<RankedTensorType>(value.getType());
  }
  /// The value with dim `dim` sharded over the axis.
  Value place(Value value, int64_t dim);
  /// x w for x [.., h] and w [h, f].
  Value project(Value x, Value w);
  Value splat(Value like, double number);
  Value broadcast(Value value, ArrayRef<int64_t> dims, RankedTensorType to);
  Value rotary(Value t, Value cos, Value sin);
  Value activate(Activation activation, Value x);
  Value mul(Value lhs, Value rhs) {
    return stablehlo::MulOp::create(b, lhs, rhs);
  }
  Value add(Value lhs, Value rhs) {
    return stablehlo::AddOp::create(b, lhs, rhs);
  }

  ImplicitLocOpBuilder b;
  StringAttr axis;
  bool places;
};
} // namespace

Value Expander::place(Value value, int64_t dim) {
  if (!places)
    return value;
  SmallVector<DimAttr> dims;
  for (int64_t i = 0, rank = type(value).getRank(); i < rank; ++i)
    dims.push_back(DimAttr::getContiguous(
        b.getContext(), i == dim ? ArrayRef(axis) : ArrayRef<StringAttr>()));
  return PlaceOp::create(
      b, value, PlacementAttr::get(b.getContext(), dims, {}, CombineKind::Sum));
}

Value Expander::project(Value x, Value w) {
  int64_t last = type(x).getRank() - 1;
  SmallVector<int64_t> shape(type(x).getShape());
  shape[last] = type(w).getDimSize(1);
  auto numbers = stablehlo::DotDimensionNumbersAttr::get(b.getContext(), {}, {},
                                                         {last}, {0});
  return stablehlo::DotGeneralOp::create(b, type(x).clone(shape), x, w, numbers,
                                         ArrayAttr(),
                                         stablehlo::DotAlgorithmAttr());
}

Value Expander::splat(Value like, double number) {
  auto to = type(like);
  return stablehlo::ConstantOp::create(
      b,
      DenseElementsAttr::get(to, b.getFloatAttr(to.getElementType(), number)));
}

Value Expander::broadcast(Value value, ArrayRef<int64_t> dims,
                          RankedTensorType to) {
  return stablehlo::BroadcastInDimOp::create(b, to, value, dims);
}

Value Expander::rotary(Value t, Value cos, Value sin) {
  RankedTensorType full = type(t);
  SmallVector<int64_t> from(4, 0), to(full.getShape()), half(full.getShape()),
      strides(4, 1);
  half[3] /= 2;
  to[3] = from[3] = half[3];
  SmallVector<int64_t> zero(4, 0), end(full.getShape());
  Value low =
      stablehlo::SliceOp::create(b, full.clone(half), t, zero, to, strides);
  Value high =
      stablehlo::SliceOp::create(b, full.clone(half), t, from, end, strides);
  Value turned = stablehlo::ConcatenateOp::create(
      b, full, ValueRange{stablehlo::NegOp::create(b, high), low}, 3);
  return add(mul(t, broadcast(cos, {1, 3}, full)),
             mul(turned, broadcast(sin, {1, 3}, full)));
}

Value Expander::activate(Activation activation, Value x) {
  switch (activation) {
  case Activation::Silu:
    return mul(x, stablehlo::LogisticOp::create(b, x));
  case Activation::Gelu: {
    // erfc keeps its accuracy where 1 + erf would cancel.
    Value scaled = mul(x, splat(x, -std::sqrt(0.5)));
    return mul(mul(x, splat(x, 0.5)), chlo::ErfcOp::create(b, scaled));
  }
  case Activation::GeluTanh: {
    Value cube = mul(mul(x, x), x);
    Value inner = mul(add(x, mul(cube, splat(x, 0.044715))),
                      splat(x, std::sqrt(2 / M_PI)));
    Value one = add(stablehlo::TanhOp::create(b, inner), splat(x, 1));
    return mul(mul(x, splat(x, 0.5)), one);
  }
  case Activation::Relu:
    return stablehlo::MaxOp::create(b, x, splat(x, 0));
  }
  llvm_unreachable("covered switch");
}

void Expander::expand(AttentionOp op) {
  Value x = place(op.getX(), 1);
  int64_t batch = type(x).getDimSize(0), tokens = type(x).getDimSize(1);
  auto heads = [&](Value w, int64_t count) -> Value {
    Value flat = project(x, place(w, 1));
    int64_t width = type(w).getDimSize(1) / count;
    return stablehlo::ReshapeOp::create(
        b, type(flat).clone({batch, tokens, count, width}), flat);
  };
  Value q = heads(op.getWq(), op.getHeads()),
        k = heads(op.getWk(), op.getKvHeads()),
        v = heads(op.getWv(), op.getKvHeads());
  if (op.getCos()) {
    q = rotary(q, op.getCos(), op.getSin());
    k = rotary(k, op.getCos(), op.getSin());
  }
  Value positions = op.getPositions();
  if (!positions && (op.getCausal() || op.getWindow()))
    positions = stablehlo::IotaOp::create(
        b, RankedTensorType::get({tokens}, b.getI32Type()),
        b.getI64IntegerAttr(0));
  Type element = type(x).getElementType();
  SmallVector<int64_t> shape(type(q).getShape());
  shape[3] = type(v).getDimSize(3);
  FloatAttr scale = op.getScaleAttr();
  if (!scale)
    scale = b.getF64FloatAttr(
        1 / std::sqrt(static_cast<double>(type(q).getDimSize(3))));
  auto sdpa = SdpaOp::create(
      b, RankedTensorType::get(shape, element),
      RankedTensorType::get(ArrayRef(shape).drop_back(),
                            element.isF64() ? element : Type(b.getF32Type())),
      q, k, v, /*bias=*/Value(), op.getMask(), positions, positions, Value(),
      Value(), scale, op.getSoftcapAttr(), op.getCausalAttr(),
      op.getWindowAttr(), EmptyRowsAttr::get(b.getContext(), EmptyRows::Nan));
  Value joined = stablehlo::ReshapeOp::create(
      b, type(x).clone({batch, tokens, shape[2] * shape[3]}), sdpa.getO());
  op.replaceAllUsesWith(place(project(joined, place(op.getWo(), 0)), 1));
  op.erase();
}

void Expander::expand(GatedMlpOp op) {
  Value x = place(op.getX(), 1);
  Value gate = activate(op.getActivation(), project(x, place(op.getWg(), 1)));
  Value hidden = mul(gate, project(x, place(op.getWu(), 1)));
  op.replaceAllUsesWith(place(project(hidden, place(op.getWd(), 0)), 1));
  op.erase();
}

namespace {
struct ExpandBlocks : public tsp::impl::ExpandBlocksBase<ExpandBlocks> {
  void runOnOperation() override {
    auto mesh = getOperation()->getAttrOfType<MeshAttr>("tsp.mesh");
    SmallVector<Operation *> blocks;
    getOperation()->walk([&](Operation *op) {
      if (isa<AttentionOp, GatedMlpOp>(op))
        blocks.push_back(op);
    });
    for (Operation *op : blocks) {
      auto axis = op->getAttrOfType<StringAttr>("axis");
      if (mesh && mesh.getAxisSize(axis) == 0) {
        InFlightDiagnostic diag =
            op->emitError("expected an axis of the mesh, found ") << axis;
        diag.attachNote(getOperation().getLoc()) << "the mesh is " << mesh;
        return signalPassFailure();
      }
      Expander expander(op, axis, static_cast<bool>(mesh));
      if (auto attention = dyn_cast<AttentionOp>(op))
        expander.expand(attention);
      else
        expander.expand(cast<GatedMlpOp>(op));
    }
  }
};
} // namespace
