"""Ranking: scores stay in 0..1, follow each factor, and order deterministically."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hindsight_bus.domain import ranking
from hindsight_bus.domain.policy import RankingWeights

units = st.floats(0.0, 1.0)
cosines = st.floats(-1.0, 1.0)
weights = st.builds(RankingWeights, units, units, units).filter(
    lambda w: w.relevance + w.recency + w.importance > 1e-6
)
evidence = st.builds(
    lambda cosine, background, lexical, subject: ranking.Evidence(
        None if cosine is None else np.array([cosine]),
        background,
        None if lexical is None else np.array([lexical]),
        np.array([subject]),
    ),
    st.none() | cosines | st.just(float("nan")),
    st.floats(0.0, 0.95),
    st.none() | units,
    units,
)


def one(value: float) -> ranking.Floats:
    return np.array([value])


@given(evidence)
def test_relevance_lies_between_0_and_1(given_evidence: ranking.Evidence) -> None:
    """Whatever the channels say, relevance is a number from 0 to 1."""
    assert 0.0 <= ranking.relevance(given_evidence)[0] <= 1.0


@given(evidence, units)
def test_relevance_follows_every_channel(given_evidence: ranking.Evidence, more: float) -> None:
    """Raising what one channel says never lowers relevance."""
    before = ranking.relevance(given_evidence)[0]
    for channel in ("cosine", "lexical", "subject"):
        value = getattr(given_evidence, channel)
        if value is None:
            continue
        raised = replace(given_evidence, **{channel: np.minimum(value + more, 1.0)})
        assert ranking.relevance(raised)[0] >= before - 1e-12


@given(cosines, units)
def test_a_silent_channel_leaves_its_share_to_the_other(cosine: float, lexical: float) -> None:
    """With only one channel, its word alone counts: full agreement is full relevance."""
    nothing = one(0.0)
    dense_only = ranking.relevance(ranking.Evidence(one(cosine), 0.2, None, nothing))
    assert dense_only[0] == pytest.approx(ranking.centred(one(cosine), 0.2)[0])
    lexical_only = ranking.relevance(ranking.Evidence(None, 0.2, one(lexical), nothing))
    assert lexical_only[0] == pytest.approx(lexical)
    pending = ranking.relevance(ranking.Evidence(one(np.nan), 0.2, one(lexical), nothing))
    assert pending[0] == pytest.approx(lexical)


@given(evidence)
def test_a_verbatim_memory_has_the_highest_relevance(other: ranking.Evidence) -> None:
    """A memory that agrees fully on every channel is at least as relevant as any other candidate."""
    verbatim = replace(
        other,
        cosine=None if other.cosine is None else one(1.0),
        lexical=None if other.lexical is None else one(1.0),
    )
    assume(other.cosine is not None or other.lexical is not None)
    assert ranking.relevance(verbatim)[0] >= ranking.relevance(other)[0] - 1e-12


@given(st.integers(0, 2**41), st.integers(0, 2**41), st.floats(0.1, 3650))
def test_recency_halves_each_half_life(time_ms: int, age_ms: int, half_life: float) -> None:
    """Recency is 1 for now and the future, falls with age, and halves with each half-life."""
    now = time_ms + age_ms
    value = ranking.recency(np.array([time_ms]), now, half_life)[0]
    later = ranking.recency(np.array([time_ms]), now + round(half_life * ranking.DAY_MS), half_life)[0]
    assert 0.0 <= value <= 1.0
    assert later == pytest.approx(value / 2, rel=1e-6, abs=1e-12)
    assert ranking.recency(np.array([now + 1]), now, half_life)[0] == 1.0


@given(units, units, st.booleans(), st.booleans(), units, units)
def test_importance_follows_each_of_its_sources(
    stated: float, confidence: float, explicit: bool, pinned: bool, use: float, more: float
) -> None:
    """Importance is 0 to 1 and rises with what was stated, confidence, "remember this", a pin and use."""

    def value(s: float, c: float, e: bool, p: bool, u: float = use) -> float:
        return float(ranking.importance(one(s), one(c), np.array([e]), np.array([p]), one(u))[0])

    base = value(stated, confidence, explicit, pinned)
    assert 0.0 <= base <= 1.0
    assert value(min(stated + more, 1.0), confidence, explicit, pinned) >= base - 1e-12
    assert value(stated, min(confidence + more, 1.0), explicit, pinned) >= base - 1e-12
    assert value(stated, confidence, True, pinned) >= base
    assert value(stated, confidence, explicit, True) >= base
    assert value(stated, confidence, explicit, pinned, min(use + more, 1.0)) >= base - 1e-12


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_use_counts_as_a_rate(used: int, unused: int) -> None:
    """Use is 0 to 1, 0 where nothing was used, grows with each use and shrinks with each time that it was of no use."""
    given_counts = np.array([used + unused, used + unused + 1, used + unused + 1])
    rate, used_again, left_again = ranking.use_rate(given_counts, np.array([used, used + 1, used]))
    assert 0.0 <= rate < 1.0
    assert (rate == 0.0) == (used == 0)
    assert used_again > rate >= left_again


@given(units, units, units, weights, st.floats(0.01, 100))
def test_score_is_a_weighted_mean(
    relevance: float, recency: float, importance: float, given_weights: RankingWeights, scale: float
) -> None:
    """The score lies between the least and the greatest factor, and only the weights' ratios count."""
    factors = (one(relevance), one(recency), one(importance))
    score = ranking.combine(*factors, given_weights)[0]
    low, high = min(relevance, recency, importance), max(relevance, recency, importance)
    assert low - 1e-9 <= score <= high + 1e-9
    scaled = RankingWeights(
        given_weights.relevance * scale, given_weights.recency * scale, given_weights.importance * scale
    )
    assert ranking.combine(*factors, scaled)[0] == pytest.approx(score)


@given(
    st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.integers(1, 3)), max_size=40),
    st.integers(0, 50),
    st.randoms(use_true_random=False),
)
def test_best_is_a_prefix_of_one_total_order(rows: list[tuple[float, int]], k: int, random: object) -> None:
    """The best k are the first k of the full order, whatever the order of the input; ties go to the newest."""
    numbered = [(score, revision, tie) for tie, (score, revision) in enumerate(rows)]
    expected = sorted(numbered, key=lambda row: (-row[0], -row[1], row[2]))[:k]
    shuffled = list(numbered)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    score = np.array([row[0] for row in shuffled], dtype=np.float64)
    revision = np.array([row[1] for row in shuffled], dtype=np.int64)
    tie = np.array([row[2] for row in shuffled], dtype=np.uint64)
    assert [shuffled[i] for i in ranking.best(score, revision, tie, k)] == expected


@given(st.floats(0, 1), cosines, st.integers(0, 10**6))
def test_background_moves_from_the_profile_to_the_namespace(profile: float, mean: float, count: int) -> None:
    """The background lies between the profile's figure and the namespace's mean, nearer the mean the more there are."""
    value = ranking.background(profile, mean, count)
    assert min(profile, mean) - 1e-9 <= value <= max(profile, mean) + 1e-9
    assert abs(ranking.background(profile, mean, count + 1) - mean) <= abs(value - mean) + 1e-12
