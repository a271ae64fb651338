"""Long texts in a view: each memory is as near as the nearest of its vectors, and filters hold for all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_bus.adapters.index.pieces import PieceIndex
from hindsight_bus.domain.query import Filter
from hindsight_bus.domain.vectors import from_bytes, to_bytes
from hindsight_bus.ports import Row, Vectors
from tests.unit.test_view import direction, found, query, row, view_of

FAR = direction(1)
NEAR = -FAR


def naive(rows: list[Row], asked: Vectors) -> dict[str, float]:
    """Return each memory's best cosine over its own vector and those of its pieces."""
    return {
        each.memory_id: max(
            float(from_bytes(part) @ asked) for part in (each.vector or b"", *parts_of(each)) if part
        )
        for each in rows
    }


def parts_of(each: Row) -> list[bytes]:
    size = len(each.vector or b"")
    return [each.pieces[start : start + size] for start in range(0, len(each.pieces), size)] if size else []


def long_row(number: int, seed: int, count: int, tag: str = "a") -> Row:
    pieces = [direction(1000 * seed + n) for n in range(count)]
    return row(number, f"x{number}", vector=direction(seed), pieces=pieces, tags=(tag,))


rows = st.builds(
    long_row, st.integers(1, 25), st.integers(1, 60), st.sampled_from([0, 0, 1, 3, 16]), st.sampled_from("ab")
)
steps = st.lists(st.lists(rows, min_size=1, max_size=5) | st.integers(1, 25), max_size=20)


@settings(max_examples=100, deadline=None)
@given(steps, st.integers(1, 10), st.sampled_from(["", "a", "b"]))
def test_a_search_equals_the_best_over_all_vectors(
    history: list[list[Row] | int], asked: int, tag: str
) -> None:
    """After any changes, under any filter, the nearest come first and each tells the cosine of its nearest vector."""
    view, held = view_of(), dict[str, Row]()
    for step in history:
        if isinstance(step, int):
            view.remove([f"{step:032x}"])
            held.pop(f"{step:032x}", None)
        else:
            view.upsert(step)
            held.update((each.memory_id, each) for each in step)
    passing = [each for each in held.values() if not tag or tag in each.version.tags]
    expected = naive(passing, direction(asked))
    wanted = Filter(tags=frozenset({tag})) if tag else Filter()
    [hits] = view.search([query(vector=direction(asked), top_k=5, wanted=wanted)])
    for hit in hits:
        assert hit.dense == pytest.approx(expected[hit.memory_id], abs=1e-5)
    if hits:
        assert hits[0].dense == pytest.approx(max(expected.values()), abs=1e-5)
    assert view.digest() == view_of(*held.values()).digest()


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.integers(0, 40), st.tuples(st.integers(1, 99), st.integers(1, 16)), max_size=30),
    st.lists(st.integers(0, 40)),
    st.integers(1, 12),
    st.sampled_from([1, 50, 10_000]),
)
def test_the_nearest_owners_are_found(
    held: dict[int, tuple[int, int]], dropped: list[int], k: int, coded_from: int
) -> None:
    """However many pieces one memory has among the nearest, as many memories come back as are wanted, the nearest."""
    dimension = 32
    stacks = {
        owner: np.stack([direction(1000 * seed + n, dimension) for n in range(count)])
        for owner, (seed, count) in held.items()
    }
    index = PieceIndex(coded_from)
    for _ in range(2):  # the second time in the places of the first
        index.put({owner: stack.astype(np.float16) for owner, stack in stacks.items()})
    index.drop(dropped)
    stacks = {owner: stack for owner, stack in stacks.items() if owner not in dropped}
    assert index.count == sum(map(len, stacks.values()))
    asked, allowed = direction(7, dimension), np.arange(41) % 3 > 0
    best = {owner: float((stack @ asked).max()) for owner, stack in stacks.items()}
    everyone = np.arange(41)
    told = index.cosines(asked, everyone)
    assert {owner for owner in everyone.tolist() if not np.isnan(told[owner])} == best.keys()
    assert all(told[owner] == pytest.approx(cosine, abs=1e-5) for owner, cosine in best.items())
    if stacks:
        [slots] = index.nearest(asked[None], k, allowed)
        passing = sorted((owner for owner in best if allowed[owner]), key=lambda owner: -best[owner])
        assert set(passing[:k]) <= set(slots.tolist()) <= set(passing)


def test_many_long_memories_are_cut_where_they_should_be() -> None:
    """Beyond what the channel takes, the nearest by their best piece are kept, whatever their own vectors say."""
    many = [long_row(n, n, 8) for n in range(1, 121)]
    expected = naive(many, NEAR)
    [hits] = view_of(*many).search([query(vector=NEAR, top_k=5)])
    assert hits[0].memory_id == max(expected, key=lambda each: expected[each])


def test_what_stands_deep_in_a_long_text_is_found() -> None:
    """One piece near the query lifts a memory above one whose whole text is a little near."""
    other = row(1, "a", vector=direction(5))
    long = row(2, "b", vector=FAR, pieces=[FAR, direction(9), FAR])
    assert found(view_of(other, long), query(vector=direction(9)))[0] == 2


def test_neighbours_of_a_whole_text_are_not_its_pieces() -> None:
    """What looks around by one vector a memory sees whole texts alone."""
    view = view_of(row(1, "a", vector=FAR, pieces=[direction(9)]))
    [(_, cosine)] = view.nearest(direction(9), 1, Filter())
    assert cosine == pytest.approx(float(FAR @ direction(9)), abs=1e-5)


def test_a_vector_that_is_gone_takes_its_pieces_along() -> None:
    """A row without a vector, as after a new text, is no longer found by the pieces it had; nor is a removed one."""
    view = view_of(row(1, "a", vector=FAR, pieces=[NEAR]), row(2, "b", vector=direction(5)))
    view.upsert([row(1, "a")])
    assert view.search([query(vector=NEAR)])[0][0].memory_id == f"{2:032x}"
    view.upsert([row(1, "a", vector=FAR, pieces=[NEAR])])
    view.remove([f"{1:032x}"])
    assert found(view, query(vector=NEAR)) == [2]


def test_pieces_count_in_what_a_view_holds() -> None:
    """The memory budget sees them: vectors in the row and in the index."""
    bare, several = (view_of(row(1, "a", vector=FAR, pieces=[NEAR] * n)).size_bytes for n in (0, 16))
    assert several - bare >= 2 * 16 * len(to_bytes(NEAR))
