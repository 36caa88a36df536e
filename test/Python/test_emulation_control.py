# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random control flow: lanes of a warp take any way through any graph of blocks, also through loops with several entries, and
each must end as it would alone."""
import random

import numpy as np
import pytest

import cuda_driver

REGISTERS, FUEL, LANES = 4, 40, 96
MASK = 0xFFFFFFFF


class Program:
    """Blocks of a few operations on four registers; the last register counts down, and at zero every branch leaves.

    Register 3 starts equal in all lanes, so branches on it alone are uniform until something varying reaches it."""

    def __init__(self, seed):
        rng = random.Random(seed)
        count = rng.randint(2, 12)
        structured = rng.random() < 0.4
        self.blocks = []
        for number in range(count):
            operations = []
            for _ in range(rng.randint(0, 3)):
                operations.append((rng.choice(["add", "xor", "mul", "guarded"]), rng.randrange(REGISTERS), rng.randrange(REGISTERS),
                                   rng.randint(1, 1000), rng.randrange(REGISTERS)))
            # A structured program goes ahead, or back to a block shortly before.
            def target():
                if not structured or rng.random() < 0.25:
                    return rng.randint(max(0, number - 3) if structured else 0, count)
                return rng.randint(number + 1, count)
            kind = rng.choice(["always", "if", "if", "if", "switch", "return if"])
            self.blocks.append((operations, kind, rng.randrange(REGISTERS), rng.randint(1, 5), [target() for _ in range(4)]))

    def ptx(self):
        end = len(self.blocks)
        text = ["""
.version 8.0
.target sm_80
.address_size 64
.visible .entry walk(.param .u64 walk_0, .param .u64 walk_1) {
.reg .pred %p<4>; .reg .b32 %r<4>, %t<4>, %fuel; .reg .b64 %w<4>;
ld.param.u64 %w0, [walk_0]; ld.param.u64 %w1, [walk_1];
mov.u32 %t0, %tid.x; mul.wide.u32 %w2, %t0, 16; add.u64 %w0, %w0, %w2; add.u64 %w1, %w1, %w2;
ld.global.b32 %r0, [%w0]; ld.global.b32 %r1, [%w0+4]; ld.global.b32 %r2, [%w0+8]; mov.u32 %r3, 12345;
mov.u32 %fuel, """ + f"{FUEL};"]
        for number, (operations, kind, tested, modulus, targets) in enumerate(self.blocks):
            text.append(f"B{number}:")
            for op, to, source, value, test in operations:
                if op == "add":
                    text.append(f"add.u32 %r{to}, %r{source}, {value};")
                elif op == "xor":
                    text.append(f"xor.b32 %r{to}, %r{to}, %r{source}; xor.b32 %r{to}, %r{to}, {value};")
                elif op == "mul":
                    text.append(f"mad.lo.u32 %r{to}, %r{to}, 5, %r{source};")
                else:
                    text.append(f"and.b32 %t0, %r{test}, 1; setp.ne.u32 %p0, %t0, 0; @%p0 add.u32 %r{to}, %r{source}, {value};")
            text.append(f"setp.eq.u32 %p1, %fuel, 0; @%p1 bra B{end}; sub.u32 %fuel, %fuel, 1; "
                        f"shr.u32 %t1, %r{tested}, 3; rem.u32 %t1, %t1, {modulus}; setp.eq.u32 %p2, %t1, 0;")
            if kind == "always":
                text.append(f"bra B{targets[0]};")
            elif kind == "if":
                text.append(f"@%p2 bra B{targets[0]}; bra B{targets[1]};")
            elif kind == "return if":
                text.append(f"st.global.b32 [%w1+12], {number}; @%p2 ret; bra B{targets[0]};")
            else:
                text.append(f"and.b32 %t2, %r{tested}, 3; L{number}: .branchtargets " + ", ".join(f"B{t}" for t in targets) +
                            f"; brx.idx %t2, L{number};")
        text.append(f"B{end}: st.global.v4.b32 [%w1], {{%r0, %r1, %r2, %r3}}; ret; }}")
        return "\n".join(text)

    def walk(self, registers, out):
        r, fuel, at = [int(v) for v in registers[:3]] + [12345], FUEL, 0
        while at < len(self.blocks):
            operations, kind, tested, modulus, targets = self.blocks[at]
            for op, to, source, value, test in operations:
                if op == "add":
                    r[to] = (r[source] + value) & MASK
                elif op == "xor":
                    r[to] = r[to] ^ r[source]
                    r[to] ^= value
                elif op == "mul":
                    r[to] = (r[to] * 5 + r[source]) & MASK
                elif r[test] & 1:
                    r[to] = (r[source] + value) & MASK
            if fuel == 0:
                break
            fuel -= 1
            holds = (r[tested] >> 3) % modulus == 0
            if kind == "return if":
                out[3] = at
                if holds:
                    return
            at = targets[0] if kind in ("always", "return if") else targets[r[tested] & 3] if kind == "switch" else targets[not holds]
        out[:] = r


def with_turns(text):
    """The same program with a compare-and-swap in every block, which changes nothing: lanes might wait for each other."""
    return text.replace("shr.u32 %t1,", "atom.global.cas.b32 %t3, [%w1+12], 1, 1; shr.u32 %t1,")


@pytest.mark.parametrize("start,form", [(s, str) for s in range(0, 240, 40)] + [(s, with_turns) for s in (240, 280)])
def test_random_graphs(start, form):
    device = cuda_driver.Device()
    for seed in range(start, start + 40):
        program = Program(seed)
        x = np.random.default_rng(seed).integers(0, 2**32, (LANES, 4), np.uint32)
        expected = np.zeros((LANES, 4), np.uint32)
        for lane in range(LANES):
            program.walk(x[lane], expected[lane])
        [actual] = device.module(form(program.ptx())).run("walk", 1, LANES, [x], [np.zeros((LANES, 4), np.uint32)])
        np.testing.assert_array_equal(actual, expected, err_msg=f"seed {seed}\n{program.ptx()}")
