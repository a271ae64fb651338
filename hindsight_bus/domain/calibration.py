"""What evidence is worth: from what the channels say to how likely a memory answers the query.

A logistic model with one set of weights an embedding profile, since cosines of two models have nothing to do with each
other. It is fitted on labelled questions: memories that answer against the best ones of stores that hold no answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.domain.suspicion import Closeness
from hindsight_bus.domain.values import Value

Floats = NDArray[np.float64]

_ROUNDS = 50
_SHRINKAGE = 1e-3
_CHANCE = 1.0 / 3.0
"""How the odds of the best of several namespaces without an answer grow with their number, as measured."""


class Calibration(Value):
    """Weights of one embedding profile. The default withholds nothing: it is for profiles that nobody calibrated."""

    background: float = 0.0
    """Cosine of texts that have nothing in common; 0 = unknown."""
    dense: float = 9.0
    """Log-odds of a cosine of 1 against one of the background."""
    lexical: float = 1.6
    """Log-odds of one word that the memory shares with the query and with no other memory."""
    temporal: float = 3.0
    """Log-odds of an event time that the query names."""
    bias: float = -5.5
    """Log-odds of a memory that shares nothing with the query."""
    floor: float = 0.0
    """Likelihood of the best memory below which a search returns nothing."""
    alert: Closeness | None = None
    """From which cosine a memory is about what a subscription by meaning asks for; None = nobody measured it."""

    def floor_among(self, namespaces: int) -> float:
        """Return the floor for one of several namespaces asked at once: the more, the likelier one fits by chance."""
        if not self.floor:
            return 0.0
        odds = self.floor / (1.0 - self.floor) * math.pow(max(namespaces, 1), _CHANCE)
        return odds / (1.0 + odds)


PROFILES: Mapping[str, Calibration] = MappingProxyType(
    {
        "e5": Calibration(
            background=0.80,
            dense=10.8,
            lexical=1.45,
            temporal=3.17,
            bias=-5.56,
            floor=0.05,
            alert=Closeness(default=0.805, across=0.81, by_language={"zh": 0.86}),
        ),
        "use": Calibration(
            background=0.14, alert=Closeness(default=0.17, across=0.24, by_language={"zh": 0.25})
        ),
    }
)
"""``e5`` as fitted on questions of two memory benchmarks, in Chinese and English; of ``use`` the background alone. The
backgrounds are mean cosines of a question and a memory that have nothing in common, over dialogues in zh and en.
Alerts let about 2 in 100 short statements on other topics pass, and find half of those on the topic (e5), or two thirds
(use): ten topics, each put in three ways, and five statements on each, in zh and en."""


def calibration_of(profile: str) -> Calibration:
    """Return the weights of an embedding profile; the default for one that was never calibrated."""
    return PROFILES.get(profile, Calibration())


def likelihood(weights: Calibration, dense: Floats, lexical: Floats, temporal: Floats) -> Floats:
    """Return 0 to 1: how likely each memory answers; monotone in every argument. All of shape (n,)."""
    odds = weights.dense * dense + weights.lexical * lexical + weights.temporal * temporal + weights.bias
    return np.asarray(1.0 / (1.0 + np.exp(-odds)))


def fit(features: Floats, answers: NDArray[np.bool_], background: float, spared: float = 0.99) -> Calibration:
    """Fit the weights on labelled hits.

    ``features``, shape (n, 3), holds dense, lexical and temporal evidence as for ``likelihood``; ``answers`` tells
    which rows answer their question. Both classes weigh the same. The floor is the highest that spares the share
    ``spared`` of the answers. Weights below 0 are set to 0, so that no channel ever speaks against a memory.
    ``ValueError`` unless both classes are there.
    """
    if not answers.any() or answers.all():
        raise ValueError("calibration needs hits that answer and hits that do not")
    columns = np.column_stack((features, np.ones(len(features))))
    balance = np.where(answers, 0.5 / answers.sum(), 0.5 / (~answers).sum()) * len(answers)
    fitted = _logistic(columns, answers.astype(np.float64), balance)
    dense, lexical, temporal, bias = (*np.maximum(fitted[:3], 0.0), fitted[3])
    weights = Calibration(background, float(dense), float(lexical), float(temporal), float(bias))
    found = likelihood(weights, *features[answers].T)
    return Calibration(
        background,
        weights.dense,
        weights.lexical,
        weights.temporal,
        weights.bias,
        _quantile(found, 1.0 - spared),
    )


def _quantile(values: Floats, share: float) -> float:
    return float(np.quantile(values, share, method="lower"))


def _logistic(columns: Floats, target: Floats, weight: Floats) -> Floats:
    """Return the coefficients of a ridge logistic regression by Newton's method; the last one, the bias, is free."""
    shrinkage = _SHRINKAGE * np.eye(columns.shape[1])
    found = np.zeros(columns.shape[1])
    for _ in range(_ROUNDS):
        share = 1.0 / (1.0 + np.exp(-np.clip(columns @ found, -30.0, 30.0)))
        slope = columns.T @ (weight * (share - target)) + shrinkage @ found
        curve = (columns * (weight * share * (1.0 - share))[:, None]).T @ columns + shrinkage
        step = np.linalg.solve(curve, slope)
        found = found - step
        if np.abs(step).max() < 1e-9:
            break
    return np.asarray(found)
