"""What the channels find: candidates for one query, and the evidence for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.columns import Columns, Mask, Slots
from hindsight_bus.adapters.index.conversations import Conversations
from hindsight_bus.adapters.index.dense import DenseIndex
from hindsight_bus.adapters.index.lexical import LexicalIndex, LexicalScores
from hindsight_bus.adapters.index.subjects import NAMED, SubjectIndex
from hindsight_bus.adapters.index.successors import Successors
from hindsight_bus.domain import ranking, temporal
from hindsight_bus.domain.calibration import Calibration
from hindsight_bus.domain.memory import MemoryType
from hindsight_bus.domain.query import SearchChannel
from hindsight_bus.ports import Row, Vectors, ViewQuery

PER_CHANNEL = 50
_LOOKED_AROUND = 30
"""Candidates whose neighbours are looked at, the strongest ones."""
NOTHING: Slots = np.empty(0, np.intp)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Indexes:
    """What one view holds, by slot."""

    rows: list[Row | None]
    slots: Mapping[str, int]
    columns: Columns
    dense: DenseIndex
    lexical: LexicalIndex
    subjects: SubjectIndex
    conversations: Conversations
    successors: Successors
    analyzer: Analyzer
    calibration: Calibration

    def row(self, slot: int) -> Row:
        """Return the row at a slot that is in use."""
        row = self.rows[slot]
        if row is None:
            raise LookupError(f"slot {slot} is free")
        return row

    def best(self, slots: Slots, scores: Floats, k: int) -> NDArray[np.intp]:
        """Return the indices of the ``k`` best of ``slots``, best first; ties in a fixed order."""
        return ranking.best(scores, self.columns["create_revision"][slots], self.columns["tie"][slots], k)


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates of one query and what the channels say of them; arrays of shape (n,)."""

    slots: Slots
    evidence: ranking.Evidence
    bm25: Floats | None
    strength: Floats
    lifted: Floats

    @property
    def gained(self) -> Floats:
        """What neighbours add to each strength."""
        return self.lifted - self.strength

    @property
    def is_named(self) -> NDArray[np.bool_]:
        """Which candidates the query names outright."""
        return self.evidence.subject >= NAMED

    def only(self, kept: NDArray[np.bool_]) -> Found:
        """Return the candidates that are marked."""
        return Found(
            self.slots[kept],
            self.evidence.only(kept),
            None if self.bm25 is None else self.bm25[kept],
            self.strength[kept],
            self.lifted[kept],
        )


@dataclass(frozen=True, slots=True)
class _Heard:
    """What the channels say of every slot for one query."""

    vector: Vectors | None
    background: float
    lexical: LexicalScores | None
    named: Floats | None
    spans: tuple[temporal.Span, ...]

    def evidence(self, held: Indexes, slots: Slots) -> ranking.Evidence:
        """Return the evidence for some slots."""
        nothing = np.zeros(len(slots))
        return ranking.Evidence(
            cosine=None if self.vector is None else held.dense.cosines(self.vector, slots),
            background=self.background,
            share=nothing if self.lexical is None else self.lexical.share(slots),
            matched=nothing if self.lexical is None else self.lexical.matched(slots),
            subject=nothing if self.named is None else self.named[slots],
            temporal=temporal.closeness(self.spans, held.columns["time_ms"][slots])
            if self.spans
            else nothing,
        )


def vector_of(query: ViewQuery) -> Vectors | None:
    """Return the query's vector, if the dense channel is to use it."""
    return None if SearchChannel.DENSE in query.without else query.vector


def nothing_known(slots: Slots) -> Found:
    """Return candidates that no channel speaks of: those of a filter alone."""
    nothing = np.zeros(len(slots))
    return Found(
        slots, ranking.Evidence(None, 0.0, nothing, nothing, nothing, nothing), None, nothing, nothing
    )


def gather(held: Indexes, query: ViewQuery, mask: Mask, nearest: Slots) -> Found:
    """Return the candidates of all channels among ``mask``; ``nearest`` are those of the dense one."""
    heard = _heard(held, query, mask)
    most = max(PER_CHANNEL, query.top_k)
    found = [nearest, *_by_words(held, heard, mask, most)]
    if heard.spans:
        told = mask & (temporal.closeness(heard.spans, held.columns["time_ms"][: len(mask)]) > 0.0)
        found += _within(held, heard, told, most)
    slots = np.unique(np.concatenate(found))
    if len(slots) and SearchChannel.NEIGHBOURS not in query.without:
        return _with_neighbours(held, heard, mask, slots)
    evidence = heard.evidence(held, slots)
    strength = ranking.strength(evidence)
    return Found(slots, evidence, _bm25(heard, slots), strength, strength)


def _heard(held: Indexes, query: ViewQuery, mask: Mask) -> _Heard:
    words = held.analyzer.words(query.text)
    terms = [term for _, term in words]
    lexical = held.lexical.scores(terms, len(mask))
    unknown = frozenset(terms) if lexical is None else lexical.unknown
    named = held.subjects.scores(words, unknown, len(mask))
    for scores in (
        *(() if lexical is None else (lexical.bm25, lexical.covered)),
        *(() if named is None else (named,)),
    ):
        held.successors.inherit(scores, held.slots, held.rows)
    vector = vector_of(query) if held.dense.count else None
    background = 0.0
    if vector is not None:
        profile = 0.0 if query.is_foreign else held.calibration.background
        background = ranking.background(profile, held.dense.mean_cosine(vector), held.dense.count)
    return _Heard(
        vector,
        background,
        None if SearchChannel.LEXICAL in query.without else lexical,
        None if SearchChannel.SUBJECT in query.without else named,
        () if SearchChannel.TEMPORAL in query.without else _spans(held, query, mask),
    )


def _spans(held: Indexes, query: ViewQuery, mask: Mask) -> tuple[temporal.Span, ...]:
    """Return the spans that the query names, with the day of the first or last episode if it asks for that."""
    if query.edge is None:
        return query.spans
    episodes = np.flatnonzero(mask & (held.columns["type"][: len(mask)] == MemoryType.EPISODIC))
    if not len(episodes):
        return query.spans
    times = held.columns["time_ms"][episodes]
    return (
        *query.spans,
        temporal.day_of(int(times.min() if query.edge is temporal.Edge.FIRST else times.max())),
    )


def _by_words(held: Indexes, heard: _Heard, mask: Mask, most: int) -> list[Slots]:
    scores = [] if heard.lexical is None else [heard.lexical.bm25]
    if heard.named is not None:
        scores.append(heard.named)
    return [_top(held, each, mask, most) for each in scores]


def _within(held: Indexes, heard: _Heard, told: Mask, most: int) -> list[Slots]:
    """Return what was told at a time that the query names: all, or of much the nearest in words and meaning."""
    slots = np.flatnonzero(told)
    if len(slots) <= most:
        return [slots]
    found = _by_words(held, heard, told, most)
    if heard.vector is not None:
        found += held.dense.nearest(heard.vector[None], most, told)
    newest = ranking.contenders(held.columns["time_ms"][slots], most)
    return found if sum(map(len, found)) else [slots[newest[:most]]]


def _with_neighbours(held: Indexes, heard: _Heard, mask: Mask, slots: Slots) -> Found:
    strength = ranking.strength(heard.evidence(held, slots))
    strongest = slots[ranking.contenders(strength, _LOOKED_AROUND)[:_LOOKED_AROUND]]
    around = held.conversations.around(strongest.tolist(), [held.row(slot) for slot in strongest])
    around[~mask[around]] = -1
    slots = np.union1d(slots, around[around >= 0])
    evidence = heard.evidence(held, slots)
    strength = ranking.strength(evidence)
    lifted = ranking.lifted(strength, _beside(slots, strongest, around))
    return Found(slots, evidence, _bm25(heard, slots), strength, lifted)


def _beside(slots: Slots, strongest: Slots, around: Slots) -> Slots:
    """Return the neighbours of each of the sorted ``slots`` as places among them, shape (n, 4), -1 for none.

    Pairs count both ways in which one of the two is among ``strongest``, whose neighbours are ``around``.
    """
    table = np.full((len(slots), around.shape[1]), -1, dtype=np.intp)
    lines, columns = np.nonzero(around >= 0)
    here, there = np.searchsorted(slots, strongest[lines]), np.searchsorted(slots, around[lines, columns])
    table[here, columns] = there
    table[there, around.shape[1] - 1 - columns] = here
    return table


def _bm25(heard: _Heard, slots: Slots) -> Floats | None:
    return None if heard.lexical is None else heard.lexical.bm25[slots]


def _top(held: Indexes, scores: Floats, mask: Mask, k: int) -> Slots:
    found = np.flatnonzero((scores > 0.0) & mask)
    found = found[ranking.contenders(scores[found], k)]
    return found if len(found) <= k else found[held.best(found, scores[found], k)]
