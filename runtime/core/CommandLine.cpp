//===- CommandLine.cpp - the command line of an executable ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/Emulation.h"
#include "core/Context.h"
#include "core/Json.h"

#include <cerrno>
#include <cmath>

using namespace tsp::runtime;

namespace {
/// A wrong command line: exit code 2.
struct UsageError : Error {
  using Error::Error;
};

struct CommandLine {
  std::string program, entry, out, stats, trace, devices, emulation;
  std::vector<std::string> args;
  int repeat = 1;
  bool help = false, describe = false, zeroStates = false, emulate = false;
  tsp_options options;
};
} // namespace

static double parseNumber(const std::string &text, const std::string &flag,
                          double least, double most) {
  char *end;
  double value = strtod(text.c_str(), &end);
  if (text.empty() || *end || !(value >= least && value <= most))
    throw UsageError(format("%s: '%s' is not a number from %g to %g",
                            flag.c_str(), text.c_str(), least, most));
  return value;
}

static int parseCount(const std::string &text, const std::string &flag) {
  double value = parseNumber(text, flag, 1, 1000000);
  if (value != std::floor(value))
    throw UsageError(flag + ": '" + text + "' is not a whole number");
  return int(value);
}

static void parseLink(const std::string &text, tsp_options &options) {
  size_t comma = text.find(',');
  if (comma == std::string::npos)
    throw UsageError("--link: expected GB/s,us as in --link=10,5; found '" +
                     text + "'");
  options.link_gbps =
      parseNumber(text.substr(0, comma), "--link, GB/s", 1e-6, 1e6);
  options.link_us = parseNumber(text.substr(comma + 1), "--link, us", 0, 1e7);
}

static CommandLine parseCommandLine(int argc, char **argv) {
  CommandLine line;
  line.program = argc > 0 && argv[0] ? argv[0] : "model";
  tsp_options_init(&line.options);
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i], value;
    size_t equals = flag.find('=');
    bool hasValue = equals != std::string::npos;
    if (hasValue) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    }
    if (flag == "--help" || flag == "-h" || flag == "--describe" ||
        flag == "--zero-states" || flag == "--graphs" || flag == "--check") {
      if (hasValue)
        throw UsageError(flag + " takes no value");
      if (flag == "--graphs")
        line.options.graphs = 1;
      else if (flag == "--check")
        line.options.check = 1;
      else
        (flag == "--describe"      ? line.describe
         : flag == "--zero-states" ? line.zeroStates
                                   : line.help) = true;
      continue;
    }
    if (flag == "--emulate") {
      line.emulate = true;
      line.emulation = value;
      continue;
    }
    static const char *const known[] = {
        "--entry",   "--args",   "--out",  "--stats",    "--trace",
        "--threads", "--repeat", "--link", "--watchdog", "--device"};
    bool isKnown = false;
    for (const char *name : known)
      isKnown |= flag == name;
    if (!isKnown)
      throw UsageError("unknown argument '" + std::string(argv[i]) + "'");
    if (!hasValue && i + 1 < argc)
      value = argv[++i];
    if (value.empty())
      throw UsageError(flag + " needs a value");
    if (flag == "--entry")
      line.entry = value;
    else if (flag == "--args")
      line.args.push_back(value);
    else if (flag == "--out")
      line.out = value;
    else if (flag == "--stats")
      line.stats = value;
    else if (flag == "--trace")
      line.trace = value;
    else if (flag == "--threads")
      line.options.threads = parseCount(value, flag);
    else if (flag == "--repeat")
      line.repeat = parseCount(value, flag);
    else if (flag == "--device")
      line.devices = value;
    else if (flag == "--link")
      parseLink(value, line.options);
    else
      line.options.watchdog_s = parseNumber(value, flag, 0, 1e6);
  }
  line.options.trace = !line.trace.empty();
  return line;
}

static const char *usageText =
    "usage: %s --args=FILE [--args=FILE ..] [--out=FILE] [options]\n"
    "\n"
    "Runs a compiled model; its ranks are threads of this process. A model "
    "for\n"
    "CUDA gives each rank a device; ranks share devices where there are "
    "fewer.\n"
    "Started by mpirun, srun or torchrun, the processes share the ranks.\n"
    "\n"
    "  --args=FILE       .safetensors, .npz or .npy with arguments, by name;\n"
    "                    may be repeated, the last file wins\n"
    "  --out=FILE        write the results: .npz, .safetensors or .npy\n"
    "  --entry=NAME      what to run (default: main, or the only entry)\n"
    "  --zero-states     start states that no file gives at zero\n"
    "  --stats=FILE      write counters, memory and times as JSON\n"
    "  --trace=FILE      write a trace for chrome://tracing or Perfetto\n"
    "  --threads=N       threads of each rank (default: cores / ranks)\n"
    "  --repeat=N        run N times, from the same states\n"
    "  --link=GB/s,us    simulate links of this bandwidth and latency\n"
    "  --watchdog=S      give up on a rank that does nothing for S seconds\n"
    "                    (default 60; 0: never)\n"
    "  --device=N,M,..   CUDA: the devices of the ranks in turn (default: "
    "all)\n"
    "  --graphs          CUDA: record the entry as a graph, run that; needs a\n"
    "                    device for each rank and more than one --repeat\n"
    "  --emulate[=DIR]   CUDA: run on the CPU, on the emulation in DIR; no "
    "GPU\n"
    "                    and no driver are needed\n"
    "  --check           fail where the program uses buffers of transfers "
    "that it\n"
    "                    has not waited for\n"
    "  --describe        show entries, arguments and results\n"
    "  --help            this text\n"
    "\n"
    "example:\n"
    "  %s --args=weights.safetensors --args=input.npz --out=result.npz \\\n"
    "      --stats=stats.json\n"
    "\n"
    "Arguments have the names that --describe shows; arg0, arg1, .. always\n"
    "work. In .npz and .npy, bf16 is uint16 and f8 is uint8 (their raw bits).\n"
    "Exit code: 0, 1 (the run failed), 2 (wrong usage).\n";

//===----------------------------------------------------------------------===//
// --describe
//===----------------------------------------------------------------------===//

static std::string placementText(const ModelDesc &model,
                                 const ValueDesc &value) {
  std::string out;
  for (size_t dim = 0; dim < value.placement.size(); ++dim)
    for (const AxisSplit &split : value.placement[dim]) {
      out += format("%sdim %zu on %s", out.empty() ? "" : ", ", dim,
                    model.axisNames[split.axis].c_str());
      if (split.layout == TSP_ZIGZAG)
        out += " (zigzag)";
      if (split.unit != 1)
        out += format(" (unit %lld)", (long long)split.unit);
    }
  return out.empty()
             ? "whole on each rank"
             : out + "; local " + typeText(value.dtype, value.localShape);
}

static std::string describe(const ModelDesc &model) {
  std::string out = "mesh:";
  for (size_t i = 0; i < model.mesh.size(); ++i)
    out += format(" %s=%lld", model.axisNames[i].c_str(),
                  (long long)model.mesh[i]);
  out += format("%s (%lld rank%s)\n", model.mesh.empty() ? " none" : "",
                (long long)model.numRanks(), model.numRanks() == 1 ? "" : "s");
  if (!model.strategy.empty())
    out += "strategy: " + model.strategy + "\n";
  auto line = [&](const ValueDesc &value, const char *kind) {
    out += format("  %-10s %-9s %s: %s; %s\n", value.positional.c_str(), kind,
                  value.name.c_str(), value.type().c_str(),
                  placementText(model, value).c_str());
  };
  for (const EntryDesc &entry : model.entries) {
    out += "entry " + entry.name + "\n";
    for (const ArgDesc &arg : entry.args)
      line(arg, kindName(arg.kind));
    for (const ValueDesc &result : entry.results)
      line(result, "result");
  }
  return out;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static void runModel(const CommandLine &line, Context &context) {
  int entry =
      context.findEntry(line.entry.empty() ? nullptr : line.entry.c_str());
  bool isFirst = context.running().isFirst();
  if (isFirst) {
    if (!line.out.empty())
      checkTensorsWritable(line.out);
    for (const std::string &path : {line.stats, line.trace})
      if (!path.empty())
        checkWritable(path);
  }
  for (const std::string &path : line.args)
    context.addFile(path);
  for (int i = 0; i < line.repeat; ++i) {
    if (i > 0)
      context.unloadStates(entry);
    if (line.zeroStates)
      context.zeroMissingStates(entry);
    try {
      context.load(entry);
    } catch (const MissingValues &error) {
      throw Error(
          std::string(error.what()) +
          "\ngive them in one or more files: --args=FILE.safetensors or "
          "--args=FILE.npz\n(--describe lists all names; --zero-states "
          "starts missing states at zero)");
    }
    context.call(entry);
  }
  if (!line.out.empty())
    context.writeResults(entry, line.out);
  auto write = [&](const std::string &path,
                   std::string (Context::*text)() const) {
    if (path.empty())
      return;
    std::string content = (context.*text)();
    if (isFirst)
      writeText(path, content);
  };
  write(line.stats, &Context::stats);
  write(line.trace, &Context::trace);
  context.running().finish();
}

int tsp_main_model(const tsp_model *model, int argc, char **argv) {
  std::unique_ptr<Context> context;
  int code = 0;
  try {
    CommandLine line = parseCommandLine(argc, argv);
    if (line.help) {
      printf(usageText, line.program.c_str(), line.program.c_str());
      return 0;
    }
    if (!model)
      throw Error("no model is linked into this binary");
    if (line.describe) {
      fputs(describe(ModelDesc::parse(*model)).c_str(), stdout);
      if (fflush(stdout))
        throw Error(std::string("cannot write the description: ") +
                    strerror(errno));
      return 0;
    }
    bool wantsDevice =
        line.emulate || line.options.graphs || !line.devices.empty();
    if (wantsDevice && !ModelDesc::parse(*model).onDevice())
      throw UsageError("--emulate, --device and --graphs are for models that "
                       "are compiled for cuda; this one runs on the host");
    if (line.emulate)
      useEmulation(line.emulation);
    line.options.devices =
        line.devices.empty() ? nullptr : line.devices.c_str();
    line.options.launched = 1;
    context = std::make_unique<Context>(*model, line.options);
    context->open();
    runModel(line, *context);
  } catch (const UsageError &error) {
    fprintf(stderr, "error: %s\n(--help shows all options)\n", error.what());
    code = 2;
  } catch (const std::bad_alloc &) {
    fprintf(stderr, "error: out of memory\n");
    code = 1;
  } catch (const std::exception &error) {
    fprintf(stderr, "error: %s\n", error.what());
    code = 1;
    // So that the other processes do not wait for this one.
    if (context && context->running().processes)
      context->running().fail(error.what());
  }
  // A stuck rank cannot be joined; leave without it.
  if (context && context->running().lost()) {
    fflush(stdout);
    _exit(1);
  }
  return code;
}

int tsp_main(int argc, char **argv) {
  return tsp_main_model(tsp_linked_model(), argc, argv);
}
