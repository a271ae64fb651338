"""Long texts in pieces: cut, embedded one by one, pooled."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.ports import Vectors

PIECE_BYTES = 1_200
"""About 400 tokens: an English token has about 4 letters, a Chinese one about one character of 3 bytes."""

_SENTENCE = re.compile(r"[^。！？!?.\n]*[。！？!?.\n]+|[^。！？!?.\n]+")


def pieces(text: str) -> list[str]:
    """Return ``text`` in pieces of at most ``PIECE_BYTES``, cut after sentences where they are short enough."""
    if len(text.encode()) <= PIECE_BYTES:
        return [text]
    found: list[str] = []
    for sentence in _SENTENCE.findall(text):
        for part in _cut(sentence):
            if found and len((found[-1] + part).encode()) <= PIECE_BYTES:
                found[-1] += part
            else:
                found.append(part)
    return found


def _cut(sentence: str) -> list[str]:
    if len(sentence.encode()) <= PIECE_BYTES:
        return [sentence]
    step = PIECE_BYTES // 4  # no character is longer than 4 bytes
    return [sentence[start : start + step] for start in range(0, len(sentence), step)]


def batches(texts: Sequence[str], most: int) -> list[list[str]]:
    """Return ``texts`` in order in batches of at most ``most`` texts and, beyond the first, ``PIECE_BYTES``."""
    found: list[list[str]] = []
    size = 0
    for text in texts:
        length = len(text.encode())
        if not found or len(found[-1]) >= most or size + length > PIECE_BYTES:
            found.append([])
            size = 0
        found[-1].append(text)
        size += length
    return found


def parts_of(texts: Sequence[str]) -> list[tuple[int, str]]:
    """Return (index of the text, piece) for every piece of every text, in order."""
    return [(owner, piece) for owner, text in enumerate(texts) for piece in pieces(text)]


def pool(vectors: Vectors, parts: Sequence[tuple[int, str]], texts: int) -> Vectors:
    """Return the mean of each text's pieces, weighted by length, L2-normalised: float32, shape (texts, d).

    ``vectors``, shape (pieces, d), are those of ``parts``, as from ``parts_of``.
    """
    owners = np.array([owner for owner, _ in parts])
    weights = np.array([max(len(piece), 1) for _, piece in parts], np.float64)
    pooled = np.zeros((texts, vectors.shape[1]), np.float64)
    np.add.at(pooled, owners, vectors * weights[:, None])
    return unit(pooled)


def unit(vectors: NDArray[np.floating]) -> Vectors:
    """Return rows at length 1, float32; ``ValueError`` for a row that has no direction."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ValueError("a vector is not finite or is zero")
    return np.asarray(vectors / lengths, dtype=np.float32)
