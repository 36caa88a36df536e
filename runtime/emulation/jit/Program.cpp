//===- Program.cpp - a compiled module ------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jit/Program.h"

#include "exec/Helpers.h"
#include "jit/Lowering.h"
#include "jit/ObjectCache.h"
#include "ptx/Parser.h"

#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/xxhash.h"

#include <unordered_map>

using namespace llvm;

namespace tsp::emulation {

//===----------------------------------------------------------------------===//
// The JIT of the process
//===----------------------------------------------------------------------===//

namespace {
class Jit {
public:
  /// Never destroyed: threads may still run its code while the process exits.
  static Jit &get() {
    static Jit *jit = new Jit;
    return *jit;
  }

  const DataLayout &layout() const { return jit->getDataLayout(); }
  const Triple &triple() const { return jit->getTargetTriple(); }
  const std::string &processor() const { return cpu; }
  const std::string &features() const { return featureString; }

  /// Adds code that stays until the last copy of the result is gone.
  std::shared_ptr<void> add(orc::ThreadSafeModule module) {
    orc::ResourceTrackerSP tracker =
        jit->getMainJITDylib().createResourceTracker();
    if (Error error = jit->addIRModule(tracker, std::move(module)))
      throw std::runtime_error(toString(std::move(error)));
    return std::shared_ptr<void>(
        tracker.get(), [tracker](void *) { cantFail(tracker->remove()); });
  }

  void *find(const std::string &symbol, std::string &error) {
    Expected<orc::ExecutorAddr> address = jit->lookup(symbol);
    if (!address) {
      error = toString(address.takeError());
      return nullptr;
    }
    return address->toPtr<void *>();
  }

private:
  Jit() {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    orc::JITTargetMachineBuilder machine =
        cantFail(orc::JITTargetMachineBuilder::detectHost());
    machine.setCodeGenOptLevel(CodeGenOptLevel::None);
    machine.getOptions().AllowFPOpFusion = FPOpFusion::Strict;
    cpu = machine.getCPU();
    featureString = machine.getFeatures().getString();
    if (const char *folder = std::getenv("TSP_EMULATION_CACHE");
        folder && *folder)
      cache = std::make_unique<ObjectCache>(folder, cpu + featureString);
    // Several threads may compile at once: each gets its own target machine.
    jit = cantFail(
        orc::LLJITBuilder()
            .setJITTargetMachineBuilder(std::move(machine))
            .setCompileFunctionCreator(
                [this](orc::JITTargetMachineBuilder builder)
                    -> Expected<
                        std::unique_ptr<orc::IRCompileLayer::IRCompiler>> {
                  return std::make_unique<orc::ConcurrentIRCompiler>(
                      std::move(builder), cache.get());
                })
            .create());
    orc::SymbolMap symbols;
    for (const helpers::Entry &entry : helpers::all())
      symbols[jit->mangleAndIntern(entry.name)] = {
          orc::ExecutorAddr::fromPtr(entry.address),
          JITSymbolFlags::Exported | JITSymbolFlags::Callable};
    cantFail(jit->getMainJITDylib().define(
        orc::absoluteSymbols(std::move(symbols))));
  }

  /// Of the user's folder; null without one.
  std::unique_ptr<ObjectCache> cache;
  std::unique_ptr<orc::LLJIT> jit;
  std::string cpu, featureString;
};
} // namespace

KernelEntry CompiledKernel::entry(std::string &error) {
  std::call_once(once, [&] {
    code = reinterpret_cast<KernelEntry>(Jit::get().find(symbol, failure));
  });
  if (!code)
    error = "kernel '" + description.name + "' cannot be compiled: " + failure;
  return code;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static uint64_t alignedTo(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

static void
visitSymbols(const ptx::Operand &operand,
             const std::function<void(const ptx::Operand &)> &visit) {
  if (operand.form == ptx::Operand::Form::Symbol)
    visit(operand);
  for (const ptx::Operand &element : operand.elements)
    visitSymbols(element, visit);
}

/// Gives the shared variables that the kernel and what it calls use their
/// places.
static uint64_t layOutShared(const ptx::Function &kernel, KernelState &state) {
  std::vector<const ptx::Function *> functions = {&kernel};
  std::set<const ptx::Function *> known = {&kernel};
  uint64_t bytes = 0, dynamicAlignment = 16;
  auto visit = [&](const ptx::Operand &symbol) {
    const ptx::Variable *variable = symbol.variable;
    if (!variable) {
      const ptx::Function *callee = state.source.findFunction(symbol.name);
      if (callee && known.insert(callee).second)
        functions.push_back(callee);
    } else if (variable->space == ptx::Space::Shared) {
      if (variable->dynamic) {
        dynamicAlignment =
            std::max<uint64_t>(dynamicAlignment, variable->alignment);
      } else if (!state.sharedOffsets.count(variable)) {
        uint64_t offset = alignedTo(bytes, variable->alignment);
        state.sharedOffsets[variable] = offset;
        bytes = offset + variable->size;
      }
    }
  };
  for (size_t i = 0; i < functions.size(); ++i)
    for (const ptx::Instruction &instruction : functions[i]->body)
      for (const ptx::Operand &operand : instruction.operands)
        visitSymbols(operand, visit);
  state.dynamicOffset = alignedTo(bytes, dynamicAlignment);
  return bytes;
}

static Kernel describe(const ptx::Function &kernel) {
  Kernel description;
  description.name = kernel.name;
  description.maxThreads = kernel.maxThreads;
  description.exactThreads = kernel.exactThreads;
  description.clusterSize = kernel.clusterSize;
  description.localBytes = kernel.localBytes;
  for (const auto &parameter : kernel.parameters) {
    description.parameters.push_back({uint32_t(parameter->offset),
                                      uint32_t(parameter->size),
                                      parameter->alignment});
    description.parameterBytes = uint32_t(parameter->offset + parameter->size);
  }
  return description;
}

static std::unique_ptr<CompiledKernel>
compileKernel(const ptx::Module &source, const ptx::Function &kernel,
              const std::string &prefix) {
  auto compiled = std::make_unique<CompiledKernel>();
  compiled->symbol = prefix + kernel.name;
  compiled->description = describe(kernel);

  Jit &jit = Jit::get();
  auto context = std::make_unique<LLVMContext>();
  auto module = std::make_unique<llvm::Module>(compiled->symbol, *context);
  module->setDataLayout(jit.layout());
  module->setTargetTriple(jit.triple());
  KernelState state{source, *module, {}, 0, {}, {}, {}};
  compiled->description.staticSharedBytes =
      uint32_t(layOutShared(kernel, state));
  compiled->dynamicOffset = state.dynamicOffset;

  auto *pointer = PointerType::getUnqual(*context);
  auto *entry = llvm::Function::Create(
      FunctionType::get(llvm::Type::getVoidTy(*context), {pointer}, false),
      GlobalValue::ExternalLinkage, compiled->symbol, *module);
  Lowering(state, kernel, *entry).run();
  while (!state.pending.empty()) {
    const ptx::Function *function = state.pending.back();
    state.pending.pop_back();
    Lowering(state, *function, *state.functions[function]).run();
  }
  for (llvm::Function &function : *module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", jit.processor());
    function.addFnAttr("target-features", jit.features());
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("min-legal-vector-width", "512");
    function.addFnAttr(Attribute::NoUnwind);
  }
  std::string problems;
  raw_string_ostream stream(problems);
  if (verifyModule(*module, &stream))
    throw ptx::Error(kernel.line, "kernel '" + kernel.name +
                                      "' made invalid code: " + problems);
  compiled->sites = std::move(state.sites);
  compiled->resources =
      jit.add(orc::ThreadSafeModule(std::move(module), std::move(context)));
  return compiled;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// `hash`: of the text. `generation`: programs of this hash before, whose code
/// may still be there.
static std::shared_ptr<Program>
compileProgram(const std::string &text, uint64_t hash, unsigned generation) {
  // The same in every process, for the cache of objects.
  std::string prefix = utohexstr(hash) + "." + std::to_string(generation) + ".";
  auto program = std::make_shared<Program>();
  program->source = ptx::parse(text);
  for (const auto &variable : program->source->variables) {
    if (variable->space == ptx::Space::Shared)
      continue;
    variable->offset = alignedTo(program->variableBytes, variable->alignment);
    program->variableBytes = variable->offset + variable->size;
  }
  for (const auto &function : program->source->functions)
    if (function->isKernel && !function->isDeclaration)
      program->kernels.push_back(
          compileKernel(*program->source, *function, prefix));
  return program;
}

std::shared_ptr<Program> Program::get(const std::string &ptx) {
  static std::mutex mutex;
  static auto *cache =
      new std::unordered_map<std::string, std::weak_ptr<Program>>;
  static auto *generations = new std::unordered_map<uint64_t, unsigned>;
  // Loads of the same text at once would compile it as often.
  std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<Program> &known = (*cache)[ptx];
  if (std::shared_ptr<Program> program = known.lock())
    return program;
  uint64_t hash = xxh3_64bits(ptx);
  std::shared_ptr<Program> program =
      compileProgram(ptx, hash, (*generations)[hash]++);
  known = program;
  for (auto it = cache->begin(); it != cache->end();)
    it = it->second.expired() ? cache->erase(it) : std::next(it);
  return program;
}

} // namespace tsp::emulation
