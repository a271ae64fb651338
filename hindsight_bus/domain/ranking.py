"""Scores of search candidates. Pure and vectorised: every array is one float a candidate, shape (n,).

The final score is the weighted sum of relevance, recency and importance, each 0 to 1 (the three factors of Park et
al., "Generative Agents", 2023). Relevance fuses what the channels found, on absolute scales, so that a score means the
same in a namespace of three memories as in one of a hundred thousand: strengths put candidates in order, and the
likelihood that the best of them answers says what that order is worth.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.domain.calibration import Calibration, likelihood
from hindsight_bus.domain.policy import RankingWeights, RecencyShape
from hindsight_bus.domain.values import Value

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DAY_MS = 86_400_000

_DENSE_SHARE = 0.45
"""Share of the dense channel where both text and vector speak; the rest is the lexical channel's."""
_MEAN_SHARE = 0.6
"""Share of the mean in the background of many memories, where the profile's is known."""
_MEAN_SUPPORT = 8
"""Memories from which on the mean has half of its share."""
_TEMPORAL_SHARE = 0.5
_SUBJECT_SHARE = 0.5
"""How much of the way to a full fit a named date, and a named subject, lift a candidate."""
_NEIGHBOUR_SHARES = np.array([0.25, 0.5, 0.5, 0.25])
"""How much of a neighbour's strength a memory gains: two before, one before, one after, two after."""
_BELOW_NEIGHBOUR = 0.99
_NAMED_LIKELIHOOD = 0.9
_DATED_LIKELIHOOD = 0.5
"""How likely a memory answers a query that names its subject outright, and one that names its day."""
_OTHERS_NAMED_FLOOR = 0.95
"""How likely such a memory must be where the query names others."""
_BEHIND = 0.4
"""Share of the best fit below which a candidate is noise beside it."""
_CONFIDENCE_SHARE = 0.4
_EXPLICIT_LIFT = 0.3
_PINNED_LIFT = 0.5
_OLDEST = 0.1
_USE_LIFT = 0.3
"""How much of the way to 1 a memory is lifted that every answer uses."""
_UNUSED_SUPPORT = 4
"""Times that a memory counts as given and not used, before anything was reported."""
_MANY = 2_000
"""Values that it takes longer to part than to sample first."""


class Evidence(Value):
    """What the channels say of each candidate by itself."""

    cosine: Floats | None
    """NaN where the memory has no vector; None where the query has none."""
    near: Floats | None
    """0 to 1, the same on the scale of ``centred``."""
    share: Floats
    """0 to 1, share of the query's words found, rare ones counting more."""
    matched: Floats
    """How many words are shared, in units of one that no other memory has."""
    subject: Floats
    """0 to 1, how well the query names the memory's subject, aliases or tags."""
    temporal: Floats
    """0 to 1, how well the event time fits a date that the query names."""

    def only(self, kept: NDArray[np.bool_] | NDArray[np.intp]) -> Evidence:
        """Return the evidence for the candidates that are marked, or for those at some places."""
        return Evidence(
            None if self.cosine is None else self.cosine[kept],
            None if self.near is None else self.near[kept],
            self.share[kept],
            self.matched[kept],
            self.subject[kept],
            self.temporal[kept],
        )

    def beside(self, other: Evidence) -> Evidence:
        """Return the evidence for these candidates and, behind them, for others of the same query."""
        both = self.cosine is not None and other.cosine is not None
        return Evidence(
            np.concatenate((self.cosine, other.cosine)) if both else None,  # type: ignore[arg-type]
            None if self.near is None or other.near is None else np.concatenate((self.near, other.near)),
            np.concatenate((self.share, other.share)),
            np.concatenate((self.matched, other.matched)),
            np.concatenate((self.subject, other.subject)),
            np.concatenate((self.temporal, other.temporal)),
        )


def background(known: Floats, mean: Floats, count: Ints, overall: float) -> Floats:
    """Return the cosine between a query and memories that have nothing to do with it, by language of the memories.

    ``known`` is what the profile's unrelated texts have on average, NaN where nobody knows, ``mean`` the query's mean
    cosine with ``count`` memories in the language, ``overall`` with all of them. None alone will do: the mean of
    memories that the query is about is too high, and the profile's figure knows nothing of this query and these.
    """
    is_unknown = np.isnan(known)
    share = np.where(is_unknown, 1.0, _MEAN_SHARE) * count / (count + _MEAN_SUPPORT)
    return np.asarray((1.0 - share) * np.where(is_unknown, overall, known) + share * mean)


def centred(cosine: Floats, background: Floats, usual: Floats) -> Floats:
    """Return cosines on a scale from 0 (nothing in common) to 1 (equal). NaN stays.

    ``background`` is that of the query's and each memory's languages, ``usual`` that of texts in one language, on
    average over the two, which gives the scale: noise reaches as far on it in every pair of languages.
    """
    return _clipped((cosine - background) / np.maximum(1.0 - np.maximum(background, usual), 1e-6))


def closeness(evidence: Evidence) -> Floats:
    """Return 0 to 1: how near each candidate is in meaning; where it has no vector, its words speak for it."""
    if evidence.near is None:
        return evidence.share
    return np.where(np.isnan(evidence.near), evidence.share, evidence.near)


def strength(evidence: Evidence) -> Floats:
    """Return 0 to 1: how well the words and the meaning of each candidate fit; monotone in both."""
    words = _clipped(evidence.share)
    return _clipped(_DENSE_SHARE * closeness(evidence) + (1.0 - _DENSE_SHARE) * words)


def lifted(strength: Floats, neighbours: NDArray[np.intp]) -> Floats:
    """Return strengths raised by those of the neighbours in the same conversation.

    ``neighbours``, shape (n, 4), holds the candidates told two before, one before, one after and two after each; -1
    where there is none. What a memory gains never takes it past its best neighbour, so that no memory passes the one
    that it owes its place to, and the best one of all stays first.
    """
    around = np.where(neighbours >= 0, strength[neighbours], 0.0)
    gained = strength + around @ _NEIGHBOUR_SHARES
    return np.asarray(
        np.maximum(strength, np.minimum(gained, _BELOW_NEIGHBOUR * around.max(axis=1, initial=0.0)))
    )


def fitted(strength: Floats, evidence: Evidence) -> Floats:
    """Return 0 to 1: strengths raised by a date and a subject that the query names; a strength of 1 stays first."""
    for share, named in ((_TEMPORAL_SHARE, evidence.temporal), (_SUBJECT_SHARE, evidence.subject)):
        strength = strength + (1.0 - strength) * share * named
    return _clipped(strength)


def answering(evidence: Evidence, calibration: Calibration, among: int = 1) -> Floats:
    """Return 0 to 1: how likely each candidate answers the query, the best of ``among``; monotone in every channel."""
    beyond = closeness(evidence) - calibration.reach(among)
    found = likelihood(calibration, beyond, evidence.matched, evidence.temporal)
    named, dated = _NAMED_LIKELIHOOD * evidence.subject, _DATED_LIKELIHOOD * evidence.temporal
    return np.asarray(1.0 - (1.0 - found) * (1.0 - named) * (1.0 - dated))


def relevance(fit: Floats, likelihood: float) -> Floats:
    """Return 0 to 1: how near each candidate comes to the best one, times how likely that one answers at all."""
    best = fit.max(initial=0.0)
    return np.asarray(likelihood * (fit / best)) if best > 0.0 else np.zeros_like(fit)


def decided(
    fit: Floats,
    likelihood: Floats,
    named: NDArray[np.bool_],
    has_names: NDArray[np.bool_],
    floor: float,
    unnamed_odds: float,
) -> NDArray[np.bool_]:
    """Tell which candidates to return: none unless the best is likely enough, and none that falls far behind it.

    A memory with a subject or aliases of its own stands for itself: where the query does not name it, its odds must be
    ``unnamed_odds`` times the floor's, whatever stands beside it, and all but sure where the query names others.
    """
    if likelihood.max(initial=0.0) < floor:
        return np.zeros(len(fit), bool)
    unnamed = unnamed_odds * floor / (1.0 + (unnamed_odds - 1.0) * floor)
    least = _OTHERS_NAMED_FLOOR if named.any() else unnamed
    by_itself = named | ~has_names | (likelihood >= least)
    return np.asarray((fit >= _BEHIND * fit.max(initial=0.0)) & by_itself)


def recency(
    time_ms: Ints, now_ms: int, days: float, shape: RecencyShape = RecencyShape.EXPONENTIAL
) -> Floats:
    """Return 1 for now or later. EXPONENTIAL: halved every ``days``; LINEAR: down to 0.1 in ``days``, no further."""
    age = np.maximum(now_ms - time_ms, 0) / DAY_MS / days
    if shape is RecencyShape.LINEAR:
        return np.asarray(np.maximum(1.0 - (1.0 - _OLDEST) * age, _OLDEST))
    return np.asarray(np.exp2(-age))


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
    return _clipped(1.0 - doubt)


def combine(relevance: Floats, recency: Floats, importance: Floats, weights: RankingWeights) -> Floats:
    """Return the score, 0 to 1: the factors' sum under ``weights``, which are scaled to sum 1."""
    scaled = weights.normalised()
    score = scaled.relevance * relevance + scaled.recency * recency + scaled.importance * importance
    return _clipped(score)


def _clipped(values: Floats) -> Floats:
    """Return values within 0 to 1; NaN stays. Several times as fast as ``np.clip`` for a hundred."""
    return np.asarray(np.minimum(np.maximum(values, 0.0), 1.0))


def contenders(values: NDArray[Any], k: int) -> NDArray[np.intp]:
    """Return the indices of the ``k`` greatest values and of any that equal the least of them; O(n)."""
    if k >= len(values):
        return np.arange(len(values))
    return np.flatnonzero(values >= kth_greatest(values, k))


def kth_greatest(values: NDArray[Any], k: int) -> float:
    """Return the ``k``-th greatest of at least ``k`` values; O(n)."""
    step = math.isqrt(len(values) // k)
    # No sample has a greater one, and few values exceed that: cheaper than to part them all.
    if step > 1 and len(values) > _MANY:
        sampled = kth_greatest(values[::step], k)
        values = values[values > sampled]
        if len(values) < k:
            return sampled
    at = len(values) - k
    return np.partition(values, at)[at]  # type: ignore[no-any-return]


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
