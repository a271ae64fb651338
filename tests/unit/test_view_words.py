"""The view's words: how text becomes terms, and how terms become scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.lexical import LexicalIndex
from hindsight_bus.adapters.index.postings import COMMON_FROM, Postings

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


@given(
    st.lists(
        st.text("ab1'’_-+#。用户的表 \t\u3000AＡé") | st.sampled_from(["the", "C++", "don't", "用户偏好"])
    )
)
def test_parts_read_as_the_whole(parts: list[str]) -> None:
    """What stands between white space is read by itself, which gives what reading the text at once gives."""
    text = " ".join(parts)
    assert ANALYZER.terms(text) == [term for _, term in ANALYZER.words(text)]


documents = st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8), min_size=1, max_size=12)


def index_of(texts: Sequence[Sequence[str]], common_from: int = COMMON_FROM) -> LexicalIndex:
    index = LexicalIndex(common_from)
    index.reserve(len(texts))
    for slot, text in enumerate(texts):
        index.add(slot, Counter(text))
    return index


queries = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=5)
common_from = st.sampled_from([1, 3, 6, COMMON_FROM])


@given(documents, queries, common_from)
def test_scores_are_those_of_the_formula(texts: list[list[str]], asked: list[str], common_from: int) -> None:
    """Every document's score equals Okapi BM25 with k1 = 1.2 and b = 0.5, computed one by one."""
    query = index_of(texts, common_from).query(asked)
    assert query is not None
    assert query.is_known == any(term in text for text in texts for term in asked)
    scores = query.scores(np.arange(len(texts)))
    assert scores.bm25.tolist() == pytest.approx(_expected(texts, asked), rel=1e-5)
    covered = [_covered(text, texts, asked) for text in texts]
    assert scores.covered.tolist() == pytest.approx(covered)


@given(documents, queries, st.data())
def test_a_score_depends_on_nothing_but_the_words(
    texts: list[list[str]], asked: list[str], data: st.DataObject
) -> None:
    """Whatever else is asked for, and however common words are gone through, not a bit of a score moves."""
    slots = np.array(sorted(data.draw(st.sets(st.integers(0, len(texts) - 1), min_size=1))))
    scores = [
        query.scores(chosen)
        for common_from in (1, 3, COMMON_FROM)
        if (query := index_of(texts, common_from).query(asked))
        for chosen in (slots, np.arange(len(texts)))
    ]
    parts, every = scores[0::2], scores[1::2]
    assert {each.bm25.tobytes() for each in parts} == {each.bm25[slots].tobytes() for each in every}
    assert {each.covered.tobytes() for each in parts} == {each.covered[slots].tobytes() for each in every}
    assert len({each.bm25.tobytes() for each in every}) == 1


@given(documents, queries, common_from, st.integers(1, 6), st.data())
def test_the_best_are_among_the_contenders(
    texts: list[list[str]], asked: list[str], common_from: int, k: int, data: st.DataObject
) -> None:
    """However few of the common words are gone through, the k best of those that match are never missed."""
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))), bool)
    query = index_of(texts, common_from).query(asked)
    assert query is not None
    found = query.contenders(mask, k)
    scores = query.scores(np.arange(len(texts))).bm25 * mask
    assert mask[found].all()
    assert (scores[found] > 0.0).all()
    best = sorted(scores[scores > 0.0], reverse=True)[:k]
    assert sorted(scores[found], reverse=True)[:k] == best


def test_words_that_everybody_uses_are_left_out() -> None:
    """Where enough memories hold a rare word, those that share nothing but common ones are not looked at."""
    texts = [["user", "likes", "tea" if n % 50 == 0 else "rain"] for n in range(1000)]
    query = index_of(texts, 100).query(["user", "likes", "tea"])
    assert query is not None
    assert query.contenders(np.ones(1000, bool), 10).tolist() == list(range(0, 1000, 50))


def _expected(texts: list[list[str]], asked: list[str]) -> list[float]:
    average = sum(map(len, texts)) / len(texts)
    return [
        sum(_weight(term, texts) * _saturated(text.count(term), len(text) / average) for term in set(asked))
        for text in texts
    ]


def _covered(text: list[str], texts: list[list[str]], asked: list[str]) -> float:
    weights = {term: _weight(term, texts) for term in asked}
    return sum(weight for term, weight in weights.items() if term in text) / sum(weights.values())


def _weight(term: str, texts: list[list[str]]) -> float:
    holding = sum(term in text for text in texts)
    return math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))


def _saturated(count: int, relative_length: float) -> float:
    return count * 2.2 / (count + 1.2 * (0.5 + 0.5 * relative_length))


def test_a_document_of_the_query_is_ideal() -> None:
    """A document that consists of the query's words scores the ideal, or above it where it is shorter than average."""
    query = index_of([text.split() for text in ("a b c", "a d", "e f g h")]).query(["a", "b", "c"])
    assert query is not None
    scores = query.scores(np.arange(3))
    assert query.share(scores)[0] == pytest.approx(1.0, rel=1e-5)
    assert 0.0 < query.share(scores)[1] < 1.0
    assert query.share(scores)[2] == 0.0


@given(
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from("abc"), st.integers(1, 400)), max_size=60),
    st.sampled_from([1, 2, 5, COMMON_FROM]),
)
def test_postings_do_not_remember_their_order_of_arrival(
    entries: list[tuple[int, str, int]], common_from: int
) -> None:
    """Entered in any order and partly taken out again, postings equal those of what is left, entered in order.

    However they are held: as lines or not, and with room made before or meanwhile.
    """
    held: dict[tuple[int, str], int] = {}
    postings = Postings(common_from)
    postings.reserve(31)
    for number, (slot, key, count) in enumerate(entries):
        if number == 30:
            postings.reserve(500)
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
    for key in "abcd":
        assert postings.slots(key).tolist() == sorted(slot for slot, other in held if other == key)
        assert postings.frequency(key) == len(postings.slots(key))
        assert (key in postings) == (key in set(postings)) == (postings.frequency(key) > 0)


def test_what_many_hold_is_a_line_until_few_do() -> None:
    """A key that a sixteenth of the slots hold has its counts by slot; one that far fewer hold has none again."""
    postings = Postings(2)
    postings.reserve(64)
    for slot in range(20):
        postings.add(slot, {"common": slot + 1} | ({"rare": 1} if slot < 3 else {}))
    line = postings.line("common")
    assert line is not None
    assert line.tolist() == [*range(1, 21), *[0] * 44]
    assert postings.line("rare") is None
    del line
    for slot in range(1, 20):
        postings.remove(slot, ["common"])
    assert postings.line("common") is None
    assert postings.slots("common").tolist() == [0]
