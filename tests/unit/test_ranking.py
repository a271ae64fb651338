"""Ranking: scores stay in 0..1, follow each factor, and order deterministically."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_bus.domain import ranking
from hindsight_bus.domain.calibration import calibration_of
from hindsight_bus.domain.policy import RankingProfile, RankingWeights, RecencyShape
from hindsight_bus.domain.values import replace

units = st.floats(0.0, 1.0)
cosines = st.floats(-1.0, 1.0)
weights = st.builds(RankingWeights, units, units, units).filter(
    lambda w: w.relevance + w.recency + w.importance > 1e-6
)
evidence = st.builds(
    lambda near, share, matched, subject, temporal: ranking.Evidence(
        None,
        None if near is None else np.array([near]),
        np.array([share]),
        np.array([matched]),
        np.array([subject]),
        np.array([temporal]),
    ),
    st.none() | units | st.just(float("nan")),
    units,
    st.floats(0.0, 12.0),
    units,
    units,
)
CALIBRATION = calibration_of("e5")


def one(value: float) -> ranking.Floats:
    return np.array([value])


def fit_of(each: ranking.Evidence) -> float:
    return float(ranking.fitted(ranking.strength(each), each)[0])


def likelihood_of(each: ranking.Evidence) -> float:
    return float(ranking.answering(each, CALIBRATION)[0])


@given(evidence)
def test_fit_and_likelihood_lie_between_0_and_1(each: ranking.Evidence) -> None:
    """Whatever the channels say, fit and likelihood are numbers from 0 to 1."""
    assert 0.0 <= fit_of(each) <= 1.0
    assert 0.0 <= likelihood_of(each) <= 1.0


@given(evidence, units)
def test_fit_and_likelihood_follow_every_channel(each: ranking.Evidence, more: float) -> None:
    """Raising what one channel says never lowers how well a candidate fits or how likely it answers."""
    for channel in ("near", "share", "matched", "subject", "temporal"):
        value = getattr(each, channel)
        if value is None:
            continue
        raised = replace(
            each, **{channel: value + more if channel == "matched" else np.minimum(value + more, 1.0)}
        )
        assert fit_of(raised) >= fit_of(each) - 1e-12
        assert likelihood_of(raised) >= likelihood_of(each) - 1e-12


@given(units)
def test_words_speak_for_what_has_no_vector(share: float) -> None:
    """A memory without a vector is as near in meaning as its words are; so is every one where the query has none."""
    nothing = one(0.0)
    for near in (None, one(np.nan)):
        each = ranking.Evidence(near, near, one(share), nothing, nothing, nothing)
        assert ranking.strength(each)[0] == pytest.approx(share)


@given(evidence)
def test_a_verbatim_memory_fits_best(other: ranking.Evidence) -> None:
    """A memory that agrees fully in words and meaning fits at least as well as any other candidate."""
    verbatim = replace(other, near=None if other.near is None else one(1.0), share=one(1.0))
    assert fit_of(verbatim) >= fit_of(other) - 1e-12
    assert fit_of(verbatim) == pytest.approx(1.0)


strengths = st.lists(units, min_size=1, max_size=12).map(np.array)


@given(strengths, st.randoms(use_true_random=False))
def test_no_memory_passes_the_neighbour_that_it_owes_its_place_to(
    given: ranking.Floats, random: Random
) -> None:
    """Neighbours lift, never lower; what is lifted stays below its best neighbour; the best one of all stays first."""
    order = list(range(len(given)))
    random.shuffle(order)
    table = np.full((len(given), 4), -1)
    for place, here in enumerate(order):
        for column, offset in enumerate((-2, -1, 1, 2)):
            if 0 <= place + offset < len(order):
                table[here, column] = order[place + offset]
    lifted = ranking.lifted(given, table)
    assert (lifted >= given).all()
    for here in map(int, np.flatnonzero(lifted > given)):
        assert lifted[here] <= max(given[j] for j in table[here] if j >= 0)
    assert lifted[given.argmax()] == lifted.max() == given.max()


def test_a_good_memory_lifts_the_one_told_beside_it() -> None:
    """What was said right before or after a good hit gains more than what was said two before or after."""
    table = np.array([[-1, -1, 1, 2], [-1, 0, 2, -1], [0, 1, -1, -1], [-1, -1, -1, -1]])
    lifted = ranking.lifted(np.array([0.8, 0.1, 0.1, 0.1]), table)
    assert lifted.tolist() == pytest.approx([0.8, 0.55, 0.35, 0.1])


@given(strengths, units)
def test_relevance_orders_as_fit_and_ends_at_the_likelihood(fit: ranking.Floats, likelihood: float) -> None:
    """The best candidate's relevance is how likely it answers; the others' fall in proportion."""
    relevance = ranking.relevance(fit, likelihood)
    assert relevance.max() == pytest.approx(likelihood if fit.max() > 0.0 else 0.0)
    assert (np.diff(relevance[np.argsort(fit)]) >= -1e-12).all()


def decide(
    fit: list[float], likelihood: list[float], named: str = "", has_names: str = "", floor: float = 0.1
) -> list[int]:
    is_named, is_nameable = (
        np.array([str(i) in each for i in range(len(fit))], bool) for each in (named, has_names)
    )
    found = ranking.decided(np.array(fit), np.array(likelihood), is_named, is_nameable, floor, 3.0)
    return [int(i) for i in np.flatnonzero(found)]


def test_nothing_likely_is_nothing_returned() -> None:
    """Below the floor nothing comes back, above it what does not fall far behind the best."""
    assert decide([0.5, 0.4], [0.09, 0.05]) == []
    assert decide([0.5, 0.4, 0.1], [0.2, 0.05, 0.05]) == [0, 1]
    assert decide([], []) == []


def test_names_decide_among_memories_that_have_names() -> None:
    """Where the query names some memories, others with names must be likely by themselves; others need not."""
    fit = [0.9, 0.6, 0.6, 0.6]
    likelihood = [0.95, 0.5, 0.3, 0.97]
    assert decide(fit, likelihood, named="0", has_names="013") == [0, 2, 3]
    assert decide(fit, likelihood, named="", has_names="013") == [0, 1, 2, 3]


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


@given(st.floats(0.01, 1), cosines, st.integers(0, 10**6))
def test_the_background_lies_between_profile_and_namespace(profile: float, mean: float, count: int) -> None:
    """The background lies between what is known and the namespace's mean, nearer the mean the more there are.

    Where the profile's is not known, the mean over all languages stands for it, and gives way entirely.
    """
    counts = np.array([count, count + 1])
    for known, overall in ((profile, 0.0), (math.nan, profile)):
        value, more = ranking.background(np.full(2, known), np.full(2, mean), counts, overall)
        assert min(profile, mean) - 1e-9 <= value <= max(profile, mean) + 1e-9
        assert abs(more - mean) <= abs(value - mean) + 1e-12


@given(cosines, st.lists(st.floats(0.0, 0.95), min_size=1, max_size=4), st.floats(0.0, 0.95))
def test_what_is_centred_is_0_for_noise_and_1_for_equality(
    cosine: float, backgrounds: list[float], usual: float
) -> None:
    """In every pair of languages the background is 0, a cosine of 1 is 1, and closeness rises with the cosine."""
    several, usuals = np.array(backgrounds), np.full(len(backgrounds), usual)
    assert ranking.centred(several, several, usuals).tolist() == [0.0] * len(several)
    assert (ranking.centred(np.ones(len(several)), several, usuals) <= 1.0).all()
    assert ranking.centred(one(1.0), one(usual), one(usual))[0] == pytest.approx(1.0)
    here = ranking.centred(np.full(len(several), cosine), several, usuals)
    above = ranking.centred(np.full(len(several), cosine + 0.01), several, usuals)
    assert (above >= here).all()
    assert np.isnan(ranking.centred(one(np.nan), one(0.5), one(usual))[0])


@given(evidence, st.integers(1, 10**6), st.integers(1, 10**6))
def test_among_more_memories_the_same_evidence_says_less(each: ranking.Evidence, few: int, more: int) -> None:
    """The best of many fits by chance: a candidate is never likelier for more memories to be asked."""
    found = [ranking.answering(each, CALIBRATION, among)[0] for among in sorted((few, more))]
    assert found[1] <= found[0] + 1e-12


@given(st.floats(0.5, 400), st.floats(0, 1000))
def test_linear_recency_ends_at_a_tenth(days: float, age_days: float) -> None:
    """LINEAR recency falls evenly from 1 to a tenth in the given days and stays there."""
    age_ms = round(age_days * ranking.DAY_MS)
    value = ranking.recency(np.array([0]), age_ms, days, RecencyShape.LINEAR)[0]
    assert value == pytest.approx(max(1.0 - 0.9 * age_days / days, 0.1), abs=1e-6)


@pytest.mark.parametrize(
    ("profile", "first"),
    [
        (RankingProfile.SUPPORT, "recency"),
        (RankingProfile.KNOWLEDGE, "relevance"),
        (RankingProfile.ASSISTANT, "importance"),
    ],
)
def test_each_profile_puts_its_factor_first(profile: RankingProfile, first: str) -> None:
    """SUPPORT weighs recency most, KNOWLEDGE relevance, ASSISTANT importance; each sums to 1."""
    weights = profile.weights
    factors = {name: getattr(weights, name) for name in ("relevance", "recency", "importance")}
    assert max(factors, key=lambda name: factors[name]) == first
    assert sum(factors.values()) == pytest.approx(1.0)


@given(
    st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.7]) | st.floats(0.0, 1.0), min_size=1, max_size=300), st.data()
)
def test_the_kth_greatest_is_that_of_a_sorted_list(values: list[float], data: st.DataObject) -> None:
    """Among many values or few, with ties or without, the k-th greatest is the one that sorting would find."""
    k = data.draw(st.integers(1, len(values)))
    assert ranking.kth_greatest(np.array(values), k) == sorted(values, reverse=True)[k - 1]
