"""Ids that repeat from run to run."""

from __future__ import annotations

from itertools import count

from hindsight_bus.domain.names import digest


class FakeIds:
    """``Ids`` that count: the n-th id of a run is always the same."""

    def __init__(self) -> None:
        self._ids = count(1)
        self._stamps = count(1)

    def memory_id(self) -> str:
        """Return the next id, 32 hex digits."""
        return digest("fake", str(next(self._ids)))

    def stamp(self) -> int:
        """Return the next stamp."""
        return next(self._stamps)
