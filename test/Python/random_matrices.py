# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random products and tiles of matrices, as random_machine.py has other pieces of PTX."""
import ml_dtypes
import numpy as np

from ptx_snippets import BF16
from random_machine import COUNT, LANES, WARPS, Snippet


def _fragments(rows, columns, is_b, bits):
    """(lane, register, place in it) -> (row, column) of a fragment of mma (PTX ISA, "Matrix Fragments for mma.m16n8k*"). Of B the
    first index is k."""
    per = 32 // bits
    places = {}
    for lane in range(LANES):
        group, rest = lane >> 2, lane & 3
        for register in range(rows * columns // (LANES * per)):
            for i in range(per):
                if is_b:
                    places[lane, register, i] = (rest * per + i + register * 4 * per, group)
                else:
                    places[lane, register, i] = (group + 8 * (register % 2), rest * per + i + register // 2 * 4 * per)
    return places


class Matrices(Snippet):
    """Products of whole numbers, which are exact, and tiles through shared memory in every form of ldmatrix and stmatrix."""
    TYPES = {"bf16": BF16, "f16": np.float16, "tf32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
             "s8": np.int8, "u8": np.uint8}
    # Types of A, B and the sums; 16 or 32 bytes along k.
    FORMS = [("bf16", "bf16", "f32"), ("f16", "f16", "f32"), ("f16", "f16", "f16"), ("tf32", "tf32", "f32")]
    FORMS += [(a, b, total) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for total in ("f32", "f16")]
    FORMS += [(a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8")]

    def __init__(self, seed):
        super().__init__(seed, 4)
        if self.number(2):
            self.product()
        else:
            self.declarations = f".shared .align 16 .b8 NAME_bytes[{COUNT * 16 * 4}];"
            self.tiles()

    def pieces(self, matrices, places, bits):
        """An input of a word a thread for each register of a fragment; matrices: one a warp."""
        registers = 1 + max(register for _, register, _ in places)
        words = np.zeros((registers, COUNT), np.uint64)
        for (lane, register, i), at in places.items():
            for warp in range(WARPS):
                words[register, warp * LANES + lane] |= np.uint64(int(matrices[warp][at].view(f"u{bits // 8}")) << bits * i)
        names = []
        for row in words:
            register, _ = self.words()
            self.inputs[-1] = row.astype(np.uint32)
            names.append(register)
        return names

    def product(self):
        kind_a, kind_b, sum_kind = self.choose(self.FORMS)
        bits = np.dtype(self.TYPES[kind_a]).itemsize * 8
        depth = self.choose([128, 256]) // bits
        sum_type = {"f32": np.float32, "s32": np.int32, "f16": np.float16}[sum_kind]

        def random(rows, columns, dtype):
            return self.random.integers(-5, 6, (WARPS, rows, columns)).astype(dtype)
        a, b, c = random(16, depth, self.TYPES[kind_a]), random(depth, 8, self.TYPES[kind_b]), random(16, 8, sum_type)
        sum_bits = np.dtype(sum_type).itemsize * 8
        sums = self.sum_places(sum_bits)
        names = [self.pieces(a, _fragments(16, depth, False, bits), bits), self.pieces(b, _fragments(depth, 8, True, bits), bits),
                 self.pieces(c, sums, sum_bits)]
        results = self.register(len(names[2]))
        lists = ["{" + ", ".join(n) + "}" for n in (results, *names)]
        saturates = ".satfinite" if sum_kind == "s32" and self.number(2) else ""
        # ptxas takes it in either place.
        before, behind = (saturates, "") if self.number(2) else ("", saturates)
        self.lines.append(f"mma.sync.aligned.m16n8k{depth}.row.col{before}.{sum_kind}.{kind_a}.{kind_b}.{sum_kind}{behind} {', '.join(lists)};")
        wanted = (np.einsum("wik,wkj->wij", a.astype(np.float64), b.astype(np.float64)) + c.astype(np.float64)).astype(sum_type)
        for number, register in enumerate(results):
            words = np.zeros(COUNT, np.uint32)
            for (lane, r, i), at in sums.items():
                if r == number:
                    for warp in range(WARPS):
                        words[warp * LANES + lane] |= np.uint32(int(wanted[warp][at].view(f"u{sum_bits // 8}")) << sum_bits * i)
            self.give(register, words)

    @staticmethod
    def sum_places(bits):
        """(lane, register, place) -> (row, column) of C: pairs of columns, rows 8 apart."""
        per, places = 32 // bits, {}
        for lane in range(LANES):
            for i in range(4):
                places[lane, i // per, i % per] = ((lane >> 2) + 8 * (i // 2), (lane & 3) * 2 + i % 2)
        return places

    def tiles(self):
        """Lane i keeps 16 bytes at a line of its own; tiles are read through any lines."""
        names, values = zip(*[self.words() for _ in range(4)])
        memory = np.stack(values, 1).reshape(COUNT, 4).copy()  # words of each line
        lines = memory.view(np.uint16).reshape(COUNT, 8)
        self.lines += ["mov.u64 %x0, NAME_bytes;", "mad.wide.u32 %x1, %thread, 16, %x0;",
                       f"st.shared.v4.b32 [%x1], {{{', '.join(names)}}};", "bar.sync 0;"]
        count, trans = self.choose([1, 2, 4]), self.number(2)
        order = self.random.permutation(COUNT).astype(np.uint32)
        where, _ = self.words()
        self.inputs[-1] = order
        results = [self.register() for _ in range(count)]
        form = f"m8n8.x{count}{'.trans' if trans else ''}.shared.b16"
        self.lines += [f"mad.wide.u32 %x2, {where}, 16, %x0;", f"ldmatrix.sync.aligned.{form} {{{', '.join(results)}}}, [%x2];"]
        lane = np.arange(LANES)
        for tile, register in enumerate(results):
            got = np.zeros(COUNT, np.uint32)
            for warp in range(WARPS):
                eight = np.stack([lines[order[warp * LANES + tile * 8 + row]] for row in range(8)])
                eight = eight.T if trans else eight
                low, high = (eight[lane >> 2, (lane & 3) * 2 + i].astype(np.uint32) for i in (0, 1))
                got[warp * LANES + lane] = low | high << 16
            self.give(register, got)
        moved = self.register()
        self.lines.append(f"movmatrix.sync.aligned.m8n8.trans.b16 {moved}, {names[0]};")
        got = np.zeros(COUNT, np.uint32)
        for warp in range(WARPS):
            pairs = values[0][warp * LANES:(warp + 1) * LANES]
            turned = np.stack([pairs & 0xffff, pairs >> 16], 1).reshape(8, 8).T.reshape(LANES, 2)
            got[warp * LANES:(warp + 1) * LANES] = turned[:, 0] | turned[:, 1] << 16
        self.give(moved, got)
