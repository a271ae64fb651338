"""What evidence is worth: from what the channels say to how likely a memory answers the query.

A logistic model with one set of weights an embedding profile, since cosines of two models have nothing to do with each
other. It is fitted on labelled questions: memories that answer against the best ones of stores that hold no answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.domain.common import E5, NOTHING, Common
from hindsight_bus.domain.profiles import external_dimension
from hindsight_bus.domain.suspicion import Closeness
from hindsight_bus.domain.values import Value, replace

Floats = NDArray[np.float64]

_ROUNDS = 50
_SHRINKAGE = 1e-3
_WITHHELD = 0.96
_SPARED = 0.99
_SPARED_FOREIGN = 0.97


_UNKNOWN: Mapping[str, float] = MappingProxyType({})


class Calibration(Value):
    """Weights of one embedding profile. The default is for profiles that nobody calibrated: it withholds little.

    On the scale of ``ranking.centred`` noise looks much the same whatever the model, so weights may be guessed; what
    two unrelated texts have in common may not, so the namespace's own mean has to tell.
    """

    backgrounds: Mapping[str, float] = _UNKNOWN
    """Language -> cosine of a question and a memory in it that have nothing in common."""
    across: float = math.nan
    """The same of two languages; NaN = unknown."""
    noise: float = 0.088
    """Deviation of the closeness of memories that have nothing to do with a question."""
    dense: float = 24.5
    """Log-odds of a closeness of 1, beyond what noise reaches, against one of 0."""
    lexical: float = 0.6
    """Log-odds of one word that the memory shares with the query and with no other memory."""
    temporal: float = 3.7
    """Log-odds of an event time that the query names."""
    bias: float = -0.6
    """Log-odds of a memory that is as close as noise reaches, and shares no word with the query."""
    floor: float = 0.07
    """Likelihood of the best memory below which a search returns nothing."""
    foreign_floor: float = 0.07
    """The same where no memory is in the query's language: there answers are less close, and a miss is likelier."""

    unnamed_odds: float = 3.0
    """What times the floor's the odds of a memory with names of its own must be, where the query does not name it."""
    closeness: Closeness = Closeness(default=0.8, across=0.8)
    """From which cosine two statements are suspected of contradicting each other; models differ, so here with care."""
    alike: float = 0.95
    """Cosine from which on two memories are compared word by word, lest one says the other again."""
    alert: Closeness | None = None
    """From which cosine a memory is about what a subscription by meaning asks for; None = nobody measured it."""
    common: Common = NOTHING
    """What vectors are compared without; every cosine here is one without it."""

    def background(self, asked: str, told: str) -> float:
        """Return the cosine of a question and a memory in two languages that have nothing in common; NaN = unknown."""
        return self.backgrounds.get(told, math.nan) if asked == told else self.across

    def reach(self, memories: int) -> float:
        """Return the closeness that the best of so many memories has that have nothing to do with the query.

        The greatest of n independent normal values grows like the root of 2 ln n.
        """
        return self.noise * math.sqrt(2.0 * math.log(max(memories, 1)))


PROFILES: Mapping[str, Calibration] = MappingProxyType(
    {
        "e5": Calibration(
            backgrounds=MappingProxyType({"zh": 0.09, "en": 0.125}), across=0.03, noise=0.062,
            dense=12.7, lexical=0.76, temporal=2.3, bias=-2.2, floor=0.17, foreign_floor=0.09, unnamed_odds=2.0,
            closeness=Closeness(default=0.75, across=0.42, by_language={"zh": 0.58, "en": 0.58}), alike=0.9,
            alert=Closeness(default=0.5, across=0.17, by_language={"zh": 0.19, "en": 0.17}), common=E5,
        ),
        "use": Calibration(
            backgrounds=MappingProxyType({"zh": 0.09, "en": 0.07}), across=0.04, noise=0.088,
            dense=24.5, lexical=0.6, temporal=3.7, bias=-0.6, floor=0.19, foreign_floor=0.13,
            closeness=Closeness(default=0.55, across=0.55),
            alert=Closeness(default=0.17, across=0.24, by_language={"zh": 0.25}),
        ),
    }
)  # fmt: skip
"""As fitted on questions of two memory benchmarks, on short facts and on questions that nothing answers, in Chinese and
English. Backgrounds are mean cosines of a question and a memory that have nothing in common. Closeness lies above the
cosines of 30 unrelated statements about a user, each in zh and en: in e5 above all (0.555 within zh, 0.563 within en,
0.407 across; 95 % of their translations lie above 0.53), in use above 99.5 % (0.45 to 0.47; 95 % above 0.60). Alerts
let about 1 in 100 short statements on other topics pass in e5 and 2 in use, and find a third of those on the topic: ten
topics, each put in three ways, and five statements on each, in zh and en. Statements in other languages have more in
common in e5, so where nobody measured it takes more. Repetitions have 0.91 and more in e5; what has one word changed
has up to 0.94, and is told by its words."""


Calibrations = Callable[[str], Calibration]
"""Profile -> its weights."""
_NEVER_CALIBRATED = Calibration()
_OF_CALLERS = Calibration(closeness=Closeness(default=0.9, across=0.9))


def calibration_of(profile: str) -> Calibration:
    """Return the weights of an embedding profile; of one that was never calibrated what does for any."""
    if external_dimension(profile):
        return _OF_CALLERS
    return PROFILES.get(profile, _NEVER_CALIBRATED)


def likelihood(weights: Calibration, dense: Floats, lexical: Floats, temporal: Floats) -> Floats:
    """Return 0 to 1: how likely each memory answers; monotone in every argument. All of shape (n,)."""
    odds = weights.dense * dense + weights.lexical * lexical + weights.temporal * temporal + weights.bias
    return np.asarray(1.0 / (1.0 + np.exp(-odds)))


class Labelled(Value):
    """Best hits of questions, as features: shape (n, 3), closeness beyond ``reach``, words and date."""

    answering: Floats
    """Where a memory answers."""
    foreign: Floats
    """The same where no memory is in the question's language."""
    near: Floats
    """Where none answers, of the same kind as those that do."""
    far: Floats
    """Where none has anything to do with the question."""


def fit(hits: Labelled, known: Calibration) -> Calibration:
    """Return ``known`` with weights and floors that tell hits that answer from those that do not.

    Both classes weigh the same, and so do near and far within the second. The floor is the lowest that withholds 96 %
    of the far hits, or without any the highest that spares 99 % of the answers; the foreign one spares 97 % of the
    foreign answers, and is the floor itself without any. Weights below 0 are set to 0, so that no channel ever speaks
    against a memory. ``ValueError`` unless both classes are there.
    """
    parts = [part for part in (hits.near, hits.far) if len(part)]
    if not len(hits.answering) or not parts:
        raise ValueError("calibration needs hits that answer and hits that do not")
    weight = [np.full(len(hits.answering), 0.5 / len(hits.answering))]
    weight += [np.full(len(part), 0.5 / len(parts) / len(part)) for part in parts]
    features = np.concatenate([hits.answering, *parts])
    columns = np.column_stack((features, np.ones(len(features))))
    target = np.arange(len(features)) < len(hits.answering)
    fitted = _logistic(columns, target.astype(np.float64), np.concatenate(weight) * len(features))
    dense, lexical, temporal = (float(each) for each in np.maximum(fitted[:3], 0.0))
    weights = replace(known, dense=dense, lexical=lexical, temporal=temporal, bias=float(fitted[3]))
    answering, foreign, far = (
        likelihood(weights, *part.T) for part in (hits.answering, hits.foreign, hits.far)
    )
    floor = _quantile(far, _WITHHELD) if len(far) else _quantile(answering, 1.0 - _SPARED)
    spared = min(floor, _quantile(foreign, 1.0 - _SPARED_FOREIGN)) if len(foreign) else floor
    return replace(weights, floor=floor, foreign_floor=spared)


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
