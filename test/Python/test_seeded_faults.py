# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults seeded into the host code of a compiled block are caught and named, on threads, over NCCL and on a shared device."""
import os
import re
import subprocess

import pytest

import tsp
from Integration import harness

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")
TARGETS = {"host": ((), ("--threads=1",)), "nccl": (("--target=cuda:sm_80",), ("--emulate",)), "local": (("--target=cuda:sm_80",), ("--emulate", "--device=0"))}
START = re.compile(r"    (%\d+) = (tsp\.buffer\.broadcast .*)\n")
WAIT = re.compile(r" *tsp\.buffer\.wait (%\w+)\n")


def on_rank_1(first, second, then):
    """The starts of two transfers, on rank 1 only those of `then`, in that order."""
    def branch(starts):
        lines = "".join(f"      {name} = {op}\n" for name, op in starts)
        started = dict(starts)
        events = ", ".join(name if name in started else "%seed_none" for name, _ in (first, second))
        return f"{lines}      scf.yield {events} : i64, i64\n"
    return ('    %seed_rank = tsp.buffer.axis_index "t"\n    %seed_one = arith.constant 1 : i64\n    %seed_none = arith.constant -1 : i64\n'
            "    %seed_odd = arith.cmpi eq, %seed_rank, %seed_one : i64\n"
            f"    {first[0]}, {second[0]} = scf.if %seed_odd -> (i64, i64) {{\n{branch(then)}    }} else {{\n{branch((first, second))}    }}\n")


def wait_if_started(wait):
    """A wait for an event that may be none."""
    name = f"%seed_{wait.start()}"
    return f"    {name} = arith.cmpi ne, {wait[1]}, %seed_none : i64\n    scf.if {name} {{\n{wait[0]}    }}\n"


def with_starts(text, choose):
    """The program with the first two fetches, which start one after the other, as `choose` says."""
    one, two = list(START.finditer(text))[:2]
    kept = choose(one.groups(), two.groups())
    seeded = on_rank_1(one.groups(), two.groups(), kept)
    # Nor does rank 1 wait for what it has not started, which would be another fault.
    behind = text[two.end():] if len(kept) == 2 else WAIT.sub(wait_if_started, text[two.end():])
    return text[:one.start()] + text[one.end():two.start()] + seeded + behind


# Both transfers of rank 1 differ: which is noticed first depends on the order in which they are carried out.
DISAGREE = r"ranks \d and \d disagree on transfer number [01] of axis 't'"
FAULTS = {
    "none": (lambda text: text, ""),
    # The wait that lets the kernels behind it use what was fetched.
    "event removed": (lambda text: re.sub(r" *tsp\.buffer\.wait .*\n", "", text, count=1),
                      r"rank \d: kernel k_dot_general_\w+ uses the target of broadcast of f32 .*, number \d+ of axis 't', which was not waited for"),
    "collective removed": (lambda text: with_starts(text, lambda first, second: [second]),
                           DISAGREE + r": rank \d does broadcast of f32 .*; they differ in the"),
    "order swapped": (lambda text: with_starts(text, lambda first, second: [second, first]),
                      DISAGREE + r": rank \d does broadcast of f32 .*; they differ in the"),
}


def compile_seeded(program, folder, options, seed):
    """The executable of a program whose host code was changed, and whether that changed anything."""
    compiler = tsp.find_tool("tsp-compile")
    (folder / "program.mlir").write_text(program.program.text)
    subprocess.run([compiler, folder / "program.mlir", "--mesh=t=2", "--strategy=tsp", *options, "--emit=mlir-buffers", "-o", folder / "buffers.mlir"],
                   check=True)
    text = (folder / "buffers.mlir").read_text()
    seeded = seed(text)
    (folder / "seeded.mlir").write_text(seeded)
    subprocess.run([compiler, folder / "seeded.mlir", "--from=mlir-buffers", *options, "-o", folder / "model"], check=True)
    return folder / "model", seeded != text


def test_the_emulated_driver_names_late_waits(exported, tmp_path):
    """The waits of a ring's step come behind its kernels: the runtime sees every transfer waited for, the driver's checker a race."""
    program = exported("llama_mlp")
    late = lambda text: re.sub(r"((?: *tsp\.buffer\.wait .*\n)+)((?:.*\n)*?)( *scf\.yield)", r"\2\1\3", text, count=1)
    model, isChanged = compile_seeded(program, tmp_path, ("--target=cuda:sm_80",), late)
    assert isChanged
    for seed in ("0", "1", "2"):
        run = subprocess.run([model, f"--args={program.parameters}", f"--args={program.inputs}", "--emulate"], capture_output=True, text=True,
                             timeout=120, env={**os.environ, "TSP_EMULATION_CHECK": "1", "TSP_EMULATION_SEED": seed})
        assert run.returncode == 1
        assert re.search(r"race on bytes \d+ to \d+ of an allocation of \d+ bytes, on device \d: ncclBroadcast of \d+ int8 with root \d on stream \d of "
                         r"device \d writes them, kernel '(k_dot_general_\w+)' on stream \d of device \d reads them \(PTX line .*\), and no event, "
                         r"stream order or synchronization puts kernel '\1' behind ncclBroadcast", run.stderr), run.stderr


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_seeded_fault_is_named(exported, tmp_path, fault, target):
    compiled, flags = TARGETS[target]
    seed, message = FAULTS[fault]
    program = exported("llama_block")
    model, isChanged = compile_seeded(program, tmp_path, compiled, seed)
    assert isChanged == (fault != "none")
    run = subprocess.run([model, f"--args={program.parameters}", f"--args={program.inputs}", "--check", "--watchdog=5", *flags],
                         capture_output=True, text=True, timeout=120)
    if fault == "none":
        assert run.returncode == 0, run.stderr
    else:
        assert run.returncode == 1
        assert re.search("error: " + message, run.stderr), run.stderr
