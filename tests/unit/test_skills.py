"""A skill is what worked, told so that it can be done again with other inputs; how sure it is follows how it does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_bus.domain.failures import ErrorClass
from hindsight_bus.domain.generalising import filled, generalised
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.skill_words import preconditions_of, text_of, title_of, trigger_of
from hindsight_bus.domain.skills import (
    MAX_STEPS,
    KnownFailure,
    Origin,
    Skill,
    SkillState,
    SkillVersion,
    Trial,
    after_trial,
    makes_a_skill,
    trial_of,
    way_of,
    with_known,
)
from hindsight_bus.domain.tasks import Step, TaskOutcome
from hindsight_bus.domain.trajectory import Trajectory
from tests.trajectories import arbitrary_trajectories, step_of

PLACE = Namespace("default", "agent", "support", "procedures")
REFUND = "Refund order {} for {}"


def call(sequence: int, tool: str, arguments: Any = None, result: str = "ok", error: str = "") -> Step:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return step_of(sequence, "call", tool, given, result, error, 5)


def succeeded(goal: str, *steps: Step) -> Trajectory:
    return Trajectory(goal, "refund", TaskOutcome.SUCCESS, steps)


def failed(goal: str, *steps: Step) -> Trajectory:
    return Trajectory(goal, "refund", TaskOutcome.FAILURE, steps)


def refund(order: int, who: str, amount: int) -> Trajectory:
    return succeeded(
        REFUND.format(order, who),
        call(1, "refresh_token"),
        call(2, "get_order", {"id": order, "url": f"/orders/{order}.json"}, f'{{"payment": "pay-{order}x"}}'),
        call(3, "refund", {"payment": f"pay-{order}x", "amount": amount, "reason": "late", "to": who}),
    )


def learnt(trajectory: Trajectory, before: SkillVersion | None = None) -> SkillVersion:
    way = way_of(trajectory)
    steps, parameters = generalised(way, before)
    return SkillVersion(PLACE, "s", 1, trajectory.goal, "task", steps, parameters)


def skill(**fields: Any) -> Skill:
    given: dict[str, Any] = {"kind": "refund", "language": "en", "trust": 0.8} | fields
    return Skill(PLACE, "s", agent="support", **given)


# --- parameters ----------------------------------------------------------------------------------------------------


def test_what_the_goal_names_and_what_a_step_returned_are_parameters() -> None:
    """From one task alone: a number, a name, a number within a path, an id from a result; the rest stays."""
    version = learnt(refund(1002, "Ann Lee", 30))
    assert [step.arguments for step in version.steps] == [
        "{}",
        '{"id": "{{id}}", "url": "/orders/{{id}}.json"}',
        '{"payment": "{{payment}}", "amount": 30, "reason": "late", "to": "{{to}}"}',
    ]
    origins = {each.name: (each.origin, each.step) for each in version.parameters}
    assert origins == {"id": (Origin.GOAL, 0), "payment": (Origin.RESULT, 2), "to": (Origin.GOAL, 0)}
    assert trigger_of(version) == "Refund order {{id}} for {{to}}"


def test_a_second_task_shows_what_varies() -> None:
    """What differed becomes a parameter; what was the same stays as it is."""
    version = learnt(refund(1003, "Bo Chen", 40), learnt(refund(1002, "Ann Lee", 30)))
    assert json.loads(version.steps[2].arguments) == {
        "payment": "{{payment}}",
        "amount": "{{amount}}",
        "reason": "late",
        "to": "{{to}}",
    }
    assert next(each for each in version.parameters if each.name == "amount").origin is Origin.VARIES


def test_a_second_task_shows_what_does_not_vary() -> None:
    """A word that both goals happen to name, and both calls use, is no input."""
    first = succeeded("给客户李娜开具四月份的发票", call(1, "open", {"client": "李娜", "type": "发票"}))
    second = succeeded("给客户王强开具五月份的发票", call(1, "open", {"client": "王强", "type": "发票"}))
    assert json.loads(learnt(first).steps[0].arguments) == {"client": "{{client}}", "type": "{{type}}"}
    version = learnt(second, learnt(first))
    assert json.loads(version.steps[0].arguments) == {"client": "{{client}}", "type": "发票"}


def test_two_inputs_that_happened_to_be_equal_are_told_apart() -> None:
    """Once they differ, they have names of their own."""

    def move(source: str, target: str) -> Trajectory:
        return succeeded(f"Move {source} to {target}", call(1, "mv", {"from": source, "to": target}))

    first = learnt(move("A7", "A7"))
    assert [each.name for each in first.parameters] == ["from"]
    second = learnt(move("B1", "C2"), first)
    assert json.loads(second.steps[0].arguments) == {"from": "{{from}}", "to": "{{to}}"}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(("1002", "Ann", "a/1002.x", "{{id}}", "", "x")),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(("id", "a b")), inner, max_size=2),
    max_leaves=5,
)  # fmt: skip
_CALLS = st.lists(st.tuples(st.sampled_from(("get", "put")), _VALUES | st.just("not json 1002")), max_size=4)


@settings(max_examples=60)
@given(_CALLS, _CALLS, st.sampled_from(("Refund 1002 for Ann", "2 and 3", "")))
def test_the_steps_with_their_examples_are_what_was_called(first: Any, second: Any, goal: str) -> None:
    """Whatever was called, before and after a second task: taking the parameters out loses nothing."""
    tasks = [
        succeeded(goal, *(call(n, tool, given) for n, (tool, given) in enumerate(calls, start=1)))
        for calls in (first, second)
    ]
    before = learnt(tasks[0])
    for trajectory, version in ((tasks[0], before), (tasks[1], learnt(tasks[1], before))):
        called = [each.arguments for each in way_of(trajectory).calls]
        assert [filled(version, place) for place in range(len(version.steps))] == [*map(_loaded, called)]


def _loaded(arguments: str) -> Any:
    try:
        value = json.loads(arguments)
    except ValueError:
        return arguments
    return value if isinstance(value, dict | list) else arguments


# --- ways ----------------------------------------------------------------------------------------------------------


def test_a_way_is_what_worked() -> None:
    """A failed call is no step but a known failure; equal tools in a row are one step, said to be several."""
    way = way_of(
        succeeded(
            "goal",
            call(1, "get", error="401 token expired"),
            call(2, "refresh"),
            call(3, "get", {"page": 1}),
            call(4, "get", {"page": 2}),
            call(5, "save"),
            call(6, "save"),
        )
    )
    assert way.path == ("refresh", "get", "save")
    assert way.repeated == {1}
    assert way.failed == (KnownFailure("get", ErrorClass.AUTHENTICATION),)
    assert way.steps == (2, 3, 5)


def test_what_makes_a_skill() -> None:
    """Something to repeat: not an empty way, not one step of no kind, not the story of a long task."""
    assert not makes_a_skill(way_of(succeeded("goal")), "refund")
    one = way_of(succeeded("goal", call(1, "get")))
    assert makes_a_skill(one, "refund")
    assert not makes_a_skill(one, "")
    long = way_of(succeeded("goal", *(call(n, f"tool{n}") for n in range(1, MAX_STEPS + 2))))
    assert not makes_a_skill(long, "refund")


@pytest.mark.parametrize(
    ("trajectory", "expected"),
    [
        (succeeded("g", call(1, "a"), call(2, "look"), call(3, "b")), (True, None)),
        (succeeded("g", call(1, "b"), call(2, "a")), None),
        (failed("g", call(1, "a"), call(2, "b")), (False, None)),
        (failed("g", call(1, "a"), call(2, "b", error="timed out")), (False, KnownFailure("b", ErrorClass.TIMEOUT))),
        (failed("g", call(1, "a"), call(2, "look", error="timed out")), None),
        (failed("g", call(1, "c")), None),
        (Trajectory("g", "", TaskOutcome.ABANDONED, (call(1, "a"), call(2, "b"))), None),
    ],
)  # fmt: skip
def test_a_skill_counts_where_a_task_went_its_way(
    trajectory: Trajectory, expected: tuple[bool, KnownFailure | None] | None
) -> None:
    """To its end, or to the step of it that failed; a task that went elsewhere says nothing about it."""
    version = learnt(succeeded("goal", call(1, "a"), call(2, "b")))
    assert trial_of(version, trajectory) == expected


@settings(max_examples=50)
@given(arbitrary_trajectories())
def test_every_way_can_be_told(trajectory: Trajectory) -> None:
    """In either language, as one printable line that names every tool; and a task that succeeds proves its own way."""
    way = way_of(trajectory)
    if not way.calls:
        return
    version = learnt(trajectory)
    for language in ("zh", "en"):
        text = text_of(with_known(skill(language=language), way.failed), version)
        assert all(tool in text for tool in way.path)
        assert text.isprintable()
    if trajectory.outcome is TaskOutcome.SUCCESS:
        assert trial_of(version, trajectory) == (True, None)


# --- how sure it is ------------------------------------------------------------------------------------------------


def tried(before: Skill, outcomes: str, weight: float = 1.0) -> Skill:
    for time_ms, outcome in enumerate(outcomes, start=1):
        before = after_trial(before, Trial(outcome == "+", weight, time_ms))
    return before


def test_one_success_is_enough_to_be_recommended() -> None:
    """And a failure right after it is too much."""
    assert not skill().is_recommended
    assert tried(skill(), "+").is_recommended
    assert not tried(skill(), "+-").is_recommended
    assert tried(skill(), "+-").state is SkillState.ACTIVE


def test_a_skill_that_starts_to_fail_goes_into_review_however_well_it_did() -> None:
    """Its past is long, its world has changed."""
    proven = tried(skill(), "+" * 50)
    assert proven.successes == 50
    failing = tried(proven, "-" * 5)
    assert failing.state is SkillState.IN_REVIEW
    assert "5 of 55" in failing.problem
    assert not failing.is_recommended
    assert tried(proven, "-").is_recommended


@given(st.text("+-", max_size=40), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_no_skill_is_surer_than_its_weakest_evidence(outcomes: str, trust: float, weight: float) -> None:
    """However often it worked, and however little whoever says so is believed; counts add up."""
    after = tried(skill(trust=trust), outcomes, weight)
    assert 0.0 <= after.confidence <= trust
    assert (after.successes, after.failures) == (outcomes.count("+"), outcomes.count("-"))
    assert after.last_used_ms == len(outcomes)


def test_known_failures_become_preconditions() -> None:
    """The most frequent first, in the language of the task."""
    timeout, expired = KnownFailure("get", ErrorClass.TIMEOUT), KnownFailure("get", ErrorClass.AUTHENTICATION)
    known = with_known(with_known(skill(), (timeout, expired)), (expired,))
    assert [each.times for each in known.known_failures] == [2, 1]
    assert preconditions_of(known)[0] == "Check token and credentials, or renew them, before get"
    version = learnt(succeeded("goal", call(1, "get"), call(2, "put")))
    assert title_of(skill(kind=""), version) == "get to put"
    assert "get 之前先确认令牌" in text_of(with_known(skill(language="zh"), (expired,)), version)
