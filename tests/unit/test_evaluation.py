"""The measures of retrieval, the format of labelled data and the report."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_bus.evaluation import dataset, metrics, report
from hindsight_bus.evaluation.metrics import Judged

ids = st.sampled_from("abcdefgh")
rankings = st.lists(ids, unique=True, max_size=8)
labels = st.frozensets(ids, max_size=4)


def judged(ranking: str, relevant: str, seconds: float = 0.01, never: str = "") -> Judged:
    return Judged(tuple(ranking), frozenset(relevant), frozenset(never), seconds)


@pytest.mark.parametrize(
    ("ranking", "relevant", "recall_at_3", "precision", "reciprocal"),
    [
        ("abc", "a", 1.0, 1 / 3, 1.0),
        ("bca", "a", 1.0, 1 / 3, 1 / 3),
        ("bcda", "ab", 0.5, 0.5, 1.0),
        ("bcd", "a", 0.0, 0.0, 0.0),
        ("", "a", 0.0, 0.0, 0.0),
    ],
)
def test_measures_by_hand(
    ranking: str, relevant: str, recall_at_3: float, precision: float, reciprocal: float
) -> None:
    """Recall at a cut, precision and reciprocal rank are those of the textbook."""
    assert metrics.recall(ranking, relevant, 3) == recall_at_3
    assert metrics.precision(ranking, relevant) == pytest.approx(precision)
    assert metrics.reciprocal_rank(ranking, relevant) == pytest.approx(reciprocal)


def test_a_question_that_nothing_answers_wants_nothing() -> None:
    """Returning nothing is right then, returning anything wrong; recall and rank do not count it."""
    assert (metrics.precision("", ""), metrics.precision("a", "")) == (1.0, 0.0)
    means = metrics.summarise([judged("", ""), judged("ab", "", never="b"), judged("a", "a")])
    assert (means.recall[1], means.mrr, means.violations) == (1.0, 1.0, 1)
    assert means.precision == pytest.approx(2 / 3)
    assert means.abstained == pytest.approx(1 / 3)
    assert metrics.summarise([judged("", "")]).recall[5] is None


@given(
    st.lists(st.builds(Judged, rankings.map(tuple), labels, labels, st.floats(0, 10)), min_size=1, max_size=9)
)
def test_means_stay_in_their_bounds(several: list[Judged]) -> None:
    """Shares are 0 to 1, recall grows with the cut, and the percentiles are latencies that were seen."""
    means = metrics.summarise(several)
    shares = [*means.recall.values(), means.precision, means.mrr, means.abstained]
    assert all(0.0 <= value <= 1.0 for value in shares if value is not None)
    recalls = [value for value in means.recall.values() if value is not None]
    assert recalls == sorted(recalls)
    seen = {each.seconds * 1000.0 for each in several}
    assert {means.p50_ms, means.p99_ms} <= seen
    assert means.p50_ms <= means.p99_ms <= max(seen)


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [([1, 2, 3, 4], 50, 2), ([1, 2, 3], 50, 2), ([5], 99, 5), ([1, 2], 99, 2)],
)
def test_percentiles_are_nearest_ranks(values: list[float], percent: float, expected: float) -> None:
    """A percentile is the smallest value that so many do not exceed."""
    assert metrics.percentile(values, percent) == expected


scores = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=12)


@given(scores, scores)
def test_auc_is_the_share_of_pairs_in_order(keep: list[float], reject: list[float]) -> None:
    """It equals counting every pair, ties as a half, and swapping the sides mirrors it."""
    pairs = [1.0 if k > r else 0.5 if k == r else 0.0 for k in keep for r in reject]
    kept, rejected = np.array(keep), np.array(reject)
    assert metrics.auc(kept, rejected) == pytest.approx(float(np.mean(pairs)))
    assert metrics.auc(kept, rejected) + metrics.auc(rejected, kept) == pytest.approx(1.0)


@given(scores, scores)
def test_the_trade_off_runs_from_keeping_all_to_rejecting_all(keep: list[float], reject: list[float]) -> None:
    """The more a threshold rejects, the less it keeps."""
    curve = metrics.trade_off(np.array(keep), np.array(reject))
    assert (curve[0], curve[-1]) == ((0.0, 1.0), (1.0, 0.0))
    assert [r for r, _ in curve] == sorted(r for r, _ in curve)
    assert [k for _, k in curve] == sorted((k for _, k in curve), reverse=True)
    assert metrics.kept_at(curve, 0.0) == 1.0


LINES = [
    '{"memory": {"id": "m1", "namespace": "li", "text": "tea", "event_time": "2026-05-02T08:00:00Z", "tags": ["a"]}}',
    "",
    '{"query": {"namespace": "li", "text": "what?", "relevant": ["m1"], "group": "en"}}',
    '{"query": {"namespace": ["li", "wang"], "text": "who?", "any_tags": ["a"]}}',
]


def test_a_data_set_is_read_from_its_lines() -> None:
    """Memories and questions come with their fields, a single label for several, and the labels of both."""
    data = dataset.parse("demo", LINES)
    assert (data.memories[0].tags, str(data.memories[0].event_time)) == (("a",), "2026-05-02 08:00:00+00:00")
    assert [query.namespace for query in data.queries] == [("li",), ("li", "wang")]
    assert data.queries[0].relevant == {"m1"}
    assert data.namespaces == ["li", "wang"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 1"),
        ("[]", "neither"),
        ('{"memory": 3}', "neither"),
        ('{"memory": {"id": "a", "namespace": "n"}}', "text"),
        ('{"memory": {"id": "a", "namespace": "n", "text": "t", "colour": 1}}', "colour"),
        ('{"memory": {"id": "a", "namespace": "n", "text": "t", "event_time": "2026-05-02T08:00"}}', "time zone"),
        ('{"query": {"namespace": "n", "text": "t", "relevant": ["m9"]}}', "m9"),
        (f"{LINES[0]}\n{LINES[0]}", "one id"),
    ],
)  # fmt: skip
def test_a_line_that_is_wrong_is_named(line: str, problem: str) -> None:
    """What is misspelt, missing or dangling is an error, never silently another data set."""
    with pytest.raises(ValueError, match=problem):
        dataset.parse("demo", line.split("\n"))


def test_a_report_is_one_page_without_anything_from_outside() -> None:
    """Tables and plots are in it, names are escaped, and it asks nobody for anything."""
    result = report.Result("<zh> & en", [judged("ab", "a"), judged("", "", 0.2)])
    html = report.page_of("Retrieval <1>", [result], ["a < b"]).html()
    assert "&lt;zh&gt; &amp; en" in html
    assert html.count("<svg") == 2
    assert "Retrieval &lt;1&gt;" in html
    assert not any(word in html for word in ("http:", "https:", "<script", "src=", "@import", "url("))
    for picture in html.split("<svg")[1:]:
        ET.fromstring("<svg" + picture.split("</svg>")[0] + "</svg>")
    assert len(result.row()) == len(report.COLUMNS)
    assert json.loads(json.dumps(result.as_json()))["recall"]["1"] == 1.0
