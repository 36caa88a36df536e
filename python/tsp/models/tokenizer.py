# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Byte-level BPE, as GPT-2 has it, with every digit a piece of its own."""
from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence

# Text without digits: contractions, words, runs of signs, blanks; one blank before
# a word or sign belongs to it.
_PIECE = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W_]+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def _byte_characters() -> dict[int, str]:
    """The printable character by which the vocabulary spells each byte: itself, or
    one of those from U+0100 on for bytes that do not print."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    table = {byte: chr(byte) for byte in printable}
    hidden = [byte for byte in range(256) if byte not in table]
    return table | {byte: chr(256 + n) for n, byte in enumerate(hidden)}


class Tokenizer:
    """Encodes text to token ids and back; decode(encode(text)) == text.

    tokens   text of every id, bytes spelt as in `_byte_characters`
    merges   "left right" pairs, the most frequent first
    special  ids that stand for themselves (such as end of text) and never merge
    """

    def __init__(self, tokens: Sequence[str], merges: Iterable[str], special: Iterable[int]):
        self._tokens = list(tokens)
        self._ids = {token: i for i, token in enumerate(self._tokens)}
        self._ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
        self._special = {self._tokens[i]: i for i in special}
        longest_first = sorted(self._special, key=len, reverse=True)
        self._splitter = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")") if longest_first else None
        self._characters = _byte_characters()
        self._bytes = {character: byte for byte, character in self._characters.items()}
        self._piece_ids = functools.lru_cache(maxsize=65536)(self._encode_piece)

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`; special tokens in it become their ids."""
        ids: list[int] = []
        for part in self._splitter.split(text) if self._splitter else [text]:
            if part in self._special:
                ids.append(self._special[part])
            else:
                for piece in _pieces(part):
                    ids += self._piece_ids(piece)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """Text of token ids; bytes that are no UTF-8 become U+FFFD."""
        data = b""
        for i in ids:
            token = self._tokens[i]
            data += token.encode() if token in self._special else bytes(self._bytes[character] for character in token)
        return data.decode(errors="replace")

    def _encode_piece(self, piece: str) -> tuple[int, ...]:
        parts = [self._characters[byte] for byte in piece.encode()]
        while len(parts) > 1:
            pairs = list(zip(parts, parts[1:]))
            best = min(pairs, key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if best not in self._ranks:
                break
            merged, i = [], 0
            while i < len(parts):
                if tuple(parts[i:i + 2]) == best:
                    merged.append(parts[i] + parts[i + 1])
                    i += 2
                else:
                    merged.append(parts[i])
                    i += 1
            parts = merged
        return tuple(self._ids[part] for part in parts)


def _pieces(text: str) -> list[str]:
    """Splits text into what merges stay inside of."""
    pieces, run = [], ""
    for character in text:
        if unicodedata.category(character).startswith("N"):
            pieces += _PIECE.findall(run)
            pieces.append(character)
            run = ""
        else:
            run += character
    return pieces + _PIECE.findall(run)
