"""Keyword search: BM25 over postings in memory; what is added is found at once.

Document frequencies and lengths count every row of the view, live or not, so that the score of one memory does not
move when another changes state. Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.adapters.index.postings import Postings, counts_of, slots_of

_K1 = 1.2
_B = 0.5


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """BM25 of every slot for one query."""

    bm25: NDArray[np.float64]
    """Shape (n,); 0 where no word matches."""
    ideal: float
    """What a memory of the query's own words would score, unknown words included."""


class LexicalIndex:
    """Inverted index from terms to slots."""

    def __init__(self) -> None:
        self.postings = Postings()
        self._lengths = np.zeros(0, np.float32)
        self._documents = 0
        self._total_length = 0

    def reserve(self, capacity: int) -> None:
        """Make room for slots below ``capacity``."""
        grown = np.zeros(capacity, np.float32)
        grown[: len(self._lengths)] = self._lengths
        self._lengths = grown

    def add(self, slot: int, counts: Mapping[str, int]) -> None:
        """Enter a document by its term counts; O(terms)."""
        length = sum(counts.values())
        self.postings.add(slot, counts)
        self._lengths[slot] = length
        self._documents += 1
        self._total_length += length

    def remove(self, slot: int, counts: Mapping[str, int]) -> None:
        """Take out a document that was entered with the same counts."""
        self.postings.remove(slot, counts)
        self._lengths[slot] = 0.0
        self._documents -= 1
        self._total_length -= sum(counts.values())

    def scores(self, terms: Sequence[str], slots: int) -> LexicalScores | None:
        """Score every slot below ``slots`` against a query; None where no term is known. O(postings of its terms)."""
        wanted = list(dict.fromkeys(terms))
        found = [self.postings.packed(term) for term in wanted]
        frequencies = np.array([0 if packed is None else len(packed) for packed in found])
        if not frequencies.any():
            return None
        weights = np.log1p((self._documents - frequencies + 0.5) / (frequencies + 0.5)) * (_K1 + 1.0)
        entries = np.concatenate([packed for packed in found if packed is not None])
        holders, counts = slots_of(entries).astype(np.intp), counts_of(entries).astype(np.float32)
        average = self._total_length / self._documents
        saturation = _K1 * (1.0 - _B) + (_K1 * _B / average) * self._lengths[holders]
        parts = counts / (counts + saturation)
        parts *= np.repeat(weights, frequencies)
        bm25 = np.bincount(holders, weights=parts, minlength=slots).astype(np.float64, copy=False)
        longest = _K1 * (1.0 - _B + _B * max(len(terms), average) / average)
        return LexicalScores(bm25, math.fsum(weights) / (1.0 + longest))
