"""Scores of search candidates. Pure and vectorised: every array is one float a candidate, shape (n,).

The final score is the weighted sum of relevance, recency and importance, each 0 to 1 (the three factors of Park et
al., "Generative Agents", 2023). Relevance fuses what the channels found, on absolute scales, so that a score means the
same in a namespace of three memories as in one of a hundred thousand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.domain.policy import RankingWeights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DAY_MS = 86_400_000

_DENSE_SHARE = 0.6
"""Share of the dense channel where both text and vector speak; the rest is the lexical channel's."""
_SUBJECT_SHARE = 0.3
"""How much of the way to full relevance an exactly named subject lifts a candidate."""
_BACKGROUND_SUPPORT = 64
"""Memories that the profile's background counts for against the namespace's own mean."""
_CONFIDENCE_SHARE = 0.4
_EXPLICIT_LIFT = 0.3
_PINNED_LIFT = 0.5
_USE_LIFT = 0.3
"""How much of the way to 1 a memory is lifted that every answer uses."""
_UNUSED_SUPPORT = 4
"""Times that a memory counts as given and not used, before anything was reported."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the channels say of each candidate."""

    cosine: Floats | None
    """NaN where the memory has no vector; None where the query has none."""
    background: float
    """Cosine that says nothing: see ``background``."""
    lexical: Floats | None
    """0 to 1, share of the query's words found; None where the query has none that the namespace knows."""
    subject: Floats
    """0 to 1, how well the query names the memory's subject, aliases or tags."""


def background(profile: float, mean: float, count: int) -> float:
    """Return the cosine between a query and a memory that have nothing to do with each other.

    ``profile`` is what the embedding profile's unrelated texts have on average, ``mean`` the query's mean cosine with
    the namespace's ``count`` vectors: the more there are, the more they count.
    """
    return (_BACKGROUND_SUPPORT * profile + count * mean) / (_BACKGROUND_SUPPORT + count)


def centred(cosine: Floats, background: float) -> Floats:
    """Return cosines on a scale from 0 (nothing in common) to 1 (equal). NaN stays."""
    return np.clip((cosine - background) / max(1.0 - background, 1e-6), 0.0, 1.0)


def relevance(evidence: Evidence) -> Floats:
    """Return 0 to 1: how well each candidate fits the query; monotone in every channel.

    A channel that cannot speak (no vector yet, no known word) leaves its share to the other one.
    """
    fused = np.zeros_like(evidence.subject)
    share = np.zeros_like(evidence.subject)
    if evidence.cosine is not None:
        heard = ~np.isnan(evidence.cosine)
        fused[heard] = _DENSE_SHARE * centred(evidence.cosine[heard], evidence.background)
        share[heard] = _DENSE_SHARE
    if evidence.lexical is not None:
        fused += (1.0 - _DENSE_SHARE) * np.clip(evidence.lexical, 0.0, 1.0)
        share += 1.0 - _DENSE_SHARE
    np.divide(fused, share, out=fused, where=share > 0.0)
    return np.clip(fused + (1.0 - fused) * _SUBJECT_SHARE * evidence.subject, 0.0, 1.0)


def recency(time_ms: Ints, now_ms: int, half_life_days: float) -> Floats:
    """Return 1 for now or later, halved every ``half_life_days``."""
    age_days = np.maximum(now_ms - time_ms, 0) / DAY_MS
    halved: Floats = np.exp2(-age_days / half_life_days)
    return halved


def use_rate(retrieved: Ints, used: Ints) -> Floats:
    """Return 0 to 1: which share of the answers that were given a memory used it, shrunk towards 0 while few were."""
    return np.asarray(used / (retrieved + _UNUSED_SUPPORT))


def importance(
    stated: Floats, confidence: Floats, explicit: NDArray[np.bool_], pinned: NDArray[np.bool_], use: Floats
) -> Floats:
    """Return 0 to 1: how much each memory matters, from what was stated and how sure it is.

    "Remember this", a pin and use (see ``use_rate``) each lift it part of the way to 1; nothing lowers it.
    """
    base = (1.0 - _CONFIDENCE_SHARE) * stated + _CONFIDENCE_SHARE * confidence
    doubt = (1.0 - base) * (1.0 - _EXPLICIT_LIFT * explicit) * (1.0 - _PINNED_LIFT * pinned)
    doubt = doubt * (1.0 - _USE_LIFT * use)
    return np.asarray(np.clip(1.0 - doubt, 0.0, 1.0))


def combine(relevance: Floats, recency: Floats, importance: Floats, weights: RankingWeights) -> Floats:
    """Return the score, 0 to 1: the factors' sum under ``weights``, which are scaled to sum 1."""
    scaled = weights.normalised()
    score = scaled.relevance * relevance + scaled.recency * recency + scaled.importance * importance
    return np.clip(score, 0.0, 1.0)


def contenders(values: NDArray[np.generic], k: int) -> NDArray[np.intp]:
    """Return the indices of the ``k`` greatest values and of any that equal the least of them; O(n)."""
    if k >= len(values):
        return np.arange(len(values))
    kth = np.partition(values, len(values) - k)[len(values) - k]
    return np.flatnonzero(values >= kth)


def best(score: Floats, create_revision: Ints, tie: NDArray[np.uint64], k: int) -> NDArray[np.intp]:
    """Return the indices of the ``k`` best, best first; equal scores: the newest first, then by ``tie``.

    O(n + k log k), however many are equal.
    """
    if k <= 0:
        return np.empty(0, dtype=np.intp)
    chosen = contenders(score, k)
    if len(chosen) > k:
        least = score[chosen].min()
        sure, equal = chosen[score[chosen] > least], chosen[score[chosen] == least]
        chosen = np.concatenate((sure, equal[contenders(create_revision[equal], k - len(sure))]))
    order = np.lexsort((tie[chosen], -create_revision[chosen], -score[chosen]))
    return np.asarray(chosen[order[:k]])
