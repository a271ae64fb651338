"""Who stands beside whom: memories of one conversation or task, in the order in which they were told."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hindsight_bus.domain.memory import MemoryType
from hindsight_bus.ports import Row

_DAY_MS = 86_400_000
_OFFSETS = (-2, -1, 1, 2)

Key = tuple[str, str, int]
Place = tuple[int, str, int]


class Conversations:
    """Conversation -> its memories by (create revision, id), each with its slot.

    Episodes that name neither conversation nor task count as one conversation a day and writer.
    """

    def __init__(self) -> None:
        self._places: dict[Key, list[Place]] = {}

    def add(self, slot: int, row: Row) -> None:
        """Enter a row; O(log n) unless it is older than others of its conversation."""
        key = _key_of(row)
        if key is not None:
            insort(self._places.setdefault(key, []), _place_of(slot, row))

    def remove(self, slot: int, row: Row) -> None:
        """Take out a row that was entered."""
        key = _key_of(row)
        if key is None:
            return
        places = self._places[key]
        del places[bisect_left(places, _place_of(slot, row))]
        if not places:
            del self._places[key]

    def around(self, slots: Sequence[int], rows: Sequence[Row | None]) -> NDArray[np.intp]:
        """Return the slots two before, one before, one after and two after each one, shape (n, 4); -1 for none.

        ``rows`` are all rows, by slot.
        """
        found = np.full((len(slots), len(_OFFSETS)), -1, dtype=np.intp)
        for line, slot in enumerate(slots if self._places else ()):
            row = rows[slot]
            key = None if row is None else _key_of(row)
            if row is None or key is None:
                continue
            places = self._places[key]
            at = bisect_left(places, _place_of(slot, row))
            for column, offset in enumerate(_OFFSETS):
                if 0 <= at + offset < len(places):
                    found[line, column] = places[at + offset][2]
        return found


def _key_of(row: Row) -> Key | None:
    version = row.version
    if version.conversation or version.task:
        return version.conversation, version.task, 0
    if version.type is not MemoryType.EPISODIC:
        return None
    return "", version.agent, (version.event_time_ms or row.create_time_ms) // _DAY_MS


def _place_of(slot: int, row: Row) -> Place:
    return row.create_revision, row.memory_id, slot
