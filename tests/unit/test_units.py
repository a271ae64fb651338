"""A long recording is cut where the user goes on to something else, and nowhere else."""

from __future__ import annotations

from hypothesis import given, settings

from hindsight_bus.domain.memory import Channel
from hindsight_bus.domain.reflector import reflect
from hindsight_bus.domain.tasks import Step, StepKind, TaskOutcome
from hindsight_bus.domain.trajectory import Trajectory
from hindsight_bus.domain.units import MIN_STEPS, PAUSE_MS, units
from tests.trajectories import arbitrary_trajectories, step_of


def said(sequence: int, text: str, time_ms: int = 0) -> Step:
    return Step(sequence, StepKind.FEEDBACK, text, channel=Channel.USER, time_ms=time_ms)


def calls(first: int, count: int, tool: str, error: str = "", time_ms: int = 0) -> list[Step]:
    arguments = [f'{{"n": {n}}}' for n in range(count)]
    result = "" if error else "ok"
    return [
        Step(first + n, StepKind.TOOL_CALL, "", tool, given, result, error, time_ms=time_ms)
        for n, given in enumerate(arguments)
    ]


def recorded(*steps: Step, outcome: TaskOutcome = TaskOutcome.SUCCESS) -> Trajectory:
    return Trajectory("Help me today", "", outcome, steps)


def test_a_day_of_several_tasks_is_cut_where_the_user_goes_on() -> None:
    """In either language; each unit has the words that began it, and ended as the user's last words say."""
    day = recorded(
        *calls(1, 8, "search"),
        said(9, "That is wrong, I asked for trains"),
        said(10, "Next: book the hotel in Lyon"),
        *calls(11, 8, "book"),
        said(19, "Thanks, perfect"),
        said(20, "Which trains are there on Monday?"),
        *calls(21, 8, "trains"),
        said(29, "另外帮我查一下天气"),
        *calls(30, 3, "weather"),
        outcome=TaskOutcome.FAILURE,
    )
    cut = units(day)
    assert [(each.goal, each.outcome) for each in cut] == [
        ("Help me today", TaskOutcome.FAILURE),
        ("Next: book the hotel in Lyon", TaskOutcome.SUCCESS),
        ("Which trains are there on Monday?", TaskOutcome.UNKNOWN),
        ("另外帮我查一下天气", TaskOutcome.FAILURE),
    ]
    assert [step for each in cut for step in each.steps] == [*day.steps]


def test_a_long_pause_cuts() -> None:
    """Where the agent said when things happened."""
    morning, evening = calls(1, 12, "search", time_ms=1_000), calls(13, 12, "book", time_ms=PAUSE_MS + 1_000)
    assert [len(each.steps) for each in units(recorded(*morning, *evening))] == [12, 12]
    soon = calls(13, 12, "book", time_ms=PAUSE_MS + 999)
    assert len(units(recorded(*morning, *soon))) == 1


def test_what_is_short_or_one_task_is_not_cut() -> None:
    """A remark on the way, and a request after which hardly anything was done, begin no task."""
    assert len(units(recorded(*calls(1, 5, "a"), said(6, "Next: pay"), *calls(7, 5, "b")))) == 1
    assert (
        len(units(recorded(*calls(1, 20, "a"), said(21, "Use the other account"), *calls(22, 9, "b")))) == 1
    )
    assert len(units(recorded(*calls(1, 20, "a"), said(21, "Next: pay"), *calls(22, 1, "b")))) == 1


def test_each_unit_has_lessons_of_its_own() -> None:
    """The last task first, in the situation that it was asked for in."""
    day = recorded(
        *calls(1, 10, "search", "HTTP 404"),
        said(11, "Next: book the hotel in Lyon"),
        *calls(12, 10, "book", "HTTP 403"),
        outcome=TaskOutcome.FAILURE,
    )
    lessons = reflect(day).lessons
    assert [lesson.situation for lesson in lessons][:2] == [
        "Next: book the hotel in Lyon",
        "Help me today",
    ]
    assert min(lessons[0].steps) > 11 > max(lessons[1].steps)


@settings(max_examples=50)
@given(arbitrary_trajectories())
def test_cutting_loses_nothing(trajectory: Trajectory) -> None:
    """Every step is in one unit, in its order; the last one ended as the whole did."""
    long = Trajectory(
        trajectory.goal, trajectory.kind, trajectory.outcome,
        tuple(step_of(n, "call", "noise", "{}", "ok", "", 0) for n in range(101, 101 + MIN_STEPS)),
    )  # fmt: skip
    whole = Trajectory(trajectory.goal, trajectory.kind, trajectory.outcome, (*trajectory.steps, *long.steps))
    for each in (trajectory, whole):
        cut = units(each)
        assert tuple(step for unit in cut for step in unit.steps) == each.steps
        assert cut[-1].outcome is each.outcome
