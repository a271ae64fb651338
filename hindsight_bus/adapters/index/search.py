"""Search over the indexes of one view: each channel finds candidates, and all of them are scored on every channel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.columns import Columns, Mask, Slots
from hindsight_bus.adapters.index.dense import DenseIndex
from hindsight_bus.adapters.index.lexical import LexicalIndex
from hindsight_bus.adapters.index.subjects import SubjectIndex
from hindsight_bus.domain import ranking
from hindsight_bus.domain.memory import MemoryState
from hindsight_bus.domain.query import Filter
from hindsight_bus.ports import Candidate, Row, Vectors, ViewQuery

_PER_CHANNEL = 50
_NOTHING: Slots = np.empty(0, np.intp)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Indexes:
    """What one view holds, by slot."""

    rows: list[Row | None]
    columns: Columns
    dense: DenseIndex
    lexical: LexicalIndex
    subjects: SubjectIndex
    analyzer: Analyzer
    background: float
    """Cosine of unrelated texts in the embedding profile; 0 where unknown."""


@dataclass(frozen=True, slots=True)
class _Found:
    """Candidates of one query and what the channels say of them; arrays of shape (n,)."""

    slots: Slots
    cosine: Floats | None
    bm25: Floats | None
    evidence: ranking.Evidence


def search(held: Indexes, queries: Sequence[ViewQuery]) -> list[list[Candidate]]:
    """Answer queries, best first; those that share a filter and have vectors share one dense scan."""
    groups: dict[tuple[Filter, int], list[int]] = {}
    for number, query in enumerate(queries):
        now_ms = query.now_ms if held.columns.is_expiring else 0
        groups.setdefault((query.filter, now_ms), []).append(number)
    answers: list[list[Candidate]] = [[] for _ in queries]
    for (wanted, now_ms), members in groups.items():
        mask = held.columns.matching(wanted, now_ms, len(held.rows))
        near = _nearest(held, [queries[number] for number in members], mask)
        for number, neighbours in zip(members, near, strict=True):
            answers[number] = _answer(held, queries[number], mask, neighbours)
    return answers


def nearest(held: Indexes, vector: Vectors, k: int, wanted: Filter) -> list[tuple[str, float]]:
    """Return the ``k`` nearest memories (id, cosine) among those that match, nearest first."""
    if not held.dense.count or k <= 0:
        return []
    mask = held.columns.matching(wanted, 0, len(held.rows))
    slots = held.dense.nearest(vector[None], k, mask)[0]
    cosines = held.dense.cosines(vector, slots)
    order = _best(held, slots, cosines, k)
    return [(_row(held, slots[i]).memory_id, float(cosines[i])) for i in order]


def matching(held: Indexes, wanted: Filter, limit: int) -> list[Row]:
    """Return at most ``limit`` rows that match, newest first."""
    slots = np.flatnonzero(held.columns.matching(wanted, 0, len(held.rows)))
    newest = np.argsort(-held.columns["create_revision"][slots], kind="stable")[:limit]
    return [_row(held, slot) for slot in slots[newest]]


def _nearest(held: Indexes, queries: Sequence[ViewQuery], mask: Mask) -> list[Slots]:
    vectors = [query.vector for query in queries if query.vector is not None]
    if not vectors or not held.dense.count:
        return [_NOTHING] * len(queries)
    most = max(_PER_CHANNEL, *(query.top_k for query in queries))
    found = iter(held.dense.nearest(np.stack(vectors), most, mask))
    return [_NOTHING if query.vector is None else next(found) for query in queries]


def _answer(held: Indexes, query: ViewQuery, mask: Mask, neighbours: Slots) -> list[Candidate]:
    if query.vector is None and not query.text.strip():
        found = _everything(mask)
    else:
        found = _gather(held, query, mask, neighbours)
    if not len(found.slots):
        return []
    relevance = ranking.relevance(found.evidence)
    columns = held.columns
    recency = ranking.recency(columns["time_ms"][found.slots], query.now_ms, query.recency_half_life_days)
    importance = columns["importance"][found.slots]
    score = ranking.combine(relevance, recency, importance, query.weights)
    return [
        Candidate(
            memory_id=row.memory_id,
            create_revision=row.create_revision,
            score=float(score[i]),
            relevance=float(relevance[i]),
            recency=float(recency[i]),
            importance=float(importance[i]),
            dense=_part(found.cosine, i),
            lexical=_part(found.bm25, i) or None,
            subject=_part(found.evidence.subject, i) or None,
            subject_key=row.version.subject,
            contested=row.state is MemoryState.CONTESTED,
            row=row,
        )
        for i in _best(held, found.slots, score, query.top_k)
        for row in (_row(held, found.slots[i]),)
    ]


def _everything(mask: Mask) -> _Found:
    slots = np.flatnonzero(mask)
    return _Found(slots, None, None, ranking.Evidence(None, 0.0, None, np.zeros(len(slots))))


def _gather(held: Indexes, query: ViewQuery, mask: Mask, neighbours: Slots) -> _Found:
    terms = held.analyzer.terms(query.text)
    lexical = held.lexical.scores(terms, len(mask))
    named = held.subjects.scores(terms, len(mask))
    most = max(_PER_CHANNEL, query.top_k)
    channels = [neighbours]
    if lexical is not None:
        channels.append(_top(held, lexical.bm25, mask, most))
    if named is not None:
        channels.append(_top(held, named, mask, most))
    slots = np.unique(np.concatenate(channels))
    cosine, background = _cosines(held, query.vector, slots)
    bm25 = None if lexical is None else lexical.bm25[slots]
    share = None if lexical is None or bm25 is None else bm25 / lexical.ideal
    subject = np.zeros(len(slots)) if named is None else named[slots]
    return _Found(slots, cosine, bm25, ranking.Evidence(cosine, background, share, subject))


def _top(held: Indexes, scores: Floats, mask: Mask, k: int) -> Slots:
    found = np.flatnonzero((scores > 0.0) & mask)
    found = found[ranking.contenders(scores[found], k)]
    return found if len(found) <= k else found[_best(held, found, scores[found], k)]


def _best(held: Indexes, slots: Slots, scores: Floats, k: int) -> NDArray[np.intp]:
    columns = held.columns
    return ranking.best(scores, columns["create_revision"][slots], columns["tie"][slots], k)


def _cosines(held: Indexes, vector: Vectors | None, slots: Slots) -> tuple[Floats | None, float]:
    if vector is None or not held.dense.count:
        return None, 0.0
    mean = held.dense.mean_cosine(vector)
    return held.dense.cosines(vector, slots), ranking.background(held.background, mean, held.dense.count)


def _part(values: Floats | None, i: int) -> float | None:
    return None if values is None or math.isnan(values[i]) else float(values[i])


def _row(held: Indexes, slot: int) -> Row:
    row = held.rows[slot]
    if row is None:
        raise LookupError(f"slot {slot} is free")
    return row
