"""The view's words: how text becomes terms, and how terms become scores."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.lexical import LexicalIndex
from hindsight_bus.adapters.index.postings import Postings

ANALYZER = Analyzer()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The user prefers TABLES", ["user", "prefer", "tabl"]),
        ("用户偏好用表格展示对比数据", ["用户", "偏好", "用", "表格", "展示", "对比", "数据"]),
        ("用Go写k8s服务, 版本1.2", ["用", "go", "写", "k8s", "服务", "版本", "1", "2"]),
        ("C++ and C# but a+b", ["c++", "c#", "b"]),
        ("ＦＵＬＬ　ｗｉｄｔｈ", ["full", "width"]),
        ("snake_case preference.chart_type", ["snake", "case", "prefer", "chart", "type"]),
        ("user's don't", ["user", "don't"]),
        ("naïve Ünïcode", ["naïve", "ünïcode"]),
        ("?!… 🙂", []),
    ],
)
def test_text_becomes_terms(text: str, terms: list[str]) -> None:
    """Chinese is cut, English folded and stemmed, stop words and signs dropped, names of languages kept."""
    assert ANALYZER.terms(text) == terms


@pytest.mark.parametrize("text", ["to be or not to be", "我是谁", "the"])
def test_a_text_of_stop_words_alone_keeps_them(text: str) -> None:
    """What consists of stop words can still be found by itself."""
    assert ANALYZER.terms(text)


@given(st.text(max_size=200))
def test_any_text_has_terms_without_signs(text: str) -> None:
    """No input fails, terms are never empty, and asking twice gives the same."""
    terms = ANALYZER.terms(text)
    assert all(terms)
    assert ANALYZER.terms(text) == terms


documents = st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8), min_size=1, max_size=12)


@given(documents, st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=5))
def test_scores_are_those_of_the_formula(texts: list[list[str]], asked: list[str]) -> None:
    """Every document's score equals Okapi BM25 with k1 = 1.2 and b = 0.5, computed one by one."""
    index = LexicalIndex()
    index.reserve(len(texts))
    for slot, text in enumerate(texts):
        index.add(slot, Counter(text))
    scores = index.scores(asked, len(texts))
    average = sum(map(len, texts)) / len(texts)
    expected = [
        sum(_weight(term, texts) * _saturated(text.count(term), len(text) / average) for term in set(asked))
        for text in texts
    ]
    if scores is None:
        assert not any(expected)
    else:
        assert scores.bm25.tolist() == pytest.approx(expected, rel=1e-5)


def _weight(term: str, texts: list[list[str]]) -> float:
    holding = sum(term in text for text in texts)
    return math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))


def _saturated(count: int, relative_length: float) -> float:
    return count * 2.2 / (count + 1.2 * (0.5 + 0.5 * relative_length))


def test_a_document_of_the_query_is_ideal() -> None:
    """A document that consists of the query's words scores the ideal, or above it where it is shorter than average."""
    index = LexicalIndex()
    index.reserve(3)
    for slot, text in enumerate(("a b c", "a d", "e f g h")):
        index.add(slot, Counter(text.split()))
    scores = index.scores(["a", "b", "c"], 3)
    assert scores is not None
    assert scores.bm25[0] == pytest.approx(scores.ideal, rel=1e-5)
    assert scores.bm25[1] < scores.ideal
    assert scores.bm25[2] == 0.0


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from("abc"), st.integers(1, 400)), max_size=60))
def test_postings_do_not_remember_their_order_of_arrival(entries: list[tuple[int, str, int]]) -> None:
    """Entered in any order and partly taken out again, postings equal those of what is left, entered in order."""
    held: dict[tuple[int, str], int] = {}
    postings = Postings()
    for slot, key, count in entries:
        if (slot, key) in held:
            postings.remove(slot, {key: held.pop((slot, key))})
        else:
            postings.add(slot, {key: count})
            held[slot, key] = count
    fresh = Postings()
    for (slot, key), count in sorted(held.items()):
        fresh.add(slot, {key: count})
    assert [(k, p.tolist()) for k, p in postings.items()] == [(k, p.tolist()) for k, p in fresh.items()]
    assert (len(postings), postings.entries) == (len(fresh), len(held))
