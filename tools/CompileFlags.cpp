//===- CompileFlags.cpp - flags that tsp-compile and tsp-run share --------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileFlags.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace tsp;

/// lib/ beside the bin/ that this tool lies in.
static std::string findRuntimeDirectory(const char *argv0) {
  SmallString<256> path(
      sys::fs::getMainExecutable(argv0, reinterpret_cast<void *>(&findRuntimeDirectory)));
  sys::path::remove_filename(path);
  sys::path::append(path, "..", "lib");
  sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return path.str().str();
}

CommandLine tsp::parseCommandLine(int argc, char **argv, StringRef overview, bool withOutput) {
  cl::OptionCategory category("Options");
  CommandLine result;
  CompileOptions &options = result.options;
  options.runtimeDirectory = findRuntimeDirectory(argv[0]);

  cl::opt<std::string, true> input(cl::Positional, cl::desc("MODEL.mlir"), cl::Required,
                                   cl::location(result.input), cl::cat(category));
  cl::opt<std::string, true> mesh(
      "mesh", cl::desc("Mesh of ranks; without it the program's own, else one rank"),
      cl::value_desc("d=2,t=4"), cl::location(options.mesh), cl::cat(category));
  cl::opt<std::string, true> strategy(
      "strategy", cl::desc("What mesh axes are used for: none, tp, tsp, sp_gather, data, joined by "
                           "commas; @AXIS names the axis, tsp(zigzag) balances causal attention"),
      cl::value_desc("data@d,tsp@t"), cl::location(options.strategy), cl::init("none"),
      cl::cat(category));
  cl::list<std::string> params(
      "params", cl::desc("Arguments that are parameters (* and ? match any characters); may be "
                         "given several times"),
      cl::value_desc("GLOB"), cl::cat(category));
  cl::list<std::string> schedules(
      "schedule", cl::desc("Schedule of folds (broadcast, ring or gather), for all or for "
                           "attention=, mlp= or head=; default: by cost"),
      cl::value_desc("mlp=ring"), cl::CommaSeparated, cl::cat(category));
  cl::opt<int64_t, true> prefetch(
      "prefetch", cl::desc("Parts of a fold to keep in flight; -1 (default): by cost"),
      cl::value_desc("N"), cl::location(options.prefetch), cl::init(-1), cl::cat(category));
  cl::opt<std::string, true> target(
      "target",
      cl::desc("Kind of machine: host (default), or cuda: and the GPUs' architectures"),
      cl::value_desc("cuda:sm_80,sm_90"), cl::location(options.target), cl::init("host"),
      cl::cat(category));
  cl::opt<std::string, true> embedPtx(
      "embed-ptx",
      cl::desc("PTX in binaries: plain (default), of the oldest architecture that is no 'a' "
               "variant, or all, of 'a' variants too, which --emulate needs to run them"),
      cl::value_desc("plain|all"), cl::location(options.embedPtx), cl::init("plain"),
      cl::cat(category));
  cl::opt<std::string, true> cpu(
      "target-cpu", cl::desc("native (default of host), generic (default of cuda), or a CPU that LLVM "
                            "knows; another CPU refuses the binary if it lacks what that one has"),
      cl::value_desc("CPU"), cl::location(options.targetCpu), cl::cat(category));
  cl::opt<std::string, true> from(
      "from", cl::desc("Start from what a phase has left, as --emit=mlir-PHASE writes it"),
      cl::value_desc("mlir-PHASE"), cl::location(options.from), cl::cat(category));
  cl::opt<bool, true> remarks("remarks", cl::desc("Say why things were decided as they were"),
                              cl::location(options.remarks), cl::cat(category));
  cl::opt<std::string, true> report(
      "report", cl::desc("Write plan and counts as JSON (to standard output without a file)"),
      cl::value_desc("FILE.json"), cl::ValueOptional, cl::location(options.report),
      cl::cat(category));
  cl::opt<bool, true> verbose("v", cl::desc("Print the time that each phase takes"),
                              cl::location(options.verbose), cl::cat(category));
  cl::opt<std::string, true> runtimeDirectory(
      "runtime-dir", cl::desc("Directory of libtsp_runtime.a and libtsp_main.a"),
      cl::value_desc("DIR"), cl::location(options.runtimeDirectory),
      cl::init(options.runtimeDirectory), cl::cat(category));
  // Descriptions are kept as references.
  std::string emitText = "What to write: " + join(getEmitKinds(), ", ") + " (default)";
  std::unique_ptr<cl::opt<std::string, true>> output, emit;
  if (withOutput) {
    output = std::make_unique<cl::opt<std::string, true>>(
        "o", cl::desc("The file to write; - is standard output, for texts"),
        cl::value_desc("FILE"), cl::location(options.output), cl::cat(category));
    emit = std::make_unique<cl::opt<std::string, true>>(
        "emit", cl::desc(emitText),
        cl::value_desc("KIND"), cl::location(options.emit), cl::init("exe"), cl::cat(category));
  }
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](raw_ostream &os) {
    os << "tsp " TSP_VERSION ", on LLVM " LLVM_VERSION_STRING "\n";
  });
  cl::ParseCommandLineOptions(argc, argv, overview);
  options.params.assign(params.begin(), params.end());
  options.schedules.assign(schedules.begin(), schedules.end());
  if (report.getNumOccurrences() && options.report.empty())
    options.report = "-";
  return result;
}
