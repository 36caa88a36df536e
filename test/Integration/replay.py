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
    exposed: list[float]  # of each transfer, in the order of the starts: what a wait for it takes


@dataclasses.dataclass
class _Op:
    when: float
    kind: str  # launch, start or wait
    what: str | int  # the kernel, or the number of the transfer in the order of the starts
    bytes: int = 0


@dataclasses.dataclass
class _Rank:
    """The spans of a rank with one thread: those of its kernels, its waits, the starts of its transfers, and the transfers."""
    kernels: list[dict]
    waits: list[dict]
    starts: list[dict]
    transfers: list[dict]


def _ranks(path: pathlib.Path) -> list[_Rank]:
    rows, names = collections.defaultdict(list), {}
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] == "X":
            rows[event["pid"], event["tid"]].append(event)
        elif event["name"] == "thread_name":
            names[event["pid"], event["args"]["name"]] = event["tid"]
    ranks = []
    for rank in sorted({rank for rank, _ in names}):
        # On a device, streams come to starts and waits; on a host the end of a wait writes down both it and its transfer.
        on_device = (rank, "device, kernels") in names
        own = rows[rank, names[rank, "device, kernels"] if on_device else 0]
        transfers = rows[rank, names[rank, "device, transfers" if on_device else "transfers"]]
        starts = [event for event in own if event["name"] == "start"] if on_device else transfers
        ranks.append(_Rank([event for event in own if event["name"] not in ("start", "wait")], [event for event in own if event["name"] == "wait"],
                           starts, transfers))
    return ranks


def kernel_times(paths: list[pathlib.Path]) -> dict[str, float]:
    """The least time of each kernel in the traces, in seconds."""
    times: dict[str, float] = {}
    for event in (event for path in paths for rank in _ranks(path) for event in rank.kernels):
        times[event["name"]] = min(times.get(event["name"], 1e9), event["dur"] / 1e6)
    return times


def _program(rank: _Rank, repeats: int) -> list[_Op]:
    """A rank's ops in the order in which it ran them, in the last of equal calls. Devices wait in the order of the starts."""
    kernels, waits, starts, transfers = ([*spans[len(spans) - len(spans) // repeats:]] for spans in
                                         (rank.kernels, rank.waits, rank.starts, rank.transfers))
    number = {id(event): i for i, event in enumerate(sorted(starts, key=lambda event: event["ts"]))}
    ops = [_Op(event["ts"], "launch", event["name"]) for event in kernels]
    for wait, start, transfer in zip(waits, starts, transfers, strict=True):
        ops.append(_Op(start["ts"], "start", number[id(start)], transfer["args"]["bytes"]))
        ops.append(_Op(wait["ts"], "wait", number[id(start)]))
    return sorted(ops, key=lambda op: op.when)


def replay(path: pathlib.Path, times: dict[str, float], speed: float = 1, repeats: int = 1) -> Replay:
    """Runs the last call of the trace at `path`, of `repeats` equal ones, on links that are `speed` times as fast as the kernels."""
    programs = [_program(rank, repeats) for rank in _ranks(path)]
    orders = [[(op.kind, op.what) for op in program] for program in programs]
    assert all(order == orders[0] for order in orders), "ranks run different programs"
    compute = sum(times[op.what] for op in programs[0] if op.kind == "launch")
    # A broadcast keeps the links of all receivers busy, and its owner waits for them.
    moved = sum(max(op.bytes for op in ops) for ops in zip(*programs) if ops[0].kind == "start")
    bandwidth = speed * moved / compute
    clock, link = 0.0, 0.0
    delivered, exposed = {}, {}
    for ops in zip(*programs):
        if ops[0].kind == "launch":
            clock += times[ops[0].what]
        elif ops[0].kind == "start":
            link = max(link, clock) + max(op.bytes for op in ops) / bandwidth
            delivered[ops[0].what] = link
        else:
            exposed[ops[0].what] = max(0.0, delivered[ops[0].what] - clock)
            clock += exposed[ops[0].what]
    return Replay(clock, compute, moved / bandwidth, moved, [exposed[number] for number in sorted(exposed)])
