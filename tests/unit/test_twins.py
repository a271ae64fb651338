"""Whether two sentences of advice are one in other words."""

from __future__ import annotations

import pytest

from hindsight_bus.domain.twins import are_twins

CLOSE = 0.58


@pytest.mark.parametrize(("cosine", "expected"), [(0.85, False), (0.87, True)])
def test_twins_are_twice_as_near_to_equal_as_to_close(cosine: float, expected: bool) -> None:
    """What is merely close is other advice."""
    assert are_twins("Refresh the token first", "First refresh the token", cosine, CLOSE) is expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Retry after the refund", "Do not retry after the refund"),
        ("先核对订单再退款", "不要先核对订单再退款"),
        ("Retry 3 times", "Retry 5 times"),
    ],
)
def test_opposites_and_other_numbers_are_none(one: str, other: str) -> None:
    """However near their vectors are."""
    assert not are_twins(one, other, 0.999, CLOSE)
    assert are_twins(one, one, 0.999, CLOSE)
