# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged modules never crash the parser, the verifiers or import.

Modules of the round-trip tests are damaged at random; one process of tsp-opt takes
many of them, and what dies of a signal is narrowed down to one module.
TSP_FRONTEND_FUZZ is their number (default 3000).
"""
import os
import pathlib
import random
import re
import subprocess

import pytest

import tsp
from Integration.mutations import damage_text

COUNT = int(os.environ.get("TSP_FRONTEND_FUZZ", "3000"))
BATCH = 150
FOLDER = pathlib.Path(__file__).parent.parent
SEPARATOR = "\n// -----\n"


def modules() -> list[str]:
    """Texts to damage: the round-trip modules and the functions of other tests."""
    texts = []
    for path in sorted(FOLDER.glob("Dialect/*/RoundTrip/*.mlir")) + sorted(FOLDER.glob("Frontend/*.mlir")):
        texts += path.read_text().split(SEPARATOR)
    for path in sorted(FOLDER.glob("Dialect/StableHLO/canonicalize-*.mlir")):
        texts += re.split(r"\n(?=// CHECK-LABEL)", path.read_text())
    return ["\n".join(line for line in text.split("\n") if not line.lstrip().startswith("//")) for text in texts]


def change_attribute(text: str, source: random.Random) -> str:
    """Another number in an attribute, which the parser takes and verifiers judge."""
    numbers = list(re.finditer(r"(?<=[\[ :])-?\d+(?=[\], :}>])", text))
    if not numbers:
        return text
    number = source.choice(numbers)
    return text[:number.start()] + source.choice(["-1", "0", "1", "2", "3", "5", "63", "9223372036854775807", "-9223372036854775808"]) + text[number.end():]


def change_everywhere(text: str, source: random.Random) -> str:
    """Another size or element type wherever one occurs, so that uses still fit."""
    if source.random() < 0.3:
        old, new = source.choice(["f32", "i32", "i1", "ui32"]), source.choice(["f32", "bf16", "f8E5M2", "i1", "i4", "ui8", "complex<f32>", "index"])
        return re.sub(rf"\b{old}\b|(?<=x){old}\b", new, text)
    sizes = sorted(set(re.findall(r"(?<=[<x])\d+(?=x)", text)))
    if not sizes:
        return text
    return re.sub(rf"(?<=[<x]){source.choice(sizes)}(?=x)", source.choice(["0", "1", "2", "3", "7", "?", "4611686018427387904"]), text)


def damage(text: str, source: random.Random) -> str:
    if source.random() < 0.4:
        return damage_text(text, source)
    for _ in range(source.randint(1, 3)):
        text = source.choice([change_attribute, change_everywhere])(text, source)
    return text


def crashes(tool: str, texts: list[str], path: pathlib.Path) -> str:
    """What was said when a signal ended the tool, else nothing."""
    path.write_text(SEPARATOR.join(texts))
    done = subprocess.run([tool, path, "-split-input-file", "--tsp-import", "-o", os.devnull], capture_output=True, text=True,
                          errors="replace", timeout=120)
    return done.stderr[-3000:] or "no message" if done.returncode < 0 or done.returncode > 100 else ""


def narrow(tool: str, texts: list[str], path: pathlib.Path) -> list[str]:
    """The module that kills the tool by itself."""
    while len(texts) > 1:
        half = texts[:len(texts) // 2]
        texts = half if crashes(tool, half, path) else texts[len(texts) // 2:]
    return texts


@pytest.mark.parametrize("seed", range(max(1, COUNT // BATCH)))
def test_no_crash(tmp_path, seed):
    tool = str(tsp.find_tool("tsp-opt"))
    source = random.Random(seed)
    originals = modules()
    # A separator inside a module would split it into modules of its own: harmless.
    damaged = [damage(source.choice(originals), source) for _ in range(BATCH)]
    said = crashes(tool, damaged, tmp_path / "batch.mlir")
    if said:
        bad = narrow(tool, damaged, tmp_path / "one.mlir")
        pytest.fail(f"tsp-opt --tsp-import dies on:\n{bad[0]}\n{crashes(tool, bad, tmp_path / 'one.mlir') or said}")
