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
_COVERED_SHARE = 0.5

Floats = NDArray[np.float64]
Slots = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """What the words of one query find, for every slot; shape (n,), 0 where no word matches."""

    bm25: Floats
    covered: Floats
    """0 to 1, share of the query's words found, weighted by rarity; unknown words included."""
    ideal: float
    """BM25 of a memory of the query's own words, unknown words included."""
    unit: float
    """BM25 of one word of average surroundings that no other memory has."""
    unknown: frozenset[str]
    """The query's terms that no memory holds."""

    def share(self, slots: Slots) -> Floats:
        """Return 0 to 1, shape of ``slots``: how much of the query is found; what is long and says much else less."""
        by_length = np.minimum(self.bm25[slots] / self.ideal, 1.0)
        return np.asarray(_COVERED_SHARE * self.covered[slots] + (1.0 - _COVERED_SHARE) * by_length)

    def matched(self, slots: Slots) -> Floats:
        """Return how many words are shared, in units of one that no other memory has, shape of ``slots``."""
        return np.asarray(self.bm25[slots] / self.unit)


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
        rarities = self._rarity(frequencies)
        entries = np.concatenate([packed for packed in found if packed is not None])
        holders = slots_of(entries).astype(np.intp)
        each = np.repeat(rarities, frequencies)
        average = self._total_length / self._documents
        longest = _K1 * (1.0 - _B + _B * max(len(terms), average) / average)
        return LexicalScores(
            bm25=_summed(holders, each * self._saturated(holders, counts_of(entries), average), slots),
            covered=_summed(holders, each / math.fsum(rarities), slots),
            ideal=math.fsum(rarities) * (_K1 + 1.0) / (1.0 + longest),
            unit=float(self._rarity(np.array([1]))[0]),
            unknown=frozenset(term for term, packed in zip(wanted, found, strict=True) if packed is None),
        )

    def _rarity(self, frequencies: NDArray[np.int64]) -> Floats:
        return np.asarray(np.log1p((self._documents - frequencies + 0.5) / (frequencies + 0.5)))

    def _saturated(self, holders: Slots, counts: NDArray[np.uint32], average: float) -> Floats:
        often = counts.astype(np.float32)
        saturation = _K1 * (1.0 - _B) + (_K1 * _B / average) * self._lengths[holders]
        return np.asarray(often * (_K1 + 1.0) / (often + saturation))


def _summed(holders: Slots, parts: Floats, slots: int) -> Floats:
    return np.bincount(holders, weights=parts, minlength=slots).astype(np.float64, copy=False)
