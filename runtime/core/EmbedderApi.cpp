//===- EmbedderApi.cpp - what embedders call ------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Context.h"

using namespace tsp::runtime;

// Defined by the object that the compiler makes, if one is linked in.
extern "C" {
extern const char tsp_model_json[] __attribute__((weak));
extern const tsp_entry_point tsp_entry_table[] __attribute__((weak));
extern const tsp_device_image tsp_device_code __attribute__((weak));
}

struct tsp_context {
  std::mutex mutex;
  std::unique_ptr<Context> context; ///< null when it could not be made
  std::string error, text;
};

/// Runs fn(Context) with the context locked; keeps the text of its error.
template <typename Fn> static int guarded(tsp_context *handle, Fn fn) {
  std::lock_guard<std::mutex> lock(handle->mutex);
  if (!handle->context) // the error says why
    return 1;
  try {
    handle->error.clear();
    fn(*handle->context);
    return 0;
  } catch (const std::bad_alloc &) {
    handle->error = "out of memory";
  } catch (const std::exception &error) {
    handle->error = error.what();
  }
  return 1;
}

static void dropContext(tsp_context &handle) {
  // A lost rank still runs in its memory: leave all of that alone.
  if (handle.context && handle.context->running().lost())
    handle.context.release();
  handle.context.reset();
}

void tsp_options_init(tsp_options *options) {
  *options = tsp_options();
  options->watchdog_s = 60;
}

const tsp_model *tsp_linked_model(void) {
  static const tsp_model model = {tsp_model_json, tsp_entry_table,
                                  &tsp_device_code};
  return tsp_model_json && tsp_entry_table ? &model : nullptr;
}

tsp_context *tsp_context_create(const tsp_model *model,
                                const tsp_options *options) {
  auto *handle = new (std::nothrow) tsp_context;
  if (!handle)
    return nullptr;
  tsp_options defaults;
  tsp_options_init(&defaults);
  try {
    model = model ? model : tsp_linked_model();
    if (!model)
      throw Error("no model is linked into this binary");
    handle->context =
        std::make_unique<Context>(*model, options ? *options : defaults);
    handle->context->open();
  } catch (const std::exception &error) {
    handle->error = error.what();
    dropContext(*handle);
  }
  return handle;
}

void tsp_context_destroy(tsp_context *context) {
  if (context)
    dropContext(*context);
  delete context;
}

const char *tsp_error(tsp_context *context) { return context->error.c_str(); }

int tsp_add_file(tsp_context *context, const char *path) {
  return guarded(context, [&](Context &c) { c.addFile(path); });
}

int tsp_set(tsp_context *context, const char *entry, const char *name,
            int32_t dtype, int32_t rank, const int64_t *shape,
            const void *data) {
  return guarded(context, [&](Context &c) {
    auto [e, a] = c.findArg(entry, name);
    const ArgDesc &arg = c.model().entries[e].args[a];
    std::vector<int64_t> given(shape, shape + (rank > 0 ? rank : 0));
    if (dtype != arg.dtype || given != arg.shape)
      throw Error(format("argument '%s': expected %s, found %s", name,
                         arg.type().c_str(), typeText(dtype, given).c_str()));
    c.set(e, a, data);
  });
}

int tsp_set_zero(tsp_context *context, const char *entry, const char *name) {
  return guarded(context, [&](Context &c) {
    auto found = c.findArg(entry, name);
    c.setZero(found.first, found.second);
  });
}

int tsp_unload(tsp_context *context, const char *entry, const char *name) {
  return guarded(context, [&](Context &c) {
    if (!name)
      return c.unloadStates(c.findEntry(entry));
    auto found = c.findArg(entry, name);
    c.unload(found.first, found.second);
  });
}

int tsp_call(tsp_context *context, const char *entry) {
  return guarded(context, [&](Context &c) { c.call(c.findEntry(entry)); });
}

/// Reads a value of `bytes` bytes.
static void readChecked(Context &context, const ValueDesc &value,
                        const Place &place, void *dst, int64_t bytes) {
  if (bytes != value.bytes())
    throw Error(format("'%s' (%s) has %lld bytes, but the buffer %lld",
                       value.name.c_str(), value.type().c_str(),
                       (long long)value.bytes(), (long long)bytes));
  context.read(value, place, static_cast<char *>(dst));
}

int tsp_read_result(tsp_context *context, const char *entry, const char *name,
                    void *dst, int64_t bytes) {
  return guarded(context, [&](Context &c) {
    int e = entry ? c.findEntry(entry) : c.findEntry(nullptr);
    int r = c.findResult(c.model().entries[e].name.c_str(), name).second;
    readChecked(c, c.model().entries[e].results[r], c.resultPlace(e, r), dst,
                bytes);
  });
}

int tsp_read_arg(tsp_context *context, const char *entry, const char *name,
                 void *dst, int64_t bytes) {
  return guarded(context, [&](Context &c) {
    auto [e, a] = c.findArg(entry, name);
    readChecked(c, c.model().entries[e].args[a], c.argPlace(e, a), dst, bytes);
  });
}

void *tsp_local_buffer(tsp_context *context, const char *entry,
                       const char *name, int32_t rank, int64_t *bytes) {
  void *result = nullptr;
  guarded(context, [&](Context &c) {
    int e = c.findEntry(entry);
    const EntryDesc &desc = c.model().entries[e];
    int a = desc.findArg(name), r = desc.findResult(name);
    if (a < 0 && r < 0)
      throw Error(format("entry '%s' has no argument or result '%s'",
                         desc.name.c_str(), name));
    if (rank < 0 || rank >= c.model().numRanks())
      throw Error(format("there is no rank %d", rank));
    const Place &place = a >= 0 ? c.argPlace(e, a) : c.resultPlace(e, r);
    const ValueDesc &value =
        a >= 0 ? static_cast<const ValueDesc &>(desc.args[a]) : desc.results[r];
    if (bytes)
      *bytes = value.localBytes();
    const tsp_rank *here = c.running().findRank(rank);
    if (!here)
      throw Error(format("rank %d is in another process", rank));
    result = c.local(*here, place);
  });
  return result;
}

int tsp_write_results(tsp_context *context, const char *entry,
                      const char *path) {
  return guarded(context,
                 [&](Context &c) { c.writeResults(c.findEntry(entry), path); });
}

int32_t tsp_num_ranks(tsp_context *context) {
  return context->context ? int32_t(context->context->model().numRanks()) : 0;
}

const char *tsp_description(tsp_context *context) {
  return context->context ? context->context->model().json.c_str() : "";
}

const char *tsp_stats(tsp_context *context) {
  guarded(context, [&](Context &c) { context->text = c.stats(); });
  return context->text.c_str();
}

int tsp_write_trace(tsp_context *context, const char *path) {
  return guarded(context, [&](Context &c) {
    std::string text = c.trace();
    if (c.running().isFirst())
      writeText(path, text);
  });
}
