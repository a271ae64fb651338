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
from hindsight_bus.adapters.index.lexical import LexicalIndex, LexicalQuery, LexicalScores
from hindsight_bus.adapters.index.pieces import PieceIndex
from hindsight_bus.adapters.index.subjects import NAMED, SubjectIndex
from hindsight_bus.adapters.index.successors import Replaced, Successors
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
    pieces: PieceIndex
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

    def cosines(self, query: Vectors, slots: Slots) -> Floats:
        """Return how near memories are to a query, each by its nearest vector, shape (n,); NaN where it has none."""
        own = self.dense.cosines(query, slots)
        return np.fmax(own, self.pieces.cosines(query, slots)) if self.pieces.count else own

    def nearest(self, queries: Vectors, k: int, allowed: Mask) -> list[Slots]:
        """Return for each query, shape (m, d), its ``k`` nearest memories among ``allowed``, and any that tie."""
        wholes = self.dense.nearest(queries, k, allowed)
        if not self.pieces.count:
            return wholes
        pieces = self.pieces.nearest(queries, k, allowed)
        both = [np.union1d(*found) for found in zip(wholes, pieces, strict=True)]
        return [
            slots[ranking.contenders(self.cosines(query, slots), k)]
            for query, slots in zip(queries, both, strict=True)
        ]


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
class _Heirs:
    """Newest memories of their chains, and the best that the words score of what each one replaced."""

    slots: Slots
    scores: LexicalScores


@dataclass(frozen=True, slots=True)
class _Heard:
    """What the channels know of one query."""

    vector: Vectors | None
    backgrounds: Floats
    """Cosine that says nothing, by number of a memory's language."""
    usual: Floats
    """The same within one language, on average over the query's and the memory's."""
    lexical: LexicalQuery | None
    heirs: _Heirs | None
    named: Floats | None
    spans: tuple[temporal.Span, ...]

    def told(self, held: Indexes, slots: Slots) -> _Told:
        """Return what the channels say of some slots, distinct and sorted."""
        nothing = np.zeros(len(slots))
        cosine = near = None
        if self.vector is not None:
            cosine = held.cosines(self.vector, slots)
            languages = held.dense.means.of(slots)
            near = ranking.centred(cosine, self.backgrounds[languages], self.usual[languages])
        words = None if self.lexical is None else self.words(slots)
        evidence = ranking.Evidence(
            cosine=cosine,
            near=near,
            share=nothing if self.lexical is None or words is None else self.lexical.share(words),
            matched=nothing if self.lexical is None or words is None else self.lexical.matched(words),
            subject=nothing if self.named is None else self.named[slots],
            temporal=temporal.closeness(self.spans, held.columns["time_ms"][slots])
            if self.spans
            else nothing,
        )
        return _Told(slots, evidence, None if words is None else words.bm25)

    def words(self, slots: Slots) -> LexicalScores:
        """Return what the words score, those of replaced memories counting for the newest of their chain."""
        if self.lexical is None:
            raise LookupError("the query has no words")
        own = self.lexical.scores(slots)
        if self.heirs is None or not len(slots):
            return own
        places = np.searchsorted(slots, self.heirs.slots).clip(max=len(slots) - 1)
        here = np.flatnonzero(slots[places] == self.heirs.slots)
        for scores, inherited in (
            (own.bm25, self.heirs.scores.bm25),
            (own.covered, self.heirs.scores.covered),
        ):
            scores[places[here]] = np.maximum(scores[places[here]], inherited[here])
        return own


@dataclass(frozen=True, slots=True)
class _Told:
    """What the channels say of some slots, sorted."""

    slots: Slots
    evidence: ranking.Evidence
    bm25: Floats | None

    def beside(self, other: _Told) -> _Told:
        """Return both together; they share no slot."""
        slots = np.concatenate((self.slots, other.slots))
        order = np.argsort(slots)
        bm25 = None if self.bm25 is None or other.bm25 is None else np.concatenate((self.bm25, other.bm25))
        return _Told(
            slots[order],
            self.evidence.beside(other.evidence).only(order),
            None if bm25 is None else bm25[order],
        )


def vector_of(query: ViewQuery) -> Vectors | None:
    """Return the query's vector, if the dense channel is to use it."""
    return None if SearchChannel.DENSE in query.without else query.vector


def nothing_known(slots: Slots) -> Found:
    """Return candidates that no channel speaks of: those of a filter alone."""
    nothing = np.zeros(len(slots))
    return Found(
        slots, ranking.Evidence(None, None, nothing, nothing, nothing, nothing), None, nothing, nothing
    )


def gather(held: Indexes, query: ViewQuery, mask: Mask, nearest: Slots) -> Found:
    """Return the candidates of all channels among ``mask``; ``nearest`` are those of the dense one."""
    heard = _heard(held, query, mask)
    most = max(PER_CHANNEL, query.top_k)
    found = [nearest, *_by_words(held, heard, mask, most)]
    if heard.spans:
        dated = mask & (temporal.closeness(heard.spans, held.columns["time_ms"][: len(mask)]) > 0.0)
        found += _within(held, heard, dated, most)
    told = heard.told(held, np.unique(np.concatenate(found)))
    if len(told.slots) and SearchChannel.NEIGHBOURS not in query.without:
        return _with_neighbours(held, heard, mask, told)
    strength = ranking.strength(told.evidence)
    return Found(told.slots, told.evidence, told.bm25, strength, strength)


def _heard(held: Indexes, query: ViewQuery, mask: Mask) -> _Heard:
    words = held.analyzer.words(query.text)
    terms = [term for _, term in words]
    lexical = held.lexical.query(terms)
    named = held.subjects.scores(words, terms if lexical is None else lexical.unknown, len(mask))
    if lexical is not None and (not lexical.is_known or SearchChannel.LEXICAL in query.without):
        lexical = None
    if SearchChannel.SUBJECT in query.without:
        named = None
    replaced = held.successors.pairs(held.slots, held.rows)
    if named is not None:
        np.maximum.at(named, replaced.new, named[replaced.old])
    vector = vector_of(query) if held.dense.count else None
    backgrounds, usual = (np.zeros(1), np.zeros(1)) if vector is None else _backgrounds(held, query, vector)
    return _Heard(
        vector,
        backgrounds,
        usual,
        lexical,
        None if lexical is None or not len(replaced.old) else _heirs(lexical, replaced),
        named,
        () if SearchChannel.TEMPORAL in query.without else _spans(held, query, mask),
    )


def _heirs(lexical: LexicalQuery, replaced: Replaced) -> _Heirs:
    own = lexical.scores(replaced.old)
    slots, places = np.unique(replaced.new, return_inverse=True)
    best = LexicalScores(np.zeros(len(slots)), np.zeros(len(slots)))
    np.maximum.at(best.bm25, places, own.bm25)
    np.maximum.at(best.covered, places, own.covered)
    return _Heirs(slots, best)


def _backgrounds(held: Indexes, query: ViewQuery, vector: Vectors) -> tuple[Floats, Floats]:
    """Return the query's ``backgrounds`` and ``usual`` cosines by number of a memory's language.

    Where the profile's calibration knows none, the mean over all memories stands for it.
    """
    means, counts = held.dense.means.cosines(vector)
    overall = float(means @ counts) / (counts.sum() + 1)
    known, asked = held.calibration.background, query.language
    expected = np.array([known(asked, told) for told in held.dense.means.languages])
    usual = np.array([(known(asked, asked) + known(told, told)) / 2 for told in held.dense.means.languages])
    return ranking.background(expected, means, counts, overall), np.where(np.isnan(usual), overall, usual)


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
    found = []
    if heard.lexical is not None:
        slots = heard.lexical.contenders(mask, most)
        if heard.heirs is not None:
            heirs = heard.heirs.slots[heard.heirs.scores.bm25 > 0.0]
            slots = np.union1d(slots, heirs[mask[heirs]])
        if len(slots) > most:
            slots = slots[held.best(slots, heard.words(slots).bm25, most)]
        found.append(slots)
    if heard.named is not None:
        found.append(_top(held, heard.named, mask, most))
    return found


def _within(held: Indexes, heard: _Heard, told: Mask, most: int) -> list[Slots]:
    """Return what was told at a time that the query names: all, or of much the nearest in words and meaning."""
    slots = np.flatnonzero(told)
    if len(slots) <= most:
        return [slots]
    found = _by_words(held, heard, told, most)
    if heard.vector is not None:
        found += held.nearest(heard.vector[None], most, told)
    newest = ranking.contenders(held.columns["time_ms"][slots], most)
    return found if sum(map(len, found)) else [slots[newest[:most]]]


def _with_neighbours(held: Indexes, heard: _Heard, mask: Mask, told: _Told) -> Found:
    strength = ranking.strength(told.evidence)
    strongest = told.slots[ranking.contenders(strength, _LOOKED_AROUND)[:_LOOKED_AROUND]]
    around = held.conversations.around(strongest)
    around[~mask[around]] = -1
    are_there = around >= 0
    if not are_there.any():
        return Found(told.slots, told.evidence, told.bm25, strength, strength)
    beside = np.unique(around[are_there])
    places = np.searchsorted(told.slots, beside).clip(max=len(told.slots) - 1)
    others = beside[told.slots[places] != beside]
    if len(others):
        told = told.beside(heard.told(held, others))
        strength = ranking.strength(told.evidence)
    lifted = ranking.lifted(strength, _beside(told.slots, strongest, around))
    return Found(told.slots, told.evidence, told.bm25, strength, lifted)


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


def _top(held: Indexes, scores: Floats, mask: Mask, k: int) -> Slots:
    found = np.flatnonzero((scores > 0.0) & mask)
    found = found[ranking.contenders(scores[found], k)]
    return found if len(found) <= k else found[held.best(found, scores[found], k)]
