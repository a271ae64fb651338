"""The rules of claims by example: what is said, replaced, covered, forgotten, restored, decided."""

from __future__ import annotations

import pytest

from hindsight_bus.domain import claims
from hindsight_bus.domain.claims import Assertion
from hindsight_bus.domain.errors import SubjectFull, SupersedesIncomplete
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.memory import MemoryState
from hindsight_bus.domain.policy import ConflictPolicy, Policy
from hindsight_bus.domain.records import ConflictState
from hindsight_bus.domain.settling import event_kind, resettle
from tests.unit.claims_subject import Subject

LATEST = Policy(conflict_policy=ConflictPolicy.LATEST)
MANUAL = Policy(conflict_policy=ConflictPolicy.MANUAL)


# --- competing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["strong", "weak"])
def test_a_clearly_weaker_statement_is_overridden_written_first_or_second(first: str) -> None:
    """0.85 against 0.6: the weaker one is kept but overridden, in either order, and no conflict opens."""
    subject = Subject()
    lines = {"strong": ("support", "table", 0.85, 0.0), "weak": ("orders", "bars", 0.6, 0.001)}
    for name in sorted(lines, key=lambda n: n != first):
        subject.say(*lines[name])
    assert subject.outcome_states == {"table": "ACTIVE", "bars": "OVERRIDDEN"}
    assert subject.conflict is None


def test_equally_strong_statements_contest_each_other() -> None:
    """0.85 against 0.85: both are contested and one conflict opens with both sides."""
    subject = Subject()
    subject.say("support", "table", 0.85)
    subject.say("orders", "bars", 0.85, 0.001)
    assert subject.outcome_states == {"table": "CONTESTED", "bars": "CONTESTED"}
    assert subject.conflict is not None
    assert (subject.conflict.state, subject.conflict.is_new) == (ConflictState.OPEN, True)
    assert [side.speakers for side in subject.conflict.sides] == [("agent:orders",), ("agent:support",)]
    assert subject.record.conflict_id == subject.conflict.conflict_id


def test_a_speaker_replaces_what_it_said() -> None:
    """The same speaker's later statement supersedes its earlier one, however unsure it is."""
    subject = Subject()
    first = subject.say("support", "table", 0.85, 0)
    second = subject.say("support", "bars", 0.2, 1)
    assert subject.outcome_states == {"bars": "ACTIVE"}
    assert second.superseded == {first.memory_id: second.memory_id}


def test_the_user_relayed_by_two_agents_is_one_speaker() -> None:
    """What the user says later to another agent supersedes what the user said before."""
    subject = Subject()
    subject.say("user/support", "python", 0.9, 0)
    subject.say("user/orders", "go", 0.9, 1)
    assert subject.outcome_states == {"go": "ACTIVE"}


def test_the_margin_is_inclusive() -> None:
    """A score of exactly (1 - margin) of the best is contested; a hair less is overridden."""
    for confidence, state in [(0.76, "CONTESTED"), (0.759998, "OVERRIDDEN")]:
        subject = Subject()
        subject.say("a", "x", 0.8)
        subject.say("b", "y", confidence)
        assert subject.outcome_states["y"] == state


def test_belief_fades_by_half_lives_against_newer_evidence() -> None:
    """A statement one half-life older than the newest in the set counts half."""
    subject = Subject()
    subject.say("a", "x", 0.8, 0)
    subject.say("b", "y", 0.5, 180)
    assert subject.outcome["x"].score == pytest.approx(0.4)
    assert subject.outcome_states == {"x": "OVERRIDDEN", "y": "ACTIVE"}


def test_speakers_add_up_to_at_most_099() -> None:
    """Agreeing speakers multiply doubt away; certainty is never reached."""
    subject = Subject()
    subject.say("a", "x", 0.6)
    subject.say("b", "x", 0.5)
    assert subject.outcome["x"].score == pytest.approx(0.8)
    subject.say("c", "x", 1.0)
    assert subject.outcome["x"].score == 0.99


def test_statements_without_any_confidence_contest_each_other() -> None:
    """Confidence 0 on all sides gives no ground to choose."""
    subject = Subject()
    subject.say("a", "x", 0.0, 0)
    subject.say("b", "y", 0.0, 1)
    assert subject.outcome_states == {"x": "CONTESTED", "y": "CONTESTED"}


def test_latest_believes_the_newest_event_whatever_the_confidence() -> None:
    """Under LATEST the newest event time wins, though it was written first."""
    subject = Subject(LATEST)
    subject.say("a", "x", 0.1, 5)
    subject.say("b", "y", 0.9, 3)
    assert subject.outcome_states == {"x": "ACTIVE", "y": "OVERRIDDEN"}


def test_manual_contests_every_difference() -> None:
    """Under MANUAL somebody has to decide, however unequal the sides are."""
    subject = Subject(MANUAL)
    subject.say("a", "x", 0.9)
    assert subject.outcome_states == {"x": "ACTIVE"}
    subject.say("b", "y", 0.1)
    assert subject.outcome_states == {"x": "CONTESTED", "y": "CONTESTED"}


def test_one_claim_of_many_lets_all_stand() -> None:
    """With cardinality MANY nothing competes, a speaker holds several statements, and age takes nothing away."""
    subject = Subject()
    subject.say("a", "nuts", 0.9, 0, many=True)
    subject.say("a", "milk", 0.3, 400)
    assert subject.outcome_states == {"nuts": "ACTIVE", "milk": "ACTIVE"}
    assert subject.outcome["nuts"].score == 0.9


def test_statements_made_beside_others_stay_beside_them() -> None:
    """What a speaker said while the subject was MANY stands though the claim that made it so is gone."""
    subject = Subject()
    nuts = subject.say("t", "nuts", 0.9, 0, many=True).memory_id
    subject.say("a", "milk", 0.9, 1)
    eggs = subject.say("a", "eggs", 0.3, 2)
    assert eggs.claim in eggs.record.claims
    subject.forget(nuts)
    assert subject.outcome_states == {"milk": "ACTIVE", "eggs": "ACTIVE"}


def test_a_restored_statement_stands_beside_its_speakers_others() -> None:
    """A subject that became MANY meanwhile takes it back without replacing anything, and keeps it so."""
    subject = Subject()
    milk = subject.say("a", "milk", day=0).memory_id
    subject.forget(milk)
    subject.say("a", "eggs", day=1)
    nuts = subject.say("t", "nuts", day=2, many=True).memory_id
    subject.restore(milk)
    subject.forget(nuts)
    assert subject.outcome_states == {"milk": "ACTIVE", "eggs": "ACTIVE"}


def test_saying_again_that_many_hold_is_news() -> None:
    """It lets all statements stand; once they do, repetition is none."""
    subject = Subject()
    subject.say("a", "x", 0.9)
    subject.say("b", "y", 0.3)
    assert subject.say("b", "y", 0.3, many=True).assertion is Assertion.RESTATED
    assert subject.outcome_states == {"x": "ACTIVE", "y": "ACTIVE"}
    assert subject.say("a", "x", 0.9).assertion is Assertion.DUPLICATE


# --- saying it again -----------------------------------------------------------------------------------------------


def test_another_speaker_corroborates() -> None:
    """An equal statement by another speaker joins the memory that is there, overridden ones included."""
    subject = Subject()
    first = subject.say("a", "x", 0.5)
    subject.say("b", "y", 0.8)
    joined = subject.say("c", "x", 0.8)
    assert (joined.assertion, joined.memory_id) == (Assertion.CORROBORATED, first.memory_id)
    assert subject.outcome_states == {"x": "ACTIVE", "y": "OVERRIDDEN"}


@pytest.mark.parametrize(
    ("confidence", "day", "is_timed", "expected"),
    [
        (0.8, 0, True, Assertion.DUPLICATE),
        (0.8, 9, False, Assertion.DUPLICATE),
        (0.8, 9, True, Assertion.RESTATED),
        (0.9, 0, True, Assertion.RESTATED),
        (0.9, -1, True, Assertion.DUPLICATE),
    ],
)
def test_repeating_oneself(confidence: float, day: float, is_timed: bool, expected: Assertion) -> None:
    """It counts only with another confidence or a stated later time; older repetitions change nothing."""
    subject = Subject()
    subject.say("a", "x", 0.8, 0)
    before = subject.record
    assert subject.say("a", "x", confidence, day, is_timed=is_timed).assertion is expected
    assert (subject.record == before) is (expected is Assertion.DUPLICATE)
    assert len(subject.record.claims) == 1


def test_an_older_statement_of_a_speaker_arrives_too_late() -> None:
    """It is superseded at once by what its speaker has said since, and leaves the standings alone."""
    subject = Subject()
    later = subject.say("a", "y", 0.5, 5)
    stale = subject.say("a", "x", 0.9, 3)
    assert stale.assertion is Assertion.STALE
    assert stale.superseded == {stale.memory_id: later.memory_id}
    assert subject.outcome_states == {"y": "ACTIVE"}
    assert subject.settled.changes == ()


def test_what_was_superseded_and_is_said_anew_is_a_new_memory() -> None:
    """A statement that left the set comes back under a new id only."""
    subject = Subject()
    first = subject.say("a", "x", day=0)
    subject.say("a", "y", day=1)
    again = subject.say("a", "x", day=2)
    assert again.assertion is Assertion.NEW
    assert again.memory_id != first.memory_id
    assert subject.states[first.memory_id] is MemoryState.SUPERSEDED


def test_the_65th_speaker_is_refused() -> None:
    """A subject holds 64 claims; replacing one's own is still possible."""
    subject = Subject()
    for number in range(64):
        subject.say(f"a{number}", "x")
    with pytest.raises(SubjectFull):
        subject.say("one-more", "x")
    assert subject.say("a0", "y", day=1).assertion is Assertion.NEW


def test_the_sole_claimant_revises_in_place() -> None:
    """The memory keeps its id, even for an earlier event time."""
    subject = Subject()
    memory_id = subject.say("a", "x", day=5).memory_id
    revised = subject.revise(memory_id, "a", "y", day=3)
    assert (revised.assertion, revised.memory_id, revised.superseded) == (Assertion.RESTATED, memory_id, {})
    assert subject.outcome_states == {"y": "ACTIVE"}


def test_a_revision_to_what_another_memory_says_joins_it() -> None:
    """Two memories never say the same: the revised one is superseded by the other."""
    subject = Subject()
    revised = subject.say("a", "x").memory_id
    other = subject.say("b", "y").memory_id
    change = subject.revise(revised, "a", "y")
    assert (change.assertion, change.superseded) == (Assertion.CORROBORATED, {revised: other})


# --- deliberate updates --------------------------------------------------------------------------------------------


def test_an_update_must_name_every_live_memory() -> None:
    """Else it is refused with the ids left out; losers need no naming."""
    subject = Subject()
    x = subject.say("a", "x", 0.8).memory_id
    y = subject.say("b", "y", 0.8).memory_id
    subject.say("c", "z", 0.1)
    with pytest.raises(SupersedesIncomplete) as refused:
        subject.say("d", "new", supersedes=(x,))
    assert refused.value.metadata["missing"] == y


def test_an_update_covers_everything_losers_included() -> None:
    """However unsure and however old, it is all that stands, and the conflict it ends is moot."""
    subject = Subject()
    ids = [subject.say("a", "x", 0.8, 1).memory_id, subject.say("b", "y", 0.8, 1).memory_id]
    loser = subject.say("c", "z", 0.1, 1).memory_id
    update = subject.say("a", "new", 0.1, 0, supersedes=tuple(ids))
    assert subject.outcome_states == {"new": "ACTIVE"}
    assert set(update.superseded) == {*ids, loser}
    assert subject.conflict is not None
    assert subject.conflict.state is ConflictState.MOOT


def test_what_an_update_covered_stays_away_when_the_update_is_forgotten() -> None:
    """Covered memories come back by restore only."""
    subject = Subject()
    old = subject.say("a", "x").memory_id
    new = subject.say("b", "y", supersedes=(old,)).memory_id
    subject.forget(new)
    assert subject.outcome == {}
    subject.restore(old)
    assert subject.outcome_states == {"x": "ACTIVE"}


def test_an_update_that_sides_with_a_memory_joins_it() -> None:
    """The memory that says the same needs no naming and keeps its other speakers."""
    subject = Subject()
    x = subject.say("a", "x").memory_id
    y = subject.say("b", "y").memory_id
    update = subject.say("c", "x", supersedes=(y,))
    assert (update.assertion, update.memory_id) == (Assertion.CORROBORATED, x)
    assert {c.speaker for c in subject.record.claims} == {"agent:a", "agent:c"}


def test_an_update_may_repeat_ones_own_statement() -> None:
    """The speaker insists: its claim is restated once and the others are covered."""
    subject = Subject()
    x = subject.say("a", "x").memory_id
    y = subject.say("b", "y").memory_id
    update = subject.say("a", "x", 0.9, supersedes=(x, y))
    assert (update.assertion, update.memory_id, update.superseded) == (Assertion.RESTATED, x, {y: x})
    assert [c.confidence for c in subject.record.claims] == [0.9]


def test_a_memory_never_covers_itself() -> None:
    """Naming the covering memory among the covered leaves it in place."""
    subject = Subject()
    x = subject.say("a", "x").memory_id
    y = subject.say("b", "y").memory_id
    assert claims.cover(subject.record, [x, y], by=x).superseded == {y: x}


def test_covering_on_another_subject_takes_only_what_is_named() -> None:
    """A memory of another subject is superseded there; its rivals come to stand."""
    subject = Subject()
    x = subject.say("a", "x", 0.9).memory_id
    subject.say("b", "y", 0.3)
    change = claims.cover(subject.record, [x], "elsewhere")
    subject.apply(change)
    assert change.superseded == {x: "elsewhere"}
    assert subject.outcome_states == {"y": "ACTIVE"}


# --- forgetting and restoring --------------------------------------------------------------------------------------


def test_when_the_winner_is_forgotten_the_next_best_returns() -> None:
    """The loser is active again, which is told as reinstated."""
    subject = Subject()
    winner = subject.say("a", "x", 0.85).memory_id
    loser = subject.say("b", "y", 0.6).memory_id
    subject.forget(winner)
    (changed,) = subject.settled.changes
    assert (changed.memory_id, changed.after.state) == (loser, MemoryState.ACTIVE)
    assert changed.before is not None
    assert event_kind(changed.before.state, changed.after.state) is EventKind.REINSTATED


def test_a_restored_memory_lacks_the_claims_that_were_replaced() -> None:
    """A speaker that has said otherwise since is not brought back."""
    subject = Subject()
    x = subject.say("a", "x", day=0).memory_id
    subject.say("b", "x", day=0)
    subject.forget(x)
    subject.say("a", "y", day=1)
    change = subject.restore(x)
    assert [c.speaker for c in change.claims] == ["agent:b"]
    assert subject.outcome_states == {"x": "CONTESTED", "y": "CONTESTED"}


def test_restoring_what_all_its_speakers_gave_up_changes_nothing() -> None:
    """The answer names the memory that stands in its place."""
    subject = Subject()
    x = subject.say("a", "x", day=0).memory_id
    y = subject.say("a", "y", day=1).memory_id
    change = subject.restore(x)
    assert (change.claims, change.superseded) == ((), {x: y})
    assert subject.outcome_states == {"y": "ACTIVE"}


def test_a_restored_memory_takes_over_its_double() -> None:
    """A memory that came to say the same meanwhile is superseded, and its claims move with new version numbers."""
    subject = Subject()
    old = subject.say("a", "x", day=0).memory_id
    subject.forget(old)
    double = subject.say("b", "x", day=1).memory_id
    change = subject.restore(old)
    assert change.superseded == {double: old}
    assert [(m.before.memory_id, m.after.memory_id, m.after.version) for m in change.moved] == [
        (double, old, 50)
    ]
    assert {c.speaker for c in claims.claims_of(subject.record, {old})} == {"agent:a", "agent:b"}


def test_a_memory_that_was_revised_comes_back_as_it_last_said() -> None:
    """Claims for an earlier wording of the memory stay away."""
    subject = Subject()
    memory_id = subject.say("a", "x", day=0).memory_id
    other = subject.say("b", "x", day=0).memory_id
    subject.say("b", "z", day=1)
    subject.revise(memory_id, "a", "y", day=0)
    subject.forget(memory_id)
    subject.forget(claims.memory_with(subject.record, "z") or "")
    subject.restore(memory_id)
    assert other == memory_id
    assert subject.outcome_states == {"y": "ACTIVE"}
    assert claims.sole_speaker(subject.record, memory_id) == "agent:a"


def test_an_archived_memory_keeps_its_weight() -> None:
    """Its state reads ARCHIVED, its claims still override weaker ones, and being said again brings it back."""
    subject = Subject()
    x = subject.say("a", "x", 0.9).memory_id
    subject.say("b", "y", 0.5)
    subject.apply(claims.archive(subject.record, x))
    assert subject.outcome_states == {"x": "ARCHIVED", "y": "OVERRIDDEN"}
    assert subject.say("a", "x", 0.9).assertion is Assertion.RESTATED
    assert subject.outcome_states == {"x": "ACTIVE", "y": "OVERRIDDEN"}


def test_unarchiving_puts_a_memory_where_the_rules_say() -> None:
    """Not where it stood when it was archived."""
    subject = Subject()
    x = subject.say("a", "x", 0.5).memory_id
    subject.apply(claims.archive(subject.record, x))
    subject.say("b", "y", 0.9)
    subject.apply(claims.unarchive(subject.record, x))
    assert subject.outcome_states == {"x": "OVERRIDDEN", "y": "ACTIVE"}


# --- conflicts -----------------------------------------------------------------------------------------------------


def contested() -> tuple[Subject, str, str]:
    """Return a subject with an open conflict, and the memories of its sides."""
    subject = Subject()
    return subject, subject.say("a", "x", 0.8).memory_id, subject.say("b", "y", 0.8).memory_id


def test_a_third_side_joins_the_open_conflict() -> None:
    """A subject has one open conflict; its sides change."""
    subject, *_ = contested()
    opened = subject.record.conflict_id
    subject.say("c", "z", 0.8)
    assert subject.conflict is not None
    assert (subject.conflict.conflict_id, subject.conflict.is_new) == (opened, False)
    assert len(subject.conflict.sides) == 3


def test_new_evidence_settles_a_conflict() -> None:
    """A corroborated side wins by rule; the conflict is SETTLED and the record holds none."""
    subject, *_ = contested()
    subject.say("c", "x", 0.8)
    assert subject.outcome_states == {"x": "ACTIVE", "y": "OVERRIDDEN"}
    assert subject.conflict is not None
    assert subject.conflict.state is ConflictState.SETTLED
    assert subject.record.conflict_id == ""


@pytest.mark.parametrize("ending", ["forget", "supersede", "many"])
def test_a_conflict_without_sides_is_moot(ending: str) -> None:
    """A side was forgotten or replaced, or everything may stand."""
    subject, x, _ = contested()
    if ending == "forget":
        subject.forget(x)
    else:
        subject.say("a", "z", 0.1, 1, many=ending == "many")
    assert subject.conflict is not None
    assert subject.conflict.state is ConflictState.MOOT


def test_every_conflict_of_a_subject_has_an_id_of_its_own() -> None:
    """One that opens again, by a mere change of policy too, is another conflict."""
    subject, *_ = contested()
    ids = [subject.record.conflict_id]
    for policy in [LATEST, Policy(), LATEST, Policy()]:
        subject.policy = policy
        subject.apply(claims.Change(record=subject.record))
        ids.append(subject.record.conflict_id)
    assert [bool(i) for i in ids] == [True, False, True, False, True]
    assert len({i for i in ids if i}) == 3


def test_settling_a_settled_record_changes_nothing() -> None:
    """The stored record is a fixed point; an open conflict is reported as it is."""
    subject, *_ = contested()
    again = resettle(subject.record, subject.policy)
    assert (again.record, again.changes) == (subject.record, ())


# --- decisions -----------------------------------------------------------------------------------------------------


def test_a_chosen_memory_covers_the_others() -> None:
    """The other sides are superseded by it and the conflict is the record's no longer."""
    subject, x, y = contested()
    change = claims.choose(subject.record, x)
    subject.apply(change, resolved=subject.record.conflict_id)
    assert change.superseded == {y: x}
    assert subject.outcome_states == {"x": "ACTIVE"}
    assert subject.conflict is None


@pytest.mark.parametrize(
    ("confidence", "chosen", "later"),
    [(0.3, "ACTIVE", "OVERRIDDEN"), (0.8, "CONTESTED", "CONTESTED"), (1.0, "CONTESTED", "CONTESTED")],
)
def test_a_chosen_memory_is_never_overridden(confidence: float, chosen: str, later: str) -> None:
    """A weaker later claim loses; one that would tie or win contests it."""
    subject, x, _ = contested()
    subject.apply(claims.choose(subject.record, x), resolved=subject.record.conflict_id)
    subject.say("c", "z", confidence, 1)
    assert subject.outcome_states == {"x": chosen, "z": later}


def test_a_chosen_memory_gives_way_to_a_deliberate_update() -> None:
    """And restoring it later does not renew the decision."""
    subject, x, _ = contested()
    subject.apply(claims.choose(subject.record, x), resolved=subject.record.conflict_id)
    subject.say("c", "z", 0.95, 1, supersedes=(x,))
    subject.restore(x)
    assert subject.outcome_states == {"x": "OVERRIDDEN", "z": "ACTIVE"}


def test_keeping_all_lets_every_statement_stand() -> None:
    """The sides, and whatever is said later, are active."""
    subject, *_ = contested()
    subject.apply(claims.keep_all(subject.record), resolved=subject.record.conflict_id)
    subject.say("a", "z", 0.1, 1)
    assert subject.outcome_states == {"x": "ACTIVE", "y": "ACTIVE", "z": "ACTIVE"}
    assert subject.conflict is None


def test_merged_memories_are_one_from_now_on() -> None:
    """Their speakers add up, the merged memory is superseded, and its words mean the other whenever said again."""
    subject, x, y = contested()
    change = subject.merge(x, y)
    assert change.superseded == {y: x}
    assert subject.record.standings[x].score == pytest.approx(0.96)
    assert subject.say("c", "y").memory_id == x
    assert [m.after.version for m in change.moved] == [50]


def test_merging_twice_leads_to_the_last_meaning() -> None:
    """What was merged into a memory goes along when that is merged."""
    subject, x, y = contested()
    z = subject.say("c", "z").memory_id
    subject.merge(y, z)
    subject.merge(x, y)
    assert subject.say("d", "z").memory_id == x
    assert {c.memory_id for c in subject.record.claims} == {x}


def test_a_merge_outlives_the_claims_that_it_joined() -> None:
    """Words that nobody uses any more still mean the same when they come up again."""
    subject, x, y = contested()
    subject.say("c", "z")
    subject.merge(y, claims.memory_with(subject.record, "z") or "")
    subject.say("b", "w", 0.1, 1)
    subject.merge(x, y)
    assert subject.say("d", "y").memory_id == x
    subject.say("c", "w", 0.1, 1)
    assert subject.say("e", "z").memory_id == x


def test_restoring_the_memory_that_others_were_merged_into_keeps_them() -> None:
    """The merge stands: all its speakers are back, whoever came first."""
    subject, x, y = contested()
    subject.merge(y, x)
    speakers = {c.speaker for c in subject.record.claims}
    subject.forget(y)
    subject.claims[y].sort(key=lambda c: c.sequence)
    subject.restore(y)
    assert {c.speaker for c in claims.claims_of(subject.record, {y})} == speakers
    assert subject.say("c", "x").memory_id == y


def test_restoring_a_memory_out_of_a_chain_of_merges_keeps_its_own() -> None:
    """What was merged into it before it was merged away itself comes along."""
    subject, x, y = contested()
    z = subject.say("c", "z").memory_id
    subject.merge(y, z)
    subject.merge(x, y)
    subject.restore(y)
    assert {c.speaker for c in claims.claims_of(subject.record, {y})} == {"agent:b", "agent:c"}
    assert claims.memory_with(subject.record, "x") == x


def test_merging_takes_a_speaker_away_from_what_it_said_before() -> None:
    """A later claim from another subject replaces its speaker's claim here, whose memory is then superseded too."""
    here, there = Subject(), Subject()
    x, y = here.say("a", "x").memory_id, here.say("b", "y").memory_id
    foreign = there.say("b", "z", day=1)
    change = claims.merge(here.record, x, (foreign.claim,), next_version=2)
    assert change.superseded == {foreign.memory_id: x, y: x}


def test_restoring_a_merged_memory_parts_it_again() -> None:
    """It takes back its own claims, and those who used its words since; only the latter move."""
    subject, x, y = contested()
    subject.merge(x, y)
    subject.say("c", "y")
    change = subject.restore(y)
    assert [m.after.speaker for m in change.moved] == ["agent:c"]
    assert {c.speaker for c in claims.claims_of(subject.record, {y})} == {"agent:b", "agent:c"}
    assert {c.speaker for c in claims.claims_of(subject.record, {x})} == {"agent:a"}


def test_merging_a_memory_of_another_subject_brings_its_claims() -> None:
    """Its evidence counts here, and it is superseded by the memory that represents both."""
    here, there = Subject(), Subject()
    x = here.say("a", "x", 0.5).memory_id
    foreign = there.say("b", "y", 0.5)
    change = claims.merge(here.record, x, (foreign.claim,), next_version=2)
    here.apply(change)
    assert change.superseded == {foreign.memory_id: x}
    assert here.record.standings[x].score == pytest.approx(0.75)


# --- events --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (MemoryState.NONE, MemoryState.ACTIVE, None),
        (MemoryState.NONE, MemoryState.OVERRIDDEN, EventKind.OVERRIDDEN),
        (MemoryState.ACTIVE, MemoryState.CONTESTED, EventKind.CONTESTED),
        (MemoryState.CONTESTED, MemoryState.ACTIVE, EventKind.REINSTATED),
        (MemoryState.OVERRIDDEN, MemoryState.ACTIVE, EventKind.REINSTATED),
        (MemoryState.OVERRIDDEN, MemoryState.CONTESTED, EventKind.CONTESTED),
        (MemoryState.ACTIVE, MemoryState.SUPERSEDED, EventKind.SUPERSEDED),
        (MemoryState.ACTIVE, MemoryState.ACTIVE, None),
    ],
)
def test_changes_of_standing_are_told(
    before: MemoryState, after: MemoryState, kind: EventKind | None
) -> None:
    """Each change of state has its kind of event; a change of score alone has none."""
    assert event_kind(before, after) is kind
