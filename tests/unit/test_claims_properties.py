"""Properties of settling, with event times given and distinct per speaker."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import assume, given
from hypothesis import strategies as st

from hindsight_bus.domain import claims
from hindsight_bus.domain.claims import Assertion
from hindsight_bus.domain.memory import MemoryState
from hindsight_bus.domain.policy import ConflictPolicy, Policy
from hindsight_bus.domain.settling import resettle
from tests.unit.claims_subject import Subject

Line = tuple[str, str, float, int]
"""Speaker, statement, confidence, day."""

confidences = st.one_of(st.floats(0.01, 1.0), st.sampled_from([0.5, 0.76, 0.8, 0.85]))
lines = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", "user/a", "user/b"]),
        st.sampled_from("wxyz"),
        confidences,
        st.integers(0, 900),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda line: line[3],
)


def policies_of(*kinds: ConflictPolicy) -> st.SearchStrategy[Policy]:
    return st.builds(
        Policy,
        conflict_policy=st.sampled_from(kinds),
        conflict_margin=st.sampled_from([0.0, 0.05, 0.3]),
        belief_half_life_days=st.sampled_from([1.0, 30.0, 180.0]),
    )


policies = policies_of(*ConflictPolicy)


def subject_of(said: Sequence[Line], policy: Policy, *, many: bool = False) -> Subject:
    subject = Subject(policy)
    for line in said:
        subject.say(*line, many=many)
    return subject


@given(lines, policies, st.booleans(), st.data())
def test_the_order_of_arrival_does_not_matter(
    said: list[Line], policy: Policy, many: bool, data: st.DataObject
) -> None:
    """States and scores per statement are a function of what was said and when, not of who arrived first."""
    shuffled = data.draw(st.permutations(said))
    assert subject_of(said, policy, many=many).outcome == subject_of(shuffled, policy, many=many).outcome


@given(lines, policies, st.booleans())
def test_repetition_changes_nothing(said: list[Line], policy: Policy, many: bool) -> None:
    """Whoever says everything once more is told of duplicates, or of what it said since, and no standing moves."""
    subject = subject_of(said, policy, many=many)
    before = subject.outcome
    for line in said:
        assert subject.say(*line, many=many).assertion in (Assertion.DUPLICATE, Assertion.STALE)
    assert subject.outcome == before


@given(lines, policies_of(ConflictPolicy.CONFIDENCE), st.floats(0.01, 0.2), st.integers(-100, 1000))
def test_a_weaker_newcomer_changes_no_state(
    said: list[Line], policy: Policy, confidence: float, day: int
) -> None:
    """One who says something else and loses by the rules leaves the others where they were."""
    subject = subject_of(said, policy)
    before = subject.outcome_states
    newest = max(line[3] for line in said)
    subject.say("newcomer", "other", confidence, day)
    assume(subject.outcome_states["other"] == "OVERRIDDEN")
    after = subject.outcome_states
    del after["other"]
    assert after == before
    if day <= newest:
        assert all(c.memory_id.startswith("other") for c in subject.settled.changes)


@given(lines, policies, st.booleans())
def test_nothing_vanishes(said: list[Line], policy: Policy, many: bool) -> None:
    """Every memory made stands somewhere or was superseded by one that leads to a memory in the set."""
    subject = Subject(policy)
    made = set()
    for line in said:
        asserted = subject.say(*line, many=many)
        made.add(asserted.memory_id)
        assert (asserted.claim in asserted.record.claims) is (asserted.assertion is not Assertion.STALE)
    assert made == set(subject.states)
    for memory_id in made - set(subject.record.standings):
        while memory_id not in subject.record.standings:
            assert subject.states[memory_id] is MemoryState.SUPERSEDED
            memory_id = subject.superseded_by[memory_id]


@given(lines, policies)
def test_what_the_heads_show_is_what_the_record_settles_to(said: list[Line], policy: Policy) -> None:
    """The changes reported add up to the standings, and a settled record is a fixed point."""
    subject = subject_of(said, policy)
    shown = {m: s for m, s in subject.states.items() if s is not MemoryState.SUPERSEDED}
    assert shown == {m: s.state for m, s in subject.record.standings.items()}
    assert resettle(subject.record, policy).changes == ()


@given(lines, policies)
def test_somebody_wins_or_several_contest(said: list[Line], policy: Policy) -> None:
    """Either one memory is active or at least two are contested, and only then is a conflict open."""
    subject = subject_of(said, policy)
    states = list(subject.outcome_states.values())
    assert (states.count("ACTIVE"), min(states.count("CONTESTED"), 2)) in [(1, 0), (0, 2)]
    assert bool(subject.record.conflict_id) is ("CONTESTED" in states)


@given(lines, policies)
def test_many_contests_nothing(said: list[Line], policy: Policy) -> None:
    """With cardinality MANY every statement is active."""
    assert set(subject_of(said, policy, many=True).outcome_states.values()) == {"ACTIVE"}


@given(lines, policies)
def test_forgetting_a_winner_brings_back_the_next_best(said: list[Line], policy: Policy) -> None:
    """What stands after is what the others would have come to without it."""
    subject = subject_of(said, policy)
    winner = next(m for m, s in subject.record.standings.items() if s.state.is_live)
    rest = [c for c in subject.record.claims if c.memory_id != winner]
    subject.forget(winner)
    alone = resettle(subject.record, policy).record.standings
    assert subject.record.standings == alone
    assert list(subject.record.claims) == rest
    assert not rest or any(s.state.is_live for s in alone.values())


@given(lines, policies, st.booleans(), st.data())
def test_restoring_undoes_forgetting(
    said: list[Line], policy: Policy, many: bool, data: st.DataObject
) -> None:
    """Claims, states and scores are those from before."""
    subject = subject_of(said, policy, many=many)
    before = subject.record
    memory_id = data.draw(st.sampled_from(sorted(before.standings)))
    gone = subject.forget(memory_id)
    subject.apply(claims.reinstate(subject.record, memory_id, gone.claims, next_version=9))
    assert (subject.record.claims, subject.record.standings) == (before.claims, before.standings)


@given(lines, policies_of(ConflictPolicy.LATEST))
def test_latest_is_won_by_the_newest_event(said: list[Line], policy: Policy) -> None:
    """Under LATEST the statement with the newest event time of all is active, the rest overridden."""
    outcome = subject_of(said, policy).outcome_states
    newest = max(said, key=lambda line: line[3])[1]
    assert outcome.pop(newest) == "ACTIVE"
    assert set(outcome.values()) <= {"OVERRIDDEN"}


@given(lines, lines, policies, st.data())
def test_a_chosen_memory_stays_live(
    first: list[Line], later: list[Line], policy: Policy, data: st.DataObject
) -> None:
    """Whatever others say after the decision, the chosen memory is active or contested."""
    subject = subject_of(first, policy)
    chosen = data.draw(st.sampled_from(sorted(subject.record.standings)))
    subject.apply(claims.choose(subject.record, chosen), resolved=subject.record.conflict_id)
    assert subject.record.standings.keys() == {chosen}
    for speaker, statement, confidence, day in later:
        subject.say(f"later-{speaker.rpartition('/')[2]}", statement, confidence, day)
        assert subject.record.standings[chosen].state.is_live


@given(lines, policies, st.data())
def test_merging_keeps_every_speaker(said: list[Line], policy: Policy, data: st.DataObject) -> None:
    """The merged memory is claimed by the speakers of both, and the other one is no longer in the set."""
    subject = subject_of(said, policy)
    assume(len(subject.record.standings) > 1)
    into, other = data.draw(st.permutations(sorted(subject.record.standings)))[:2]
    speakers = {c.speaker for c in claims.claims_of(subject.record, {into, other})}
    subject.merge(into, other)
    assert {c.speaker for c in claims.claims_of(subject.record, {into})} == speakers
    assert other not in subject.record.standings
    assert subject.states[other] is MemoryState.SUPERSEDED


@given(lines, policies)
def test_keeping_all_makes_all_active(said: list[Line], policy: Policy) -> None:
    """No statement is lost and none is contested afterwards."""
    subject = subject_of(said, policy)
    statements = set(subject.outcome)
    subject.apply(claims.keep_all(subject.record), resolved=subject.record.conflict_id)
    assert subject.outcome_states == dict.fromkeys(statements, "ACTIVE")
