"""Search over the indexes of one view: each channel finds candidates, and all of them are scored on every channel."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hindsight_bus.adapters.index import channels
from hindsight_bus.adapters.index.channels import PER_CHANNEL, Found, Indexes
from hindsight_bus.adapters.index.columns import Mask, Slots
from hindsight_bus.domain import ranking
from hindsight_bus.domain.duplicates import Saying, first_of_each
from hindsight_bus.domain.memory import MemoryState
from hindsight_bus.domain.query import Filter
from hindsight_bus.domain.values import replace
from hindsight_bus.ports import Candidate, Row, Vectors, ViewQuery

_SPARE = 8
"""Candidates looked at beyond those asked for, to make up for near duplicates."""


def search(held: Indexes, queries: Sequence[ViewQuery]) -> list[list[Candidate]]:
    """Answer queries, best first; those that share a filter and have vectors share one dense scan."""
    groups: dict[tuple[Filter, int, bool], list[int]] = {}
    for number, query in enumerate(queries):
        now_ms = query.now_ms if held.columns.is_expiring else 0
        apart = query.pinned_apart > 0 and held.columns.has_pinned
        groups.setdefault((query.filter, now_ms, apart), []).append(number)
    answers: list[list[Candidate]] = [[] for _ in queries]
    for (wanted, now_ms, apart), members in groups.items():
        mask = held.columns.matching(wanted, now_ms, len(held.rows))
        pinned = mask & held.columns["pinned"][: len(mask)] if apart else np.zeros(len(mask), bool)
        rest = mask & ~pinned if apart else mask
        near = _nearest(held, [queries[number] for number in members], rest)
        for number, neighbours in zip(members, near, strict=True):
            query = queries[number]
            answers[number] = _answer(held, query, rest, neighbours)
            if apart:
                answers[number] += _listed(held, query, np.flatnonzero(pinned), query.pinned_apart)
    return answers


def nearest(held: Indexes, vector: Vectors, k: int, wanted: Filter) -> list[tuple[str, float]]:
    """Return the ``k`` memories that match whose whole texts are nearest (id, cosine), nearest first."""
    if not held.dense.count or k <= 0:
        return []
    mask = held.columns.matching(wanted, 0, len(held.rows))
    slots = held.dense.nearest(vector[None], k, mask)[0]
    cosines = held.dense.cosines(vector, slots)
    order = held.best(slots, cosines, k)
    return [(held.row(slots[i]).memory_id, float(cosines[i])) for i in order]


def matching(held: Indexes, wanted: Filter, limit: int) -> list[Row]:
    """Return at most ``limit`` rows that match, newest first."""
    slots = np.flatnonzero(held.columns.matching(wanted, 0, len(held.rows)))
    newest = np.argsort(-held.columns["create_revision"][slots], kind="stable")[:limit]
    return [held.row(slot) for slot in slots[newest]]


def _nearest(held: Indexes, queries: Sequence[ViewQuery], mask: Mask) -> list[Slots]:
    asking = [i for i, query in enumerate(queries) if channels.vector_of(query) is not None]
    found: list[Slots] = [channels.NOTHING] * len(queries)
    if not asking or not held.dense.count:
        return found
    most = max(PER_CHANNEL, *(queries[i].top_k for i in asking))
    vectors = np.array([queries[i].vector for i in asking])  # np.stack takes several times as long
    for i, slots in zip(asking, held.nearest(vectors, most, mask), strict=True):
        found[i] = slots
    return found


def _answer(held: Indexes, query: ViewQuery, mask: Mask, neighbours: Slots) -> list[Candidate]:
    if query.vector is None and not query.text:
        return _listed(held, query, np.flatnonzero(mask), query.top_k)
    found = channels.gather(held, query, mask, neighbours)
    if not len(found.slots):
        return []
    among = max(query.among, len(held.slots))
    likelihood = ranking.answering(found.evidence, held.calibration, among)
    fit = ranking.fitted(found.lifted, found.evidence)
    floor = held.calibration.foreign_floor if query.is_foreign else held.calibration.floor
    has_names = held.columns["has_names"][found.slots]
    unnamed_odds = held.calibration.unnamed_odds
    kept = ranking.decided(fit, likelihood, found.is_named, has_names, floor, unnamed_odds)
    relevance = ranking.relevance(fit, float(likelihood.max()))
    return _ranked(held, query, found.only(kept), relevance[kept])


def _listed(held: Indexes, query: ViewQuery, slots: Slots, most: int) -> list[Candidate]:
    """Return at most ``most`` of ``slots``, ordered by recency and importance alone."""
    score = ranking.combine(np.zeros(len(slots)), *_factors(held, query, slots), query.weights)
    best = slots[held.best(slots, score, most)]
    every = replace(query, top_k=most)
    return _ranked(held, every, channels.nothing_known(best), np.zeros(len(best)), collapse=False)


def _factors(held: Indexes, query: ViewQuery, slots: Slots) -> tuple[ranking.Floats, ranking.Floats]:
    recency = ranking.recency(
        held.columns["time_ms"][slots], query.now_ms, query.recency_half_life_days, query.recency_shape
    )
    return recency, held.columns["importance"][slots]


def _ranked(
    held: Indexes, query: ViewQuery, found: Found, relevance: ranking.Floats, *, collapse: bool = True
) -> list[Candidate]:
    recency, importance = _factors(held, query, found.slots)
    score = ranking.combine(relevance, recency, importance, query.weights)
    order = held.best(found.slots, score, query.top_k + _SPARE)
    if collapse:
        order = order[_distinct(held, found.slots[order])]
    return [
        Candidate(
            memory_id=row.memory_id,
            create_revision=row.create_revision,
            score=float(score[i]),
            relevance=float(relevance[i]),
            recency=float(recency[i]),
            importance=float(importance[i]),
            dense=_part(found.evidence.cosine, i),
            lexical=_part(found.bm25, i) or None,
            subject=_part(found.evidence.subject, i) or None,
            subject_key=row.version.subject,
            contested=row.state is MemoryState.CONTESTED,
            temporal=_part(found.evidence.temporal, i) or None,
            neighbours=_part(found.gained, i) or None,
            row=row,
        )
        for i in order[: query.top_k]
        for row in (held.row(found.slots[i]),)
    ]


def _distinct(held: Indexes, slots: Slots) -> list[int]:
    rows = [held.row(slot) for slot in slots.tolist()]
    sayings = [Saying(row.version.agent, row.version.subject, row.version.text) for row in rows]
    if len({(saying.writer, saying.subject) for saying in sayings}) == len(sayings):
        return list(range(len(sayings)))  # no two can say the same: their vectors need not be compared
    return first_of_each(sayings, held.dense.are_near(slots, held.calibration.alike), held.analyzer.terms)


def _part(values: ranking.Floats | None, i: int) -> float | None:
    return None if values is None or math.isnan(values[i]) else float(values[i])
