"""The channels of a view: dates, neighbours, names with typos, successors, duplicates, the floor."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.typos import Spellings, is_one_typo
from hindsight_bus.adapters.index.view import View
from hindsight_bus.domain.calibration import Calibration, Labelled, calibration_of, fit, likelihood
from hindsight_bus.domain.duplicates import Saying, first_of_each
from hindsight_bus.domain.memory import MemoryState, MemoryType, Version
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.policy import RankingWeights, RecencyShape
from hindsight_bus.domain.query import Filter, SearchChannel
from hindsight_bus.domain.temporal import DAY_MS, edge, spans
from hindsight_bus.domain.values import replace
from hindsight_bus.domain.vectors import normalise, to_bytes
from hindsight_bus.ports import Candidate, NamespaceView, Row, Vectors, ViewQuery

NS = Namespace("t", "user", "zhangsan", "facts")
NOW_MS = 1_700_000_000_000
ANALYZER = Analyzer()


def direction(seed: int) -> Vectors:
    return normalise(np.random.default_rng(seed).standard_normal(64))


def row(
    number: int,
    text: str,
    type: MemoryType = MemoryType.EPISODIC,
    *,
    vector: Vectors | None = None,
    state: MemoryState = MemoryState.ACTIVE,
    superseded_by: int = 0,
    days_ago: float = 0.0,
    **fields: object,
) -> Row:
    memory_id = f"{number:032x}"
    event_ms = NOW_MS - round(days_ago * DAY_MS)
    version = Version(NS, memory_id, 1, type, text, event_time_ms=event_ms, agent="a", **fields)  # type: ignore[arg-type]
    return Row(
        memory_id=memory_id,
        create_revision=number,
        create_time_ms=NOW_MS,
        revision=number,
        state=state,
        effective_confidence=0.7,
        version=version,
        agents=("a",),
        vector=None if vector is None else to_bytes(vector),
        superseded_by=f"{superseded_by:032x}" if superseded_by else "",
    )


def fact(number: int, text: str, **fields: object) -> Row:
    return row(number, text, MemoryType.SEMANTIC, **fields)  # type: ignore[arg-type]


def view_of(*rows: Row, calibration: Calibration | None = None) -> NamespaceView:
    view = View(ANALYZER, calibration)
    view.upsert(rows)
    return view


def ask(
    view: NamespaceView,
    text: str,
    vector: Vectors | None = None,
    *,
    wanted: Filter | None = None,
    **more: object,
) -> list[Candidate]:
    asked = ViewQuery(
        text, vector, wanted or Filter(), 20, NOW_MS, RankingWeights(1.0, 0.0, 0.0), 30.0,
        spans=spans(text, NOW_MS), edge=edge(text),
    )  # fmt: skip
    return view.search([replace(asked, **more)])[0]


def numbers(found: list[Candidate]) -> list[int]:
    return [int(candidate.memory_id, 16) for candidate in found]


def test_a_named_date_brings_what_was_told_then() -> None:
    """What was told on the day that the query names is found without a word in common, and comes first."""
    view = view_of(
        row(1, "吃了面条", days_ago=1), row(2, "喝了咖啡", days_ago=3), row(3, "聊了聊猫", days_ago=9)
    )
    found = ask(view, "昨天我们聊了什么")
    assert numbers(found)[0] == 1
    assert found[0].temporal == 1.0
    assert ask(view, "昨天我们聊了什么", without=frozenset({SearchChannel.TEMPORAL}))[0].temporal is None


def test_the_first_conversation_is_the_day_of_the_oldest_episode() -> None:
    """Asked for the first conversation, the day of the oldest episode answers; facts have no part in it."""
    view = view_of(
        row(1, "likes tea", days_ago=30), row(2, "likes cats", days_ago=2), fact(3, "old", days_ago=90)
    )
    assert numbers(ask(view, "What about our first conversation?"))[0] == 1
    assert numbers(ask(view, "What about our last conversation?"))[0] == 2


def talk(*lines: str, first: int = 1, **fields: object) -> list[Row]:
    return [row(first + i, line, **fields) for i, line in enumerate(lines)]  # type: ignore[arg-type]


def test_the_answer_beside_a_hit_is_found() -> None:
    """The reply told right after a matching turn comes with it, below it; in another conversation it does not."""
    view = view_of(
        *talk("which film did you like best", "the silent one from Lisbon", "shall we eat", conversation="c")
    )
    found = ask(view, "which film was best")
    assert numbers(found) == [1, 2]
    assert found[0].neighbours is None
    assert found[1].neighbours is not None
    assert numbers(ask(view, "which film was best", without=frozenset({SearchChannel.NEIGHBOURS}))) == [1]
    apart = view_of(
        row(1, "which film did you like best", conversation="c"), row(2, "the silent one", conversation="d")
    )
    assert numbers(ask(apart, "which film was best")) == [1]


def test_episodes_of_one_day_are_one_conversation() -> None:
    """Episodes that name no conversation are neighbours within a day and writer; facts are not."""
    view = view_of(*talk("which film did you like best", "the silent one from Lisbon"))
    assert numbers(ask(view, "which film was best")) == [1, 2]
    assert numbers(ask(view_of(fact(1, "likes silent films"), fact(2, "lives in Lisbon")), "films")) == [1]


def test_neighbours_pass_the_filter() -> None:
    """What the filter excludes does not come as a neighbour either."""
    view = view_of(
        row(1, "which film", tags=("x",), conversation="c"), row(2, "the silent one", conversation="c")
    )
    assert numbers(ask(view, "film", wanted=Filter(tags=frozenset({"x"})))) == [1]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 29), st.randoms(use_true_random=False))
def test_a_verbatim_query_comes_first_among_its_neighbours(at: int, random: Random) -> None:
    """Whatever is told around it, a memory queried by its own words and vector is the first hit."""
    words = [
        " ".join(random.sample("tea cat film rain book walk song cake tree lamp".split(), 4))
        for _ in range(30)
    ]
    texts = [f"{line} {number}" for number, line in enumerate(words)]
    view = view_of(*(row(n + 1, text, vector=direction(n), conversation="c") for n, text in enumerate(texts)))
    assert numbers(ask(view, texts[at], direction(at)))[0] == at + 1


NAMED = (
    fact(1, "runs on three nodes", subject="infra.kubernetes", aliases=("k8s", "machine room")),
    fact(2, "keeps sessions", subject="infra.redis_cache", aliases=("Redis",)),
    fact(3, "用户更喜欢柱状图", subject="preference.chart", aliases=("图表",)),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what about Kubernetes?", [1]),
        ("what about kuberntes?", [1]),
        ("KUBERNETSE upgrade", [1]),
        ("is the machine room cold", [1]),
        ("a machine in the room", [1]),
        ("the room", []),
        ("redsi timeout", [2]),
        ("Rdeis timeout", []),
        ("redis and k8s", [1, 2]),
        ("图表怎么展示", [3]),
    ],
)
def test_names_are_found_as_phrases_and_with_one_typo(text: str, expected: list[int]) -> None:
    """Subjects and aliases are found as whole phrases; one typo in a longer word is forgiven, not in its start."""
    found = ask(
        view_of(*NAMED, calibration=calibration_of("e5")), text, without=frozenset({SearchChannel.LEXICAL})
    )
    assert sorted(numbers(found)) == expected


def test_a_typo_is_only_of_words_that_nobody_uses() -> None:
    """A word that some memory holds means itself, however near it is to a name."""
    view = view_of(*NAMED, fact(4, "the readis tournament"), calibration=calibration_of("e5"))
    assert numbers(ask(view, "readis", without=frozenset({SearchChannel.LEXICAL}))) == []


@given(st.text("abcde", min_size=5, max_size=9), st.integers(0, 8), st.sampled_from("abcdez"))
def test_one_edit_is_one_typo(word: str, at: int, letter: str) -> None:
    """A letter too many, too few, another or two swapped is one typo, both ways round; and found behind its start."""
    at = 2 + at % (len(word) - 2)
    swapped = word[:at] + word[at : at + 2][::-1] + word[at + 2 :]
    for other in (
        word[:at] + letter + word[at:],
        word[:at] + word[at + 1 :],
        word[:at] + letter + word[at + 1 :],
        swapped,
    ):
        if other == word:
            continue
        assert is_one_typo(word, other)
        assert is_one_typo(other, word)
        spellings = Spellings()
        spellings.add([word])
        assert spellings.near(other) == ([word] if len(other) >= 5 else [])
        spellings.remove([word])
        assert spellings.near(other) == []


def test_two_edits_are_no_typo() -> None:
    """Two letters wrong make another word, and so do equal ones."""
    assert not is_one_typo("kubernetes", "kobernates")
    assert not is_one_typo("redis", "redis")
    assert not is_one_typo("redis", "red")


def chain(*states: MemoryState) -> list[Row]:
    texts = ["lints with TSLint", "lints with ESLint", "lints with Biome"]
    return [
        fact(
            n + 1, text, state=states[n], superseded_by=n + 2 if states[n] is MemoryState.SUPERSEDED else 0,
            aliases=(text.split()[-1],),
        )
        for n, text in enumerate(texts)
    ]  # fmt: skip


def test_an_old_term_finds_what_replaced_it() -> None:
    """A replaced memory never surfaces; its words and names find the newest of its chain."""
    view = view_of(
        *chain(MemoryState.SUPERSEDED, MemoryState.SUPERSEDED, MemoryState.ACTIVE), fact(9, "drinks tea")
    )
    assert numbers(ask(view, "TSLint")) == [3]
    assert ask(view, "eslint rules")[0].subject == 1.0
    replaced = Filter(states=frozenset({MemoryState.SUPERSEDED}))
    assert sorted(numbers(ask(view, "TSLint", wanted=replaced))) == [1]


def test_a_chain_ends_where_its_newest_is_gone() -> None:
    """A chain whose newest memory is forgotten, removed or goes in a circle finds nothing."""
    old, older, newest = chain(MemoryState.SUPERSEDED, MemoryState.SUPERSEDED, MemoryState.ACTIVE)
    view = view_of(old, older, newest)
    view.upsert([replace(newest, state=MemoryState.FORGOTTEN)])
    assert ask(view, "TSLint") == []
    view.upsert([newest])
    assert numbers(ask(view, "TSLint")) == [3]
    view.remove([newest.memory_id])
    assert ask(view, "TSLint") == []
    circle = replace(older, superseded_by=old.memory_id)
    assert ask(view_of(old, circle), "TSLint") == []


def test_near_duplicates_of_one_writer_are_shown_once() -> None:
    """The same words again are shown once; another number, subject or writer is another statement."""
    line = "the weekly meeting of the whole team takes place in room {} on the first floor"
    view = view_of(
        row(1, line.format("blue")), row(2, line.format("blue") + " really"), row(3, line.format("4"))
    )
    assert sorted(numbers(ask(view, "weekly team meeting room"))) in ([1, 3], [2, 3])


@given(st.lists(st.sampled_from(["a b c d e f g", "a b c d e f g h", "a b c 1 e f g", "x y"]), max_size=8))
def test_what_is_left_has_no_duplicates_and_loses_no_statement(texts: list[str]) -> None:
    """Every dropped text says the same as one that was kept before it; the first is always kept."""
    near = np.ones((len(texts), len(texts)), bool)
    kept = first_of_each([Saying("a", "", text) for text in texts], near, str.split)
    assert kept == sorted(kept)
    assert not texts or kept[0] == 0
    assert len({texts[i] for i in kept}) == len(kept)
    assert first_of_each([Saying("a", "", texts[i]) for i in kept], near, str.split) == list(range(len(kept)))
    apart = first_of_each([Saying(str(i), "", text) for i, text in enumerate(texts)], near, str.split)
    assert apart == list(range(len(texts)))


def test_nothing_relevant_is_nothing_returned() -> None:
    """Under a calibration with a floor, a query that nothing is near to gets nothing; what is near comes back."""
    view = view_of(
        *(row(n, f"turn {n} of a talk", vector=direction(n), days_ago=n) for n in range(1, 30)),
        calibration=Calibration(floor=0.999),
    )
    assert ask(view, "quantum", direction(100)) == []
    assert numbers(ask(view, "quantum", direction(7)))[0] == 7


@settings(max_examples=80, deadline=None)
@given(
    st.sets(st.integers(1, 20), min_size=1), st.integers(1, 20), st.sampled_from(["昨天 film", "k8s", "tea"])
)
def test_another_memory_changes_no_dense_temporal_or_subject_score(
    held: set[int], more: int, text: str
) -> None:
    """What a channel says of a memory depends on that memory and the query alone."""

    def rows(numbers: set[int]) -> list[Row]:
        return [
            row(n, f"film {n}", vector=direction(n), days_ago=n % 3, aliases=("k8s",) * (n % 2))
            for n in numbers
        ]

    def parts(view: NamespaceView) -> dict[str, tuple[float | None, ...]]:
        return {c.memory_id: (c.dense, c.temporal, c.subject) for c in ask(view, text, direction(50))}

    before, after = parts(view_of(*rows(held))), parts(view_of(*rows(held | {more})))
    both = before.keys() & after.keys()
    assert {each: before[each] for each in both} == {each: after[each] for each in both}


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 40), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_a_higher_bar_never_adds_hits(count: int, low: float, high: float) -> None:
    """Raising a filter's minimum confidence leaves a subset of the hits that pass it."""
    low, high = sorted((low, high))
    rows = [replace(fact(n, f"film {n}"), effective_confidence=n / 40) for n in range(1, count + 1)]
    view = view_of(*rows)
    several = set(numbers(ask(view, "film", wanted=Filter(min_confidence=high), top_k=100)))
    assert several <= set(numbers(ask(view, "film", wanted=Filter(min_confidence=low), top_k=100)))


def test_recency_takes_the_shape_asked_for() -> None:
    """LINEAR recency ends at a tenth, EXPONENTIAL goes on falling."""
    view = view_of(row(1, "film", days_ago=300))
    assert ask(view, "film", recency_shape=RecencyShape.LINEAR)[0].recency == pytest.approx(0.1)
    assert ask(view, "film")[0].recency < 0.01


def test_a_fit_tells_answers_from_noise() -> None:
    """Fitted weights rise with every kind of evidence that answers have more of; floors keep what they promise."""
    random = np.random.default_rng(3)
    noise = random.random((200, 3)) * 0.5
    answering = random.random((200, 3)) * 0.5 + np.array([0.4, 0.3, 0.2])
    foreign = answering - np.array([0.1, 0.3, 0.0])
    none = np.zeros((0, 3))
    fitted = fit(Labelled(answering, foreign, noise, none), Calibration(across=0.5))
    assert min(fitted.dense, fitted.lexical, fitted.temporal) > 0.0
    assert fitted.across == 0.5
    found = likelihood(fitted, *answering.T)
    assert found.mean() > likelihood(fitted, *noise.T).mean() + 0.3
    assert (found >= fitted.floor).mean() >= 0.99
    assert (likelihood(fitted, *foreign.T) >= fitted.foreign_floor).mean() >= 0.97
    withholding = fit(Labelled(answering, none, none, noise), Calibration())
    assert (likelihood(withholding, *noise.T) <= withholding.floor).mean() >= 0.96
    assert withholding.foreign_floor == withholding.floor


def test_a_fit_needs_both_kinds() -> None:
    """Answers alone, or noise alone, tell nothing."""
    with pytest.raises(ValueError, match="answer"):
        fit(Labelled(np.ones((3, 3)), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3))), Calibration())


@given(st.integers(1, 10**6))
def test_noise_reaches_further_among_more_memories(memories: int) -> None:
    """The best of one memory reaches nowhere by chance, that of more ever further, by less and less."""
    reach = Calibration().reach
    assert reach(1) == 0.0
    assert 0.0 <= reach(memories) < reach(memories + 1) < 0.6
    assert reach(4 * memories) - reach(2 * memories) <= reach(2 * memories) - reach(memories) + 1e-12


def test_a_view_tells_which_languages_it_holds() -> None:
    """A language counts from its first memory to its last."""
    view = view_of(row(1, "tea", language="en"))
    assert view.speaks("en")
    assert not view.speaks("zh")
    view.upsert([row(2, "茶", language="zh-Hant-TW")])
    assert view.speaks("zh")
    view.remove([f"{1:032x}"])
    assert not view.speaks("en")


def test_a_question_in_a_foreign_language_is_held_to_a_floor_of_its_own() -> None:
    """Answers in another language are less close, so less is withheld for them."""
    strict = Calibration(dense=5.0, bias=-1.0, floor=0.99, foreign_floor=0.5)
    view = view_of(row(1, "tea", vector=direction(1)), calibration=strict)
    assert ask(view, "quantum", direction(1)) == []
    assert numbers(ask(view, "quantum", direction(1), is_foreign=True)) == [1]
    assert ask(view, "quantum", direction(2), is_foreign=True) == []


@pytest.mark.parametrize("at", range(10))
def test_a_memory_in_another_language_is_found_among_those_in_the_querys_own(at: int) -> None:
    """What is told in another language is as far from any query as languages are apart, and not held against it.

    Vectors of one language share a direction; the query means what one memory of the other language means.
    """
    axes = np.eye(64, dtype=np.float32)
    known = Calibration(backgrounds={"zh": 0.8, "en": 0.8}, across=0.01)

    def said(language: str, meaning: int) -> Vectors:
        return normalise(2.0 * axes[0 if language == "zh" else 1] + axes[2 + meaning])

    told = [
        row(n, f"{n}", vector=said("zh" if n > 9 else "en", n), language="zh" if n > 9 else "en")
        for n in range(20)
    ]
    found = ask(view_of(*told, calibration=known), "茶", said("zh", at), language="zh")
    assert numbers(found)[0] == at


links = st.tuples(
    st.integers(1, 6),
    st.sampled_from([MemoryState.ACTIVE, MemoryState.SUPERSEDED, MemoryState.FORGOTTEN]),
    st.integers(0, 6),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(links | st.integers(1, 6), max_size=20))
def test_chains_follow_every_change(history: list[tuple[int, MemoryState, int] | int]) -> None:
    """However memories come, go and replace each other, old words find what they would find in a fresh view."""
    view = view_of()
    held: dict[int, Row] = {}
    for step in history:
        if isinstance(step, int):
            view.remove([f"{step:032x}"])
            held.pop(step, None)
        else:
            number, state, successor = step
            held[number] = fact(number, f"word{number} tea", state=state, superseded_by=successor)
            view.upsert([held[number]])
        asked = [ask(view, f"word{number}") for number in range(1, 7)]
        fresh = view_of(*held.values())
        assert asked == [ask(fresh, f"word{number}") for number in range(1, 7)]
