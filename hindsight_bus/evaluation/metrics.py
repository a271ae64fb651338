"""What retrieval is judged by. Pure; a ranking is the ids that came back, best first.

Definitions are those of information retrieval (Manning et al., "Introduction to Information Retrieval", chapter 8),
with one convention for questions that nothing answers: returning nothing is precision 1, anything else precision 0.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CUTS = (1, 3, 5, 10)


@dataclass(frozen=True, slots=True)
class Judged:
    """One question's ranking against its labels."""

    ranking: tuple[str, ...]
    relevant: frozenset[str]
    never: frozenset[str]
    seconds: float
    """From request to answer, as the client saw it."""
    utilisation: float | None = None
    """Share of what came back that the answer used; None where no answer was given."""
    text: str = ""
    """The question."""

    @property
    def missing(self) -> frozenset[str]:
        """What should have come back and did not."""
        return self.relevant.difference(self.ranking)

    @property
    def wrong(self) -> tuple[str, ...]:
        """What came back and must not have: where nothing is relevant, anything."""
        return tuple(each for each in self.ranking if each in self.never or not self.relevant)


@dataclass(frozen=True, slots=True)
class Summary:
    """Means over questions; None where no question tells."""

    queries: int
    recall: dict[int, float | None]
    """By cut, over questions that something answers."""
    precision: float | None
    mrr: float | None
    returned: float
    """Mean number of hits."""
    abstained: float
    """Share of questions that nothing came back for."""
    violations: int
    """Hits that must never come back."""
    utilisation: float | None
    p50_ms: float
    p99_ms: float


def recall(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Return the share of the relevant ids among the first ``k``; there must be at least one."""
    return len(set(ranking[:k]) & set(relevant)) / len(relevant)


def precision(ranking: Sequence[str], relevant: Collection[str]) -> float:
    """Return the share of what came back that is relevant."""
    if not ranking:
        return 0.0 if relevant else 1.0
    return sum(each in relevant for each in ranking) / len(ranking)


def reciprocal_rank(ranking: Sequence[str], relevant: Collection[str]) -> float:
    """Return 1 / rank of the first relevant id; 0 where there is none."""
    return next((1.0 / rank for rank, each in enumerate(ranking, start=1) if each in relevant), 0.0)


def summarise(judged: Sequence[Judged]) -> Summary:
    """Return the means over questions; there must be at least one."""
    answerable = [each for each in judged if each.relevant]
    milliseconds = [each.seconds * 1000.0 for each in judged]
    return Summary(
        queries=len(judged),
        recall={k: _mean([recall(each.ranking, each.relevant, k) for each in answerable]) for k in CUTS},
        precision=_mean([precision(each.ranking, each.relevant) for each in judged]),
        mrr=_mean([reciprocal_rank(each.ranking, each.relevant) for each in answerable]),
        returned=fmean(len(each.ranking) for each in judged),
        abstained=fmean(not each.ranking for each in judged),
        violations=sum(each in one.never for one in judged for each in one.ranking),
        utilisation=_mean([each.utilisation for each in judged if each.utilisation is not None]),
        p50_ms=percentile(milliseconds, 50),
        p99_ms=percentile(milliseconds, 99),
    )


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that ``percent`` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(int(np.ceil(percent / 100.0 * len(ordered))), 1) - 1]


def auc(kept: Floats, rejected: Floats) -> float:
    """Return the chance that a score to keep is above one to reject, ties counting half. O(n log n)."""
    below = np.searchsorted(np.sort(rejected), kept, side="left")
    equal = np.searchsorted(np.sort(rejected), kept, side="right") - below
    return float(np.mean((below + 0.5 * equal) / len(rejected)))


def trade_off(kept: Floats, rejected: Floats) -> list[tuple[float, float]]:
    """Return (share rejected, share kept) for every threshold worth having, from rejecting nothing to rejecting all."""
    thresholds = [-np.inf, *np.unique(np.concatenate([kept, rejected])), np.inf]
    return [(float(np.mean(rejected < each)), float(np.mean(kept >= each))) for each in thresholds]


def kept_at(curve: Sequence[tuple[float, float]], rejected: float) -> float:
    """Return the largest share kept among thresholds that reject at least ``rejected``."""
    return max(kept for share, kept in curve if share >= rejected)


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
