# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults that a generator of kernels could make, put into the PTX of one kernel; and what the emulation's checker says of each.

    faults = {"barrier removed": (r"bar\\.sync\\s+0;", 0, "", "race at shared address")}
    results, printed = kernel_faults.run(ptx, launches["k"], inputs, outputs, faults, directory)
    kernel_faults.check_is_named("barrier removed", faults, printed)

A fault is a pattern, the how-manieth place in the PTX that it finds (None: all), what stands there instead (a template, or a function
of the match), and a pattern of what is printed.
"""
import pathlib
import pickle
import re

import cuda_driver

# Each case in turn on one device, which does not work any more after a fault until its context is made anew.
SCRIPT = """
import pathlib, pickle, sys
import cuda_driver, device_runner
folder, found = pathlib.Path({folder!r}), {{}}
cases, how, inputs, outputs = pickle.loads((folder / "cases.pickle").read_bytes())
device = device_runner.device({architecture!r})
for name, ptx in cases.items():
    print("==", name, file=sys.stderr, flush=True)
    try:
        found[name] = device_runner.DeviceKernel(device.module(ptx), how)(inputs, outputs)
    except cuda_driver.Error:
        found[name] = None
        cuda_driver.call("cuDevicePrimaryCtxReset_v2", device.ordinal)
(folder / "found.pickle").write_bytes(pickle.dumps(found))
"""


def seeded(ptx, pattern, number, replacement):
    places = list(re.finditer(pattern, ptx))
    for place in reversed(places) if number is None else [places[number]]:
        instead = replacement(place) if callable(replacement) else place.expand(replacement)
        ptx = ptx[:place.start()] + instead + ptx[place.end():]
    return ptx


def of_each(ptx, kind, pattern, replacement, said):
    """The faults that change one of the places alike: "kind 0", "kind 1", ..."""
    count = len(re.findall(pattern, ptx))
    assert count, f"{kind}: no {pattern} in the kernel"
    return {f"{kind} {number}": (pattern, number, replacement, said) for number in range(count)}


def of_copies(ptx):
    """Of each wait for cp.async that it is left out, or waits for a group less; of each barrier and commit that it is left out."""
    wait, not_waited_for = r"cp\.async\.wait_group\s+(\d+);", "is the destination of a cp.async that was not waited for"
    return (of_each(ptx, "wait removed", wait, "", not_waited_for)
            | of_each(ptx, "wait for a group less", wait, lambda place: f"cp.async.wait_group {int(place[1]) + 1};", not_waited_for)
            | of_each(ptx, "barrier removed", r"bar\.sync\s+0;", "", f"{not_waited_for}|race at shared address|which nobody has written")
            | of_each(ptx, "commit removed", r"cp\.async\.commit_group;", "", not_waited_for))


def one_more(place):
    """The comparison or minimum that was found, with a constant that is larger by one."""
    return re.sub(r"\d+;$", lambda number: f"{int(number[0][:-1]) + 1};", place[0])


def run(ptx, how, inputs, outputs, faults, directory, architecture="sm_80"):
    """The results of the kernel without a fault; and of each fault what is printed, or None where the kernel came to its end. All in a process of their
    own, under the checker."""
    folder = pathlib.Path(directory)
    cases = {"none": ptx} | {name: seeded(ptx, *change) for name, (*change, _) in faults.items()}
    (folder / "cases.pickle").write_bytes(pickle.dumps((cases, how, inputs, outputs)))
    done = cuda_driver.run_script(SCRIPT.format(folder=str(folder), architecture=architecture), timeout=300, TSP_EMULATION_CHECK=1)
    assert done.returncode == 0, done.stderr
    printed = cuda_driver.printed_of_cases(done)
    found = pickle.loads((folder / "found.pickle").read_bytes())
    assert found["none"] is not None, printed["none"]
    return found["none"], {name: printed[name] if found[name] is None else None for name in faults}


def check_is_named(name, faults, printed):
    assert printed[name] is not None, f"{name}: the fault was not noticed"
    assert re.search(faults[name][-1], printed[name]), f"{name}:\n{printed[name]}"
