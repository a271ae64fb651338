"""Postings: for each key the slots that hold it, always sorted, so that order of arrival leaves no trace."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_COUNT_BITS = 8
_MAX_COUNT = (1 << _COUNT_BITS) - 1
_KEY_BYTES = 300
"""A key with its dictionary entry and its array's spare room."""
MAX_SLOTS = 1 << (32 - _COUNT_BITS)
COMMON_FROM = 1_024
"""Slots that hold a key from which on it is held as a line, if they are one in ``_COMMON_SHARE``."""
_COMMON_SHARE = 16
_SPARSE = 4
"""How many times fewer make a posting of it again."""

Slots = NDArray[np.intp]
Packed = NDArray[np.uint32]
"""Entries of a posting, sorted: slot * 256 + count."""
Line = NDArray[np.uint8]
"""Counts by slot, shape (capacity,), 0 where a slot has not the key."""


@dataclass(slots=True)
class _Common:
    counts: bytearray
    frequency: int
    most: int


class Postings:
    """Key -> sorted slots with a count each, packed as ``slot * 256 + count`` into 4 bytes.

    Adding a slot above all others is O(1); any other change is a binary search and one move of memory. A key that many
    slots hold is a line of counts instead, one byte a slot, once there is room for slots (``reserve``).
    """

    def __init__(self, common_from: int = COMMON_FROM) -> None:
        self._least = common_from
        self._common_from = MAX_SLOTS
        """Slots that hold a key from which on it is a line."""
        self._by_key: dict[str, array[int]] = {}
        self._lines: dict[str, _Common] = {}
        self._capacity = 0
        self.entries = 0
        """Number of (key, slot) pairs."""

    def __len__(self) -> int:
        return len(self._by_key) + len(self._lines)

    def __iter__(self) -> Iterator[str]:
        yield from self._by_key
        yield from self._lines

    @property
    def size_bytes(self) -> int:
        """Estimated memory held."""
        return 4 * self.entries + self._capacity * len(self._lines) + _KEY_BYTES * len(self)

    def __contains__(self, key: str) -> bool:
        return key in self._by_key or key in self._lines

    def reserve(self, capacity: int) -> None:
        """Make room for slots below ``capacity``."""
        self._capacity = capacity
        self._common_from = max(self._least, capacity // _COMMON_SHARE)
        for key, line in list(self._lines.items()):
            line.counts.extend(bytes(capacity - len(line.counts)))
            self._narrow(key, line)

    def add(self, slot: int, counts: Mapping[str, int]) -> None:
        """Enter a slot under each key; it must not be there yet."""
        first = slot << _COUNT_BITS
        for key, count in counts.items():
            held = count if count <= _MAX_COUNT else _MAX_COUNT
            packed = first | held
            posting = self._by_key.get(key)
            if posting is None:
                self._enter(key, slot, held)
                continue
            if posting[-1] < packed:
                posting.append(packed)
            else:
                posting.insert(bisect_left(posting, packed), packed)
            if len(posting) >= self._common_from:
                self._widen(key)
        self.entries += len(counts)

    def enter(self, slot: int, keys: Collection[str]) -> None:
        """Enter a slot once under each of distinct keys."""
        packed = slot << _COUNT_BITS | 1
        for key in keys:
            posting = self._by_key.get(key)
            if posting is not None and posting[-1] < packed and len(posting) + 1 < self._common_from:
                posting.append(packed)
                self.entries += 1
            else:
                self.add(slot, {key: 1})

    def remove(self, slot: int, keys: Collection[str]) -> None:
        """Take out a slot that was entered under the same keys."""
        for key in keys:
            line = self._lines.get(key)
            if line is not None:
                line.counts[slot] = 0
                line.frequency -= 1
                self._narrow(key, line)
                continue
            posting = self._by_key[key]
            if len(posting) == 1:
                del self._by_key[key]
            else:
                del posting[bisect_left(posting, slot << _COUNT_BITS)]
        self.entries -= len(keys)

    def items(self) -> Iterator[tuple[str, Packed]]:
        """Yield (key, packed posting) in order of keys."""
        for key in sorted(self):
            yield key, self.posting(key)

    def among(self, keys: Iterable[str]) -> list[str]:
        """Return those of ``keys`` that any slot holds, in their order."""
        return [key for key in keys if key in self._by_key or key in self._lines]

    def line(self, key: str) -> Line | None:
        """Return a key's line as a view: drop it before the next change. None for one that is not common."""
        line = self._lines.get(key)
        return None if line is None else np.frombuffer(line.counts, np.uint8)

    def most(self, key: str) -> int:
        """Return the greatest count that a key ever had while it was common; 0 for one that is not. O(1)."""
        line = self._lines.get(key)
        return 0 if line is None else line.most

    def frequency(self, key: str) -> int:
        """Return how many slots hold a key; O(1)."""
        line = self._lines.get(key)
        return len(self._by_key.get(key, ())) if line is None else line.frequency

    def posting(self, key: str) -> Packed:
        """Return a key's packed posting, maybe as a view: drop it before the next change. O(capacity) for a line."""
        line = self.line(key)
        if line is None:
            return np.frombuffer(self._by_key.get(key, b""), dtype=np.uint32)
        slots = np.flatnonzero(line)
        return packed(slots) | line[slots]

    def slots(self, key: str) -> Slots:
        """Return the slots that hold ``key``, sorted."""
        return slots_of(self.posting(key)).astype(np.intp)

    def _enter(self, key: str, slot: int, count: int) -> None:
        line = self._lines.get(key)
        if line is None:
            self._by_key[key] = array("I", (slot << _COUNT_BITS | count,))
        else:
            line.counts[slot] = count
            line.frequency += 1
            line.most = max(line.most, count)

    def _widen(self, key: str) -> None:
        packed = np.frombuffer(self._by_key.pop(key), dtype=np.uint32)
        counts = bytearray(self._capacity)
        np.frombuffer(counts, np.uint8)[slots_of(packed)] = counts_of(packed)
        self._lines[key] = _Common(counts, len(packed), max(counts))

    def _narrow(self, key: str, line: _Common) -> None:
        if line.frequency and _SPARSE * line.frequency > self._common_from:
            return
        packed = self.posting(key)
        del self._lines[key]
        if len(packed):
            self._by_key[key] = array("I", packed.tobytes())


def packed(slots: Slots) -> Packed:
    """Return the least entries that slots may have: those of a count of 0."""
    return np.left_shift(slots, _COUNT_BITS, dtype=np.uint32, casting="unsafe")


def slots_of(packed: Packed) -> Packed:
    """Return the slots of packed entries."""
    return np.right_shift(packed, _COUNT_BITS, dtype=np.uint32)


def counts_of(packed: Packed) -> Packed:
    """Return the counts of packed entries."""
    return np.bitwise_and(packed, _MAX_COUNT, dtype=np.uint32)
