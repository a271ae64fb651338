"""Chains of replaced memories: what speaks for an old one speaks for the newest that took its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.domain.memory import MemoryState
from hindsight_bus.ports import Row

_LONGEST_CHAIN = 64


@dataclass(frozen=True, slots=True)
class Replaced:
    """Slots of replaced memories, sorted, and of what speaks for each."""

    old: NDArray[np.intp]
    new: NDArray[np.intp]


_NONE = Replaced(np.empty(0, np.intp), np.empty(0, np.intp))


class Successors:
    """Slot of a replaced memory -> slot of the newest one of its chain."""

    def __init__(self) -> None:
        self._next: dict[int, str] = {}
        self._pairs: Replaced | None = None
        self._heirs: frozenset[str] = frozenset()
        """Ids of the memories that the pairs depend on."""

    def put(self, slot: int, row: Row | None) -> None:
        """Note what replaced the memory at a slot; None or a memory that holds: nothing did."""
        before, after = self._next.pop(slot, ""), ""
        if row is not None and row.state is MemoryState.SUPERSEDED:
            after = row.superseded_by
        if after:
            self._next[slot] = after
        if row is None or before or after or row.memory_id in self._heirs:
            self._pairs = None

    def pairs(self, slots: Mapping[str, int], rows: Sequence[Row | None]) -> Replaced:
        """Return the replaced memories whose newest one holds; O(1) unless any of them changed, then O(replaced)."""
        if not self._next:
            return _NONE
        if self._pairs is None:
            found = [(old, self._newest(old, slots)) for old in sorted(self._next)]
            pairs = np.array(
                [
                    (old, new)
                    for old, new in found
                    if new is not None and (row := rows[new]) and row.state.is_live
                ],
                dtype=np.intp,
            ).reshape(-1, 2)
            self._pairs = Replaced(pairs[:, 0], pairs[:, 1])
            self._heirs = frozenset(self._next.values())
        return self._pairs

    def _newest(self, slot: int, slots: Mapping[str, int]) -> int | None:
        here: int | None = slot
        for _ in range(_LONGEST_CHAIN):
            if here is None or here not in self._next:
                return here
            here = slots.get(self._next[here])
        return None
