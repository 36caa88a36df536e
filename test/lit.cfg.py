"""lit configuration: one .mlir file beside every pass, run with tsp-opt and FileCheck."""
import os
import sys

import lit.formats

config.name = "tsp"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Inputs", "Python", "Benchmark", "Unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tsp_binary_root, "test")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.tsp_binary_root, "bin"), config.llvm_tools, os.environ["PATH"]])
config.substitutions += [
    ("%tsp_source", config.tsp_source_root), ("%tsp_binary", config.tsp_binary_root),
    ("%mlir_include", config.mlir_include), ("%python", sys.executable)]
