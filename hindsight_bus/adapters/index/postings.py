"""Postings: for each key the slots that hold it, always sorted, so that order of arrival leaves no trace."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

_COUNT_BITS = 8
_MAX_COUNT = (1 << _COUNT_BITS) - 1
_KEY_BYTES = 300
"""A key with its dictionary entry and its array's spare room."""
MAX_SLOTS = 1 << (32 - _COUNT_BITS)

Slots = NDArray[np.intp]
Packed = NDArray[np.uint32]
"""Entries of a posting, sorted: slot * 256 + count."""


class Postings:
    """Key -> sorted slots with a count each, packed as ``slot * 256 + count`` into 4 bytes.

    Adding a slot above all others is O(1); any other change is a binary search and one move of memory.
    """

    def __init__(self) -> None:
        self._by_key: dict[str, array[int]] = {}
        self.entries = 0
        """Number of (key, slot) pairs."""

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    @property
    def size_bytes(self) -> int:
        """Estimated memory held."""
        return 4 * self.entries + _KEY_BYTES * len(self._by_key)

    def __contains__(self, key: str) -> bool:
        return key in self._by_key

    def add(self, slot: int, counts: Mapping[str, int]) -> None:
        """Enter a slot under each key; it must not be there yet."""
        first = slot << _COUNT_BITS
        for key, count in counts.items():
            packed = first | (count if count <= _MAX_COUNT else _MAX_COUNT)
            posting = self._by_key.get(key)
            if posting is None:
                self._by_key[key] = array("I", (packed,))
            elif posting[-1] < packed:
                posting.append(packed)
            else:
                posting.insert(bisect_left(posting, packed), packed)
        self.entries += len(counts)

    def enter(self, slot: int, keys: Collection[str]) -> None:
        """Enter a slot once under each of distinct keys."""
        self.add(slot, dict.fromkeys(keys, 1))

    def remove(self, slot: int, keys: Collection[str]) -> None:
        """Take out a slot that was entered under the same keys."""
        for key in keys:
            posting = self._by_key[key]
            if len(posting) == 1:
                del self._by_key[key]
            else:
                del posting[bisect_left(posting, slot << _COUNT_BITS)]
        self.entries -= len(keys)

    def items(self) -> Iterator[tuple[str, Packed]]:
        """Yield (key, packed posting) in order of keys."""
        for key in sorted(self._by_key):
            yield key, np.frombuffer(self._by_key[key], dtype=np.uint32)

    def packed(self, key: str) -> Packed | None:
        """Return a key's packed posting as a view: drop it before the next change. None where nothing holds the key."""
        posting = self._by_key.get(key)
        return None if posting is None else np.frombuffer(posting, dtype=np.uint32)

    def slots(self, key: str) -> Slots:
        """Return the slots that hold ``key``, sorted."""
        packed = self.packed(key)
        return np.empty(0, np.intp) if packed is None else slots_of(packed).astype(np.intp)


def packed_at(posting: Packed, slots: Slots) -> Packed:
    """Return a posting's entries at ``slots``, 0 where it has none; O(slots x log n)."""
    first = slots.astype(np.uint32) << _COUNT_BITS
    entries = posting.take(np.searchsorted(posting, first), mode="clip")
    return np.where(slots_of(entries) == slots, entries, 0)


def slots_of(packed: Packed) -> Packed:
    """Return the slots of packed entries."""
    return np.right_shift(packed, _COUNT_BITS, dtype=np.uint32)


def counts_of(packed: Packed) -> Packed:
    """Return the counts of packed entries."""
    return np.bitwise_and(packed, _MAX_COUNT, dtype=np.uint32)
