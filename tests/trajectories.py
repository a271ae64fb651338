"""Trajectories: those written by hand under ``tests/data``, and arbitrary ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from hindsight_bus.domain.memory import Channel
from hindsight_bus.domain.tasks import Rating, Step, StepKind, TaskOutcome
from hindsight_bus.domain.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Example:
    """A trajectory with the steps that are to blame for its failure: one of them must be named."""

    trajectory: Trajectory
    blame: frozenset[int]


def examples(name: str = "trajectories") -> list[Example]:
    """Return the trajectories written by hand in one file."""
    lines = Path(__file__).with_name("data").joinpath(f"{name}.jsonl").read_text("utf-8").splitlines()
    return [_example(json.loads(line)) for line in lines]


def _example(row: dict[str, Any]) -> Example:
    steps = tuple(step_of(number, *given) for number, given in enumerate(row["steps"], start=1))
    trajectory = Trajectory(row["goal"], row["kind"], TaskOutcome[row["outcome"]], steps)
    return Example(trajectory, frozenset(row["blame"]))


def step_of(sequence: int, kind: str, *given: Any) -> Step:
    """Return a step from its short form: ``("call", tool, arguments, result, error, ms)`` or ``(kind, text)``."""
    if kind == "call":
        tool, arguments, result, error, duration_ms = given
        call = Step(sequence, StepKind.TOOL_CALL, tool=tool, arguments=arguments, duration_ms=duration_ms)
        return Step(sequence, call.kind, "", tool, arguments, result, error, duration_ms)
    rating = Rating[given[1]] if len(given) > 1 else Rating.NONE
    return Step(sequence, StepKind[kind.upper()], given[0], rating=rating)


_REPORTS = ("", "ok", "401 token expired", "Error: no such file", "连接超时", '{"error": "x"}', "{bra{ce}")
_TEXTS = st.sampled_from((*_REPORTS, "this is wrong", "x" * 90, "a\nb\u202e\x00"))


@st.composite
def arbitrary_steps(draw: st.DrawFn, max_size: int = 12) -> tuple[Step, ...]:
    """Steps of every kind with ascending, not always contiguous sequence numbers."""
    numbers = draw(st.lists(st.integers(1, 40), unique=True, max_size=max_size))
    return tuple(draw(_step(number)) for number in sorted(numbers))


@st.composite
def _step(draw: st.DrawFn, sequence: int) -> Step:
    return Step(
        sequence,
        draw(st.sampled_from(StepKind)),
        text=draw(_TEXTS),
        tool=draw(st.sampled_from(("get", "put", "refresh", "查询"))),
        arguments=draw(st.sampled_from(("", "{}", '{"a": 1}', '{"a": 2}'))),
        result=draw(_TEXTS),
        error=draw(_TEXTS),
        duration_ms=draw(st.sampled_from((0, 10, 60_000))),
        rating=draw(st.sampled_from(Rating)),
        channel=draw(st.sampled_from(Channel)),
        ceiling=draw(st.sampled_from((1.0, 0.5, 0.2))),
    )


@st.composite
def arbitrary_trajectories(draw: st.DrawFn) -> Trajectory:
    """Trajectories of either language and any outcome."""
    goal = draw(st.sampled_from(("Refund the order", "给客户退款", "", "{goal}")))
    return Trajectory(goal, "refund", draw(st.sampled_from(TaskOutcome)), draw(arbitrary_steps()))
