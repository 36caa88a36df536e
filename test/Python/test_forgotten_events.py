# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime forgets one call that keeps order: the checker of the emulated driver names what it was needed for, under any seed."""
import os
import re
import shutil
import subprocess

import pytest

from Integration import harness

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")

# Preloaded into the executable: call number TSP_TEST_NUMBER, from 1, of each thread to the function TSP_TEST_FORGET does nothing.
FORGETFUL = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Function(void *, void *, void *);
static Function *called;

static int forgetful(void *one, void *two, void *three) {
  static __thread int calls;
  if (++calls != atoi(getenv("TSP_TEST_NUMBER")))
    return called(one, two, three);
  fprintf(stderr, "forgotten\n");
  return 0;
}

void *dlsym(void *library, const char *name) {
  void *(*real)(void *, const char *) = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  void *found = real(library, name);
  if (strcmp(name, getenv("TSP_TEST_FORGET")) || !found)
    return found;
  called = found;
  return forgetful;
}
"""
BETWEEN_TASKS = (r"race on bytes \d+ to \d+ of an allocation of \d+ bytes, on device \d: (kernel 'k_\w+'|a copy|a fill|nccl.*) on stream \d+ of device \d "
                 r"(reads|writes) them.*, (kernel 'k_\w+'|a copy|a fill|nccl.*) on stream \d+ of device \d (reads|writes) them.*, and no event, stream "
                 r"order or synchronization puts \3 behind \1\n")
WITH_HOST = (r"race on bytes 0 to \d+ of an allocation of \d+ bytes, on the host: a copy on stream \d+ of device \d reads them, the host has changed "
             r"them, and no synchronization lets the host wait for the copy\n")


@pytest.fixture(scope="module")
def run(exported, executable, tmp_path_factory):
    """run(function, number, seed, *flags) -> what was printed, and the results unless it failed"""
    folder = tmp_path_factory.mktemp("forgetful")
    (folder / "forgetful.c").write_text(FORGETFUL)
    subprocess.run([shutil.which("cc"), "-shared", "-fPIC", "-o", folder / "forgetful.so", folder / "forgetful.c"], check=True)
    program = exported("llama_mlp")
    model = executable(program, "t=2", "tsp", "--target=cuda:sm_80")

    def start(function, number, seed, *flags):
        out = folder / "results.npz"
        out.unlink(missing_ok=True)
        environment = {"LD_PRELOAD": str(folder / "forgetful.so"), "TSP_TEST_FORGET": function, "TSP_TEST_NUMBER": str(number),
                       "TSP_EMULATION_CHECK": "1", "TSP_EMULATION_SEED": str(seed), "TSP_EMULATION_CACHE": str(folder / "code")}
        done = subprocess.run([model, f"--args={program.parameters}", f"--args={program.inputs}", f"--out={out}", "--emulate", *flags],
                              capture_output=True, text=True, timeout=120, env={**os.environ, **environment})
        assert out.exists() == (done.returncode == 0)
        return done.stderr, out.read_bytes() if out.exists() else None
    return start


@pytest.mark.parametrize("function, flags, message, most", [
    # Ranks over NCCL, and ranks that share a device. Many waits are not needed, since a later one of the stream stands behind more.
    ("cuStreamWaitEvent", (), BETWEEN_TASKS, None),
    ("cuStreamWaitEvent", ("--device=0",), BETWEEN_TASKS, None),
    # Before pinned memory is filled again: all are needed.
    ("cuEventSynchronize", (), WITH_HOST, 0),
])
def test_a_forgotten_call_is_named(run, function, flags, message, most):
    silent, right = run(function, 0, 1, *flags)
    assert silent == ""
    named, needless = 0, 0
    for number in range(1, 100):
        printed, results = run(function, number, number, *flags)
        if "forgotten" not in printed:
            break
        if "race" not in printed:
            assert results == right
            needless += 1
            continue
        named += 1
        for text in (printed, run(function, number, 0, *flags)[0]):
            assert re.search(message, text), text
    assert named >= 2 and (most is None or needless <= most)
