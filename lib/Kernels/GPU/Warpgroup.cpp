//===- Warpgroup.cpp - instructions of sm_90a -----------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Warpgroup.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tsp;

using Values = DeviceEmitter::Values;

//===----------------------------------------------------------------------===//
// Barriers in shared memory
//===----------------------------------------------------------------------===//

void tsp::initBarrier(DeviceEmitter &e, Value barrier, int64_t arrivals) {
  NVVM::MBarrierInitOp::create(e.b, e.loc, barrier, e.i32(arrivals), Value());
}

void tsp::fenceBarriers(DeviceEmitter &e) {
  NVVM::FenceMbarrierInitOp::create(e.b, e.loc);
}

static constexpr auto clusterSpace =
    static_cast<unsigned>(NVVM::NVVMMemorySpace::SharedCluster);

void tsp::arrive(DeviceEmitter &e, Value barrier) {
  auto type = cast<LLVM::LLVMPointerType>(barrier.getType());
  bool isOwn = type.getAddressSpace() != clusterSpace;
  // What was read, and not written, is done with: the scope of the block, in
  // which no fence comes with it, will do for another one's barrier too.
  NVVM::MBarrierArriveOp::create(e.b, e.loc, isOwn ? e.b.getI64Type() : Type(),
                                 barrier, Value(), NVVM::MemScopeKind::CTA,
                                 /*relaxed=*/false);
}

void tsp::arriveExpecting(DeviceEmitter &e, Value barrier, int64_t bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(
      e.b, e.loc, Type(), barrier, e.i32(bytes), NVVM::MemScopeKind::CTA,
      /*relaxed=*/false, /*predicate=*/Value());
}

void tsp::waitForPhase(DeviceEmitter &e, Value barrier, Value parity) {
  // The instruction gives up after some time.
  e.loopWhile(
      {},
      [&](ValueRange) -> Value {
        Value done = NVVM::MBarrierTryWaitOp::create(
            e.b, e.loc, e.b.getI1Type(), barrier, parity, /*ticks=*/Value(),
            NVVM::MemScopeKind::CTA, /*relaxed=*/false);
        return e.bitXor(done, e.constant(e.b.getI1Type(), 1));
      },
      [](ValueRange) { return Values(); });
}

void tsp::syncThreads(DeviceEmitter &e, int64_t number, int64_t threads) {
  syncThreads(e, e.i32(number), threads);
}

void tsp::syncThreads(DeviceEmitter &e, Value number, int64_t threads) {
  NVVM::BarrierOp::create(e.b, e.loc, TypeRange(), number, e.i32(threads),
                          /*reductionOp=*/{}, /*reductionPredicate=*/Value());
}

void tsp::arriveThreads(DeviceEmitter &e, Value number, int64_t threads) {
  NVVM::BarrierArriveOp::create(e.b, e.loc, number, e.i32(threads));
}

void tsp::syncCluster(DeviceEmitter &e) {
  UnitAttr aligned = e.b.getUnitAttr();
  NVVM::ClusterArriveRelaxedOp::create(e.b, e.loc, aligned);
  NVVM::ClusterWaitOp::create(e.b, e.loc, aligned);
}

Value tsp::inBlock(DeviceEmitter &e, Value shared, Value block) {
  auto type = LLVM::LLVMPointerType::get(e.b.getContext(), clusterSpace);
  return NVVM::MapaOp::create(e.b, e.loc, type, shared, block);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void tsp::prefetchMap(DeviceEmitter &e, Value map) {
  NVVM::PrefetchOp::create(e.b, e.loc, /*cacheLevel=*/{}, /*evictPriority=*/{},
                           map, /*predicate=*/Value(),
                           /*tensormap=*/e.b.getUnitAttr(), /*uniform=*/{},
                           /*in_param_space=*/{});
}

void tsp::copyBox(DeviceEmitter &e, Value shared, Value map,
                  ValueRange coordinates, Value barrier, int64_t blocks) {
  // An address in the block's own memory is one in that of its cluster.
  auto ofCluster = LLVM::LLVMPointerType::get(e.b.getContext(), clusterSpace);
  Value to = LLVM::AddrSpaceCastOp::create(e.b, e.loc, ofCluster, shared);
  Value mask;
  if (blocks > 1)
    mask = e.constant(e.b.getI16Type(), (1 << blocks) - 1);
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      e.b, e.loc, to, map, coordinates, barrier, /*im2colOffsets=*/ValueRange(),
      /*multicastMask=*/mask, /*l2CacheHint=*/Value(), NVVM::TMALoadMode::TILE,
      /*isCTAOnly=*/false, /*group=*/nullptr,
      /*predicate=*/Value());
}

void tsp::storeBox(DeviceEmitter &e, Value map, ValueRange coordinates,
                   Value shared) {
  NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
      e.b, e.loc, map, shared, coordinates, /*l2CacheHint=*/Value(),
      NVVM::TMAStoreMode::TILE, /*predicate=*/Value());
}

void tsp::commitStores(DeviceEmitter &e) {
  NVVM::CpAsyncBulkCommitGroupOp::create(e.b, e.loc);
}

void tsp::waitForStores(DeviceEmitter &e, int64_t pending) {
  NVVM::CpAsyncBulkWaitGroupOp::create(e.b, e.loc, pending,
                                       /*read=*/e.b.getUnitAttr());
}

void tsp::storeTiles(DeviceEmitter &e, Value pointer, ValueRange registers) {
  MLIRContext *context = e.b.getContext();
  NVVM::StMatrixOp::create(e.b, e.loc, pointer, registers, NVVM::MMALayout::row,
                           NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
                           NVVM::LdStMatrixEltType::B16);
}

void tsp::fenceShared(DeviceEmitter &e) {
  MLIRContext *context = e.b.getContext();
  NVVM::FenceProxyOp::create(
      e.b, e.loc,
      NVVM::ProxyKindAttr::get(context, NVVM::ProxyKind::async_shared),
      NVVM::SharedSpaceAttr::get(context, NVVM::SharedSpace::shared_cta));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

MatrixDescriptor MatrixDescriptor::moved(DeviceEmitter &e, Value bytes) const {
  return {e.add(low, e.div(bytes, 16)), high};
}

MatrixDescriptor MatrixDescriptor::moved(DeviceEmitter &e,
                                         int64_t bytes) const {
  return {e.add(low, bytes / 16), high};
}

Value MatrixDescriptor::value(DeviceEmitter &e) const {
  Type i64 = e.b.getI64Type();
  Value wide = e.b.createOrFold<arith::ExtUIOp>(e.loc, i64, low);
  return e.bitOr(wide, e.i64(high << 32));
}

MatrixDescriptor tsp::describeTile(DeviceEmitter &e, const WarpgroupTile &tile,
                                   Value pointer) {
  // In units of 16 bytes: 14 bits of address; the leading offset, between
  // boxes along m or n (along k a line is all that there is); the stride
  // offset, between atoms. Swizzle of 128 bytes is 1 in the two highest bits.
  int64_t leading = tile.alongK ? 1 : tile.boxBytes() / 16;
  int64_t atoms = 1024 / 16, swizzle = 1;
  Value address =
      LLVM::PtrToIntOp::create(e.b, e.loc, e.b.getI32Type(), pointer);
  Value low = e.bitAnd(e.div(address, 16), e.i32(0x3FFF));
  return {e.bitOr(low, e.i32(leading << 16)), atoms | swizzle << 30};
}

void tsp::commitProducts(DeviceEmitter &e) {
  NVVM::WgmmaGroupSyncAlignedOp::create(e.b, e.loc);
}

static Type structOf(DeviceEmitter &e, size_t count) {
  return LLVM::LLVMStructType::getLiteral(
      e.b.getContext(), SmallVector<Type>(count, e.b.getF32Type()));
}

static Values unpack(DeviceEmitter &e, Value aggregate) {
  Values values;
  auto type = cast<LLVM::LLVMStructType>(aggregate.getType());
  for (int64_t i = 0, n = type.getBody().size(); i < n; ++i)
    values.push_back(LLVM::ExtractValueOp::create(e.b, e.loc, aggregate, i));
  return values;
}

/// Registers that an instruction of inline PTX reads and writes, as results.
static Values inlinePtx(DeviceEmitter &e, const Twine &text, ValueRange updated,
                        ValueRange read, StringRef constraints) {
  std::string all;
  for (Value value : updated)
    all += value.getType().isF32() ? "=f," : "=r,";
  for (size_t i = 0; i < updated.size(); ++i)
    all += std::to_string(i) + ",";
  all += constraints;
  StringRef list = StringRef(all).rtrim(',');
  SmallVector<Value> operands(updated);
  llvm::append_range(operands, read);
  Type type = updated.front().getType();
  if (updated.size() > 1)
    type = LLVM::LLVMStructType::getLiteral(
        e.b.getContext(), llvm::to_vector(updated.getTypes()));
  auto op = LLVM::InlineAsmOp::create(
      e.b, e.loc, type, operands, text.str(), list, /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None, /*asm_dialect=*/{},
      /*operand_attrs=*/{});
  return updated.size() > 1 ? unpack(e, op.getResult(0))
                            : Values{op.getResult(0)};
}

/// The same values, which no code computes or uses across this place.
static Values pin(DeviceEmitter &e, ValueRange values) {
  return values.empty() ? Values() : inlinePtx(e, "", values, {}, "");
}

Values tsp::fenceProducts(DeviceEmitter &e, ValueRange written) {
  Values values = pin(e, written);
  NVVM::WgmmaFenceAlignedOp::create(e.b, e.loc);
  return values;
}

Values tsp::waitForProducts(DeviceEmitter &e, int64_t pending,
                            ValueRange done) {
  NVVM::WgmmaWaitGroupSyncOp::create(e.b, e.loc, pending);
  return pin(e, done);
}

static NVVM::WGMMATypes productType(Type element) {
  if (element.isF16())
    return NVVM::WGMMATypes::f16;
  if (element.isBF16())
    return NVVM::WGMMATypes::bf16;
  if (element.isF32())
    return NVVM::WGMMATypes::tf32;
  return isa<Float8E5M2Type>(element) ? NVVM::WGMMATypes::e5m2
                                      : NVVM::WGMMATypes::e4m3;
}

Values tsp::startProduct(DeviceEmitter &e, int64_t columns,
                         const WarpgroupTile &tileA, const MatrixDescriptor &a,
                         const WarpgroupTile &tileB, const MatrixDescriptor &b,
                         ValueRange sums) {
  MLIRContext *context = e.b.getContext();
  Value aggregate = LLVM::UndefOp::create(e.b, e.loc, structOf(e, columns / 2));
  for (auto [i, sum] : llvm::enumerate(sums))
    aggregate = LLVM::InsertValueOp::create(e.b, e.loc, aggregate, sum, i);
  auto one = NVVM::WGMMAScaleIn::one;
  // A is row-major when its lines run along k, B column-major.
  auto layout = [](bool row) {
    return row ? NVVM::MMALayout::row : NVVM::MMALayout::col;
  };
  Value result = NVVM::WgmmaMmaAsyncOp::create(
      e.b, e.loc, aggregate.getType(), aggregate, a.value(e), b.value(e),
      NVVM::MMAShapeAttr::get(context, 64, columns, tileA.productDepth()),
      productType(tileA.element), productType(tileB.element),
      NVVM::WGMMATypes::f32,
      sums.empty() ? NVVM::WGMMAScaleOut::zero : NVVM::WGMMAScaleOut::one, one,
      one, layout(tileA.alongK), layout(!tileB.alongK), /*satfinite=*/nullptr);
  return unpack(e, result);
}

Values tsp::startProduct(DeviceEmitter &e, int64_t columns, ValueRange a,
                         const WarpgroupTile &tileB, const MatrixDescriptor &b,
                         ValueRange sums) {
  // The NVVM dialect has no form of the op with A in registers.
  int64_t count = columns / 2;
  Values old(sums);
  if (sums.empty())
    old.assign(count, LLVM::UndefOp::create(e.b, e.loc, e.b.getF32Type()));
  auto list = [](int64_t from, int64_t count) {
    std::string text = "{";
    for (int64_t i = from; i < from + count; ++i)
      text += (i > from ? ", $" : "$") + std::to_string(i);
    return text + "}";
  };
  StringRef type = NVVM::stringifyWGMMATypes(productType(tileB.element));
  std::string text;
  llvm::raw_string_ostream(text)
      << "{\n.reg .pred p;\nsetp.ne.b32 p, " << (sums.empty() ? 0 : 1)
      << ", 0;\nwgmma.mma_async.sync.aligned.m64n" << columns << "k16.f32."
      << type << "." << type << " " << list(0, count) << ", "
      << list(2 * count, 4) << ", $" << 2 * count + 4 << ", p, 1, 1, "
      << (tileB.alongK ? 0 : 1) << ";\n}";
  Values read(a);
  read.push_back(b.value(e));
  return inlinePtx(e, text, old, read, "r,r,r,r,l");
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

Value tsp::electLane(DeviceEmitter &e) {
  return NVVM::ElectSyncOp::create(e.b, e.loc, e.b.getI1Type(),
                                   /*membermask=*/Value());
}

static void setRegisters(DeviceEmitter &e, int64_t count, bool increase) {
  NVVM::SetMaxRegisterOp::create(e.b, e.loc, count,
                                 increase
                                     ? NVVM::SetMaxRegisterAction::increase
                                     : NVVM::SetMaxRegisterAction::decrease);
}

void tsp::emitRoles(DeviceEmitter &e, const WarpgroupRoles &roles,
                    llvm::function_ref<void()> produce,
                    llvm::function_ref<void(Value)> consume) {
  // What a thread has at first, what the copying one needs, and what remains
  // for the others; in units of 8.
  constexpr int64_t all = 65536, most = 240;
  int64_t few = roles.producerRegisters;
  int64_t first = all / roles.threads() / 8 * 8;
  int64_t rest = std::min(most, (first * (roles.consumers + 1) - few) /
                                    roles.consumers / 8 * 8);
  bool moves = first < most;
  Value warp = NVVM::ShflOp::create(e.b, e.loc, e.b.getI32Type(), e.i32(-1),
                                    e.div(e.thread(), 32), e.i32(0), e.i32(31),
                                    NVVM::ShflKind::idx, UnitAttr());
  Value isConsumer = e.less(warp, e.i32(4 * roles.consumers));
  e.choose(
      isConsumer, {},
      [&] {
        if (moves)
          setRegisters(e, rest, /*increase=*/true);
        consume(e.div(warp, 4));
        return Values();
      },
      [&] {
        if (moves)
          setRegisters(e, few, /*increase=*/false);
        Value isFirst = e.compare(arith::CmpIPredicate::eq, warp,
                                  e.i32(4 * roles.consumers));
        e.when(isFirst, [&] {
          if (roles.wholeWarp)
            produce();
          else
            e.when(electLane(e), produce);
        });
        return Values();
      });
}

Value StageRing::full(Value stage) {
  return e.shifted(barriers, e.mul(stage, kBarrierBytes));
}

Value StageRing::empty(Value stage) {
  return e.shifted(full(stage), stages * kBarrierBytes);
}

void StageRing::init(int64_t releases) {
  for (int64_t i = 0; i < stages; ++i) {
    initBarrier(e, full(e.i32(i)), 1);
    initBarrier(e, empty(e.i32(i)), releases * cluster);
  }
}

StageRing::Place StageRing::first() { return {e.i32(0), e.i32(0)}; }

StageRing::Place StageRing::next(const Place &place) {
  Value stage = e.add(place.stage, 1);
  Value wraps = e.compare(arith::CmpIPredicate::eq, stage, e.i32(stages));
  Value turned = e.bitXor(place.parity, e.i32(1));
  return {e.select(wraps, e.i32(0), stage),
          e.select(wraps, turned, place.parity)};
}

StageRing::Place StageRing::ahead(const Place &place, int64_t count) {
  Value stage = e.add(place.stage, count % stages);
  Value wraps = e.compare(arith::CmpIPredicate::sge, stage, e.i32(stages));
  Value parity = e.bitXor(place.parity, e.i32(count / stages % 2));
  return {e.select(wraps, e.add(stage, -stages), stage),
          e.select(wraps, e.bitXor(parity, e.i32(1)), parity)};
}

void StageRing::awaitEmpty(const Place &place) {
  // It was emptied in the phase before; at first it is empty.
  waitForPhase(e, empty(place.stage), e.bitXor(place.parity, e.i32(1)));
}

Value StageRing::expect(const Place &place, int64_t bytes) {
  Value barrier = full(place.stage);
  arriveExpecting(e, barrier, bytes);
  return barrier;
}

void StageRing::acquire(const Place &place) {
  waitForPhase(e, full(place.stage), place.parity);
}

void StageRing::release(Value stage) { arrive(e, empty(stage)); }

Value StageRing::pointToEmpty() {
  Value first = empty(e.i32(0));
  return cluster > 1 ? inBlock(e, first, e.rem(e.lane(), cluster)) : first;
}

void StageRing::release(Value empties, Value stage) {
  e.when(e.less(e.lane(), e.i32(cluster)),
         [&] { arrive(e, e.shifted(empties, e.mul(stage, kBarrierBytes))); });
}
