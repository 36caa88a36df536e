# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`pip install .`: a wheel of the package, installed into a fresh environment, compiles and runs a program."""
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest

import tsp
from Integration import harness

pytest.importorskip("wheel", reason="./bootstrap installs it")
SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy as np
import tsp
print(tsp.__file__)
with tsp.compile(tsp.export(lambda x, w: x @ w, np.ones((3, 4), np.float32), np.ones((4, 2), np.float32))) as model:
    print(model(np.ones((3, 4), np.float32), np.ones((4, 2), np.float32)).sum())
"""


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The interpreter of an environment with the package, and with the dependencies of this one."""
    folder = tmp_path_factory.mktemp("install")
    # A build leaves files beside its sources.
    (folder / "source").mkdir()
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(SOURCE / name, folder / "source")
    shutil.copytree(SOURCE / "python", folder / "source" / "python", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps"]
    run(*pip, "wheel", *offline, "--no-build-isolation", "--wheel-dir", folder, folder / "source")
    wheel, = folder.glob("tsp-*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", folder / "environment")
    interpreter = folder / "environment" / "bin" / "python"
    site = run(interpreter, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    pathlib.Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    run(*pip, "--python", interpreter, "install", *offline, wheel)
    return interpreter


@pytest.mark.skipif(not harness.tools_are_built(), reason="tsp-compile is not built")
def test_the_installed_package_compiles_and_runs(python, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["TSP_BIN"] = os.path.dirname(tsp.find_tool("tsp-compile"))
    place, total = run(python, "-c", PROGRAM, cwd=tmp_path, env=environment).split()
    assert pathlib.Path(place).is_relative_to(python.parents[1]), place
    assert float(total) == 24
