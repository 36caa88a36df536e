//===- DeviceCode.cpp - PTX to machine code and fatbin --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/GPU/DeviceCode.h"
#include "tsp/Kernels/GPU/Toolkit.h"
#include "tsp/Support/RunProgram.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace tsp;

namespace {
/// Files that tools read and write, removed with their directory.
class Workplace {
public:
  explicit Workplace(Location loc) : loc(loc) {
    if (std::error_code code =
            llvm::sys::fs::createUniqueDirectory("tsp-device", directory))
      emitError(loc) << "cannot make a temporary directory: " << code.message();
  }
  ~Workplace() {
    if (!directory.empty())
      llvm::sys::fs::remove_directories(directory);
  }
  bool isReady() const { return !directory.empty(); }

  std::string getPath(StringRef name) const {
    SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }
  LogicalResult write(StringRef name, StringRef bytes) const {
    std::error_code code;
    llvm::raw_fd_ostream os(getPath(name), code);
    if (!code) {
      os << bytes;
      os.close();
      code = os.error();
      os.clear_error();
    }
    return code ? emitError(loc) << "cannot write " << getPath(name) << ": "
                                 << code.message()
                : LogicalResult(success());
  }
  FailureOr<std::string> read(StringRef name) const {
    auto buffer = llvm::MemoryBuffer::getFile(getPath(name), /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (!buffer)
      return emitError(loc) << "cannot read " << getPath(name) << ": "
                            << buffer.getError().message();
    return (*buffer)->getBuffer().str();
  }
  /// Runs a program of the toolkit.
  LogicalResult run(StringRef program, std::vector<std::string> arguments,
                    std::string &output) const {
    std::string path = findToolkitProgram(program);
    if (path.empty())
      return emitError(loc) << describeMissingTool(program);
    arguments.insert(arguments.begin(), path);
    std::string error = runProgram(arguments, output);
    return error.empty() ? LogicalResult(success()) : emitError(loc) << error;
  }

private:
  Location loc;
  SmallString<128> directory;
};
} // namespace

/// Reads what `ptxas -v` prints: for each kernel its name, then a line of stack
/// and spills, then one of registers and shared memory.
static void readResources(StringRef log, const TargetDescription &target,
                          std::vector<KernelResources> &resources) {
  static const llvm::Regex entry("Compiling entry function '([^']+)'"),
      frame("([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores, ([0-9]+) "
            "bytes spill loads"),
      registers("Used ([0-9]+) registers"), shared("([0-9]+) bytes smem");
  auto number = [](StringRef text) {
    int64_t value = 0;
    text.getAsInteger(10, value);
    return value;
  };
  SmallVector<StringRef> lines, match;
  log.split(lines, '\n');
  KernelResources *kernel = nullptr;
  for (StringRef line : lines) {
    if (entry.match(line, &match)) {
      kernel = &resources.emplace_back();
      kernel->kernel = match[1].str();
      kernel->target = &target;
    }
    if (!kernel)
      continue;
    if (frame.match(line, &match)) {
      kernel->stack = number(match[1]);
      kernel->spillStores = number(match[2]);
      kernel->spillLoads = number(match[3]);
    }
    if (registers.match(line, &match))
      kernel->registers = number(match[1]);
    if (shared.match(line, &match))
      kernel->shared = number(match[1]);
  }
}

/// Products of warpgroups run beside other code as long as ptxas can prove that
/// it leaves their registers alone; where it cannot, it waits for each of them,
/// and only remarks on that.
static void reportWaits(Location loc, StringRef log) {
  static const llvm::Regex remark("\\(C[0-9]+\\) (.*(wgmma|warpgroup).*)");
  SmallVector<StringRef> lines, match;
  log.split(lines, '\n');
  for (StringRef line : lines)
    if (remark.match(line, &match))
      emitWarning(loc) << "ptxas: " << match[1];
}

int64_t tsp::getBlocksPerProcessor(const KernelResources &kernel,
                                   int64_t threads, int64_t dynamicShared) {
  const TargetDescription &target = *kernel.target;
  int64_t warps = llvm::divideCeil(threads, 32);
  // Registers are given to warps in units of 256; a block has 1 KB of shared
  // memory of the driver's.
  int64_t ofWarp =
      llvm::alignTo(std::max<int64_t>(kernel.registers, 1) * 32, 256);
  int64_t shared = kernel.shared + dynamicShared + 1024;
  return std::min({target.blocksPerProcessor,
                   target.threadsPerProcessor / (warps * 32),
                   target.registersPerProcessor / (ofWarp * warps),
                   target.sharedPerProcessor / shared});
}

FailureOr<std::string>
tsp::assemblePtx(Location loc, StringRef ptx, const TargetDescription &target,
                 std::vector<KernelResources> *resources) {
  Workplace files(loc);
  std::string log;
  if (!files.isReady() || failed(files.write("kernels.ptx", ptx)) ||
      failed(files.run("ptxas",
                       {"-arch=" + target.name.str(), "-O3", "-v",
                        files.getPath("kernels.ptx"), "-o",
                        files.getPath("kernels.cubin")},
                       log)))
    return failure();
  reportWaits(loc, log);
  if (resources)
    readResources(log, target, *resources);
  return files.read("kernels.cubin");
}

FailureOr<std::string> tsp::disassemble(Location loc, StringRef cubin) {
  Workplace files(loc);
  std::string text;
  if (!files.isReady() || failed(files.write("kernels.cubin", cubin)) ||
      failed(
          files.run("nvdisasm", {"-c", files.getPath("kernels.cubin")}, text)))
    return failure();
  return text;
}

FailureOr<DeviceCode>
tsp::compileDeviceCode(gpu::GPUModuleOp module,
                       ArrayRef<const TargetDescription *> targets,
                       bool withSpecificPtx) {
  Location loc = module.getLoc();
  Workplace files(loc);
  if (!files.isReady())
    return failure();
  DeviceCode code;
  std::vector<std::string> arguments = {"--create=" +
                                            files.getPath("kernels.fatbin"),
                                        "--64", "--compress=false"};
  const TargetDescription *oldest = nullptr;
  auto addImage = [&](StringRef kind, const TargetDescription &target,
                      StringRef bytes) {
    std::string name = (target.name + "." + kind).str();
    arguments.push_back(("--image3=kind=" + kind +
                         ",sm=" + target.name.drop_front(3) +
                         ",file=" + files.getPath(name))
                            .str());
    return files.write(name, bytes);
  };
  std::string forOthers;
  for (const TargetDescription *target : targets) {
    FailureOr<std::string> ptx = compileToPtx(module, *target);
    if (failed(ptx))
      return failure();
    FailureOr<std::string> cubin =
        assemblePtx(loc, *ptx, *target, &code.resources);
    if (failed(cubin) || failed(addImage("elf", *target, *cubin)))
      return failure();
    if (target->isSpecific) {
      if (withSpecificPtx && failed(addImage("ptx", *target, *ptx)))
        return failure();
    } else if (!oldest || target->capability < oldest->capability) {
      oldest = target;
      forOthers = std::move(*ptx);
    }
  }
  if (oldest && failed(addImage("ptx", *oldest, forOthers)))
    return failure();
  std::string log;
  if (failed(files.run("fatbinary", arguments, log)))
    return failure();
  FailureOr<std::string> fatbin = files.read("kernels.fatbin");
  if (failed(fatbin))
    return failure();
  code.fatbin = std::move(*fatbin);
  return code;
}
