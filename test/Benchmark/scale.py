# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles models of full size for many GPUs, without their weights, and writes what
each rank would hold and receive beside the closed forms.

    PYTHONPATH=python:test .venv/bin/python test/Benchmark/scale.py [--length S] [--only TEXT | --write]

CPU seconds are those of tsp-compile and the ptxas that it runs, memory that of
tsp-compile. Buffers are all that a rank holds beside its weights.
"""
from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile

import tsp
from Benchmark import page_tables
from Integration import large
from tsp import closed_forms

PAGE = "Benchmarks.md"
HEADER = ["model", "layers", "mesh", "strategy", "CPU s", "compiler MB", "binary MB", "weights GB", "buffers GB", "by formula", "received GB", "by formula"]
TARGET = "cuda:sm_80,sm_90a"


@dataclasses.dataclass
class Setting:
    """A mesh, a strategy and what closed forms call them."""
    mesh: str
    strategy: str
    ranks: int       # that share the weights
    outer: int = 1   # more ranks that share the tokens

    def steps(self, kv_heads: int) -> int:
        """Of attention, as docs/Sharding.md has them, where one divides the other."""
        return min(kv_heads, self.ranks)


SETTINGS = [Setting(f"t={d}", strategy, d) for d in (8, 64, 1024) for strategy in ("tsp", "tsp(zigzag)", "tp", "sp_gather")]
SETTINGS += [Setting("d=8,t=8", "sp_gather@d,tsp@t", 8, 8), Setting("d=8,t=128", "sp_gather@d,tsp@t", 128, 8), Setting("d=8,t=8", "sp_gather@d,tp@t", 8, 8)]


def measure(program: pathlib.Path, setting: Setting, folder: pathlib.Path) -> dict[str, float]:
    """Compiles once."""
    binary, report = folder / "model", folder / "report.json"
    process = subprocess.Popen([tsp.find_tool("tsp-compile"), program, "-o", binary, f"--report={report}", f"--target={TARGET}",
                                f"--mesh={setting.mesh}", f"--strategy={setting.strategy}"])
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{setting}: tsp-compile failed")
    entry = json.loads(report.read_text())["entries"][0]
    return {"seconds": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss * 1024, "binary": binary.stat().st_size,
            "buffers": entry["peak_bytes"], "received": sum(entry["received_bytes"].values())}


def parameters(sizes: closed_forms.Sizes) -> int:
    """Bytes of all matrices."""
    layer = 2 * sizes.width * (sizes.q + sizes.kv) + 3 * sizes.width * sizes.ffn
    return (sizes.layers * layer + 2 * sizes.vocab * sizes.width) * sizes.element


def row(name: str, stacked: bool, setting: Setting, length: int, found: dict[str, float]) -> list[str]:
    """A line of the table. A loop over stacked layers counts once in what is received, so only listed layers show it."""
    config, sizes = large.CONFIGS[name], large.sizes(large.CONFIGS[name], length)
    folds = "tsp" in setting.strategy
    weights = parameters(sizes) // (1 if setting.strategy == "sp_gather" else setting.ranks)
    forms = {"tp": closed_forms.tp_forward, "sp_gather": closed_forms.sp_gather_forward}
    received = closed_forms.tsp_forward(setting.ranks, sizes, setting.outer) if folds else \
        forms[setting.strategy](setting.ranks, sizes) if setting.strategy in forms else None
    buffers = closed_forms.tsp_buffers(setting.ranks, sizes, setting.steps(config.kv_heads), config.head_width, setting.outer,
                                       "zigzag" in setting.strategy) if folds else None

    def gb(count: float | None) -> str:
        return "-" if count is None else f"{count / 1e9:.3f}"
    return [name, "stacked" if stacked else "listed", setting.mesh, setting.strategy, f"{found['seconds']:.1f}", f"{found['memory'] / 1e6:.0f}",
            f"{found['binary'] / 1e6:.1f}", gb(weights), gb(found["buffers"]), gb(buffers), "-" if stacked else gb(found["received"]),
            "-" if stacked else gb(received)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="settings whose line holds this text, such as '7B listed t=8 '")
    parser.add_argument("--length", type=int, default=131072, help="tokens (default 131072)")
    page_tables.add_flag(parser, PAGE)
    options = parser.parse_args()
    if options.only and options.write:
        parser.error("--write takes all settings, --only some")
    rows = []
    for name, config in large.CONFIGS.items():
        for stacked in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "model.mlir"
                large.program(config, options.length, stacked).save(path)
                # One mesh is enough to see what listing the layers costs.
                for setting in SETTINGS[:4] if stacked else SETTINGS:
                    if options.only in f"{name} {'stacked' if stacked else 'listed'} {setting.mesh} {setting.strategy} ":
                        rows.append(row(name, stacked, setting, options.length, measure(path, setting, pathlib.Path(folder))))
                        print(*rows[-1], flush=True)
    page_tables.put(PAGE, "models of full size", page_tables.table(HEADER, rows), options.write)


if __name__ == "__main__":
    main()
