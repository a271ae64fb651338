"""Vectors: one stored form, and nothing that is not a direction gets in."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_bus.domain.errors import InvalidField
from hindsight_bus.domain.vectors import are_unit, from_bytes, normalise, to_bytes

numbers = st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=64)


@given(numbers.filter(any))
def test_a_normalised_vector_is_a_unit_vector_that_storing_does_not_change(values: list[float]) -> None:
    """Whatever the scale, length becomes 1 within rounding, and the stored bytes give back the same numbers."""
    vector = normalise(values)
    assert vector.dtype == np.float32
    assert are_unit(vector[None])
    assert np.array_equal(from_bytes(to_bytes(vector)), vector)
    assert len(to_bytes(vector)) == 2 * len(values)


@given(numbers.filter(any))
def test_direction_is_kept(values: list[float]) -> None:
    """Normalising keeps the order and the signs of the components, within rounding."""
    exact = np.array(values) / np.abs(values).max()
    assert normalise(values) == pytest.approx(exact / np.linalg.norm(exact), abs=1e-3)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([], "numbers"),
        ([0.0, 0.0], "zero"),
        ([1.0, math.nan], "finite"),
        ([1.0, -math.inf], "finite"),
        ([1.0, 2.0, 3.0], "must have 2"),
    ],
)
def test_what_has_no_direction_is_refused(values: list[float], problem: str) -> None:
    """Empty, zero, NaN, infinite and wrongly sized vectors name the field at fault."""
    with pytest.raises(InvalidField, match=problem) as raised:
        normalise(values, "memory.vector", dimension=2)
    assert raised.value.field == "memory.vector"


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, 2.0])
def test_rows_that_are_not_unit_vectors_are_told(bad: float) -> None:
    """One bad row among good ones is noticed."""
    assert are_unit(np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert not are_unit(np.array([[1.0, 0.0], [bad, 0.0]]))
