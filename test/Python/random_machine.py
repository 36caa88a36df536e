# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random pieces of PTX that reach beyond a lane, with what they must give: memory, warps, atomics (random_matrices.py: matrices).

    snippet = SNIPPETS["memory"](seed)
    snippet.kernel("k"), snippet.inputs, snippet.expected         # for 1 block of 64 threads
"""
import numpy as np

LANES, WARPS = 32, 2
COUNT = LANES * WARPS
ALL = 0xFFFFFFFF


class Snippet:
    """Code of a kernel whose parameters are its inputs, then an array of COUNT x results words of 32 bits."""
    declarations = ""

    def __init__(self, seed, family):
        self.random = np.random.default_rng([seed, family])
        self.lines, self.inputs, self.results, self.registers = [], [], [], 0

    def number(self, end):
        return int(self.random.integers(end))

    def choose(self, options):
        return options[self.number(len(options))]

    def register(self, count=1):
        names = [f"%r{self.registers + i}" for i in range(count)]
        self.registers += count
        return names if count > 1 else names[0]

    def words(self, high=1 << 32):
        """An input of one word a thread: its register and values."""
        values = self.random.integers(0, high, COUNT, np.uint32)
        register = self.register()
        self.lines += [f"ld.param.u64 %w0, [NAME_{len(self.inputs)}];", "mad.wide.u32 %w0, %thread, 4, %w0;",
                       f"ld.global.b32 {register}, [%w0];"]
        self.inputs.append(values)
        return register, values

    def give(self, register, values):
        """Stores a register, whose lanes must be `values`."""
        self.lines += ["ld.param.u64 %w0, [NAME_LAST];", "mad.wide.u32 %w0, %thread, 4, %w0;",
                       f"st.global.b32 [%w0+{4 * COUNT * len(self.results)}], {register};"]
        self.results.append(np.asarray(values).astype(np.uint32))

    @property
    def expected(self):
        return np.stack(self.results)

    def kernel(self, name):
        body = ["mov.u32 %thread, %tid.x;", "and.b32 %lane, %thread, 31;", *self.lines, "ret;"]
        declared = [".reg .pred %p<3>;", ".reg .b16 %h<9>;", ".reg .b32 %t<9>, %thread, %lane;", ".reg .b64 %w<3>, %x<5>;",
                    f".reg .b32 %r<{self.registers + 1}>;"]
        parameters = ", ".join(f".param .u64 NAME_{i}" for i in [*range(len(self.inputs)), "LAST"])
        text = f".visible .entry NAME({parameters}) {{\n" + "\n".join([*declared, self.declarations, *body]) + "\n}\n"
        return text.replace("NAME", name)


class Memory(Snippet):
    """Each thread has 32 bytes of memory; it writes pieces of all widths, reads others, its neighbour's too, after a barrier."""
    SIZE = 32

    def __init__(self, seed):
        super().__init__(seed, 1)
        self.space = self.choose(["shared", "local", "global", ""])
        bytes_ = self.SIZE if self.space == "local" else self.SIZE * COUNT
        kept = {"": "shared"}.get(self.space, self.space)
        if kept == "global":
            self.scratch = np.zeros(self.SIZE * COUNT, np.uint8)
            self.lines += ["ld.param.u64 %x0, [NAME_0];"]
            self.inputs.append(self.scratch)
        else:
            self.declarations = f".{kept} .align 16 .b8 NAME_bytes[{bytes_}];"
            self.lines += ["mov.u64 %x0, NAME_bytes;"] + ([f"cvta.{kept}.u64 %x0, %x0;"] if not self.space else [])
        self.lines += ["mov.u64 %x1, %x0;"] if kept == "local" else [f"mad.wide.u32 %x1, %thread, {self.SIZE}, %x0;"]
        self.memory = np.zeros((COUNT, self.SIZE), np.uint8)
        self.dot = f".{self.space}" if self.space else ""
        self.lines += [f"st{self.dot}.v4.b32 [%x1+{at}], {{0, 0, 0, 0}};" for at in (0, 16)]
        for _ in range(3):
            self.store()
        owner = np.arange(COUNT)
        if kept != "local":
            self.lines += ["bar.sync 0;"]
            other = self.number(COUNT)
            self.lines += [f"xor.b32 %t0, %thread, {other};", f"mad.wide.u32 %x2, %t0, {self.SIZE}, %x0;"]
            owner = owner ^ other
        else:
            self.lines += ["mov.u64 %x2, %x1;"]
        for _ in range(4):
            self.load(owner)

    def place(self):
        """How many elements of how many bytes, and where."""
        size = self.choose([1, 2, 4, 8])
        count = self.choose([c for c in (1, 2, 4) if c * size <= 16])
        return size, count, self.number(self.SIZE // (size * count)) * size * count

    def store(self):
        size, count, at = self.place()
        names, pieces = [], []
        for i in range(count):
            register, values = self.words()
            if size == 8:
                high, more = self.words()
                self.lines.append(f"mov.b64 %x{3 + i}, {{{register}, {high}}};")
                register, values = f"%x{3 + i}", values.astype(np.uint64) | more.astype(np.uint64) << 32
            elif size < 4:
                self.lines.append(f"cvt.u16.u32 %h{i}, {register};")
                register = f"%h{i}"
            names.append(register)
            pieces.append((values & ((1 << 8 * size) - 1)).astype(f"u{size}"))
        guard, holds = "", np.ones(COUNT, bool)
        if self.number(2):
            bit = self.number(6)
            self.lines += [f"and.b32 %t0, %thread, {1 << bit};", "setp.ne.u32 %p0, %t0, 0;"]
            guard, holds = "@%p0 ", (np.arange(COUNT) >> bit & 1).astype(bool)
        vector = f".v{count}" if count > 1 else ""
        value = "{" + ", ".join(names) + "}" if count > 1 else names[0]
        self.lines.append(f"{guard}st{self.dot}{vector}.b{8 * size} [%x1+{at}], {value};")
        written = np.stack(pieces, 1).view(np.uint8)
        self.memory[holds, at:at + size * count] = written[holds]

    def load(self, owner):
        size, count, at = self.place()
        letter = self.choose("sub")
        vector = f".v{count}" if count > 1 else ""
        read = self.memory[owner, at:at + size * count].copy().view(f"{'i' if letter == 's' else 'u'}{size}")
        if size == 8:
            names = [f"%x{3 + i}" for i in range(count)]
        elif size == 4 or letter != "b":  # Wider registers: extended.
            names = [f"%t{1 + i}" for i in range(count)]
        else:
            names = [f"%h{i}" for i in range(count)]
        value = "{" + ", ".join(names) + "}" if count > 1 else names[0]
        self.lines.append(f"ld{self.dot}{vector}.{letter}{8 * size} {value}, [%x2+{at}];")
        for i, name in enumerate(names):
            if size == 8:
                low, high = self.register(2)
                self.lines.append(f"mov.b64 {{{low}, {high}}}, {name};")
                self.give(low, read[:, i].view(np.uint64) & ALL)
                self.give(high, read[:, i].view(np.uint64) >> 32)
                continue
            register = self.register()
            extend = "cvt.u32.u16" if name[1] == "h" else "mov.b32"
            if name[1] == "h" and size == 1:
                self.lines.append(f"and.b16 {name}, {name}, 255;")
            self.lines.append(f"{extend} {register}, {name};")
            self.give(register, read[:, i].astype(np.int64) & ALL)


class Warp(Snippet):
    """Shuffles, votes, matches and reductions, of all lanes of a warp or of some."""

    def __init__(self, seed):
        super().__init__(seed, 2)
        for number in range(3):
            mask, label = ALL, None
            if self.number(2):
                mask = int(self.random.integers(1, 1 << 32))
                label = f"REST{number}"
                self.lines += ["mov.u32 %t0, 1;", "shl.b32 %t0, %t0, %lane;", f"and.b32 %t0, %t0, {mask};",
                               "setp.ne.u32 %p0, %t0, 0;"]
            operation = self.choose([self.shuffle, self.vote, self.match, self.reduce])
            operation(mask, label)

    def within(self, mask, label, results, code, values):
        """`code` for the lanes of the mask; the others keep 7."""
        self.lines += [f"mov.b32 {r}, 7;" for r in results]
        self.lines += ([f"@!%p0 bra {label};"] if label else []) + code + ([label + ":"] if label else [])
        inside = np.array([mask >> (i % LANES) & 1 for i in range(COUNT)], bool)
        for register, value in zip(results, values):
            self.give(register, np.where(inside, np.asarray(value).astype(np.int64) & ALL, 7))

    def shuffle(self, mask, label):
        source, values = self.words()
        mode, width = self.choose(["up", "down", "bfly", "idx"]), 1 << self.number(6)
        by = self.number(32)
        clamp = (LANES - width) << 8 | (0 if mode == "up" else 31)
        lanes = np.arange(COUNT) % LANES
        segment = lanes & ~(width - 1)
        partner = {"up": lanes - by, "down": lanes + by, "bfly": lanes ^ by, "idx": segment | (by & (width - 1))}[mode]
        last = segment | (clamp & 31 & (width - 1))
        valid = partner >= segment if mode == "up" else partner <= last
        chosen = np.where(valid, partner, lanes)
        # A lane outside the mask has nothing defined to give: read only from lanes inside.
        if mask != ALL:
            inside = np.array([mask >> i & 1 for i in range(LANES)], bool)
            if not inside[chosen[:LANES]][inside].all():
                return
        result, flag = self.register(2)
        code = [f"shfl.sync.{mode}.b32 {result}|%p1, {source}, {by}, {clamp}, {mask};", f"selp.u32 {flag}, 1, 0, %p1;"]
        self.within(mask, label, [result, flag], code, [values[np.arange(COUNT) // LANES * LANES + chosen], valid])

    def by_warp(self, mask, function, values):
        """function(values of the mask's lanes) for each warp, the same in its lanes."""
        inside = [i for i in range(LANES) if mask >> i & 1]
        return np.repeat([int(function([int(values[w * LANES + i]) for i in inside])) & ALL for w in range(WARPS)], LANES)

    def vote(self, mask, label):
        source, values = self.words(3)
        mode = self.choose(["all", "any", "uni", "ballot"])
        functions = {"all": all, "any": any, "uni": lambda v: all(v) or not any(v)}
        result = self.register()
        code = [f"setp.ne.u32 %p1, {source}, 0;"]
        if mode == "ballot":
            code.append(f"vote.sync.ballot.b32 {result}, %p1, {mask};")
            inside = [i for i in range(LANES) if mask >> i & 1]
            value = self.by_warp(mask, lambda v: sum(1 << i for i, x in zip(inside, v) if x), values)
        else:
            code += [f"vote.sync.{mode}.pred %p2, %p1, {mask};", f"selp.u32 {result}, 1, 0, %p2;"]
            value = self.by_warp(mask, functions[mode], values)
        self.within(mask, label, [result], code, [value])

    def match(self, mask, label):
        source, values = self.words(self.choose([1, 2, 5]))
        if self.number(2):
            result = self.register()
            inside = np.array([mask >> i & 1 for i in range(LANES)], bool)
            same = []
            for warp in values.reshape(WARPS, LANES):
                same += [sum(1 << i for i in range(LANES) if inside[i] and warp[i] == warp[lane]) for lane in range(LANES)]
            self.within(mask, label, [result], [f"match.any.sync.b32 {result}, {source}, {mask};"], [same])
        else:
            result, flag = self.register(2)
            agree = self.by_warp(mask, lambda v: len(set(v)) == 1, values)
            code = [f"match.all.sync.b32 {result}|%p1, {source}, {mask};", f"selp.u32 {flag}, 1, 0, %p1;"]
            self.within(mask, label, [result, flag], code, [agree * mask, agree])

    def reduce(self, mask, label):
        source, values = self.words()
        operation, letter = self.choose([(o, t) for o in ("add", "min", "max") for t in "us"] + [(o, "b") for o in ("and", "or", "xor")])
        numbers = values.view(np.int32) if letter == "s" else values
        functions = {"add": sum, "min": min, "max": max, "and": lambda v: int(np.bitwise_and.reduce(v)),
                     "or": lambda v: int(np.bitwise_or.reduce(v)), "xor": lambda v: int(np.bitwise_xor.reduce(v))}
        result = self.register()
        self.within(mask, label, [result], [f"redux.sync.{operation}.{letter}32 {result}, {source}, {mask};"],
                    [self.by_warp(mask, functions[operation], numbers)])


class Atomics(Snippet):
    """Atomics on few words, in any order; and on a word a thread, whose old value comes back."""
    WORDS = 8

    def __init__(self, seed):
        super().__init__(seed, 3)
        self.space = self.choose(["shared", "global"])
        if self.space == "global":
            start = np.zeros(2 * COUNT * 4, np.uint8)
            self.lines += ["ld.param.u64 %x0, [NAME_0];"]
            self.inputs.append(start)
        else:
            self.declarations = f".shared .align 16 .b8 NAME_bytes[{8 * COUNT}];"
            self.lines += ["mov.u64 %x0, NAME_bytes;"]
        self.lines += ["mad.wide.u32 %x1, %thread, 4, %x0;", f"add.u64 %x2, %x1, {4 * COUNT};"]
        self.shared_words()
        for _ in range(2):
            self.own_word()

    def functions(self):
        def signed(x):
            return int(np.uint32(x & ALL).view(np.int32))
        return {"add.u32": lambda old, x: old + x, "min.u32": min, "max.u32": max, "and.b32": lambda old, x: old & x,
                "or.b32": lambda old, x: old | x, "xor.b32": lambda old, x: old ^ x,
                "min.s32": lambda old, x: min(signed(old), signed(x)), "max.s32": lambda old, x: max(signed(old), signed(x))}

    def shared_words(self):
        """All threads reduce into WORDS words; the order does not matter."""
        name = self.choose([*self.functions(), "inc.u32", "dec.u32", "add.f32"])
        start, first = self.words()
        source, values = self.words(1 << 10 if name == "add.f32" else 1 << 32)
        spread = self.choose([1, 2, self.WORDS])
        if name == "add.f32":
            first, start = np.zeros_like(first), "0"
        bound = self.number(100)
        self.lines += [f"st.{self.space}.b32 [%x1], {start};", "bar.sync 0;", f"rem.u32 %t0, %thread, {spread};", "mad.wide.u32 %w1, %t0, 4, %x0;"]
        memory = [int(x) for x in first]
        if name == "add.f32":  # Whole numbers: exact in any order.
            self.lines += [f"cvt.rn.f32.u32 %t1, {source};", f"red.{self.space}.add.f32 [%w1], %t1;"]
            sums = np.zeros(COUNT, np.float32)
            np.add.at(sums, np.arange(COUNT) % spread, values.astype(np.float32))
            memory = sums.view(np.uint32)
        elif name in ("inc.u32", "dec.u32"):
            self.lines.append(f"atom.{self.space}.{name} %t2, [%w1], {bound};")
            for thread in range(COUNT):
                old = memory[thread % spread]
                after = (0 if old >= bound else old + 1, bound if old == 0 or old > bound else old - 1)
                memory[thread % spread] = after[name == "dec.u32"]
        else:
            self.lines.append(f"red.{self.space}.{name} [%w1], {source};")
            for thread in range(COUNT):
                memory[thread % spread] = self.functions()[name](memory[thread % spread], int(values[thread])) & ALL
        result = self.register()
        self.lines += ["bar.sync 0;", f"ld.{self.space}.b32 {result}, [%x1];"]
        self.give(result, memory)

    def own_word(self):
        name = self.choose([*self.functions(), "exch.b32", "cas.b32", "inc.u32", "dec.u32"])
        (start, first), (source, values) = self.words(4), self.words(4)
        bit, (old, after) = self.number(6), self.register(2)
        holds = (np.arange(COUNT) >> bit & 1).astype(bool)
        third = ", 9" if name == "cas.b32" else ""
        self.lines += [f"st.{self.space}.b32 [%x2], {start};", f"and.b32 %t0, %thread, {1 << bit};", "setp.ne.u32 %p0, %t0, 0;",
                       f"mov.b32 {old}, 5;", f"@%p0 atom.{self.space}.{name} {old}, [%x2], {source}{third};", f"ld.{self.space}.b32 {after}, [%x2];"]
        function = {"exch.b32": lambda o, x: x, "cas.b32": lambda o, x: 9 if o == x else o, "inc.u32": lambda o, x: 0 if o >= x else o + 1,
                    "dec.u32": lambda o, x: x if o == 0 or o > x else o - 1, **self.functions()}[name]
        new = [function(int(o), int(x)) & ALL for o, x in zip(first, values)]
        self.give(old, np.where(holds, first, 5))
        self.give(after, np.where(holds, new, first))


SNIPPETS = {"memory": Memory, "warps": Warp, "atomics": Atomics}
