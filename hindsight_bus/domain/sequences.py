"""Sets of sequence numbers, kept as ranges: what was recorded, what is missing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from hindsight_bus.domain.tasks import Ranges


def holds(ranges: Ranges, number: int) -> bool:
    """Tell whether a number is among the ranges; O(log n)."""
    place = bisect_right(ranges, number, key=lambda pair: pair[0])
    return place > 0 and number <= ranges[place - 1][1]


def with_numbers(ranges: Ranges, numbers: Iterable[int]) -> Ranges:
    """Return the ranges with more numbers in them; O(n log n)."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted([*ranges, *((number, number) for number in numbers)]):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return tuple(merged)


def gaps(ranges: Ranges) -> Ranges:
    """Return the numbers from 1 to the highest one that are not among the ranges."""
    before = [0, *(last for _, last in ranges)]
    return tuple(
        (last + 1, first - 1) for last, (first, _) in zip(before, ranges, strict=False) if first > last + 1
    )


def count(ranges: Ranges) -> int:
    """Return how many numbers the ranges hold."""
    return sum(last - first + 1 for first, last in ranges)
