# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ptxas and nvdisasm say of the code of device kernels.

    resources(ptx, "sm_80")["k"].registers
    [loop] = product_loops(sass)["k"]          # Counter of instruction kinds in the loop with the tensor-core products
"""
import collections
import dataclasses
import glob
import os
import re
import shutil
import subprocess
import tempfile

from kernel_runner import ROOT

INTEGER = {"IADD3", "IMAD", "LOP3", "SHF", "LEA", "ISETP", "SEL", "PRMT", "MOV", "IMNMX", "PLOP3", "IABS", "P2R", "R2P", "CS2R", "S2R", "NOP",
           "VIADD", "UIADD3", "ULOP3", "UISETP", "USEL", "UMOV", "ULEA", "UIMAD", "USHF", "UPLOP3", "S2UR", "VOTEU", "UPRMT"}


OPERATION = re.compile(r"/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9]*)([\w.]*)")


def find_tool(name):
    """Path of a program of the CUDA toolkit, or None."""
    roots = [os.environ.get("CUDA_ROOT"), os.environ.get("CUDA_HOME"), "/usr/local/cuda"]
    roots += glob.glob(os.path.join(ROOT, ".venv", "lib", "python*", "site-packages", "nvidia", "cu13"))
    for path in [os.path.join(root, "bin", name) for root in roots if root]:
        if os.path.exists(path):
            return path
    return shutil.which(name)


def release_of(name):
    """Of a program of the CUDA toolkit, as "13.0"."""
    return re.search(r"release (\d+\.\d+)", subprocess.run([find_tool(name), "--version"], check=True, capture_output=True, text=True).stdout)[1]


@dataclasses.dataclass
class Resources:
    registers: int
    stack: int
    spills: int  # bytes stored and loaded

    def blocks(self, threads, shared, processor_shared=164, registers=65536, most=2048):
        """Blocks on one multiprocessor (of an A100), whose shared memory is in KB; a block takes 1 KB more than it asks for."""
        per_warp = -(-self.registers * 32 // 256) * 256
        return min(registers // (per_warp * (threads // 32)), processor_shared * 1024 // (shared + 1024), most // threads)


def resources(ptx, architecture):
    """What each kernel takes on an architecture."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "k.ptx")
        with open(path, "w") as file:
            file.write(ptx)
        said = subprocess.run([find_tool("ptxas"), "-v", f"-arch={architecture}", path, "-o", path + ".cubin"], check=True,
                              capture_output=True, text=True).stderr
    if wait := re.search(r"\(C\d+\) .*(wgmma|warpgroup).*", said):
        raise AssertionError(f"ptxas makes products wait: {wait[0]}")
    found = {}
    for part in re.split(r"Compiling entry function '", said)[1:]:
        stack, stores, loads = map(int, re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part).groups())
        found[part.split("'")[0]] = Resources(int(re.search(r"Used (\d+) registers", part)[1]), stack, stores + loads)
    return found


def kind(opcode):
    base = opcode.split(".")[0]
    return "integer" if base in INTEGER else base


def product_loops(sass, product="HMMA"):
    """The loops that hold tensor-core products, or what `product` names, by kernel: Counters of kinds of instructions, inner loops first."""
    found = {}
    for section in re.split(r"\n\.text\.", sass)[1:]:
        name = section.split(":")[0]
        counts, starts, loops = [], {}, []
        for line in section.split("\n"):
            if label := re.match(r"(\.L_x_\d+):", line):
                starts[label[1]] = len(counts)
            if found_op := re.search(r"/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]+)(.*);", line):
                counts.append(kind(found_op[1]))
                target = re.search(r"\((\.L_x_\d+)\)", found_op[2])
                if found_op[1].startswith("BRA") and target and target[1] in starts:
                    body = collections.Counter(counts[starts[target[1]]:])
                    if body[product]:
                        loops.append(body)
        found[name] = loops
    return found


def instructions(sass):
    """All instructions of each kernel, by the first part of their names."""
    return {section.split(":")[0]: collections.Counter(opcode for opcode, _ in OPERATION.findall(section))
            for section in re.split(r"\n\.text\.", sass)[1:]}


CATEGORIES = ("LDSM", "LDGSTS", "integer", "other")


def categories(loop, product="HMMA"):
    """What a loop has of each kind for one tensor-core product; `other` is all else but the products."""
    counts = {name: loop[name] for name in CATEGORIES[:3]}
    counts["other"] = loop.total() - loop[product] - sum(counts.values())
    return {name: count / loop[product] for name, count in counts.items()}


def disassemble(ptx, architecture):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "k.ptx")
        with open(path, "w") as file:
            file.write(ptx)
        subprocess.run([find_tool("ptxas"), f"-arch={architecture}", path, "-o", path + ".cubin"], check=True)
        return subprocess.run([find_tool("nvdisasm"), "-c", path + ".cubin"], check=True, capture_output=True, text=True).stdout
