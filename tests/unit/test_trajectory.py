"""Trimming keeps what decides and saves most of the rest."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_bus.domain.tasks import Step, StepKind, TaskOutcome
from hindsight_bus.domain.tokens import estimated_tokens
from hindsight_bus.domain.trajectory import LONG_TOKENS, Trajectory, excerpt, told, trim
from hindsight_bus.domain.values import replace
from tests.trajectories import arbitrary_steps

GOAL = "Refund the order of the customer"


def task(*steps: Step) -> Trajectory:
    return Trajectory(GOAL, "refund", TaskOutcome.FAILURE, steps)


@settings(max_examples=50)
@given(arbitrary_steps(), st.sampled_from((1, 40, 400)))
def test_most_of_a_long_trajectory_is_saved_whatever_it_holds(steps: tuple[Step, ...], swollen: int) -> None:
    """Above 4,000 tokens at least 60 % are saved; below, nothing is added. The counts are those of what is kept."""
    swell = {
        name: 1 if name == "tool" else swollen for name in ("text", "arguments", "result", "error", "tool")
    }
    big = [
        replace(step, **{name: getattr(step, name) * times for name, times in swell.items()})
        for step in steps
    ]
    trimmed = trim(task(*big))
    assert trimmed.tokens_before == estimated_tokens(GOAL) + sum(estimated_tokens(told(s)) for s in big)
    assert trimmed.tokens_after == estimated_tokens(GOAL) + sum(
        estimated_tokens(told(s)) for s in trimmed.steps
    )
    limit = 0.4 * trimmed.tokens_before if trimmed.tokens_before > LONG_TOKENS else trimmed.tokens_before
    assert trimmed.tokens_after <= limit
    assert {step.sequence for step in trimmed.steps} <= {step.sequence for step in big}


def test_errors_and_feedback_outlive_thoughts_and_observations() -> None:
    """Of a long task with one error and one complaint, both are kept; the thoughts are cut or gone."""
    noise = [
        Step(number, kind, text="I wonder whether this might be of any use at all. " * 20)
        for number, kind in enumerate([StepKind.THOUGHT, StepKind.OBSERVATION] * 30, start=1)
    ]
    error = Step(100, StepKind.TOOL_CALL, tool="refund", arguments='{"id": 1}', error="403 Forbidden")
    complaint = Step(101, StepKind.FEEDBACK, text="That was the wrong order")
    trimmed = trim(task(*noise, error, complaint))
    assert trimmed.tokens_before > LONG_TOKENS
    assert {error, complaint} <= set(trimmed.steps)


def test_a_cut_text_keeps_its_beginning_and_its_end() -> None:
    """Errors often stand at the end of a long report."""
    report = "begin " + "x" * 5000 + " the end"
    [kept] = trim(task(Step(1, StepKind.TOOL_CALL, tool="build", result=report))).steps
    assert kept.result.startswith("begin")
    assert kept.result.endswith("the end")
    assert len(kept.result) < 400


@given(st.text(max_size=300), st.integers(2, 50))
def test_an_excerpt_is_one_short_line_that_steers_nothing(text: str, limit: int) -> None:
    """Whatever a tool reported, what is quoted of it has no line breaks, controls or direction marks."""
    line = excerpt(text, limit)
    assert len(line) <= limit
    assert not set(line) & set("\n\r\t\x00\x1b\u202e\u2066\u200b")
    assert line == line.strip()
