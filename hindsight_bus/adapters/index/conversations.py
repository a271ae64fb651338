"""Who stands beside whom: memories of one conversation or task, in the order in which they were told."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.domain.memory import MemoryType
from hindsight_bus.ports import Row

_DAY_MS = 86_400_000
_NOBODY = -1

Slots = NDArray[np.intp]
Key = tuple[str, str, int]
Place = tuple[int, str, int]


class Conversations:
    """Conversation -> its memories by (create revision, id); and for each slot who stands right before and after it.

    Episodes that name neither conversation nor task count as one conversation a day and writer.
    """

    def __init__(self) -> None:
        self._places: dict[Key, list[Place]] = {}
        self._before = self._after = np.full(1, _NOBODY)
        """By slot; the last one stands for nobody, beside whom is nobody."""

    def reserve(self, capacity: int) -> None:
        """Make room for slots below ``capacity``."""
        self._before, self._after = (_grown(beside, capacity) for beside in (self._before, self._after))

    def add(self, slot: int, row: Row) -> None:
        """Enter a row; O(log n) unless it is older than others of its conversation."""
        key = _key_of(row)
        if key is None:
            return
        places, place = self._places.setdefault(key, []), _place_of(slot, row)
        at = bisect_left(places, place)
        before = places[at - 1][2] if at else _NOBODY
        after = places[at][2] if at < len(places) else _NOBODY
        places.insert(at, place)
        self._link(before, slot)
        self._link(slot, after)

    def remove(self, slot: int, row: Row) -> None:
        """Take out a row that was entered."""
        key = _key_of(row)
        if key is None:
            return
        places = self._places[key]
        del places[bisect_left(places, _place_of(slot, row))]
        if not places:
            del self._places[key]
        self._link(int(self._before[slot]), int(self._after[slot]))
        self._before[slot] = self._after[slot] = _NOBODY

    def around(self, slots: Slots) -> Slots:
        """Return the slots two before, one before, one after and two after each one, shape (n, 4); -1 for none."""
        before, after = self._before[slots], self._after[slots]
        return np.stack((self._before[before], before, after, self._after[after]), axis=1)

    def _link(self, before: int, after: int) -> None:
        if before != _NOBODY:
            self._after[before] = after
        if after != _NOBODY:
            self._before[after] = before


def _grown(beside: Slots, capacity: int) -> Slots:
    grown = np.full(capacity + 1, _NOBODY)
    grown[: len(beside)] = beside
    return grown


def _key_of(row: Row) -> Key | None:
    version = row.version
    if version.conversation or version.task:
        return version.conversation, version.task, 0
    if version.type is not MemoryType.EPISODIC:
        return None
    return "", version.agent, (version.event_time_ms or row.create_time_ms) // _DAY_MS


def _place_of(slot: int, row: Row) -> Place:
    return row.create_revision, row.memory_id, slot
