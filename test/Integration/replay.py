# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a schedule costs, whatever else the machine does: a trace's order of launches, starts and waits is replayed
with one time a kernel, the least that any launch of it took, on links that deliver in the order of the starts."""
import collections
import dataclasses
import json
import pathlib


@dataclasses.dataclass
class Replay:
    seconds: float  # of the slowest rank
    compute: float  # the kernels of one rank
    link: float  # all transfers, one after the other
    moved: float  # bytes over the link, each transfer as its busiest receiver sees it


@dataclasses.dataclass
class _Op:
    when: float
    kind: str  # launch, start or wait
    what: str | int  # the kernel, or the number of the transfer in the order of the starts
    bytes: int = 0


def kernel_times(paths: list[pathlib.Path]) -> dict[str, float]:
    """The least time of each kernel in the traces, in seconds."""
    times: dict[str, float] = {}
    for path in paths:
        for event in json.loads(path.read_text())["traceEvents"]:
            if event["ph"] == "X" and event["tid"] == 0 and event["name"] != "wait":
                times[event["name"]] = min(times.get(event["name"], 1e9), event["dur"] / 1e6)
    return times


def _program(events: list[dict]) -> list[_Op]:
    """A rank's ops in the order in which it ran them."""
    waits = [event for event in events if event["tid"] == 0 and event["name"] == "wait"]
    transfers = [event for event in events if event["tid"] == 1]
    number = {id(event): i for i, event in enumerate(sorted(transfers, key=lambda event: event["ts"]))}
    ops = [_Op(event["ts"], "launch", event["name"]) for event in events if event["tid"] == 0 and event["name"] != "wait"]
    # The end of a wait writes down both: the wait and what it waited for.
    for wait, transfer in zip(waits, transfers, strict=True):
        ops.append(_Op(transfer["ts"], "start", number[id(transfer)], transfer["args"]["bytes"]))
        ops.append(_Op(wait["ts"], "wait", number[id(transfer)]))
    return sorted(ops, key=lambda op: op.when)


def replay(path: pathlib.Path, times: dict[str, float], bandwidth: float | None = None) -> Replay:
    """Runs the trace at `path` on links of `bandwidth` bytes a second; by default they need as long as the kernels."""
    ranks = collections.defaultdict(list)
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] == "X":
            ranks[event["pid"]].append(event)
    programs = [_program(events) for _, events in sorted(ranks.items())]
    orders = [[(op.kind, op.what) for op in program] for program in programs]
    assert all(order == orders[0] for order in orders), "ranks run different programs"
    compute = sum(times[op.what] for op in programs[0] if op.kind == "launch")
    # A broadcast keeps the links of all receivers busy, and its owner waits for them.
    moved = sum(max(op.bytes for op in ops) for ops in zip(*programs) if ops[0].kind == "start")
    bandwidth = bandwidth or moved / compute
    clock, link = 0.0, 0.0
    delivered = {}
    for ops in zip(*programs):
        if ops[0].kind == "launch":
            clock += times[ops[0].what]
        elif ops[0].kind == "start":
            link = max(link, clock) + max(op.bytes for op in ops) / bandwidth
            delivered[ops[0].what] = link
        else:
            clock = max(clock, delivered[ops[0].what])
    return Replay(clock, compute, moved / bandwidth, moved)
