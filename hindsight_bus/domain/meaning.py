"""Subscribing by meaning: what memories must be about, and whether one is, by its vector alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hindsight_bus.domain import memory, vectors
from hindsight_bus.domain.calibration import calibration_of
from hindsight_bus.domain.suspicion import Closeness
from hindsight_bus.domain.values import Value


class Meaning(Value):
    """What memories must be about, as somebody asked for it."""

    text: str = ""
    """In any words; says nothing where a vector is given."""
    vector: bytes = b""
    """float16, little endian, L2-normalised, shape (d,): compared with in place of the text's."""
    threshold: float = 0.0
    """Cosine, inclusive, from which a memory is about it; 0 = whatever fits the profile and the languages."""


class MeaningQuery(Value, eq=False):
    """A meaning as vectors are compared with it."""

    vector: vectors.Vector
    """float32, shape (d,)."""
    closeness: Mapping[str, Closeness]
    """From which cosine a memory is about it, by profile; vectors of other profiles have nothing to do with it."""
    language: str = ""
    """Of the text; empty = unknown: then it is taken to be that of the memory."""

    def matches(self, found: memory.Vector | None, language: str) -> bool:
        """Tell whether a memory in a language, with this vector, is about it; one without a vector never is.

        The answer is the same on every machine. Cost: O(d).
        """
        closeness = self.closeness.get(found.profile) if found is not None else None
        if found is None or closeness is None:
            return False
        threshold = closeness.threshold(self.language or language, language)
        common = calibration_of(found.profile).common
        ours, theirs = common.without(self.vector), common.without(vectors.from_bytes(found.values))
        return cosine(theirs, ours) >= threshold


def cosine(one: vectors.Vector, other: vectors.Vector) -> float:
    """Return the cosine of two vectors, rounded to 1e-6; -1 where their dimensions differ."""
    if len(one) != len(other):
        return -1.0
    a, b = one.astype(np.float64), other.astype(np.float64)
    return round(float(a @ b / np.sqrt((a @ a) * (b @ b))), 6)
