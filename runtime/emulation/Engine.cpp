//===- Engine.cpp - PTX compiled for and run on the CPU -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine.h"

#include "exec/BlockRunner.h"
#include "exec/Scheduler.h"
#include "exec/Workers.h"
#include "jit/Program.h"
#include "ptx/Parser.h"

#include <cstring>
#include <map>
#include <mutex>

namespace tsp::emulation {

namespace {
/// Of checked launches, by kernel.
struct Totals {
  std::mutex mutex;
  std::map<std::string, Counters> ofKernel;

  /// Never destroyed: a launch may end while the process exits.
  static Totals &get() {
    static Totals *totals = new Totals;
    return *totals;
  }
};

/// One load of a program: its own variables.
class LoadedModule : public Module {
public:
  LoadedModule(std::shared_ptr<Program> program, const ModuleOptions &options)
      : program(std::move(program)), options(options) {
    // Hardware aligns allocations at least so far.
    constexpr size_t alignment = 256;
    memory.resize(this->program->variableBytes + alignment);
    uint64_t base = reinterpret_cast<uint64_t>(memory.data());
    variables = reinterpret_cast<uint8_t *>((base + alignment - 1) / alignment *
                                            alignment);
    for (const auto &kernel : this->program->kernels)
      kernelList.push_back(kernel->description);
    for (const auto &variable : this->program->source->variables)
      initialize(*variable);
  }

  const std::vector<Kernel> &kernels() const override { return kernelList; }
  const std::vector<Global> &globals() const override { return globalList; }

  bool run(const Launch &launch, Counters &counters,
           std::string &fault) override {
    size_t index = size_t(launch.kernel - kernelList.data());
    if (index >= kernelList.size()) {
      fault = "the launch's kernel is not of this module";
      return false;
    }
    CompiledKernel &kernel = *program->kernels[index];
    KernelEntry entry = kernel.entry(fault);
    if (!entry)
      return false;
    LaunchState state(kernel, entry, launch, variables, program->variableBytes,
                      options.checker);
    Workers::get().run([&] { Scheduler(state).runAll(); });
    if (state.global && launch.uses && !state.failed)
      *launch.uses = state.global->uses(kernel.sites);
    counters += state.counters;
    if (options.checker) {
      Totals &totals = Totals::get();
      std::lock_guard<std::mutex> lock(totals.mutex);
      totals.ofKernel[launch.kernel->name] += state.counters;
    }
    fault = state.fault;
    return !state.failed;
  }

private:
  void initialize(const ptx::Variable &variable) {
    if (variable.space == ptx::Space::Shared)
      return;
    uint8_t *place = variables + variable.offset;
    globalList.push_back({variable.name, place, variable.size});
    if (!variable.initial.empty())
      std::memcpy(place, variable.initial.data(), variable.initial.size());
    for (const ptx::Variable::Relocation &relocation : variable.relocations)
      for (const auto &target : program->source->variables)
        if (target->name == relocation.symbol) {
          uint64_t address = reinterpret_cast<uint64_t>(variables) +
                             target->offset + uint64_t(relocation.addend);
          std::memcpy(place + relocation.where, &address, sizeof(address));
        }
  }

  std::shared_ptr<Program> program;
  ModuleOptions options;
  std::vector<uint8_t> memory;
  uint8_t *variables;
  std::vector<Kernel> kernelList;
  std::vector<Global> globalList;
};
} // namespace

Module::~Module() = default;

Counters &Counters::operator+=(const Counters &other) {
  sharedRequests += other.sharedRequests;
  sharedPasses += other.sharedPasses;
  globalRequests += other.globalRequests;
  globalSectors += other.globalSectors;
  globalIdealSectors += other.globalIdealSectors;
  return *this;
}

std::unique_ptr<Module> Module::load(const std::string &ptx,
                                     const ModuleOptions &options,
                                     std::string &error) {
  try {
    return std::make_unique<LoadedModule>(Program::get(ptx), options);
  } catch (const std::runtime_error &failure) {
    error = failure.what();
    return nullptr;
  }
}

Counters countersOf(const std::string &kernel) {
  Totals &totals = Totals::get();
  std::lock_guard<std::mutex> lock(totals.mutex);
  auto it = totals.ofKernel.find(kernel);
  return it == totals.ofKernel.end() ? Counters() : it->second;
}

const Kernel *Module::findKernel(const std::string &name) const {
  for (const Kernel &kernel : kernels())
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

const Global *Module::findGlobal(const std::string &name) const {
  for (const Global &global : globals())
    if (global.name == name)
      return &global;
  return nullptr;
}

} // namespace tsp::emulation
