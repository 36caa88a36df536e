# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random straight pieces of PTX with what they must give, lane by lane: chains of the instructions of ptx_snippets.py that use each
other's results, some of their values shared by all lanes, some of them skipped by part of the lanes.

    snippet = chain("floats", seed)
    snippet.kernel("k"), snippet.inputs, snippet.outputs, snippet.expected      # for 2 blocks of 32 threads
"""
import dataclasses
import re
import zlib

import numpy as np

import ptx_reference
from ptx_snippets import BF16, SNIPPETS

BLOCKS, LANES = 2, 32
COUNT = BLOCKS * LANES
REGISTER = {1: ".b16", 2: ".b16", 4: ".b32", 8: ".b64"}
THREAD = np.arange(COUNT, dtype=np.uint32)

FAMILIES = {
    "integers": "add|sub|mul|mul24|mad|div|rem|min|max|neg|abs|sad|dp4a|addc|subc|madc|mov",
    "bits": "and|or|xor|not|cnot|shl|shr|shf|lop3|prmt|bfe|bfi|popc|clz|brev|bfind",
    "floats": "add|sub|mul|fma|div|min|max|neg|abs|sqrt|rcp|rsqrt|ex2|lg2|sin|cos|tanh|copysign",
    "halves": "add|sub|mul|fma|min|max|neg|abs|ex2|tanh|cvt",
    "comparisons": "setp|set|selp|slct|testp",
    "conversions": "cvt",
}
# The exact references do not keep the sign of a zero, by which these differ: they take values as they came.
KEEPS_FRESH = re.compile(r"\b(div|rcp|rsqrt|copysign)\.")


@dataclasses.dataclass
class Atom:
    """An instruction of ptx_snippets.py."""
    name: str
    text: str
    types: list      # (dtype, "f16" or "bf16" of packed words or "") of each input
    result: tuple
    reference: object
    tolerance: float


def _atoms(family):
    found = []
    for name, (text, inputs, output, reference, tolerance) in SNIPPETS.items():
        packed = name.split(":")[0] if name.startswith(("f16:", "bf16:")) else ""
        of_floats = bool(packed) or any(d.kind not in "iu" for d in [*inputs, output])
        small = packed or any(d.kind not in "iu" and d.itemsize <= 2 for d in [*inputs, output])
        wanted = {"integers": not of_floats, "bits": not of_floats, "floats": of_floats and not small, "halves": small}
        operation = [part for part in re.split(r"[;:]\s*", text) if "%d" in part][-1].split(".")[0].split()[-1]
        if family == "comparisons":
            operation = next((w for w in ("setp", "set", "slct", "testp") if re.search(rf"\b{w}\.", text)), operation)
        elif re.search(r"\b(setp|set|slct|testp)\.", text):
            continue
        if not re.fullmatch(FAMILIES[family], operation) or not wanted.get(family, True):
            continue
        types = [(d, packed if d == np.uint32 and packed and "cvt" not in text else "") for d in inputs]
        found.append(Atom(name, text, types, (output, packed), reference, tolerance))
    return found


ATOMS = {family: _atoms(family) for family in FAMILIES}


def packed_type(tag):
    return {"f16": np.float16, "bf16": BF16}[tag]


@dataclasses.dataclass
class Value:
    register: str
    kind: tuple          # (dtype, tag)
    array: np.ndarray
    reusable: bool = True
    exact: bool = True   # the sign of a zero is the program's, too


class Chain:
    def __init__(self, family, seed):
        self.random = np.random.default_rng([seed, zlib.crc32(family.encode())])
        self.lines, self.values, self.registers = [], [], []
        self.inputs, self.outputs, self.expected, self.tolerances = [], [], [], []
        for _ in range(self.random.integers(3, 7)):
            self.add(ATOMS[family][self.random.integers(len(ATOMS[family]))])

    def register(self, dtype):
        name = f"%r{len(self.registers)}"
        self.registers.append(f".reg {REGISTER[dtype.itemsize]} {name};")
        return name

    def fresh(self, kind):
        """A new input; the same for a whole block, or one a lane."""
        dtype, tag = kind
        seed = int(self.random.integers(1 << 30))
        if tag:
            array = ptx_reference.pack(*[ptx_reference.interesting(packed_type(tag), seed + i, COUNT) for i in (0, 1)])
        else:
            array = ptx_reference.interesting(dtype, seed, COUNT)
        uniform = self.random.random() < 0.3
        register, number = self.register(dtype), len(self.inputs)
        self.inputs.append(array)
        self.lines += [f"ld.param.u64 %w0, [NAME_{number}];", f"mad.wide.u32 %w0, {'%block' if uniform else '%thread'}, {dtype.itemsize}, %w0;",
                       f"ld.global.b{8 * dtype.itemsize} {register}, [%w0];"]
        value = Value(register, kind, array[THREAD // LANES] if uniform else array)
        self.values.append(value)
        return value

    def operand(self, kind, fresh):
        """An earlier value of this kind (an integer of this size), or a new one."""
        def fits(value):
            same = value.kind == kind
            integers = not kind[1] and not value.kind[1] and all(k.kind in "iu" for k in (kind[0], value.kind[0]))
            return value.reusable and (value.exact or not fresh) and (same or integers and value.kind[0].itemsize == kind[0].itemsize)
        choices = [value for value in self.values if fits(value)]
        if choices and self.random.random() < 0.7:
            return choices[self.random.integers(len(choices))]
        return self.fresh(kind)

    def guard(self):
        """A predicate on which lanes, or blocks, disagree; and where it holds."""
        bit = int(self.random.integers(0, 6))
        self.lines += [f"and.b32 %t0, %thread, {1 << bit};", "setp.ne.u32 %q, %t0, 0;"]
        return (THREAD >> bit & 1).astype(bool)

    def add(self, atom):
        operands = [self.operand(kind, KEEPS_FRESH.search(atom.text)) for kind in atom.types]
        dtype = atom.result[0]
        result = self.register(dtype)
        with np.errstate(all="ignore"):
            array = np.asarray(atom.reference(*[v.array.view(k[0]) for v, k in zip(operands, atom.types)])).astype(dtype)
        names = {"d": result, **{letter: v.register for letter, v in zip("abc", operands)}}
        if "%b, %b, 1;" in atom.text:  # It changes its input.
            names["b"] = self.register(operands[1].kind[0])
            self.lines.append(f"mov.b{8 * operands[1].kind[0].itemsize} {names['b']}, {operands[1].register};")
        text = re.sub(r"%([abcd])\b", lambda m: names[m[1]], atom.text)
        skipped = self.random.random() < 0.35
        label = f"SKIP{len(self.outputs)}"
        if skipped:
            holds = self.guard()
            zero = "mov.b16 %s, 0;" if dtype.itemsize <= 2 else f"mov.b{8 * dtype.itemsize} %s, 0;"
            self.lines += [zero % result, f"@!%q bra {label};"]
            array = np.where(holds, array, np.zeros_like(array))
        self.lines.append(text)
        if skipped:
            self.lines.append(label + ":")
        floats = atom.result[1] or dtype.kind not in "iu"
        ambiguous = bool(floats) and re.search(r"\b(min|max)\.", atom.text)
        self.values.append(Value(result, atom.result, array, reusable=atom.tolerance == 0 and not ambiguous, exact=not floats))
        self.outputs.append(result)
        self.expected.append((array, atom.result[1]))
        self.tolerances.append(atom.tolerance if "tanh.approx.bf16" not in atom.text else 2.0 ** -8)

    def kernel(self, name):
        total = len(self.inputs) + len(self.outputs)
        stores = []
        for i, (register, (array, _)) in enumerate(zip(self.outputs, self.expected)):
            size = array.dtype.itemsize
            stores += [f"ld.param.u64 %w0, [NAME_{len(self.inputs) + i}];", f"mad.wide.u32 %w0, %thread, {size}, %w0;",
                       f"st.global.b{8 * size} [%w0], {register};"]
        declared = [".reg .pred %p<3>, %q;", ".reg .b32 %t<4>, %f0, %thread, %block, %lane;", ".reg .b64 %w<2>;", ".reg .b16 %h<2>;"]
        first = ["mov.u32 %lane, %tid.x;", "mov.u32 %block, %ctaid.x;", f"mad.lo.u32 %thread, %block, {LANES}, %lane;"]
        parameters = ", ".join(f".param .u64 NAME_{i}" for i in range(total))
        body = "\n".join(declared + self.registers + first + self.lines + stores + ["ret;"])
        return f".visible .entry NAME({parameters}) {{\n{body}\n}}\n".replace("NAME", name)
