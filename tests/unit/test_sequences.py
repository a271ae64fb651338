"""Sequence numbers as ranges agree with plain sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hindsight_bus.domain.sequences import count, gaps, holds, with_numbers
from hindsight_bus.domain.tasks import Ranges

NUMBERS = st.lists(st.integers(1, 60))


def members(ranges: Ranges) -> set[int]:
    return {number for first, last in ranges for number in range(first, last + 1)}


@given(NUMBERS, NUMBERS)
def test_ranges_hold_what_was_put_in_and_nothing_else(first: list[int], second: list[int]) -> None:
    """In whatever order and however often numbers come, the ranges are those of their set."""
    ranges = with_numbers(with_numbers((), first), second)
    expected = set(first) | set(second)
    assert members(ranges) == expected
    assert count(ranges) == len(expected)
    assert all(holds(ranges, number) == (number in expected) for number in range(62))
    assert ranges == with_numbers((), sorted(expected))


@given(NUMBERS)
def test_gaps_are_all_that_is_missing_up_to_the_highest(numbers: list[int]) -> None:
    """Numbers and gaps together are everything from 1 to the highest number, without overlap."""
    ranges = with_numbers((), numbers)
    missing = members(gaps(ranges))
    assert missing.isdisjoint(numbers)
    assert missing | set(numbers) == set(range(1, max(numbers, default=0) + 1))
