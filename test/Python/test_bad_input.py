# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad input gives one clear error and an exit code, never a crash.

TSP_FUZZ is the number of damaged modules and of damaged files (default 200).
"""
import json
import os
import random
import subprocess

import jax
import numpy as np
import pytest

import tsp
from Integration import harness
from Integration.cases import case
from Integration.mutations import damage_bytes, damage_text
from Integration.ops import reductions, shapes

pytestmark = pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")

COUNT = int(os.environ.get("TSP_FUZZ", "200"))
X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.arange(15, dtype=np.float32).reshape(3, 5)


def refused(command, *wanted):
    """Asserts that a command fails as it should, and returns what it said."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)
    assert 0 < done.returncode < 100, f"exit code {done.returncode}\n{done.stderr}"
    assert done.stderr.count("error:") == 1 and "Stack dump" not in done.stderr, done.stderr
    for text in wanted:
        assert text in done.stderr, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def product(tmp_path_factory):
    """Folder with product.mlir, its executable for two ranks, and its files."""
    folder = tmp_path_factory.mktemp("product")
    program = tsp.export(lambda params, x: x @ params["w"], {"w": W}, X, params=(0,), path=folder / "product.mlir")
    tsp.compile_program(program, folder / "model", mesh="t=2", strategy="tsp")
    tsp.save_parameters(folder / "w.safetensors", {"w": W})
    tsp.save_tensors(folder / "x.npz", {"x": X})
    subprocess.run([folder / "model", f"--args={folder / 'w.safetensors'}", f"--args={folder / 'x.npz'}", f"--out={folder / 'y.npz'}"], check=True)
    return folder


def compile_command(source, tmp_path, *options):
    return [tsp.find_tool("tsp-compile"), source, "-o", tmp_path / "out", *options]


@pytest.mark.parametrize("text", ["", "module {", "not mlir at all", "module { func.func public @main() { return } }}",
                                  'module { func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> { %0 = "no.such"(%x) : (tensor<3xf32>) -> tensor<3xf32>\nreturn %0 : tensor<3xf32> } }',
                                  "module { func.func public @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> } }"])
def test_malformed_modules(tmp_path, text):
    (tmp_path / "bad.mlir").write_text(text)
    refused(compile_command(tmp_path / "bad.mlir", tmp_path))


def test_portable_bytecode_is_no_text(tmp_path):
    exported = jax.export.export(jax.jit(lambda x: x + 1))(X)
    (tmp_path / "add.mlirbc").write_bytes(exported.mlir_module_serialized)
    refused(compile_command(tmp_path / "add.mlirbc", tmp_path), "add.mlirbc", "expected text", "tsp.compile_program")


def test_truncated_module(product, tmp_path):
    text = (product / "product.mlir").read_text()
    (tmp_path / "bad.mlir").write_text(text[:len(text) // 2])
    refused(compile_command(tmp_path / "bad.mlir", tmp_path))


def test_missing_module(tmp_path):
    refused(compile_command(tmp_path / "absent.mlir", tmp_path), "absent.mlir")


def test_unwritable_output(product):
    refused([tsp.find_tool("tsp-compile"), product / "product.mlir", "-o", "/no/such/folder/out"], "/no/such/folder")


@pytest.mark.parametrize("mesh", ["t", "t=", "t=0", "t=-1", "t=x", "t=2,t=2", "=3", "t=99999999999999999999"])
def test_bad_meshes(product, tmp_path, mesh):
    refused(compile_command(product / "product.mlir", tmp_path, f"--mesh={mesh}"), "mesh")


@pytest.mark.parametrize("option", ["--strategy=nonsense", "--emit=nonsense", "--nonsense", "--target=nonsense"])
def test_bad_options(product, tmp_path, option):
    done = subprocess.run(list(map(str, compile_command(product / "product.mlir", tmp_path, option))), capture_output=True, text=True)
    assert 0 < done.returncode < 100 and "nonsense" in done.stderr, done.stderr


def run_command(folder, *arguments):
    return [folder / "model", *(f"--args={a}" for a in arguments), f"--out={folder / 'y.npz'}"]


def test_missing_weight(product):
    refused(run_command(product, product / "x.npz"), "params['w']")


def test_wrong_shape(product, tmp_path):
    tsp.save_tensors(tmp_path / "x.npz", {"x": X[:, :2]})
    refused(run_command(product, product / "w.safetensors", tmp_path / "x.npz"), "x", "2x3", "2x2")


def test_wrong_type(product, tmp_path):
    tsp.save_tensors(tmp_path / "x.npz", {"x": X.astype(np.int32)})
    refused(run_command(product, product / "w.safetensors", tmp_path / "x.npz"), "x", "2x3xf32", "2x3xint32")


def test_missing_file(product):
    refused(run_command(product, product / "absent.safetensors"), "absent.safetensors")


def test_unwritable_result(product):
    refused([product / "model", f"--args={product / 'w.safetensors'}", f"--args={product / 'x.npz'}", "--out=/no/such/folder/y.npz"], "/no/such/folder")


@pytest.mark.parametrize("header", ['{"params[\'w\']":{"dtype":"F32","shape":[NaN,5],"data_offsets":[0,60]}}', "NaN", "[]", "{", "",
                                    json.dumps({"params['w']": {"dtype": "F32", "shape": [3, 5], "data_offsets": [0, 6000]}}),
                                    json.dumps({"params['w']": {"dtype": "F32", "shape": [3, 5], "data_offsets": [60, 0]}}),
                                    json.dumps({"params['w']": {"dtype": "F99", "shape": [3, 5], "data_offsets": [0, 60]}})])
def test_bad_safetensors_headers(product, tmp_path, header):
    (tmp_path / "w.safetensors").write_bytes(len(header).to_bytes(8, "little") + header.encode() + W.tobytes())
    refused(run_command(product, tmp_path / "w.safetensors", product / "x.npz"), "w.safetensors")


@pytest.mark.parametrize("data", [b"", b"\xff" * 8, b"\xff" * 100, (1 << 62).to_bytes(8, "little") + b"{}", b"\x40"])
def test_short_safetensors(product, tmp_path, data):
    (tmp_path / "w.safetensors").write_bytes(data)
    refused(run_command(product, tmp_path / "w.safetensors", product / "x.npz"), "w.safetensors")


def crashed(done):
    return done.returncode < 0 or done.returncode >= 100 or "Stack dump" in done.stderr or "Assertion" in done.stderr


def test_damaged_modules_do_not_crash_the_compiler(tmp_path):
    source = random.Random(COUNT)
    tables = [op for op in shapes.ops() + reductions.ops() if op.args]
    with jax.enable_x64(True):
        texts = [tsp.export(op.fn, *op.args).text for op in source.sample(tables, 40)]
    for name in ["llama_attention", "moe_dispatch", "llama_scan"]:
        texts.append(tsp.export(case(name).fn, *case(name).args).text)
    command = [tsp.find_tool("tsp-opt"), "--tsp-import", "--split-input-file", "-o", os.devnull]
    for _ in range(0, COUNT, 50):
        damaged = [damage_text(source.choice(texts), source) for _ in range(50)]
        (tmp_path / "batch.mlir").write_text("\n// -----\n".join(damaged))
        if crashed(subprocess.run([*command, tmp_path / "batch.mlir"], capture_output=True, text=True, errors="replace", timeout=300)):
            for text in damaged:
                (tmp_path / "one.mlir").write_text(text)
                done = subprocess.run([*command, tmp_path / "one.mlir"], capture_output=True, text=True, errors="replace", timeout=300)
                assert not crashed(done), f"{done.stderr}\n{text}"


@pytest.mark.parametrize("name", ["w.safetensors", "x.npz"])
def test_damaged_files_do_not_crash_the_binary(product, tmp_path, name):
    source = random.Random(COUNT)
    whole = (product / name).read_bytes()
    files = {n: product / n for n in ["w.safetensors", "x.npz"]} | {name: tmp_path / name}
    for _ in range(COUNT):
        damaged = damage_bytes(whole, source)
        (tmp_path / name).write_bytes(damaged)
        done = subprocess.run(run_command(product, *files.values()), capture_output=True, text=True, errors="replace", timeout=60)
        assert not crashed(done), f"{done.stderr}\n{damaged!r}"
        assert done.returncode == 0 or "error:" in done.stderr
