//===- ObjectFile.cpp - LLVM dialect to object files ----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Host/ObjectFile.h"
#include "ModulePartition.h"
#include "tsp/Host/RuntimeABI.h"
#include "tsp/Support/Optimise.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace tsp;

static std::unique_ptr<llvm::TargetMachine> makeMachine(const ObjectOptions &options,
                                                        llvm::CodeGenOptLevel level) {
  static const bool initialised = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialised;
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error, cpu = options.cpu, features;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  if (cpu == "native") {
    cpu = llvm::sys::getHostCPUName().str();
    // Sorted, so that the object does not depend on the order of a hash table.
    std::vector<std::string> list;
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      list.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
    llvm::sort(list);
    features = llvm::join(list, ",");
  } else if (cpu == "generic") {
    cpu = triple.getArch() == llvm::Triple::x86_64 ? "x86-64" : "generic";
  }
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, cpu, features, llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt, level));
}

std::vector<std::string> tsp::getCpuFeatures(const ObjectOptions &options) {
  // LLVM's names, and the kernel's where they differ.
  static constexpr std::pair<const char *, const char *> kFeatures[] = {
      {"sse3", "pni"},
      {"sse4.1", "sse4_1"},
      {"sse4.2", "sse4_2"},
      {"lzcnt", "abm"},
      {"bmi", "bmi1"},
      {"avxvnni", "avx_vnni"},
      {"avx512vbmi2", "avx512_vbmi2"},
      {"avx512vnni", "avx512_vnni"},
      {"avx512bitalg", "avx512_bitalg"},
      {"avx512vpopcntdq", "avx512_vpopcntdq"},
      {"avx512bf16", "avx512_bf16"},
      {"avx512fp16", "avx512_fp16"}};
  static constexpr const char *kSameName[] = {
      "ssse3", "popcnt",  "movbe",    "bmi2",     "adx",      "avx",      "avx2",       "fma",
      "f16c",  "gfni",    "avx512f",  "avx512bw", "avx512cd", "avx512dq", "avx512vl",   "avx512ifma",
      "avx512vbmi"};
  std::vector<std::string> result;
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(options, llvm::CodeGenOptLevel::None);
  if (!machine || machine->getTargetTriple().getArch() != llvm::Triple::x86_64)
    return result;
  auto addIfUsed = [&](StringRef name, StringRef flag) {
    if (machine->getMCSubtargetInfo()->checkFeatures(("+" + name).str()))
      result.push_back(flag.str());
  };
  for (auto [name, flag] : kFeatures)
    addIfUsed(name, flag);
  for (StringRef name : kSameName)
    addIfUsed(name, name);
  return result;
}

bool tsp::isKnownCpu(StringRef cpu) {
  if (cpu == "native" || cpu == "generic")
    return true;
  std::unique_ptr<llvm::TargetMachine> machine =
      makeMachine(ObjectOptions(), llvm::CodeGenOptLevel::None);
  return machine && machine->getMCSubtargetInfo()->isCPUStringValid(cpu);
}

/// Some CPUs are tuned for half vectors; kernels are long loops over full ones.
static void preferWideVectors(llvm::Module &module, llvm::TargetMachine &machine) {
  if (machine.getMCSubtargetInfo()->checkFeatures("+avx512f"))
    for (llvm::Function &function : module)
      if (!function.isDeclaration())
        function.addFnAttr("prefer-vector-width", "512");
}

/// Writes the object file; the text of an error, or "".
static std::string writeObject(llvm::Module &module, llvm::TargetMachine &machine,
                               StringRef path) {
  std::error_code code;
  llvm::raw_fd_ostream os(path, code, llvm::sys::fs::OF_None);
  if (code)
    return (path + ": " + code.message()).str();
  llvm::legacy::PassManager manager;
  if (machine.addPassesToEmitFile(manager, os, nullptr, llvm::CodeGenFileType::ObjectFile))
    return "LLVM cannot write objects for this target";
  manager.run(module);
  os.close();
  if (os.has_error()) {
    code = os.error();
    os.clear_error();
    return (path + ": " + code.message()).str();
  }
  return "";
}

FailureOr<std::vector<std::string>>
tsp::compileObjects(ModuleOp module, const ObjectOptions &options, StringRef directory) {
  unsigned threads = options.threads ? options.threads
                                     : llvm::hardware_concurrency().compute_thread_count();
  std::vector<ModulePart> parts = partitionModule(module, threads);
  // LLVM initialises its targets once, before the threads start.
  if (!makeMachine(options, llvm::CodeGenOptLevel::Default))
    return module.emitError("LLVM has no code generator for this machine");
  std::vector<std::string> paths, errors(parts.size());
  for (unsigned i = 0; i < parts.size(); ++i) {
    SmallString<128> path(directory);
    llvm::sys::path::append(path, "part" + std::to_string(i) + ".o");
    paths.push_back(path.str().str());
  }
  llvm::StdThreadPool pool(llvm::hardware_concurrency(threads));
  for (unsigned i = 0; i < parts.size(); ++i)
    pool.async([&, i] {
      llvm::LLVMContext context;
      std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(*parts[i].module, context);
      if (!code) {
        errors[i] = "translation to LLVM IR failed";
        return;
      }
      bool fast = parts[i].entries;
      std::unique_ptr<llvm::TargetMachine> machine =
          makeMachine(options, fast ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Default);
      preferWideVectors(*code, *machine);
      optimise(*code, *machine, fast ? llvm::OptimizationLevel::O1 : llvm::OptimizationLevel::O3);
      errors[i] = writeObject(*code, *machine, paths[i]);
    });
  pool.wait();
  for (const std::string &error : errors)
    if (!error.empty())
      return module.emitError(error);
  return paths;
}

/// Writes an object with constants that `fill` adds to its module.
static LogicalResult compileConstants(ModuleOp module, const ObjectOptions &options,
                                      StringRef path,
                                      llvm::function_ref<void(llvm::Module &)> fill) {
  llvm::LLVMContext context;
  llvm::Module code("constants", context);
  std::unique_ptr<llvm::TargetMachine> machine =
      makeMachine(options, llvm::CodeGenOptLevel::None);
  code.setTargetTriple(machine->getTargetTriple());
  code.setDataLayout(machine->createDataLayout());
  fill(code);
  std::string error = writeObject(code, *machine, path);
  return error.empty() ? success() : LogicalResult(module.emitError(error));
}

LogicalResult tsp::compileDescription(ModuleOp module, StringRef json,
                                      const ObjectOptions &options, StringRef path) {
  return compileConstants(module, options, path, [&](llvm::Module &code) {
    llvm::Constant *text =
        llvm::ConstantDataArray::getString(code.getContext(), json, /*AddNull=*/true);
    new llvm::GlobalVariable(code, text->getType(), /*isConstant=*/true,
                             llvm::GlobalValue::ExternalLinkage, text, abi::modelJson);
  });
}

LogicalResult tsp::compileDeviceImage(ModuleOp module, StringRef fatbin,
                                      const ObjectOptions &options, StringRef path) {
  return compileConstants(module, options, path, [&](llvm::Module &code) {
    llvm::LLVMContext &context = code.getContext();
    llvm::Constant *bytes = llvm::ConstantDataArray::getString(context, fatbin, /*AddNull=*/true);
    auto *data = new llvm::GlobalVariable(code, bytes->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::InternalLinkage, bytes, "fatbin");
    data->setAlignment(llvm::Align(64));
    llvm::Constant *fields[] = {
        data, llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), fatbin.size())};
    llvm::Constant *image = llvm::ConstantStruct::getAnon(fields);
    new llvm::GlobalVariable(code, image->getType(), /*isConstant=*/true,
                             llvm::GlobalValue::ExternalLinkage, image, abi::deviceCode);
  });
}

LogicalResult tsp::printLLVM(ModuleOp module, const ObjectOptions &options,
                             llvm::raw_ostream &os) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context);
  std::unique_ptr<llvm::TargetMachine> machine =
      makeMachine(options, llvm::CodeGenOptLevel::Default);
  if (!code || !machine)
    return module.emitError("translation to LLVM IR failed");
  preferWideVectors(*code, *machine);
  optimise(*code, *machine, llvm::OptimizationLevel::O3);
  code->print(os, nullptr);
  return success();
}
