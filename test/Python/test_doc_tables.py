# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables that scripts write into docs/: each in its own place, with figures that belong there."""
import re

import pytest

import test_gpu_gemm as tensor_cores
import test_gpu_warpgroup_gemm as warpgroups
from Benchmark import page_tables
from Benchmark.page_tables import DOCS, names, put, read, table

PLACES = [(page.name, name) for page in sorted(DOCS.glob("*.md")) for name in names(page.name)]


def test_scripts_have_places():
    assert {page for page, _ in PLACES} == {"Benchmarks.md", "Benchmarks-kernels.md", "Benchmarks-GPU-kernels.md", "Benchmarks-GPU-loops.md"}


@pytest.mark.parametrize("page, name", PLACES)
def test_rows_have_the_columns_of_the_header(page, name):
    header, *rows = read(page, name)
    assert rows and all(len(row) == len(header) for row in rows), rows


def loops(name):
    """(tile, layout) -> column -> value; cuBLAS's columns begin with its name where ours have the same."""
    header, *rows = read("Benchmarks-GPU-loops.md", name)
    columns = [f"cuBLAS: {column}" if column in header[:i] else column for i, column in enumerate(header)]
    return {(tile, layout): dict(zip(columns[2:], map(float, values))) for tile, layout, *values in rows}


def test_loops_on_tensor_cores():
    found = loops("products")
    assert list(found) == [(tile, layout) for tile, layouts in tensor_cores.CUBLAS.items() for layout in layouts]
    for (tile, layout), row in found.items():
        registers, products, matrices, copies, integers, instructions = tensor_cores.CUBLAS[tile][layout]
        assert [row[column] for column in ("HMMA", "LDSM", "LDGSTS")] == [products, matrices, copies], (tile, layout)
        assert [row[f"cuBLAS: {column}"] for column in ("registers", "LDSM", "LDGSTS", "integer", "all")] == [registers, matrices, copies, integers, instructions]
        assert row["ratio"] == pytest.approx(row["all"] / instructions, abs=0.006)


def test_loops_of_warpgroups():
    found = loops("products of warpgroups")
    assert list(found) == [(tile, layout) for tile, layouts in warpgroups.CUBLAS.items() for layout in layouts]
    for (tile, layout), row in found.items():
        products, integers, instructions, _ = warpgroups.CUBLAS[tile][layout]
        assert row["HGMMA"] == products and row["cuBLAS: integer"] == integers, (tile, layout)
        assert row["ratio"] == pytest.approx(row["all"] / instructions, abs=0.006)


def test_a_table_is_put_between_its_markers(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(page_tables, "DOCS", tmp_path)
    page = tmp_path / "page.md"
    before = "text\n<!-- table a -->\n<!-- end of a -->\n\n<!-- table a b -->\n| x |\n|---|\n| 9 |\n<!-- end of a b -->\nmore\n"
    page.write_text(before)
    lines = table(["x", "y"], [(1, r"\1"), (2, 3)])
    put("page.md", "a", lines, write=False)
    assert capsys.readouterr().out == "| x | y |\n|---|---|\n| 1 | \\1 |\n| 2 | 3 |\n" and page.read_text() == before
    for _ in range(2):
        put("page.md", "a", lines, write=True)
    assert page.read_text() == before.replace("<!-- table a -->\n", "<!-- table a -->\n" + "\n".join(lines) + "\n")
    assert names("page.md") == ["a", "a b"] and read("page.md", "a") == [["x", "y"], ["1", r"\1"], ["2", "3"]] and read("page.md", "a b") == [["x"], ["9"]]
    with pytest.raises(ValueError, match=re.escape("docs/page.md has 0 places for the table 'b', not one")):
        put("page.md", "b", lines, write=True)
