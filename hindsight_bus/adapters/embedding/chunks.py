"""Texts in calls of a model, and what comes back of long ones: a vector of the whole, and of each piece."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.ports import Vectors

CALL_BYTES = 1_200
"""What one call of a model takes beyond its first text: some 400 tokens, for a query may wait for it."""


def batches(texts: Sequence[str], most: int) -> list[list[str]]:
    """Return ``texts`` in order in batches of at most ``most`` texts and, beyond the first, ``CALL_BYTES``."""
    found: list[list[str]] = []
    size = 0
    for text in texts:
        length = len(text.encode())
        if not found or len(found[-1]) >= most or size + length > CALL_BYTES:
            found.append([])
            size = 0
        found[-1].append(text)
        size += length
    return found


@dataclass(frozen=True, slots=True)
class Cut:
    """One text as a model reads it: parts whose vectors are pooled to its own, and pieces that have theirs."""

    parts: Sequence[str]
    pieces: Sequence[str] = ()


def inputs_of(cuts: Iterable[Cut]) -> list[str]:
    """Return all that is to be embedded, in the order that ``gathered`` takes it in."""
    return [text for cut in cuts for text in (*cut.parts, *cut.pieces)]


def gathered(vectors: Vectors, cuts: Iterable[Cut]) -> list[Vectors]:
    """Return for each text its vector and, below it, those of its n pieces: float32, shape (1 + n, d).

    ``vectors``, one a row, are those of ``inputs_of``. ``ValueError`` where one has no direction.
    """
    found, start = [], 0
    for cut in cuts:
        middle = start + len(cut.parts)
        end = middle + len(cut.pieces)
        whole = pool(vectors[start:middle], cut.parts)
        found.append(np.concatenate((whole[None], unit(vectors[middle:end]))))
        start = end
    return found


def wholes(embedded: Sequence[Vectors], dimension: int) -> Vectors:
    """Return the vectors of whole texts out of what ``gathered`` made: float32, shape (n, d)."""
    return np.array([each[0] for each in embedded], np.float32).reshape(len(embedded), dimension)


def pool(vectors: Vectors, texts: Sequence[str]) -> Vectors:
    """Return the mean of the vectors of texts, weighted by their length, L2-normalised: float32, shape (d,)."""
    weights = np.array([max(len(text), 1) for text in texts], np.float64)
    return unit(weights @ vectors)


def unit(vectors: NDArray[np.floating]) -> Vectors:
    """Return rows at length 1, float32; ``ValueError`` for a row that has no direction."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ValueError("a vector is not finite or is zero")
    return np.asarray(vectors / lengths, dtype=np.float32)
