//===- Compile.cpp - a program to a file ----------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Pipelines/Compile.h"
#include "DiagnosticPrinter.h"
#include "Report.h"
#include "tsp/Host/Link.h"
#include "tsp/Host/ModelDescription.h"
#include "tsp/Host/ObjectFile.h"
#include "tsp/Kernels/GPU/DeviceCode.h"
#include "tsp/Kernels/GPU/DeviceForm.h"
#include "tsp/Pipelines/Mesh.h"
#include "tsp/Pipelines/Register.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/TargetParser/Host.h"

#include <chrono>

using namespace mlir;
using namespace tsp;

namespace {
/// Seconds since the start. Says on standard error what runs: on a terminal one
/// line that goes away, with `verbose` a line for each phase that is done.
class Clock {
public:
  explicit Clock(bool verbose)
      : verbose(verbose), progress(!verbose && llvm::errs().is_displayed()), start(now()),
        last(start) {}
  ~Clock() { erase(); }

  double seconds() const { return std::chrono::duration<double>(now() - start).count(); }
  void phaseBegins(StringRef name) {
    if (progress)
      llvm::errs() << "\r\033[Ktsp: " << name << " ..";
  }
  /// Before anything else is printed.
  void erase() {
    if (progress)
      llvm::errs() << "\r\033[K";
  }
  void phaseDone(StringRef name) {
    if (verbose)
      llvm::errs() << llvm::formatv("{0,8:F3} s  {1}\n",
                                    std::chrono::duration<double>(now() - last).count(), name);
    last = now();
  }

private:
  using Point = std::chrono::steady_clock::time_point;
  static Point now() { return std::chrono::steady_clock::now(); }
  bool verbose, progress;
  Point start, last;
};

/// A directory for objects, removed with all that is in it.
struct TemporaryDirectory {
  SmallString<128> path;
  std::error_code create() { return llvm::sys::fs::createUniqueDirectory("tsp", path); }
  ~TemporaryDirectory() {
    if (!path.empty())
      llvm::sys::fs::remove_directories(path);
  }
};
} // namespace

std::vector<std::string> tsp::getEmitKinds() {
  std::vector<std::string> kinds;
  for (const Phase &phase : getPhases())
    kinds.push_back(("mlir-" + phase.name).str());
  kinds.insert(kinds.end(), {"ptx", "cubin", "sass", "llvm", "obj", "so", "exe"});
  return kinds;
}

/// Whether what is written is the code of kernels alone.
static bool isDeviceCode(StringRef emit) {
  return emit == "ptx" || emit == "cubin" || emit == "sass";
}

/// Reads `--target`. Returns the text of an error, or "".
static std::string parseTarget(StringRef text, SmallVectorImpl<const TargetDescription *> &targets) {
  if (text == "host")
    return "";
  if (!text.consume_front("cuda:"))
    return ("expected host or cuda:ARCHITECTURE[,ARCHITECTURE..], found '" + text + "'").str();
  SmallVector<StringRef> names;
  text.split(names, ',');
  for (StringRef name : names) {
    const TargetDescription *target = findTargetDescription(name.trim());
    if (!target)
      return ("expected architectures out of " + listTargetNames() + ", found '" + name + "'").str();
    if (llvm::is_contained(targets, target))
      return ("architecture " + name + " is given twice").str();
    targets.push_back(target);
  }
  return "";
}

/// Number of the phase "mlir-<phase>" names, or -1.
static int findPhase(StringRef kind) {
  if (kind.consume_front("mlir-"))
    for (auto [i, phase] : llvm::enumerate(getPhases()))
      if (kind == phase.name)
        return i;
  return -1;
}

static bool isText(const CompileOptions &options) {
  StringRef emit = options.emit;
  return emit.starts_with("mlir-") || emit == "llvm" || emit == "ptx" || emit == "sass";
}

/// Whether a file of this name can be written, without leaving one behind.
static std::string checkWritable(StringRef path) {
  if (path == "-")
    return "";
  bool existed = llvm::sys::fs::exists(path);
  if (existed && llvm::sys::fs::is_directory(path))
    return ("cannot write '" + path + "': it is a directory").str();
  std::error_code code;
  {
    llvm::raw_fd_ostream os(path, code, llvm::sys::fs::CD_OpenAlways, llvm::sys::fs::FA_Write,
                            llvm::sys::fs::OF_Append);
  }
  if (code)
    return ("cannot write '" + path + "': " + code.message()).str();
  if (!existed)
    llvm::sys::fs::remove(path);
  return "";
}

std::string tsp::checkOptions(const CompileOptions &options) {
  std::vector<std::string> kinds = getEmitKinds();
  if (!llvm::is_contained(kinds, options.emit))
    return "--emit: expected one of " + llvm::join(kinds, ", ") + ", found '" + options.emit + "'";
  if (!options.from.empty() && findPhase(options.from) < 0)
    return "--from: expected mlir-PHASE, found '" + options.from + "'";
  SmallVector<const TargetDescription *> targets;
  if (std::string error = parseTarget(options.target, targets); !error.empty())
    return "--target: " + error;
  if (isDeviceCode(options.emit) && targets.size() != 1)
    return "--emit=" + options.emit + ": expected one GPU architecture, as in " +
           "--target=cuda:sm_80, found --target=" + options.target;
  bool isBinary = options.emit == "obj" || options.emit == "so" || options.emit == "exe";
  if (isBinary && !targets.empty() &&
      llvm::all_of(targets, [](const TargetDescription *target) { return target->isSpecific; }))
    return "--target: expected one architecture at least that is no 'a' variant (sm_90 beside "
           "sm_90a): its PTX is what other GPUs run";
  if (options.embedPtx != "plain" && options.embedPtx != "all")
    return "--embed-ptx: expected plain or all, found '" + options.embedPtx + "'";
  if (!options.targetCpu.empty() && !isKnownCpu(options.targetCpu))
    return "--target-cpu: expected native, generic or a CPU that LLVM knows, found '" +
           options.targetCpu + "'";
  SmallVector<std::pair<std::string, int64_t>> axes;
  if (!options.mesh.empty())
    if (std::string error = parseMesh(options.mesh, axes); !error.empty())
      return "--mesh: " + error;
  if (options.output.empty())
    return "no output: give -o FILE";
  if (options.output == "-" && !isText(options))
    return "--emit=" + options.emit + " writes a binary: give -o FILE";
  if (std::string error = checkWritable(options.output); !error.empty())
    return error;
  return options.report.empty() ? "" : checkWritable(options.report);
}

/// Opens `path`, writes, and keeps the file only when everything went well.
static LogicalResult writeText(ModuleOp module, StringRef path,
                               llvm::function_ref<LogicalResult(llvm::raw_ostream &)> write) {
  std::error_code code;
  llvm::ToolOutputFile file(path, code, llvm::sys::fs::OF_None);
  if (code)
    return module.emitError("cannot write '") << path << "': " << code.message();
  if (failed(write(file.os())))
    return failure();
  file.os().flush();
  if ((code = file.os().error())) {
    file.os().clear_error();
    return module.emitError("cannot write '") << path << "': " << code.message();
  }
  file.keep();
  return success();
}

/// Writes the kernels of one architecture as `emit` says.
static LogicalResult writeDeviceCode(ModuleOp module, const CompileOptions &options,
                                     const TargetDescription &target) {
  Location loc = module.getLoc();
  FailureOr<std::string> code = compileToPtx(getDeviceModule(module), target);
  if (succeeded(code) && options.emit != "ptx")
    code = assemblePtx(loc, *code, target);
  if (succeeded(code) && options.emit == "sass")
    code = disassemble(loc, *code);
  if (failed(code))
    return failure();
  return writeText(module, options.output, [&](llvm::raw_ostream &os) {
    os << *code;
    return success();
  });
}

/// The CPU that host code is for. Where GPUs compute it only launches, and often the
/// binary is carried to them: any CPU will do.
static std::string getHostCpu(const CompileOptions &options) {
  if (!options.targetCpu.empty())
    return options.targetCpu;
  return options.target == "host" ? "native" : "generic";
}

/// `device`: the code of its kernels, for a target that is one.
static LogicalResult writeBinary(ModuleOp module, const CompileOptions &options,
                                 const std::optional<DeviceCode> &device, Clock &clock) {
  TemporaryDirectory directory;
  if (std::error_code code = directory.create())
    return module.emitError("cannot make a temporary directory: ") << code.message();
  ObjectOptions objectOptions;
  objectOptions.cpu = getHostCpu(options);
  clock.phaseBegins("objects");
  FailureOr<std::vector<std::string>> objects =
      compileObjects(module, objectOptions, directory.path);
  if (failed(objects))
    return failure();
  clock.phaseDone("objects");
  if (device) {
    SmallString<128> image(directory.path);
    llvm::sys::path::append(image, "device.o");
    if (failed(compileDeviceImage(module, device->fatbin, objectOptions, image)))
      return failure();
    objects->push_back(image.str().str());
  }
  SmallString<128> description(directory.path);
  llvm::sys::path::append(description, "description.o");
  std::string json =
      describeModel(module, options.strategy, clock.seconds(), getCpuFeatures(objectOptions));
  if (failed(compileDescription(module, json, objectOptions, description)))
    return failure();
  objects->push_back(description.str().str());
  clock.phaseBegins("link");
  LinkKind kind = options.emit == "obj"  ? LinkKind::Object
                  : options.emit == "so" ? LinkKind::SharedObject
                                         : LinkKind::Executable;
  std::string error = linkBinary(kind, *objects, options.runtimeDirectory, options.output);
  if (!error.empty())
    return emitError(UnknownLoc::get(module.getContext())) << error;
  clock.phaseDone("link");
  return success();
}

/// A program without entries is a file cut short, or not a program.
static LogicalResult checkEntries(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      return success();
  return emitError(UnknownLoc::get(module.getContext()))
         << "expected a program with a public function, found none";
}

LogicalResult tsp::compile(ModuleOp module, const CompileOptions &options) {
  Clock clock(options.verbose);
  module.getContext()->loadDialect<TspDialect>(); // for the mesh
  PipelineOptions phaseOptions = options;
  SmallVector<const TargetDescription *> targets;
  if (std::string error = parseTarget(options.target, targets); !error.empty())
    return module.emitError(error);
  for (const TargetDescription *target : targets)
    phaseOptions.architectures.push_back(target->name.str());
  std::string cpu = getHostCpu(options);
  if (cpu == "generic")
    phaseOptions.vectorBits = 128;
  else if (cpu == "native" && !llvm::sys::getHostCPUFeatures().lookup("avx512f"))
    phaseOptions.vectorBits = 256;
  if (failed(checkEntries(module)) || failed(setMesh(module, options.mesh)))
    return failure();
  if (options.strategy != "none" && options.from.empty() && !module->hasAttr("tsp.mesh"))
    return emitError(UnknownLoc::get(module.getContext()))
           << "--strategy=" << options.strategy
           << ": expected a mesh of ranks, as the program has none of its own; give it by --mesh, "
              "as in --mesh=t=4";
  // The code of a GPU's kernels, made once: for the report and for the binary.
  std::optional<DeviceCode> device;
  auto compileDevice = [&]() -> LogicalResult {
    if (targets.empty() || device)
      return success();
    clock.phaseBegins("device");
    FailureOr<DeviceCode> code =
        compileDeviceCode(getDeviceModule(module), targets, options.embedPtx == "all");
    if (failed(code))
      return failure();
    device = std::move(*code);
    clock.phaseDone("device");
    return success();
  };
  for (const Phase &phase : getPhases().drop_front(findPhase(options.from) + 1)) {
    PassManager manager(module.getContext());
    phase.build(manager, phaseOptions);
    clock.phaseBegins(phase.name);
    if (failed(manager.run(module)))
      return failure();
    clock.phaseDone(phase.name);
    if (phase.name == "codegen" && isDeviceCode(options.emit))
      return writeDeviceCode(module, options, *targets.front());
    if (phase.name == "buffers" && !options.report.empty() &&
        (failed(compileDevice()) || failed(writeText(module, options.report, [&](llvm::raw_ostream &os) {
           writeReport(module, options.strategy, device, os);
           return success();
         }))))
      return failure();
    if (options.emit == ("mlir-" + phase.name).str())
      return writeText(module, options.output, [&](llvm::raw_ostream &os) {
        module.print(os, OpPrintingFlags().elideLargeElementsAttrs(64));
        os << "\n";
        return success();
      });
  }
  if (options.emit != "llvm" && failed(compileDevice()))
    return failure();
  if (!targets.empty())
    getDeviceModule(module).erase();
  if (options.emit == "llvm") {
    ObjectOptions objectOptions;
    objectOptions.cpu = cpu;
    return writeText(module, options.output, [&](llvm::raw_ostream &os) {
      return printLLVM(module, objectOptions, os);
    });
  }
  return writeBinary(module, options, device, clock);
}

int tsp::compileFile(StringRef input, const CompileOptions &options) {
  auto fail = [](const std::string &error) {
    llvm::errs() << "error: " << error << "\n";
    return 1;
  };
  if (std::string error = checkOptions(options); !error.empty())
    return fail(error);
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(input, /*IsText=*/true);
  if (!buffer)
    return fail(("cannot read '" + input + "': " + buffer.getError().message()).str());
  StringRef bytes = (*buffer)->getBuffer();
  if (bytes.starts_with("ML\xEFR") && bytes.contains("StableHLO_v"))
    return fail(("'" + input + "' is a portable StableHLO artifact (bytecode), expected text; "
                 "tsp.compile_program of the Python package takes it").str());
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  context.printOpOnDiagnostic(false); // the place in the source is enough
  DiagnosticPrinter printer(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return 1; // the parser has said why
  return failed(compile(*module, options)) ? 1 : 0;
}
