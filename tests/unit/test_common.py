"""What all texts have in common is taken off vectors, and nothing else of them is changed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.view import View
from hindsight_bus.app.query_bank import QueryBank
from hindsight_bus.domain.calibration import calibration_of
from hindsight_bus.domain.common import E5, NOTHING, Common
from hindsight_bus.domain.meaning import MeaningQuery
from hindsight_bus.domain.memory import Vector
from hindsight_bus.domain.suspicion import Closeness
from hindsight_bus.domain.vectors import are_unit, from_bytes, normalise, to_bytes
from hindsight_bus.ports import Vectors
from tests.unit.test_view import query, row

seeds = st.integers(0, 2**32 - 1)
SHARED = Common(np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]))


def squeezed(seed: int, count: int = 1) -> Vectors:
    """Return vectors as e5 has them: most of each is the same in all."""
    random = np.random.default_rng(seed)
    shared = np.random.default_rng(0).standard_normal(384)
    return np.stack([normalise(4 * shared + random.standard_normal(384)) for _ in range(count)])


@given(seeds, st.integers(1, 9))
def test_what_is_left_has_length_one_and_nothing_of_the_directions(seed: int, count: int) -> None:
    """It does not change when it is asked for again, and no row depends on the others."""
    vectors = squeezed(seed, count)
    left = E5.without(vectors)
    assert left.dtype == np.float32
    assert are_unit(left)
    assert np.abs(E5.without(left) - left).max() < 1e-6
    assert np.array_equal(left, np.stack([E5.without(each) for each in vectors]))


def test_only_the_directions_go() -> None:
    """What is apart in other directions stays apart; directions need not be orthogonal."""
    assert SHARED.without(np.array([3.0, 5.0, 0.2], np.float32)) == pytest.approx([0.0, 0.0, 1.0])
    assert SHARED.without(np.array([3.0, 5.0, -0.2], np.float32)) == pytest.approx([0.0, 0.0, -1.0])


def test_a_vector_without_anything_else_stays() -> None:
    """It would have no direction; neither does another dimension fit, nor is anything known of most profiles."""
    for vector in (np.array([0.6, 0.8, 0.0], np.float32), np.array([0.6, 0.8], np.float32)):
        assert np.array_equal(SHARED.without(vector), vector)
        assert NOTHING.without(vector) is vector


def test_the_table_of_e5_is_two_directions() -> None:
    """One a language, of its dimension; profiles without a table compare vectors as they are."""
    gone = squeezed(1)[0] - E5.without(squeezed(1)[0])
    assert E5.dimension == 384
    assert np.linalg.norm(gone) > 0
    assert calibration_of("e5").common is E5
    assert calibration_of("use").common is calibration_of("openai:m").common is NOTHING


@given(seeds)
def test_a_view_holds_and_is_asked_for_vectors_without_it(seed: int) -> None:
    """Whoever wrote them: one at a time or together, and a memory asked for by its own vector has a cosine of 1."""
    vectors = squeezed(seed, 4)
    rows = [row(n, f"memory {n}", vector=each) for n, each in enumerate(vectors, 1)]
    together, apart = (View(Analyzer(), calibration_of("e5")) for _ in range(2))
    together.upsert(rows)
    for each in reversed(rows):
        apart.upsert([each])
    assert together.digest() == apart.digest()
    [hits] = together.search([query(vector=vectors[0], top_k=4)])
    cosines = {int(hit.memory_id, 16): hit.dense for hit in hits}
    assert cosines[1] == pytest.approx(1.0, abs=1e-3)
    ours = E5.without(vectors[0])
    for number, cosine in cosines.items():
        assert cosine == pytest.approx(float(E5.without(vectors[number - 1]) @ ours), abs=2e-3)
    nearest, *_ = together.nearest(vectors[1], 1, query().filter)
    assert int(nearest[0], 16) == 2


@given(seeds, st.sampled_from([-0.1, 0.0, 0.1]))
def test_a_subscription_by_meaning_compares_without_it(seed: int, threshold: float) -> None:
    """The bank of many queries and the one query agree, and both differ from cosines of vectors as they are."""
    asked, *arrived = squeezed(seed, 6)
    meaning = MeaningQuery(asked, {"e5": Closeness(threshold, threshold)})
    bank: QueryBank[str] = QueryBank(384, E5)
    bank.add("me", asked, threshold)
    stored = [to_bytes(each) for each in arrived]
    told = {n for _, n in bank.probe(list(enumerate(stored))).matches()}
    for n, values in enumerate(stored):
        cosine = float(E5.without(from_bytes(values)) @ E5.without(asked))
        if abs(cosine - threshold) > 1e-3:
            assert (n in told) == (cosine > threshold)
            assert meaning.matches(Vector("m", 1, "e5", values), "en") == (cosine > threshold)
