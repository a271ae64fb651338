"""Keyword search: BM25 over postings in memory; what is added is found at once.

Document frequencies and lengths count every row of the view, live or not, so that the score of one memory does not
move when another changes state. Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009.

Words that many memories hold say little and cost much. So scores are computed for few memories only, and of those that
hold nothing but such words none is looked at once enough others are sure to be better (Turtle and Flood, "Query
evaluation: strategies and optimizations", 1995).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.adapters.index.postings import Packed, Postings, counts_of, packed_at, slots_of
from hindsight_bus.domain import ranking

_K1 = 1.2
_B = 0.5
_COVERED_SHARE = 0.5
LONG_FROM = 4_096
"""Memories that hold a word from which on it pays to do without it."""
_ROUNDING = 1e-6
"""What sums of a few scores in another order may be off by, as a share."""
_NO_ENTRIES = np.empty(0, np.uint32)

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
class _Word:
    """A word of a query that many memories hold."""

    order: int
    """Its place in the query."""
    posting: Packed
    rarity: float

    ceiling: float
    """What it adds to a score at most."""


@dataclass(frozen=True, slots=True)
class _Short:
    """Who holds the words of a query that few memories hold: an entry a word and memory, word by word."""

    order: Slots
    """The word's place in the query."""
    holders: Slots
    counts: Packed


class LexicalQuery:
    """The words of one query against an index; to be dropped before that changes."""

    def __init__(self, index: LexicalIndex, terms: Sequence[str]) -> None:
        wanted = list(dict.fromkeys(terms))
        found = [index.postings.packed(term) for term in wanted]
        lengths = [0 if packed is None else len(packed) for packed in found]
        self.unknown = frozenset(term for term, packed in zip(wanted, found, strict=True) if packed is None)
        """The query's terms that no memory holds."""
        self.is_known = len(self.unknown) < len(wanted)
        """Whether any memory holds any of the words."""
        self._index = index
        self._rarities = index.rarity(np.array([*lengths, 1]))
        self._unit = float(self._rarities[-1])
        self._total = math.fsum(self._rarities[:-1])
        self._ideal = self._total * (_K1 + 1.0) / (1.0 + index.longest(len(terms)))
        long = {n for n, length in enumerate(lengths) if length >= index.long_from}
        self._long = [
            _Word(n, packed, rarity := float(self._rarities[n]), rarity * index.most(packed))
            for n, packed in enumerate(found)
            if n in long and packed is not None
        ]
        short = {n: packed for n, packed in enumerate(found) if n not in long and packed is not None}
        entries = np.concatenate([*short.values(), _NO_ENTRIES])
        order = np.repeat(np.array([*short], np.intp), [lengths[n] for n in short])
        self._short = _Short(order, slots_of(entries).astype(np.intp), counts_of(entries))

    def scores(self, slots: Slots) -> LexicalScores:
        """Return the scores of some slots, distinct and sorted; O(short postings, slots x words)."""
        order, places, counts = self._hits(slots)
        each = self._rarities[order]
        return LexicalScores(
            _summed(places, each * self._index.saturated(slots[places], counts), len(slots)),
            _summed(places, each / self._total, len(slots)),
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
        short = self._short
        parts = self._rarities[short.order] * self._index.saturated(short.holders, short.counts)
        sums, left = _summed(short.holders, parts, len(mask)), 0.0
        some = None if mask.all() else mask
        rarest_first = sorted(self._long, key=lambda word: -word.rarity)
        least = _least(sums, some, k)
        while rarest_first:
            left = math.fsum(word.ceiling for word in rarest_first)
            if left < least:
                break  # nothing is among the best that holds none but the words left
            word, left = rarest_first.pop(0), 0.0
            holders = slots_of(word.posting).astype(np.intp)
            sums[holders] += word.rarity * self._index.saturated(holders, counts_of(word.posting))
            least = _least(sums, some, k)
        enough = _enough(least, left)
        found = sums >= enough if enough > 0.0 else sums > 0.0
        slots = np.flatnonzero(found if some is None else found & some)
        return self._narrowed(slots, sums[slots], rarest_first, k)

    def _narrowed(self, slots: Slots, sums: Floats, words: Sequence[_Word], k: int) -> Slots:
        """Return those of ``slots`` that are still among the best when ``words`` are counted in."""
        for done, word in enumerate(words, 1):
            counts = counts_of(packed_at(word.posting, slots))
            sums += word.rarity * self._index.saturated(slots, counts)
            left = math.fsum(each.ceiling for each in words[done:])
            kept = sums >= _enough(ranking.kth_greatest(sums, k), left)
            slots, sums = slots[kept], sums[kept]
        return slots

    def _hits(self, slots: Slots) -> tuple[Slots, Slots, Packed]:
        """Return (word's place in the query, place in ``slots``, count) of each word that each slot holds, in order."""
        places = np.full(self._index.capacity, -1, np.int32)
        places[slots] = np.arange(len(slots), dtype=np.int32)
        place = places[self._short.holders]
        held = np.flatnonzero(place >= 0)
        found = [(self._short.order[held], place[held].astype(np.intp), self._short.counts[held])]
        for word in self._long:
            entries = packed_at(word.posting, slots)
            there = np.flatnonzero(entries)
            found.append((np.full(len(there), word.order), there, counts_of(entries[there])))
        if len(found) == 1:
            return found[0]
        order, at, counts = map(np.concatenate, zip(*found, strict=True))
        in_turn = np.argsort(order, kind="stable")  # no sum may depend on how common the words are
        return order[in_turn], at[in_turn], counts[in_turn]


class LexicalIndex:
    """Inverted index from terms to slots. Words that ``long_from`` memories hold are gone through only if they must."""

    def __init__(self, long_from: int = LONG_FROM) -> None:
        self.long_from = long_from
        self.postings = Postings()
        self._lengths = np.zeros(0, np.float32)
        self._documents = 0
        self._total_length = 0
        self._shortest = 0
        """Terms of the shortest document, or fewer."""

    def reserve(self, capacity: int) -> None:
        """Make room for slots below ``capacity``."""
        grown = np.zeros(capacity, np.float32)
        grown[: len(self._lengths)] = self._lengths
        self._lengths = grown

    @property
    def capacity(self) -> int:
        """Slots that there is room for."""
        return len(self._lengths)

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

    def saturated(self, slots: Slots, counts: NDArray[np.uint32]) -> Floats:
        """Return what counts in memories of their lengths are worth, 0 to k1 + 1."""
        often = counts.astype(np.float32)
        saturation = _K1 * (1.0 - _B) + (_K1 * _B / self._average) * self._lengths[slots]
        return np.asarray(often * (_K1 + 1.0) / (often + saturation))

    def most(self, posting: Packed) -> float:
        """Return what the greatest count of a posting is worth at most, whatever the lengths."""
        most = int(counts_of(posting).max())
        shortest = max(self._shortest, 1)
        saturation = _K1 * (1.0 - _B + _B * shortest / self._average)
        return (1.0 + _ROUNDING) * most * (_K1 + 1.0) / (most + saturation)

    @property
    def _average(self) -> float:
        return self._total_length / self._documents


def _enough(least: float, left: float) -> float:
    """Return the sum from which on ``left`` more may reach ``least``."""
    return (1.0 - _ROUNDING) * (least - left)


def _least(sums: Floats, mask: Mask | None, k: int) -> float:
    """Return the ``k``-th greatest sum among ``mask``; 0 where fewer are above 0."""
    if len(sums) < k:
        return 0.0
    return ranking.kth_greatest(sums if mask is None else sums * mask, k)


def _summed(holders: Slots, parts: Floats, slots: int) -> Floats:
    return np.bincount(holders, weights=parts, minlength=slots).astype(np.float64, copy=False)
