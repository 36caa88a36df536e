# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every instruction of the emulation against exact arithmetic, in each way that it is compiled: on vectors of lanes, on some of
them, and on what all lanes share."""
import ctypes
import re

import numpy as np
import pytest

import cuda_driver
import ptx_reference
from ptx_snippets import BF16, SNIPPETS

COUNT = 64
REGISTER = {2: ".b16", 4: ".b32", 8: ".b64"}
HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"


def kernel(name, snippet, way):
    """`way`: lanes; half (odd lanes skip it); uniform (each block has one element)."""
    text, inputs, output, _, _ = snippet
    body = ["ld.param.u64 %%out, [%s_%d];" % (name, len(inputs)), "mov.u32 %i, %tid.x;", "mov.u32 %t0, %ctaid.x;",
            "mov.u32 %t1, %ntid.x;"]
    index = "%t0" if way == "uniform" else "%i"
    for i, dtype in enumerate(inputs):
        size = dtype.itemsize
        body += [f"ld.param.u64 %w0, [{name}_{i}];", f"mad.wide.u32 %w0, {index}, {size}, %w0;",
                 f"ld.global.b{8 * size} %{'abc'[i]}, [%w0];"]
    body += [f"mad.wide.u32 %out, {index}, {output.itemsize}, %out;"]
    if way == "half":
        body += ["and.b32 %t2, %i, 1;", "setp.ne.u32 %p2, %t2, 0;", "@%p2 bra SKIP;"]
    body += [text, f"st.global.b{8 * output.itemsize} [%out], %d;"]
    if way == "half":
        body += ["SKIP:"]
    registers = [".reg .pred %p<3>;", ".reg .b32 %t<4>, %i, %f0;", ".reg .b64 %w<2>, %out;", ".reg .b16 %h<2>;",
                 f".reg {REGISTER[output.itemsize]} %d;"]
    registers += [f".reg {REGISTER[d.itemsize]} %{'abc'[i]};" for i, d in enumerate(inputs)]
    parameters = ", ".join(f".param .u64 {name}_{i}" for i in range(len(inputs) + 1))
    return f".visible .entry {name}({parameters}) {{\n" + "\n".join(registers + body + ["ret;"]) + "\n}\n"


@pytest.fixture(scope="module")
def compiled():
    ptx = HEADER + "".join(kernel(f"k{i}_{way}", s, way) for i, s in enumerate(SNIPPETS.values())
                           for way in ("lanes", "half", "uniform"))
    return cuda_driver.Device().module(ptx)


def check(actual, expected, tolerance, inputs):
    """NaNs agree with NaNs; the rest within `tolerance`, relative. Words are compared by their halves where they hold floats."""
    if expected.dtype.kind in "iu" and tolerance == 0:
        wrong = actual != expected
    else:
        with np.errstate(all="ignore"):
            a, e = actual.astype(np.float64), expected.astype(np.float64)
            near = np.abs(a - e) <= tolerance * np.maximum(np.abs(e), 2.0 ** -126)
            wrong = ~((a == e) | near | (np.isnan(a) & np.isnan(e)))
    assert not wrong.any(), [(*[v[i] for v in inputs], "gave", actual[i], "not", expected[i]) for i in np.flatnonzero(wrong)[:3]]


@pytest.mark.parametrize("number,name", list(enumerate(SNIPPETS)), ids=list(SNIPPETS))
def test_snippet(compiled, number, name):
    text, types, output, reference, tolerance = SNIPPETS[name]
    packed = {"f16": np.float16, "bf16": BF16}.get(name.split(":")[0])
    inputs = []
    for i, dtype in enumerate(types):
        if packed and dtype == np.uint32:
            inputs.append(ptx_reference.pack(*[ptx_reference.interesting(packed, 10 * number + i + j, COUNT) for j in (3, 5)]))
        else:
            inputs.append(ptx_reference.interesting(dtype, 10 * number + i, COUNT))
    with np.errstate(all="ignore"):
        expected = np.asarray(reference(*inputs)).astype(output)
    untouched = np.full(COUNT, 0xAB, np.uint8).repeat(output.itemsize).view(output)
    for way in ("lanes", "half", "uniform"):
        blocks, threads = (COUNT, 32) if way == "uniform" else (1, COUNT)
        [actual] = compiled.run(f"k{number}_{way}", blocks, threads, inputs, [untouched])
        wanted = expected
        if way == "half":
            wanted = np.where(np.arange(COUNT) % 2, untouched, expected)
        if packed and output == np.uint32:
            for a, e in zip(ptx_reference.halves(actual, packed), ptx_reference.halves(wanted, packed)):
                check(a, e, 2.0 ** -8 if "tanh" in text else tolerance, inputs)
        else:
            check(actual, wanted, tolerance, inputs)


@pytest.mark.parametrize("line,reason", [
    ("tex.2d.v4.f32.f32 {%f0, %f0, %f0, %f0}, [%w0, {%f0, %f0}];", "line 6: the instruction 'tex.2d.v4.f32.f32' is not supported"),
    ("cvt.rn.satfinite.e2m3x2.f32 %h0, %f0, %f0;", "line 6: the instruction 'cvt.rn.satfinite.e2m3x2.f32' is not supported"),
    ("bra NOWHERE;", "line 6: no label 'NOWHERE' in 'k'"),
    ("call foo;", "line 6: the function 'foo' is not defined in this module"),
    ("mov.u32 %nothing, 1;", "line 6: the result of 'mov.u32' must be a register"),
    ("ld.shared.v2.b32 %f0, [%w0];", "line 6: 'ld.shared.v2.b32' needs 2 results"),
])
def test_errors_name_instruction_and_line(capfd, line, reason):
    text = HEADER + ".visible .entry k() {\n.reg .b32 %f0; .reg .b64 %w0; .reg .b16 %h0;\n" + line + "\nret; }"
    with pytest.raises(cuda_driver.Error):
        cuda_driver.Device().module(text)
    assert reason in capfd.readouterr().err


def test_parameters_by_address():
    """A 32-bit register holds an address of the parameters, which cvta.param makes generic, as one of 64 bits does."""
    text = HEADER + """.visible .entry k(.param .u64 out, .param .align 8 .b8 values[16]) {
.reg .b64 %p, %q, %v, %w; .reg .b32 %a;
mov.b32 %a, values; cvt.u64.u32 %p, %a; cvta.param.u64 %p, %p; ld.b64 %v, [%p+8];
mov.b64 %q, values; ld.param.b64 %w, [%q]; cvta.param.u64 %q, %q; ld.b64 %q, [%q];
add.u64 %v, %v, %w; add.u64 %v, %v, %q;
ld.param.b64 %p, [out]; st.global.b64 [%p], %v; ret; }
"""
    device = cuda_driver.Device()
    out = device.empty((1,), np.uint64)
    device.module(text).launch("k", 1, 1, [out, (ctypes.c_uint64 * 2)(3, 10)])
    assert out.download()[0] == 16


BY_LANE = HEADER + """.visible .entry k(.param .u64 out) {
.reg .b64 %%p; .reg .b32 %%t, %%id; .reg .pred %%q;
mov.u32 %%t, %%tid.x; %s
add.u32 %%id, %%id, 1; bar.sync %%id, 32;
setp.gt.u32 %%q, %%id, 9; @!%%q bra RIGHT; %s
RIGHT: ld.param.b64 %%p, [out]; mad.wide.u32 %%p, %%t, 4, %%p; st.global.b32 [%%p], %%id; ret; }
"""


def test_barrier_of_each_warp():
    """Its number comes from what differs between lanes, but not within a warp."""
    module = cuda_driver.Device().module(BY_LANE % ("shr.u32 %id, %t, 5;", "brkpt;"))
    [ids] = module.run("k", 1, 96, [], [((96,), np.uint32)])
    np.testing.assert_array_equal(ids, np.arange(96) // 32 + 1)


@pytest.mark.parametrize("id, end, reason", [
    ("and.b32 %id, %t, 1;", "trap;", r"\(bar.sync\): the number or the threads of the barrier are not the same in all threads .* thread \(1,0,0\)"),
    ("mov.u32 %id, 9;", "brkpt;", r"\(brkpt\): trap"), ("mov.u32 %id, 9;", "call __assertfail;", r"\(assert\): trap")])
def test_kernel_is_ended(id, end, reason):
    done = cuda_driver.run_script(f"""
        import cuda_driver
        cuda_driver.Device().module({BY_LANE % (id, end)!r}).run("k", 1, 32, [], [((32,), "uint32")])
    """)
    assert done.returncode and re.search(reason, done.stderr), done.stderr
