//===- Ptx.cpp - the NVVM dialect to PTX ----------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/GPU/DeviceCode.h"
#include "tsp/Kernels/GPU/DeviceForm.h"
#include "tsp/Kernels/GPU/Toolkit.h"
#include "tsp/Support/Optimise.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace mlir;
using namespace tsp;

/// PTX of version 8.0 has kernels with as many bytes of parameters, 8.1 (drivers
/// of CUDA 12.1) more (PTX ISA, "Kernel Function Parameters").
static constexpr int64_t kParameterBytesBefore81 = 4352;

/// The bytes of the kernel that has most parameters.
static int64_t findParameterBytes(const llvm::Module &module) {
  int64_t most = 0;
  for (const llvm::Function &function : module) {
    int64_t bytes = 0;
    for (const llvm::Argument &argument : function.args()) {
      llvm::Type *type = argument.getParamByValType();
      bytes += module.getDataLayout().getTypeAllocSize(
          type ? type : argument.getType());
    }
    most = std::max(most, bytes);
  }
  return most;
}

static std::unique_ptr<llvm::TargetMachine>
makeMachine(const TargetDescription &target, const llvm::Module &code) {
  static const bool initialised = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialised;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *nvptx = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!nvptx)
    return nullptr;
  StringRef features = target.ptxFeatures;
  if (features == "+ptx80" && findParameterBytes(code) > kParameterBytesBefore81)
    features = "+ptx81";
  return std::unique_ptr<llvm::TargetMachine>(nvptx->createTargetMachine(
      triple, target.name, features, llvm::TargetOptions(),
      std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// The first function of libdevice that the module calls, or null.
static llvm::Function *findLibdeviceCall(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (function.isDeclaration() && function.getName().starts_with("__nv_"))
      return &function;
  return nullptr;
}

/// Links the functions of libdevice that are called; the text of an error, or
/// "".
static std::string linkLibdevice(llvm::Module &module) {
  llvm::Function *call = findLibdeviceCall(module);
  if (!call)
    return "";
  std::string path = findLibdevice();
  if (path.empty())
    return call->getName().str() + " is used, but " +
           describeMissingTool("libdevice.10.bc");
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> library =
      llvm::parseIRFile(path, diagnostic, module.getContext());
  if (!library)
    return "cannot read " + path + ": " + diagnostic.getMessage().str();
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  auto internalize = [](llvm::Module &destination,
                        const llvm::StringSet<> &linked) {
    llvm::internalizeModule(destination, [&](const llvm::GlobalValue &value) {
      return !value.hasName() || !linked.contains(value.getName());
    });
  };
  if (llvm::Linker::linkModules(module, std::move(library),
                                llvm::Linker::LinkOnlyNeeded, internalize))
    return "cannot link " + path;
  return "";
}

FailureOr<std::string> tsp::compileToPtx(gpu::GPUModuleOp module,
                                         const TargetDescription &target) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context);
  if (!code)
    return module.emitError("translation of kernels to LLVM IR failed");
  for (auto kernel : module.getOps<LLVM::LLVMFuncOp>())
    if (!hasCodeFor(kernel, target.name))
      code->getFunction(kernel.getName())->eraseFromParent();
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(target, *code);
  if (!machine)
    return module.emitError("LLVM has no code generator for NVIDIA GPUs");
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  if (std::string error = linkLibdevice(*code); !error.empty())
    return module.emitError(error);
  optimise(*code, *machine, llvm::OptimizationLevel::O3);
  SmallString<0> ptx;
  llvm::raw_svector_ostream os(ptx);
  llvm::legacy::PassManager manager;
  if (machine->addPassesToEmitFile(manager, os, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return module.emitError("LLVM cannot write PTX");
  manager.run(*code);
  return ptx.str().str();
}
