# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables that scripts write into the pages of docs/, in place.

A page marks where a table belongs, under a name that tells it from the page's other tables:

    <!-- table products -->
    | tile | ... |
    <!-- end of products -->

Lines that a script measures along with the table may stand there, too. Scripts print their tables, and with `--write` put them there.
"""
from __future__ import annotations

import argparse
import pathlib
import re
from collections.abc import Iterable
from typing import Any

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def table(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    """Its lines in Markdown."""
    header = list(header)
    return [f"| {' | '.join(header)} |", "|" + "---|" * len(header), *(f"| {' | '.join(map(str, row))} |" for row in rows)]


def _block(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<=<!-- table {re.escape(name)} -->\n).*?(?=<!-- end of {re.escape(name)} -->\n)", re.DOTALL)


def names(page: str) -> list[str]:
    """The tables of a page, in their order."""
    return re.findall(r"<!-- table (.*?) -->\n", (DOCS / page).read_text())


def read(page: str, name: str) -> list[list[str]]:
    """The cells of a table's lines: its header, then its rows."""
    [text] = _block(name).findall((DOCS / page).read_text())
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [lines[0], *lines[2:]]


def add_flag(parser: argparse.ArgumentParser, page: str) -> None:
    parser.add_argument("--write", action="store_true", help=f"also write the tables into docs/{page}")


def put(page: str, name: str, lines: list[str], write: bool) -> None:
    """Prints lines, and if told to puts them where the page wants the table; the page must want it once."""
    print("\n".join(lines), flush=True)
    if not write:
        return
    text, count = _block(name).subn(lambda _: "\n".join([*lines, ""]), (DOCS / page).read_text())
    if count != 1:
        raise ValueError(f"docs/{page} has {count} places for the table {name!r}, not one")
    (DOCS / page).write_text(text)
