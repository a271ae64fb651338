"""Keyword search: BM25 over postings in memory; what is added is found at once.

Document frequencies and lengths count every row of the view, live or not, so that the score of one memory does not
move when another changes state. Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009.

Words that many memories hold say little and cost much. So memories that hold nothing but such words are looked at only
until enough others are sure to be better (Turtle and Flood, "Query evaluation: strategies and optimizations", 1995).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.adapters.index.postings import (
    COMMON_FROM,
    Line,
    Packed,
    Postings,
    counts_of,
    packed,
    slots_of,
)
from hindsight_bus.domain import ranking

_K1 = 1.2
_B = 0.5
_COVERED_SHARE = 0.5
_ROUNDING = 1e-6
"""What sums of a few scores in another order may be off by, as a share."""

Floats = NDArray[np.float64]
Slots = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """What the words of some memories score; shape of the slots asked for, 0 where no word matches."""

    bm25: Floats
    covered: Floats
    """0 to 1, share of the query's words found, weighted by rarity; unknown words included."""


@dataclass(frozen=True, slots=True)
class _Rare:
    """A word of a query that some memories hold."""

    rarity: float
    posting: Packed

    def entries(self, slots: Slots, least: Packed) -> Packed:
        """Return its entries at ``slots``, whose ``least`` are given, or others if it has none; O(slots x log n)."""
        return self.posting.take(self.posting.searchsorted(least), mode="clip")


@dataclass(frozen=True, slots=True)
class _Common:
    """A word of a query that many memories hold."""

    rarity: float
    line: Line
    ceiling: float
    """What it adds to a score at most."""

    def entries(self, slots: Slots, least: Packed) -> Packed:
        """Return its entries at ``slots``, whose ``least`` are given; O(slots)."""
        return least | self.counts(slots)

    def counts(self, slots: Slots) -> NDArray[np.uint8]:
        """Return how often it is in the memories at ``slots``; O(slots)."""
        return self.line.take(slots)


class LexicalQuery:
    """The words of one query against an index; to be dropped before that changes."""

    def __init__(self, index: LexicalIndex, terms: Sequence[str]) -> None:
        postings, wanted = index.postings, list(dict.fromkeys(terms))
        frequencies = [postings.frequency(term) for term in wanted]
        *rarities, unit = index.rarity(np.array([*frequencies, 1])).tolist()
        self.unknown = frozenset(
            term for term, frequency in zip(wanted, frequencies, strict=True) if not frequency
        )
        """The query's terms that no memory holds."""
        self.is_known = len(self.unknown) < len(wanted)
        """Whether any memory holds any of the words."""
        self._index = index
        self._unit = unit
        self._total = math.fsum(rarities)
        self._ideal = self._total * (_K1 + 1.0) / (1.0 + index.longest(len(terms)))
        self._words = [
            self._word(term, rarity)
            for term, rarity in zip(wanted, rarities, strict=True)
            if term not in self.unknown
        ]

    def scores(self, slots: Slots) -> LexicalScores:
        """Return the scores of some slots, distinct; O(slots x words x log n)."""
        least = packed(slots)
        entries = np.array([word.entries(slots, least) for word in self._words], np.uint32)
        entries = entries.reshape(len(self._words), len(slots))
        counts = np.where(slots_of(entries) == slots, counts_of(entries), 0)
        rarities = np.array([word.rarity for word in self._words])[:, None]
        return LexicalScores(
            _summed(rarities * _saturated(counts, self._index.saturation(slots))),
            _summed(rarities / self._total * (counts > 0)),
        )

    def share(self, scores: LexicalScores) -> Floats:
        """Return 0 to 1: how much of the query is found; what is long and says much else less."""
        by_length = np.minimum(scores.bm25 / self._ideal, 1.0)
        return np.asarray(_COVERED_SHARE * scores.covered + (1.0 - _COVERED_SHARE) * by_length)

    def matched(self, scores: LexicalScores) -> Floats:
        """Return how many words are shared, in units of one that no other memory has."""
        return np.asarray(scores.bm25 / self._unit)

    def contenders(self, mask: Mask, k: int) -> Slots:
        """Return slots among ``mask``, shape (n,), sorted: the ``k`` of the greatest BM25 and few others."""
        slots, sums = self._of_rare(mask)
        if rest := [word for word in self._words if isinstance(word, _Common)]:
            rest.sort(key=lambda word: -word.rarity)
            slots, sums = self._with_common(slots, sums, rest, mask.copy(), k)
        return np.sort(slots[sums >= _enough(_least(sums, k), 0.0)])

    def _word(self, term: str, rarity: float) -> _Rare | _Common:
        postings = self._index.postings
        line = postings.line(term)
        if line is None:
            return _Rare(rarity, postings.posting(term))
        return _Common(rarity, line, rarity * self._index.worth(postings.most(term)))

    def _of_rare(self, mask: Mask) -> tuple[Slots, Floats]:
        """Return the slots among ``mask`` that hold words that few do, and what these words score."""
        words = [word for word in self._words if isinstance(word, _Rare)]
        if not words:
            return np.empty(0, np.intp), np.empty(0)
        entries = np.concatenate([word.posting for word in words])
        rarities = np.repeat([word.rarity for word in words], [len(word.posting) for word in words])
        holders = slots_of(entries).astype(np.intp)
        parts = rarities * _saturated(counts_of(entries), self._index.saturation(holders))
        sums = np.bincount(holders, parts, len(mask)).astype(np.float64, copy=False)
        slots = np.flatnonzero(mask & (sums > 0.0))
        return slots, sums[slots]

    def _with_common(
        self, slots: Slots, sums: Floats, rest: Sequence[_Common], unseen: Mask, k: int
    ) -> tuple[Slots, Floats]:
        """Return ``slots`` and others that may be among the ``k`` best, and what all of them score; in no order."""
        sums = sums + self._parts(rest, slots)
        unseen[slots] = False
        least = _least(sums, k)
        while rest and _left(rest) >= least:  # what holds but words left might be among the best
            word, *rest = rest
            fresh = np.flatnonzero(unseen & (word.line[: len(unseen)] > 0))
            unseen[fresh] = False
            more = self._parts([word], fresh)
            kept = more >= _enough(least, _left(rest))
            fresh, more = fresh[kept], more[kept]
            slots = np.concatenate((slots, fresh))
            sums = np.concatenate((sums, more + self._parts(rest, fresh)))
            least = _least(sums, k)
        return slots, sums

    def _parts(self, words: Sequence[_Common], slots: Slots) -> Floats:
        """Return what ``words`` add to the scores of ``slots``."""
        sums, saturation = np.zeros(len(slots)), self._index.saturation(slots)
        for word in words:
            sums += word.rarity * _saturated(word.counts(slots), saturation)
        return sums


class LexicalIndex:
    """Inverted index from terms to slots; for ``common_from`` see ``Postings``."""

    def __init__(self, common_from: int = COMMON_FROM) -> None:
        self.postings = Postings(common_from)
        self._lengths = np.zeros(0, np.float32)
        self._documents = 0
        self._total_length = 0
        self._shortest = 0
        """Terms of the shortest document, or fewer."""

    def reserve(self, capacity: int) -> None:
        """Make room for slots below ``capacity``."""
        self.postings.reserve(capacity)
        grown = np.zeros(capacity, np.float32)
        grown[: len(self._lengths)] = self._lengths
        self._lengths = grown

    def add(self, slot: int, counts: Mapping[str, int]) -> None:
        """Enter a document by its term counts; O(terms)."""
        length = sum(counts.values())
        self.postings.add(slot, counts)
        self._lengths[slot] = length
        self._shortest = min(self._shortest, length) if self._documents else length
        self._documents += 1
        self._total_length += length

    def remove(self, slot: int, counts: Mapping[str, int]) -> None:
        """Take out a document that was entered with the same counts."""
        self.postings.remove(slot, counts)
        self._lengths[slot] = 0.0
        self._documents -= 1
        self._total_length -= sum(counts.values())

    def query(self, terms: Sequence[str]) -> LexicalQuery | None:
        """Look up the words of a query; None where there are none, or nothing to look for."""
        return LexicalQuery(self, terms) if terms and self._documents else None

    def rarity(self, frequencies: NDArray[np.int64]) -> Floats:
        """Return how much each word says that so many memories hold."""
        return np.asarray(np.log1p((self._documents - frequencies + 0.5) / (frequencies + 0.5)))

    def longest(self, terms: int) -> float:
        """Return what tames the counts of a memory of so many terms, or of an average one if that is longer."""
        average = self._average
        return _K1 * (1.0 - _B + _B * max(terms, average) / average)

    def saturation(self, slots: Slots) -> NDArray[np.float32]:
        """Return what tames the counts of memories of their lengths."""
        return np.asarray(_K1 * (1.0 - _B) + (_K1 * _B / self._average) * self._lengths[slots])

    def worth(self, count: int) -> float:
        """Return what a count is worth at most, whatever the length."""
        saturation = _K1 * (1.0 - _B + _B * max(self._shortest, 1) / self._average)
        return (1.0 + _ROUNDING) * count * (_K1 + 1.0) / (count + saturation)

    @property
    def _average(self) -> float:
        return self._total_length / self._documents


def _saturated(counts: NDArray[np.unsignedinteger], saturation: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what counts are worth, 0 to k1 + 1."""
    often = counts.astype(np.float32)
    return np.asarray(often * (_K1 + 1.0) / (often + saturation))


def _summed(parts: Floats) -> Floats:
    """Return the sums of parts, shape (words, n), added in the same order whatever n is."""
    sums = np.zeros(parts.shape[1])
    for each in parts:
        sums += each
    return sums


def _left(words: Sequence[_Common]) -> float:
    """Return what words add to a score at most."""
    return math.fsum(word.ceiling for word in words)


def _enough(least: float, left: float) -> float:
    """Return the sum from which on ``left`` more may reach ``least``."""
    return (1.0 - _ROUNDING) * (least - left)


def _least(sums: Floats, k: int) -> float:
    """Return the ``k``-th greatest sum; 0 where there are fewer."""
    return ranking.kth_greatest(sums, k) if len(sums) >= k else 0.0
