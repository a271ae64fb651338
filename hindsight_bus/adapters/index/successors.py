"""Chains of replaced memories: what speaks for an old one speaks for the newest that took its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.domain.memory import MemoryState
from hindsight_bus.ports import Row

_LONGEST_CHAIN = 64


class Successors:
    """Slot of a replaced memory -> slot of the newest one of its chain."""

    def __init__(self) -> None:
        self._next: dict[int, str] = {}
        self._pairs: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None

    def put(self, slot: int, row: Row | None) -> None:
        """Note what replaced the memory at a slot; None or a memory that holds: nothing did."""
        self._pairs = None
        if row is not None and row.superseded_by and row.state is MemoryState.SUPERSEDED:
            self._next[slot] = row.superseded_by
        else:
            self._next.pop(slot, None)

    def inherit(
        self, scores: NDArray[np.float64], slots: Mapping[str, int], rows: Sequence[Row | None]
    ) -> None:
        """Raise in place the score of each newest memory to the best one of its chain; O(replaced memories)."""
        if not self._next:
            return
        if self._pairs is None:
            self._pairs = self._resolved(slots, rows)
        old, new = self._pairs
        np.maximum.at(scores, new, scores[old])

    def _resolved(
        self, slots: Mapping[str, int], rows: Sequence[Row | None]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        found = [(old, self._newest(old, slots)) for old in self._next]
        live = [
            (old, new) for old, new in found if new is not None and (row := rows[new]) and row.state.is_live
        ]
        pairs = np.array(live, dtype=np.intp).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def _newest(self, slot: int, slots: Mapping[str, int]) -> int | None:
        here: int | None = slot
        for _ in range(_LONGEST_CHAIN):
            if here is None or here not in self._next:
                return here
            here = slots.get(self._next[here])
        return None
