"""Vectors as e5 makes them: most of each is the same in all, and says nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.adapters.memory.embedder import FakeEmbedder
from hindsight_bus.domain.common import E5
from hindsight_bus.domain.vectors import normalise
from hindsight_bus.ports import Vectors

_RANDOM = np.random.default_rng(0).standard_normal(384)


def shared_direction() -> NDArray[np.float64]:
    """Return a direction that e5's vectors are compared without."""
    unit = _RANDOM / np.linalg.norm(_RANDOM)
    left = E5.without(unit)
    gone = unit - (unit @ left) * left
    return np.asarray(gone / np.linalg.norm(gone))


def squeezed(seed: int, count: int = 1) -> Vectors:
    """Return vectors as e5 has them: most of each is the same in all, and says nothing."""
    random = np.random.default_rng(seed)
    own = random.standard_normal((count, 384)) / 384**0.5
    return np.stack([normalise(2.0 * shared_direction() + each) for each in own])


class SqueezedEmbedder(FakeEmbedder):
    """``FakeEmbedder`` under the name of e5, with a direction that e5's texts share in each vector."""

    def __init__(self) -> None:
        super().__init__("e5", 384)

    def _embed(self, text: str) -> NDArray[np.float32]:
        return normalise(2.0 * shared_direction() + E5.without(super()._embed(text)))
