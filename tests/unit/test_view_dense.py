"""Nearest neighbours among many: codes propose, exact cosines decide, and nothing of that shows but speed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hindsight_bus.adapters.index.dense import DenseIndex
from hindsight_bus.domain.vectors import to_bytes, widened

DIMENSION = 32
TOP_K = 10


def directions(count: int, seed: int, dimension: int = DIMENSION) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).standard_normal((count, dimension))
    return widened((drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float16))


def clustered(count: int, seed: int, dimension: int, shared: float) -> NDArray[np.float32]:
    """Return vectors that all share a direction, as those of a squeezed model do, and lie in clusters."""
    random = np.random.default_rng(seed)
    centres, noise = directions(20, seed, dimension), directions(count, seed + 1, dimension)
    drawn = shared * directions(1, seed + 2, dimension) + centres[random.integers(20, size=count)] + noise
    return widened((drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float16))


def put(index: DenseIndex, slots: NDArray[np.intp], vectors: NDArray[np.float32], top: int) -> None:
    index.reserve(max(top, len(index.held)))
    index.put(slots, index.parse([to_bytes(vector) for vector in vectors]), ["en"] * len(slots), top)


def index_of(vectors: NDArray[np.float32], coded_from: int) -> DenseIndex:
    index = DenseIndex(coded_from)
    for start in range(0, len(vectors), 500):
        part = vectors[start : start + 500]
        put(index, np.arange(start, start + len(part)), part, start + len(part))
    return index


def recall(found: list[NDArray[np.intp]], expected: list[NDArray[np.intp]]) -> float:
    shared = [len({*map(int, one)} & {*map(int, other)}) for one, other in zip(found, expected, strict=True)]
    return sum(shared) / sum(map(len, expected))


@pytest.mark.parametrize(
    ("dimension", "shared"), [(384, 0.0), (384, 3.0), (384, 9.0), (61, 0.0), (32, 1.0), (7, 1.0)]
)
def test_codes_find_what_an_exact_scan_finds(dimension: int, shared: float) -> None:
    """Of three thousand vectors, spread or squeezed together, at least 99 % of the true 50 nearest are found."""
    vectors = clustered(3000, 5, dimension, shared)
    queries = vectors[::100] + 0.3 * directions(30, 9, dimension)
    everything = np.ones(len(vectors), bool)
    coded, exact = index_of(vectors, 1), index_of(vectors, 10_000)
    for _ in range(6):  # until all have codes
        coded.nearest(queries[:1], 50, everything)
    found, expected = coded.nearest(queries, 50, everything), exact.nearest(queries, 50, everything)
    assert recall(found, expected) >= 0.99


@pytest.mark.parametrize("share", [0.5, 0.1, 0.002])
def test_a_filter_comes_before_the_search(share: float) -> None:
    """Whatever share of the vectors a filter leaves, as many as are wanted are found among those, the nearest ones."""
    vectors, queries = directions(3000, 1, 96), directions(20, 2, 96)
    allowed = np.random.default_rng(3).random(3000) < share
    found = index_of(vectors, 1).nearest(queries, TOP_K, allowed)
    assert all(len(slots) == min(TOP_K, allowed.sum()) and allowed[slots].all() for slots in found)
    assert recall(found, index_of(vectors, 10_000).nearest(queries, TOP_K, allowed)) >= 0.99


def test_a_filter_against_the_meaning_is_scanned_exactly() -> None:
    """Where the filter leaves just what is farthest from the query, the nearest of that is found all the same."""
    vectors, query = directions(3000, 1, 96), directions(1, 2, 96)
    allowed = vectors @ query[0] < 0.0
    expected = index_of(vectors, 10_000).nearest(query, TOP_K, allowed)
    assert [s.tolist() for s in index_of(vectors, 1).nearest(query, TOP_K, allowed)] == [
        s.tolist() for s in expected
    ]


def test_equal_vectors_are_all_found() -> None:
    """A tie at the end of what is wanted is never cut: all that tie come back."""
    vectors = np.concatenate([directions(500, 1), np.repeat(directions(1, 2), 200, axis=0)])
    [found] = index_of(vectors, 1).nearest(directions(1, 2), TOP_K, np.ones(len(vectors), bool))
    assert sorted(found.tolist()) == list(range(500, 700))


Step = tuple[list[int], int]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 90), min_size=1, max_size=40, unique=True), st.integers(0, 99)),
        max_size=12,
    ),
    st.integers(1, 30),
)
def test_codes_follow_every_change(history: list[Step], coded_from: int) -> None:
    """Through puts, replacements and drops, whether or not there are enough for codes, answers are exact."""
    index = DenseIndex(coded_from)
    held: dict[int, NDArray[np.float32]] = {}
    for slots, seed in history:
        if seed % 3 == 0:
            dropped = [slot for slot in slots if slot in held]
            index.drop(np.array(dropped, np.intp))
            for slot in dropped:
                del held[slot]
            continue
        vectors = directions(len(slots), seed)
        put(index, np.array(slots), vectors, 91)
        held.update(zip(slots, vectors, strict=True))
    assert index.count == len(held)
    if held:
        query = directions(1, 500)
        [found] = index.nearest(query, 5, np.ones(91, bool))
        cosines = sorted((float(vector @ query[0]) for vector in held.values()), reverse=True)
        assert set(found.tolist()) <= held.keys()
        nearest = [float(held[slot] @ query[0]) for slot in found.tolist()]
        assert len(nearest) >= min(5, len(held))
        assert sorted(nearest, reverse=True) == pytest.approx(cosines[: len(nearest)])


def test_widening_loses_nothing() -> None:
    """Every finite float16 number is the same number in float32, noughts and the smallest ones included."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = every[np.isfinite(every)]
    assert widened(finite).tobytes() == finite.astype(np.float32).tobytes()
