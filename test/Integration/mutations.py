# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random damage to modules and tensor files."""
from __future__ import annotations

import random
import re

_WORD = re.compile(r"[A-Za-z_][\w.]*|%\w+|@[\w.]+|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|0x[0-9A-F]+")
_TYPES = ["f32", "f64", "bf16", "i32", "i1", "ui8", "i4", "f8E4M3FN", "index", "complex<f32>"]
_NUMBERS = ["0", "1", "-1", "2", "3", "7", "64", "9223372036854775807", "-9223372036854775808", "18446744073709551616", "99999999999"]


def damage_text(text: str, source: random.Random) -> str:
    """One to three random edits of a module."""
    for _ in range(source.randint(1, 3)):
        text = source.choice(_EDITS)(text, source)
    return text


def _lines(edit):
    def apply(text: str, source: random.Random) -> str:
        lines = text.split("\n")
        edit(lines, source.randrange(len(lines)), source)
        return "\n".join(lines)
    return apply


def _move_line(lines: list[str], i: int, source: random.Random) -> None:
    lines.insert(source.randrange(len(lines)), lines.pop(i))


def _replace_word(text: str, source: random.Random) -> str:
    """Another word of the module, a type or a number in the place of a word."""
    words = list(_WORD.finditer(text))
    if not words:
        return text
    word = source.choice(words)
    if word.group().lstrip("-").isdigit():
        new = source.choice(_NUMBERS)
    elif source.random() < 0.3:
        new = source.choice(_TYPES)
    else:
        same = [w.group() for w in words if w.group()[0] == word.group()[0]] if word.group()[0] in "%@" else [w.group() for w in words]
        new = source.choice(same)
    return text[:word.start()] + new + text[word.end():]


def _change_character(text: str, source: random.Random) -> str:
    i = source.randrange(len(text) + 1)
    return text[:i] + source.choice(["", "x", "{", "}", "(", ")", "<", ">", "[", "]", ",", '"', "?", "\x00", "é", "-", "9"]) + text[i + 1:]


def _change_size(text: str, source: random.Random) -> str:
    sizes = list(re.finditer(r"(?<=[<x])\d+(?=x)", text))
    if not sizes:
        return text
    size = source.choice(sizes)
    return text[:size.start()] + source.choice(["0", "1", "2", "3", "5", "8", "?", "1099511627776"]) + text[size.end():]


_EDITS = [
    lambda text, source: text[:source.randrange(len(text) + 1)],
    _lines(lambda lines, i, source: lines.pop(i)), _lines(lambda lines, i, source: lines.insert(i, lines[i])), _lines(_move_line),
    _replace_word, _replace_word, _replace_word, _change_size, _change_size, _change_character,
]


def damage_bytes(data: bytes, source: random.Random) -> bytes:
    """One to three random edits of a file, most of them in its first part."""
    for _ in range(source.randint(1, 3)):
        i = source.randrange(min(len(data), source.choice([8, 300, len(data)])) or 1)
        kind = source.randrange(5)
        if kind == 0:
            data = data[:i]
        elif kind == 1:
            data = data[:i] + bytes([source.randrange(256)]) + data[i + 1:]
        elif kind == 2:
            data = data[:i] + data[i + source.randint(1, 9):]
        elif kind == 3:
            data = data[:i] + source.choice([b"-1", b"9999999999999", b"NaN", b"{", b"}", b"[", b'"', b"\xff\xff\xff\xff"]) + data[i:]
        else:
            data = source.randbytes(source.randint(0, 8)) + data[8:]
        if not data:
            break
    return data
