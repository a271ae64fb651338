"""The questions that come with the project, and the figures that are made of them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

from bench.eval import goals, sources
from bench.eval.abstention import Abstention
from hindsight_bus.domain.language import detect
from hindsight_bus.evaluation.dataset import DataSet, LabelledMemory, LabelledQuery
from hindsight_bus.evaluation.metrics import Judged
from hindsight_bus.evaluation.report import Result


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (sources.OWN / name).read_text("utf-8").splitlines()]


def test_there_are_a_hundred_far_questions_in_two_languages() -> None:
    """Fifty each, all different, each in the language that it says."""
    questions = rows("far.jsonl")
    assert Counter(row["language"] for row in questions) == {"zh": 50, "en": 50}
    assert len({row["text"] for row in questions}) == 100
    assert [row for row in questions if detect(row["text"]) != row["language"]] == []


def test_there_are_a_hundred_and_twenty_pairs_across_languages() -> None:
    """Each of sixty facts can be asked for in the other language, either way, and in its own for comparison."""
    data = sources.cross_language()
    groups = Counter(query.group for query in data.queries)
    assert groups == {"zh on zh": 60, "en on zh": 60, "zh on en": 60, "en on en": 60}
    texts = {memory.id: memory.text for memory in data.memories}
    for query in data.queries:
        asked, _, held = query.group.split()
        [answer] = query.relevant
        assert (detect(query.text), detect(texts[answer])) == (asked, held)
    assert len({query.text for query in data.queries}) == 120


def store() -> DataSet:
    labels = ("li", "wang", "chen")
    memories = [LabelledMemory(f"{label} 1", label, f"{label} likes tea") for label in labels]
    queries = [LabelledQuery((label,), "tea?", frozenset({f"{label} 1"})) for label in labels]
    return DataSet("chats", memories, queries)


def test_near_questions_go_to_somebody_else() -> None:
    """Each user's question is put to another user's memories, and nothing is right there."""
    near = sources.near(store())
    assert [query.namespace for query in near.queries] == [("wang",), ("chen",), ("li",)]
    assert not any(query.relevant for query in near.queries)


def test_far_questions_go_to_everybody() -> None:
    """All namespaces of the stores are asked at once."""
    far = sources.far(store())
    assert {query.namespace for query in far.queries} == {("li", "wang", "chen")}


def test_a_crowd_holds_everything_in_one_namespace() -> None:
    """The labels still tell which memories answer."""
    others = DataSet("others", [LabelledMemory("x", "zhao", "hello")])
    crowd = sources.crowded(store(), others)
    assert crowd.namespaces == ["crowd"]
    assert len(crowd.memories) == 4
    assert crowd.queries[0].relevant == {"li 1"}


def test_a_crowd_may_be_made_of_sentences() -> None:
    """Each sentence is a memory once, at the time that it was told."""
    told = DataSet(
        "chat",
        [
            LabelledMemory("a", "li", "Tea is hot. Tea is hot.\n茶很热！"),
            LabelledMemory("b", "li", "Tea is hot."),
        ],
    )
    assert [memory.text for memory in sources.sentences(told).memories] == ["Tea is hot.", "茶很热！"]


def test_a_bilingual_store_is_asked_in_both_languages() -> None:
    """Half of the facts are told in each language, and each is asked for in both."""
    data = sources.bilingual()
    groups = Counter(query.group for query in data.queries)
    assert groups == {"same language": 60, "en on zh": 30, "zh on en": 30}
    assert data.namespaces == ["both"]


def test_paraphrases_ask_small_stores_of_every_kind() -> None:
    """Sixty-four questions: paraphrases in two languages, dates, replaced terms, and what nobody said."""
    data = sources.paraphrased()
    assert len(data.queries) == 64
    assert len(data.namespaces) == 5
    assert sum(not query.relevant for query in data.queries) == 12
    assert {query.group for query in data.queries if query.never} == {"chain"}


def test_far_questions_go_to_each_namespace_alone() -> None:
    """Fifty questions in one language, to each namespace."""
    far = sources.far_alone(store(), "zh")
    assert len(far.queries) == 150
    assert {query.namespace for query in far.queries} == {("li",), ("wang",), ("chen",)}


@pytest.mark.parametrize(("found", "verdict"), [("m", "aim"), ("", "MISSED")])
def test_goals_say_what_was_met(found: str, verdict: str) -> None:
    """A figure stands beside what it must reach and what is aimed at."""
    judged = [Judged(tuple(found), frozenset("m"), frozenset(), 0.01)]
    names = ["memorybank zh", *(f"cross-language {a} on {b}" for a in ("zh", "en") for b in ("zh", "en"))]
    table = goals.verdicts([Result(name, judged) for name in names])
    assert dict(zip(table.columns, table.rows[0], strict=True))["verdict"] == verdict


def test_abstention_is_told_as_a_curve() -> None:
    """Scores that part the questions fully have an area of 1 and keep everything at any share rejected."""
    apart = (np.array([0.8, 0.9]), np.array([0.0, 0.1]))
    table = Abstention("demo", apart, (apart[1], apart[0])).table()
    assert table.rows[0] == ("relevance", "1.000", *["1.000"] * 5)
    assert table.rows[1][1] == "0.000"
