# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wgmma.mma_async by the PTX manual: where the elements of A, B and D lie in shared memory and in registers, and kernels in PTX
that run one instruction. Every layout is written down here element by element, from the manual's figures."""
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

# NumPy's type and bits of the elements of A and B.
ELEMENTS = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "tf32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn,
            "e5m2": ml_dtypes.float8_e5m2, "s8": np.int8, "u8": np.uint8}
SUMS = {"f32": np.float32, "f16": np.float16, "s32": np.int32}
SWIZZLES = {0: 0, 128: 1, 64: 2, 32: 3}
IMAGE = 96 * 1024


@dataclass
class Layout:
    """A matrix of `outer` rows (A) or columns (B), `depth` elements along k, in shared memory."""
    swizzle: int = 128
    transposed: bool = False
    start: int = 0          # bytes; a multiple of 16
    leading: int = 0        # bytes; 0 leaves the field out
    stride: int = 0
    pattern: int = 0        # where the swizzle's pattern begins, a multiple of 128

    def descriptor(self):
        encode = lambda x: (x & 0x3ffff) >> 4
        base = (self.pattern >> 7) & 7
        return encode(self.start) | encode(self.leading) << 16 | encode(self.stride) << 32 | base << 49 | SWIZZLES[self.swizzle] << 62

    def offset(self, outer, k, size):
        """The byte at which an element of `size` bytes begins."""
        if self.transposed:
            piece, within, line = outer * size // 16, outer * size % 16, k
        else:
            piece, within, line = k * size // 16, k * size % 16, outer
        width = max(16, self.swizzle)
        # Lines of `width` bytes, eight of them a pattern; `piece` goes along the line.
        if self.swizzle == 0:
            across, along = (self.leading, self.stride) if self.transposed else (self.stride, self.leading)
            linear = line // 8 * across + piece * along + line % 8 * 16
        elif self.transposed:
            pieces = width // 16
            linear = line // 8 * self.stride + piece // pieces * self.leading + line % 8 * width + piece % pieces * 16
        else:
            linear = line // 8 * self.stride + line % 8 * width + piece * 16
        address = self.start + linear
        if self.swizzle:
            address ^= ((address - self.pattern) >> 7 & (width // 16 - 1)) << 4
        return address + within

    def write(self, image, matrix):
        size = matrix.dtype.itemsize
        raw = np.ascontiguousarray(matrix).view(np.uint8).reshape(*matrix.shape, size)
        for outer in range(matrix.shape[0]):
            for k in range(matrix.shape[1]):
                at = self.offset(outer, k, size)
                image[at:at + size] = raw[outer, k]


@dataclass
class Case:
    n: int
    types: str                              # d.a.b
    b: Layout
    a: Layout = None                        # None: in registers
    accumulates: bool = True
    scales: tuple = (1, 1)
    saturates: bool = False
    name: str = field(init=False)

    def __post_init__(self):
        self.d_type, self.a_type, self.b_type = self.types.split(".")
        self.depth = 32 // np.dtype(ELEMENTS[self.a_type]).itemsize
        side = lambda l: "registers" if l is None else f"{'t' if l.transposed else 'k'}{l.swizzle}+{l.start}-{l.pattern}"
        self.name = "_".join([f"n{self.n}", self.types, side(self.a), side(self.b), "plus" if self.accumulates else "from0",
                              *map(str, self.scales), "sat" * self.saturates]).strip("_")
        self.registers = self.n // (4 if self.d_type == "f16" else 2)


def sums_to_registers(d):
    """[64, n] to [128 threads, registers] of 32 bits: two halves a register when they have 16."""
    n = d.shape[1]
    elements = np.empty((128, n // 2), d.dtype)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for i in range(n // 2):
            elements[thread, i] = d[16 * warp + lane // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + lane % 4 * 2 + i % 2]
    return elements.view(np.uint32)


def sums_from_registers(registers, dtype, n):
    elements = np.ascontiguousarray(registers).view(dtype)
    d = np.empty((64, n), dtype)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for i in range(n // 2):
            d[16 * warp + lane // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + lane % 4 * 2 + i % 2] = elements[thread, i]
    return d


def fragments_of(a):
    """[64, depth] to [128 threads, 4 registers]."""
    in_word = 4 // a.dtype.itemsize
    elements = np.empty((128, 4 * in_word), a.dtype)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for register in range(4):
            for i in range(in_word):
                row = 16 * warp + lane // 4 + 8 * (register % 2)
                column = lane % 4 * in_word + i + 4 * in_word * (register // 2)
                elements[thread, register * in_word + i] = a[row, column]
    return elements.view(np.uint32)


def expected(case, a, b, d):
    """In float64, or exact integers."""
    if case.d_type == "s32":
        total = a.astype(np.int64) @ b.astype(np.int64).T + (d.astype(np.int64) if case.accumulates else 0)
        if case.saturates:
            total = np.clip(total, -2**31, 2**31 - 1)
        return (total & 0xffffffff).astype(np.uint32).view(np.int32)
    if case.a_type == "tf32":
        a, b = [(x.view(np.uint32) & np.uint32(0xffffe000)).view(np.float32) for x in (a, b)]
    product = a.astype(np.float64) @ b.astype(np.float64).T
    return product * case.scales[0] * case.scales[1] + (d.astype(np.float64) if case.accumulates else 0)


def kernel(name, case):
    """Copies the image into shared memory and runs the instruction on what is in it and in the arrays of registers."""
    d = ", ".join(f"%d{i}" for i in range(case.registers))
    a = "%descA" if case.a else "{%a0, %a1, %a2, %a3}"
    integer = case.d_type == "s32"
    operands = [f"{{{d}}}", a, "%descB", "%accumulates"]
    if not integer:
        operands += map(str, case.scales)
    if case.a_type in ("bf16", "f16"):
        operands += ([str(int(case.a.transposed))] if case.a else []) + [str(int(case.b.transposed))]
    saturates = ".satfinite" if case.saturates else ""
    # ptxas takes it in either place.
    types = f"{saturates}.{case.types}" if case.a_type == "s8" else f".{case.types}{saturates}"
    move = lambda op, count, pointer, prefix: "\n".join(
        f"{op} [{pointer}+{4 * i}], %{prefix}{i};" if op.startswith("st") else f"{op} %{prefix}{i}, [{pointer}+{4 * i}];"
        for i in range(count))
    return f"""
.visible .entry {name}(.param .u64 image, .param .u64 fragments, .param .u64 sums, .param .u64 result, .param .u64 a, .param .u64 b)
{{
.reg .pred %p, %accumulates;
.reg .b32 %t, %i, %s, %q<4>, %a<4>, %d<{case.registers}>;
.reg .b64 %from, %at, %descA, %descB, %wide;
mov.u32 %t, %tid.x;
ld.param.u64 %from, [image];
shl.b32 %i, %t, 4;
COPY:
cvt.u64.u32 %at, %i;
add.u64 %at, %from, %at;
ld.global.v4.b32 {{%q0, %q1, %q2, %q3}}, [%at];
mov.u32 %s, tile;
add.u32 %s, %s, %i;
st.shared.v4.b32 [%s], {{%q0, %q1, %q2, %q3}};
add.u32 %i, %i, 2048;
setp.lt.u32 %p, %i, {IMAGE};
@%p bra COPY;
fence.proxy.async.shared::cta;
bar.sync 0;
ld.param.u64 %from, [fragments];
mad.wide.u32 %at, %t, 16, %from;
{move("ld.global.b32", 4, "%at", "a")}
ld.param.u64 %from, [sums];
mad.wide.u32 %at, %t, {4 * case.registers}, %from;
{move("ld.global.b32", case.registers, "%at", "d")}
ld.param.u64 %descA, [a];
ld.param.u64 %descB, [b];
setp.{"eq" if case.accumulates else "ne"}.u32 %accumulates, 0, 0;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n{case.n}k{case.depth}{types} {", ".join(operands)};
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
ld.param.u64 %from, [result];
mad.wide.u32 %at, %t, {4 * case.registers}, %from;
{move("st.global.b32", case.registers, "%at", "d")}
ret;
}}
"""


def module(cases):
    header = f".version 8.4\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 tile[];\n"
    return header + "".join(kernel(f"case{i}", case) for i, case in enumerate(cases))
