"""Subscribing by meaning: what memories must be about, and whether one is, by its vector alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

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

    directions: Mapping[str, NDArray[np.float64]]
    """Profile -> unit vector, shape (d,), as the profile's are compared; those of others have nothing to do with it."""
    closeness: Mapping[str, Closeness]
    """Profile -> from which cosine a memory is about it."""
    language: str = ""
    """Of the text; empty = unknown: then it is taken to be that of the memory."""

    @classmethod
    def of(
        cls, vector: vectors.Vector, closeness: Mapping[str, Closeness], language: str = ""
    ) -> MeaningQuery:
        """Return the query with a vector, shape (d,), for the profiles that have a closeness."""
        directions = {profile: _comparable(vector, profile) for profile in closeness}
        return cls(directions, closeness, language)

    def matches(self, found: memory.Vector | None, language: str) -> bool:
        """Tell whether a memory in a language, with this vector, is about it; one without a vector never is.

        The answer is the same on every machine. Cost: O(d).
        """
        closeness = self.closeness.get(found.profile) if found is not None else None
        if found is None or closeness is None:
            return False
        threshold = closeness.threshold(self.language or language, language)
        theirs = _comparable(vectors.from_bytes(found.values), found.profile)
        return cosine(theirs, self.directions[found.profile]) >= threshold


def _comparable(vector: vectors.Vector, profile: str) -> NDArray[np.float64]:
    return calibration_of(profile).common.without(vector.astype(np.float64))


def cosine(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    """Return the cosine of two vectors, rounded to 1e-6; -1 where their dimensions differ."""
    if len(one) != len(other):
        return -1.0
    a, b = one.astype(np.float64), other.astype(np.float64)
    return round(float(a @ b / np.sqrt((a @ a) * (b @ b))), 6)
