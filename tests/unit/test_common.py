"""What all texts have in common is taken off vectors, and nothing else of them is changed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.evidence import OpenView
from hindsight_bus.adapters.index.view import View
from hindsight_bus.app.query_bank import QueryBank
from hindsight_bus.calibrating import calibrate
from hindsight_bus.domain.calibration import calibration_of
from hindsight_bus.domain.common import E5, NOTHING, Common
from hindsight_bus.domain.meaning import MeaningQuery
from hindsight_bus.domain.memory import Vector
from hindsight_bus.domain.suspicion import Closeness
from hindsight_bus.domain.vectors import are_unit, from_bytes, to_bytes
from hindsight_bus.evaluation.dataset import DataSet, LabelledMemory, LabelledQuery
from tests.unit.squeezed import SqueezedEmbedder, shared_direction, squeezed
from tests.unit.test_view import query, row

seeds = st.integers(0, 2**32 - 1)
SHARED = Common(np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]))


@given(seeds, st.integers(1, 9))
def test_what_is_left_has_length_one_and_nothing_of_the_directions(seed: int, count: int) -> None:
    """It does not change when it is asked for again, and no row depends on the others."""
    vectors = squeezed(seed, count)
    left = E5.without(vectors)
    assert left.dtype == np.float32
    assert are_unit(left)
    assert np.abs(left @ shared_direction()).max() < 1e-5
    assert np.abs(vectors @ shared_direction()).min() > 0.7
    assert np.abs(E5.without(left) - left).max() < 1e-6
    assert np.array_equal(left, np.stack([E5.without(each) for each in vectors]))


def test_only_the_directions_go() -> None:
    """What is apart in other directions stays apart; directions need not be orthogonal."""
    assert SHARED.without(np.array([3.0, 5.0, 0.2])) == pytest.approx([0.0, 0.0, 1.0])
    assert SHARED.without(np.array([3.0, 5.0, -0.2])) == pytest.approx([0.0, 0.0, -1.0])


def test_a_vector_without_anything_else_stays() -> None:
    """It would have no direction; neither does another dimension fit, nor is anything known of most profiles."""
    for vector in (np.array([0.6, 0.8, 0.0], np.float32), np.array([0.6, 0.8], np.float32)):
        assert np.array_equal(SHARED.without(vector), vector)
        assert NOTHING.without(vector) is vector
    assert SHARED.fits(3)
    assert not any((SHARED.fits(2), NOTHING.fits(0)))


def test_e5_is_compared_without_two_directions() -> None:
    """One a language; profiles without a table are compared as they are."""
    every = np.eye(384)
    left = E5.without(every)
    scales = np.einsum("ij,ij->i", every, left)  # the length of what is left of each
    assert np.linalg.matrix_rank(every - scales[:, None] * left, tol=1e-6) == 2
    assert calibration_of("e5").common is E5
    for profile in ("use", "openai:m", "external(384)"):
        assert calibration_of(profile).common is NOTHING


@given(seeds)
def test_a_view_holds_and_is_asked_for_vectors_without_it(seed: int) -> None:
    """Whoever wrote them, one at a time or together; as they are, all would be near each other."""
    vectors = squeezed(seed, 4)
    rows = [row(n, f"memory {n}", vector=each) for n, each in enumerate(vectors, 1)]
    together, apart = (View(Analyzer(), calibration_of("e5")) for _ in range(2))
    together.upsert(rows)
    for each in reversed(rows):
        apart.upsert([each])
    assert together.digest() == apart.digest()
    [hits] = together.search([query("memory", vectors[0], top_k=4)])
    cosines = {int(hit.memory_id, 16): hit.dense for hit in hits}
    assert cosines[1] == pytest.approx(1.0, abs=1e-3)
    [(nearest, cosine), (_, other), *_] = together.nearest(vectors[1], 2, query().filter)
    assert int(nearest, 16) == 2
    assert cosine == pytest.approx(1.0, abs=1e-3)
    assert other < 0.5 < float(vectors[0] @ vectors[1])
    opened = OpenView(Analyzer(), calibration_of("e5"))
    opened.upsert(rows)
    near = sorted(each.dense for each in opened.evidence(query("memory", vectors[0])))
    assert near[-1] == pytest.approx(1.0, abs=1e-2)
    assert near[-2] < 0.5


@given(seeds)
def test_pieces_are_held_without_it_too(seed: int) -> None:
    """A long text that is asked for by the vector of a piece of it is as near as can be."""
    whole, piece, other = squeezed(seed, 3)
    view = View(Analyzer(), calibration_of("e5"))
    view.upsert([row(1, "a long text", vector=whole, pieces=[piece]), row(2, "another text", vector=other)])
    [hits] = view.search([query("text", piece)])
    assert {int(hit.memory_id, 16): hit.dense for hit in hits}[1] == pytest.approx(1.0, abs=1e-3)


async def test_backgrounds_are_found_without_it() -> None:
    """What two unrelated texts have in common is little of a cosine that is nearly 1 as vectors are made."""
    data = DataSet("tea")
    for place, said in (("li", "Li drinks green tea"), ("wu", "The lorry is parked outside")):
        data.memories.append(LabelledMemory(place, place, said))
        data.queries.append(LabelledQuery((place,), f"{said}, is it so?", frozenset({place})))
    fitted = await calibrate(SqueezedEmbedder(), [data])
    assert 0.0 <= fitted.weights.backgrounds["en"] < 0.5
    assert "alert" not in fitted.as_json()["weights"]  # type: ignore[operator]


@given(seeds, st.sampled_from([-0.05, 0.0, 0.05]))
def test_a_subscription_by_meaning_compares_without_it(seed: int, threshold: float) -> None:
    """The bank of many queries and the one query agree; as they are, all would match."""
    asked, *arrived = squeezed(seed, 6)
    meaning = MeaningQuery.of(asked, {"e5": Closeness(threshold, threshold)})
    bank: QueryBank[str] = QueryBank(384, E5)
    bank.add("me", meaning.directions["e5"], threshold)
    stored = [to_bytes(each) for each in arrived]
    cosines = [float(E5.without(from_bytes(values)) @ E5.without(asked)) for values in stored]
    assume(all(abs(cosine - threshold) > 1e-3 for cosine in cosines))
    told = {n for _, n in bank.probe(list(enumerate(stored))).matches()}
    assert told == {n for n, cosine in enumerate(cosines) if cosine > threshold}
    assert told == {
        n for n, values in enumerate(stored) if meaning.matches(Vector("m", 1, "e5", values), "en")
    }
    assert all(float(each @ asked) > 0.5 for each in arrived)
