"""The view: found at once, filtered as the rule says, and equal to a fresh build after any history."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.view import View
from hindsight_bus.domain.memory import MemoryState, MemoryType, Version
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.policy import RankingWeights
from hindsight_bus.domain.query import LIVE_STATES, Filter
from hindsight_bus.domain.values import replace
from hindsight_bus.domain.vectors import normalise, to_bytes
from hindsight_bus.ports import Candidate, NamespaceView, Row, Vectors, ViewQuery

NS = Namespace("t", "user", "zhangsan", "facts")
NOW_MS = 1_700_000_000_000
DAY_MS = 86_400_000
DIMENSION = 8
WORDS = "柱状图 表格 展示 数据 Go Python chart table coffee tea 咖啡 喜欢 likes prefers meetings 周末".split()
ANALYZER = Analyzer()


def direction(seed: int, dimension: int = DIMENSION) -> Vectors:
    return normalise(np.random.default_rng(seed).standard_normal(dimension))


def row(
    number: int,
    text: str,
    *,
    vector: Vectors | None = None,
    pieces: Sequence[Vectors] = (),
    state: MemoryState = MemoryState.ACTIVE,
    confidence: float = 0.7,
    agents: tuple[str, ...] = ("support",),
    age_days: float = 0.0,
    **fields: object,
) -> Row:
    memory_id = f"{number:032x}"
    version = Version(NS, memory_id, 1, MemoryType.SEMANTIC, text, **fields)  # type: ignore[arg-type]
    return Row(
        memory_id=memory_id,
        create_revision=number,
        create_time_ms=NOW_MS - int(age_days * DAY_MS),
        revision=number,
        state=state,
        effective_confidence=confidence,
        version=version,
        agents=agents,
        vector=None if vector is None else to_bytes(vector),
        pieces=b"".join(map(to_bytes, pieces)),
    )


def query(
    text: str = "", vector: Vectors | None = None, top_k: int = 5, wanted: Filter | None = None
) -> ViewQuery:
    return ViewQuery(text, vector, wanted or Filter(), top_k, NOW_MS, RankingWeights(), 30.0)


def view_of(*rows: Row) -> NamespaceView:
    view = View(ANALYZER)
    view.upsert(rows)
    return view


def numbers(candidates: list[Candidate]) -> list[int]:
    return [int(candidate.memory_id, 16) for candidate in candidates]


def found(view: NamespaceView, asked: ViewQuery) -> list[int]:
    return numbers(view.search([asked])[0])


def test_a_row_is_found_by_its_words_at_once() -> None:
    """A memory without a vector is found by keyword, in Chinese, English and mixed text."""
    view = view_of(
        row(1, "用户更喜欢柱状图"), row(2, "The user prefers meetings on Mondays"), row(3, "用Go写K8s服务")
    )
    assert found(view, query("柱状图")) == [1]
    assert found(view, query("any MEETING preferred?")) == [2]
    assert found(view, query("go")) == [3]
    assert found(view, query("k8s 服务")) == [3]


def test_a_row_is_found_by_meaning() -> None:
    """With a vector alone the nearest memory comes first, and its cosine is told."""
    view = view_of(row(1, "a", vector=direction(1)), row(2, "b", vector=direction(2)))
    best = view.search([query(vector=direction(2))])[0][0]
    assert best.memory_id == f"{2:032x}"
    assert best.dense == pytest.approx(1.0, abs=1e-3)
    assert best.lexical is None


def test_a_verbatim_query_comes_first() -> None:
    """Among memories that share words, the one that says exactly what was asked is the most relevant."""
    texts = [
        "用户偏好用表格展示对比数据",
        "用户偏好用柱状图展示趋势数据",
        "展示 数据",
        "对比数据该怎么展示? 用表格 用表格",
    ]
    view = view_of(*(row(n, text) for n, text in enumerate(texts, 1)))
    for number, text in enumerate(texts, 1):
        assert found(view, query(text))[0] == number


def test_naming_the_subject_counts() -> None:
    """A memory whose subject, alias or tag the query names outright is found though its text has none of the words."""
    view = view_of(
        row(1, "用户更喜欢柱状图", subject="preference.presentation"),
        row(2, "runs on three nodes", subject="infra.cluster", aliases=("k8s", "machine room")),
        row(3, "夜里回复慢", tags=("after_sales",)),
    )
    assert found(view, query("which presentation?")) == [1]
    assert found(view, query("the machine room")) == [2]
    assert view.search([query("K8S")])[0][0].subject == 1.0
    assert view.search([query("after sales")])[0][0].subject == 0.5


def test_a_query_without_text_or_vector_lists_by_recency_and_importance() -> None:
    """Only filters: everything that matches, the recent and important first."""
    view = view_of(
        row(1, "old", age_days=400), row(2, "new"), row(3, "pinned", pinned=True), row(4, "x", tags=("t",))
    )
    assert found(view, query()) == [3, 4, 2, 1]
    assert found(view, query(wanted=Filter(tags=frozenset({"t"})))) == [4]


def test_a_query_that_says_nothing_finds_nothing() -> None:
    """Text without any word is not a request for everything."""
    assert found(view_of(row(1, "coffee")), query("?!")) == []


def test_only_live_rows_answer_by_default() -> None:
    """Overridden rows stay, and are found only when their state is asked for."""
    view = view_of(
        row(1, "coffee", state=MemoryState.OVERRIDDEN), row(2, "coffee", state=MemoryState.CONTESTED)
    )
    assert found(view, query("coffee")) == [2]
    assert view.search([query("coffee")])[0][0].contested
    assert found(view, query("coffee", wanted=Filter(states=frozenset({MemoryState.OVERRIDDEN})))) == [1]


def test_a_row_past_its_expire_time_is_not_returned() -> None:
    """Expiry holds from the moment itself, before any job has run."""
    view = view_of(row(1, "coffee", expire_time_ms=NOW_MS), row(2, "coffee", expire_time_ms=NOW_MS + 1))
    assert found(view, query("coffee")) == [2]


def test_a_replaced_row_is_not_found_by_its_old_words_or_vector() -> None:
    """An update takes the old words, subject and vector out."""
    view = view_of(
        row(1, "coffee", subject="drink", vector=direction(1)), row(2, "water", vector=direction(2))
    )
    view.upsert([replace(row(1, "tea"), revision=9)])
    assert found(view, query("coffee")) == []
    assert found(view, query("drink")) == []
    assert view.nearest(direction(1), 5, Filter())[0][0] == f"{2:032x}"
    assert found(view, query("tea")) == [1]
    assert view.stats().pending_vectors == 1


def test_a_removed_row_is_gone() -> None:
    """Removal takes a row out of every index; unknown ids are ignored."""
    view = view_of(row(1, "coffee", vector=direction(1)), row(2, "tea", vector=direction(2)))
    view.remove([f"{1:032x}", "unknown"])
    assert len(view) == 1
    assert view.get(f"{1:032x}") is None
    assert found(view, query("coffee", direction(1))) == [2]


def test_batched_queries_answer_as_single_ones() -> None:
    """A batch of different filters and channels gives each query its own answer."""
    view = view_of(
        *(row(n, WORDS[n % len(WORDS)], vector=direction(n), tags=(str(n % 3),)) for n in range(1, 60))
    )
    asked = [
        query("coffee", direction(5)),
        query("", direction(6)),
        query("Go"),
        query(wanted=Filter(tags=frozenset({"1"}))),
        query("tea", direction(7), wanted=Filter(any_tags=frozenset({"0", "2"}))),
    ]
    assert view.search(asked) == [view.search([each])[0] for each in asked]


def test_many_equal_vectors_are_cut_in_a_fixed_order() -> None:
    """Where more memories tie than a channel takes, the newest are taken, whatever the order they came in."""
    rows = [row(n, f"x{n}", vector=direction(1)) for n in range(1, 200)]
    shuffled = random.Random(7).sample(rows, len(rows))
    assert found(view_of(*shuffled), query(vector=direction(1))) == [199, 198, 197, 196, 195]


@pytest.mark.parametrize(
    "bad",
    [
        np.full(DIMENSION, np.nan),
        np.array([np.inf] + [0.0] * (DIMENSION - 1)),
        np.zeros(DIMENSION),
        np.full(DIMENSION, 2.0),
        direction(1, DIMENSION + 1),
    ],
    ids=["nan", "inf", "zero", "long", "dimension"],
)
def test_a_bad_vector_never_enters(bad: Vectors) -> None:
    """A vector that is not finite, not of length 1 or of another dimension is refused and nothing is changed."""
    view = view_of(row(1, "coffee", vector=direction(1)))
    before = view.digest()
    with pytest.raises(ValueError, match="vectors"):
        view.upsert([row(2, "fine", vector=direction(2)), row(3, "bad", vector=bad)])
    with pytest.raises(ValueError, match="vectors"):
        view.upsert([row(2, "fine", vector=direction(2)), row(3, "x", vector=direction(3), pieces=[bad])])
    assert view.digest() == before
    assert len(view) == 1


def test_a_query_of_another_dimension_is_refused() -> None:
    """A query vector must have the dimension of the view."""
    view = view_of(row(1, "coffee", vector=direction(1)))
    with pytest.raises(ValueError, match="dimensions"):
        view.search([query(vector=direction(1, DIMENSION + 1))])


def test_known_subjects_follow_live_memories() -> None:
    """Surface forms are folded, count live memories only, and go with the last of them."""
    view = view_of(
        row(1, "a", subject="preference.chart_type", aliases=("柱状图", "Bar Chart")),
        row(2, "b", subject="infra.cluster", state=MemoryState.OVERRIDDEN),
    )
    expected = {"chart type", "柱状图", "bar chart"}
    assert view.subjects() == dict.fromkeys(expected, "preference.chart_type")
    before = view.subjects()
    view.remove([f"{1:032x}"])
    assert view.subjects() == {}
    assert before == dict.fromkeys(expected, "preference.chart_type")


def test_a_form_of_several_subjects_names_the_commonest() -> None:
    """Where one alias stands for two subjects, the one of more live memories has it; then the first by name."""
    view = view_of(row(1, "a", subject="b.x", aliases=("k8s",)), row(2, "b", subject="a.y", aliases=("K8S",)))
    assert view.subjects()["k8s"] == "a.y"
    view.upsert([row(3, "c", subject="b.x", aliases=("k8s",))])
    assert view.subjects()["k8s"] == "b.x"
    view.upsert([row(3, "c", subject="b.x", aliases=("k8s",), state=MemoryState.FORGOTTEN)])
    assert view.subjects()["k8s"] == "a.y"


def test_stats_count_states_types_and_pending_vectors() -> None:
    """Types and pending vectors count live memories only."""
    view = view_of(
        row(1, "a", vector=direction(1)), row(2, "b"), row(3, "c", state=MemoryState.SUPERSEDED), row(4, "d")
    )
    view.remove([f"{4:032x}"])
    stats = view.stats()
    assert stats.by_state == {"ACTIVE": 2, "SUPERSEDED": 1}
    assert stats.by_type == {"SEMANTIC": 2}
    assert stats.pending_vectors == 1


def test_pending_vectors_are_told_by_revision() -> None:
    """A reader that waits for vectors waits for those of live memories changed up to its revision only."""
    view = view_of(row(1, "a", vector=direction(1)), row(2, "b", state=MemoryState.OVERRIDDEN), row(5, "c"))
    assert not view.has_pending_vectors(4)
    assert view.has_pending_vectors(5)
    view.upsert([row(5, "c", vector=direction(5))])
    assert not view.has_pending_vectors(9)


def test_an_empty_view_answers() -> None:
    """Nothing held: nothing found, by any channel."""
    view = view_of()
    assert view.search([query("coffee", direction(1)), query()]) == [[], []]
    assert view.nearest(direction(1), 3, Filter()) == []
    assert view.dimension == 0


rows_strategy = st.builds(
    lambda number, words, vector, pieces, state, confidence, **fields: row(
        number,
        " ".join(words),
        vector=None if vector is None else direction(vector),
        pieces=() if vector is None else [direction(each) for each in pieces],
        state=state,
        confidence=confidence,
        **fields,
    ),
    number=st.integers(1, 12),
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6),
    vector=st.none() | st.integers(0, 5),
    pieces=st.just([]) | st.lists(st.integers(0, 9), max_size=4),
    state=st.sampled_from([s for s in MemoryState if s]),
    confidence=st.sampled_from([0.3, 0.7, 0.9]),
    agents=st.lists(st.sampled_from(["support", "orders"]), unique=True).map(tuple),
    age_days=st.sampled_from([0.0, 3.0, 90.0]),
    subject=st.sampled_from(["", "preference.language", "drink", "preference.chart_type"]),
    aliases=st.lists(st.sampled_from(["k8s", "柱状图"]), unique=True).map(tuple),
    tags=st.lists(st.sampled_from(["a", "b", "c"]), unique=True).map(tuple),
    language=st.sampled_from(["", "zh", "en"]),
    about=st.sampled_from(["", "lisi"]),
    importance=st.sampled_from([0.2, 0.5, 0.8]),
    pinned=st.booleans(),
    event_time_ms=st.sampled_from([0, NOW_MS - DAY_MS, NOW_MS - 40 * DAY_MS]),
    expire_time_ms=st.sampled_from([0, NOW_MS - 1, NOW_MS + 1]),
)
filters = st.builds(
    Filter,
    types=st.sampled_from([frozenset(), frozenset({MemoryType.SEMANTIC}), frozenset({MemoryType.EPISODIC})]),
    states=st.just(LIVE_STATES) | st.frozensets(st.sampled_from([s for s in MemoryState if s]), min_size=1),
    tags=st.frozensets(st.sampled_from(["a", "b"])),
    any_tags=st.frozensets(st.sampled_from(["b", "c", "missing"])),
    subject=st.sampled_from(["", "drink", "missing"]),
    subject_prefix=st.sampled_from(["", "preference.", "drink"]),
    unnamed=st.booleans(),
    about=st.sampled_from(["", "lisi"]),
    languages=st.frozensets(st.sampled_from(["zh", "en"])),
    agents=st.frozensets(st.sampled_from(["support", "orders"])),
    min_confidence=st.sampled_from([0.0, 0.7]),
    min_importance=st.sampled_from([0.0, 0.5]),
    event_after_ms=st.sampled_from([0, NOW_MS - DAY_MS]),
    event_before_ms=st.sampled_from([0, NOW_MS - DAY_MS]),
    create_after_ms=st.sampled_from([0, NOW_MS - 3 * DAY_MS]),
    create_before_ms=st.sampled_from([0, NOW_MS - 3 * DAY_MS]),
    pinned=st.sampled_from([None, True, False]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(rows_strategy, max_size=25), filters)
def test_filters_agree_with_the_rule(rows: list[Row], wanted: Filter) -> None:
    """The view's columns pass exactly the rows that ``Filter.matches`` passes."""
    view = view_of(*rows)
    latest = {each.memory_id: each for each in rows}
    expected = {
        each.memory_id
        for each in latest.values()
        if wanted.matches(
            each.version, each.state, each.effective_confidence, each.agents, each.create_time_ms, NOW_MS
        )
    }
    assert {c.memory_id for c in view.search([query(top_k=100, wanted=wanted)])[0]} == expected


def test_a_vector_may_come_after_all_have_gone() -> None:
    """Memories whose vectors went, whatever languages they were in, are scored beside the first new one."""
    english = row(1, "coffee", vector=direction(1), language="en")
    view = view_of(english, row(2, "coffee 咖啡", vector=direction(2), language="zh"))
    view.upsert([row(1, "coffee"), row(2, "coffee 咖啡")])
    view.upsert([english])
    assert found(view, query("coffee", direction(1))) == [1, 2]


Step = Callable[[NamespaceView], None]
steps = st.lists(st.lists(rows_strategy, min_size=1, max_size=4) | st.integers(1, 12), max_size=30)


@settings(max_examples=150, deadline=None)
@given(steps, st.randoms(use_true_random=False))
def test_any_history_equals_a_fresh_build(history: list[list[Row] | int], shuffler: random.Random) -> None:
    """After any upserts and removals the view equals one built afresh from its rows in any order."""
    view = view_of()
    expected: dict[str, Row] = {}
    for step in history:
        if isinstance(step, int):
            view.remove([f"{step:032x}"])
            expected.pop(f"{step:032x}", None)
        else:
            view.upsert(step)
            expected.update((each.memory_id, each) for each in step)
    rows = list(expected.values())
    shuffler.shuffle(rows)
    fresh = view_of(*rows)
    asked = [
        query("喜欢 coffee 柱状图", direction(2)),
        query("prefers Go"),
        query(vector=direction(3)),
        query("k8s", wanted=Filter(states=frozenset(MemoryState))),
        query(top_k=3),
    ]
    assert view.digest() == fresh.digest()
    assert view.search(asked) == fresh.search(asked)
    assert view.nearest(direction(1), 4, Filter()) == fresh.nearest(direction(1), 4, Filter())
    assert view.subjects() == fresh.subjects()
    assert view.stats() == fresh.stats()
    assert (len(view), view.dimension) == (len(fresh), fresh.dimension)


def test_digests_differ_where_views_do() -> None:
    """A changed state, text, vector, tag or id shows in the digest."""
    base = row(1, "coffee", vector=direction(1))
    variants = [
        base,
        row(2, "coffee", vector=direction(1)),
        row(1, "tea", vector=direction(1)),
        row(1, "coffee", vector=direction(2)),
        row(1, "coffee"),
        row(1, "coffee", vector=direction(1), pieces=[direction(2)]),
        row(1, "coffee", vector=direction(1), tags=("a",)),
        replace(base, state=MemoryState.CONTESTED),
        replace(base, effective_confidence=0.71),
    ]
    assert len({view_of(each).digest() for each in variants}) == len(variants)
