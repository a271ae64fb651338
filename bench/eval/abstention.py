"""How far questions that a memory answers are kept apart from those that it does not, at every threshold.

The score of a question is the relevance of its best hit, 0 where nothing came back. Beside it stands a plain logistic
model over the best cosine, of vectors as they are made, and the best BM25 of the same memories, fitted on the very
questions that it is judged by, which favours it.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.adapters.embedding.profiles import open_embedder
from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.domain.calibration import Calibration, Labelled, fit, likelihood
from hindsight_bus.evaluation.dataset import DataSet
from hindsight_bus.evaluation.metrics import auc, kept_at, trade_off
from hindsight_bus.evaluation.page import Plot, Table
from hindsight_bus.evaluation.run import Asked

Floats = NDArray[np.float64]

_REJECTED = (0.5, 0.8, 0.9, 0.95, 0.99)
_K1, _B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Abstention:
    """Scores of questions to keep and to reject, ours and those of the plain logistic model."""

    name: str
    ours: tuple[Floats, Floats]
    plain: tuple[Floats, Floats]

    @classmethod
    def of(
        cls, name: str, own: Sequence[Asked], other: Sequence[Asked], embedder: str, data: DataSet
    ) -> Abstention:
        """Score a data set's questions, put to the memories that answer them and to others."""
        features = asyncio.run(_features(embedder, data, [*own, *other]))
        answers = np.arange(len(features)) < len(own)
        none = np.zeros((0, 3))
        plain = likelihood(
            fit(Labelled(features[answers], none, features[~answers], none), Calibration()), *features.T
        )
        return cls(name, (_scores(own), _scores(other)), (plain[answers], plain[~answers]))

    def table(self) -> Table:
        """Return the share kept at shares rejected, and the area under the curve."""
        columns = ("score", "AUC", *(f"kept at {rejected:.0%} rejected" for rejected in _REJECTED))
        rows = [_row("relevance", *self.ours), _row("plain logistic", *self.plain)]
        return Table(f"{self.name}: questions put to another user's memory", columns, rows)

    def plot(self) -> Plot:
        """Return the curves."""
        curves = [("relevance", trade_off(*self.ours)), ("plain logistic", trade_off(*self.plain))]
        return Plot(f"{self.name}: kept against rejected", "rejected", "kept", curves)


def _row(name: str, kept: Floats, rejected: Floats) -> tuple[str, ...]:
    curve = trade_off(kept, rejected)
    return (name, f"{auc(kept, rejected):.3f}", *(f"{kept_at(curve, share):.3f}" for share in _REJECTED))


def _scores(asked: Sequence[Asked]) -> Floats:
    return np.array([max((hit.parts.relevance for hit in each.answer.hits), default=0.0) for each in asked])


async def _features(embedder: str, data: DataSet, asked: Sequence[Asked]) -> Floats:
    """Return the best cosine and the best BM25 (and no date) of each question over its namespace, shape (n, 3)."""
    model = open_embedder(embedder)
    try:
        vectors = await model.embed_passages([memory.text for memory in data.memories])
        queries = {text: await model.embed_query(text) for text in {each.query.text for each in asked}}
    finally:
        await model.close()
    analyzer = Analyzer()
    places = {
        label: [i for i, m in enumerate(data.memories) if m.namespace == label] for label in data.namespaces
    }
    words = {
        label: _Bm25([analyzer.terms(data.memories[i].text) for i in held]) for label, held in places.items()
    }
    return np.array(
        [
            (
                float((vectors[places[label]] @ queries[each.query.text]).max()),
                words[label].best(analyzer.terms(each.query.text)),
                0.0,
            )
            for each in asked
            for label in each.query.namespace
        ]
    )


class _Bm25:
    """Okapi BM25 over a few texts."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._counts = [Counter(text) for text in texts]
        self._holders = Counter(term for counts in self._counts for term in counts)
        self._mean = fmean(len(text) for text in texts) or 1.0

    def best(self, terms: Sequence[str]) -> float:
        """Return the greatest score of any text."""
        return max(sum(self._weight(term, counts) for term in set(terms)) for counts in self._counts)

    def _weight(self, term: str, counts: Counter[str]) -> float:
        texts, holders, count = len(self._counts), self._holders[term], counts[term]
        rarity = math.log(1.0 + (texts - holders + 0.5) / (holders + 0.5))
        return rarity * count * (_K1 + 1.0) / (count + _K1 * (1.0 - _B + _B * counts.total() / self._mean))
