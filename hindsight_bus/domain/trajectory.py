"""What happened in a task, and what is left of it when all that does not decide is taken away.

Goal, tool calls, errors, feedback and outcome decide; thoughts and long observations are cut short. Where that is not
enough, limits tighten, and in the end whole steps go, those that decide least first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.tasks import Ranges, Step, StepKind, TaskOutcome
from hindsight_bus.domain.tokens import estimated_tokens
from hindsight_bus.domain.values import Value, replace

LONG_TOKENS = 4_000
"""Trajectories above it are trimmed to ``KEPT_SHARE``, and to ``MAX_KEPT_TOKENS``, so that a model can read them."""
KEPT_SHARE = 0.4
MAX_KEPT_TOKENS = 32_000
_SPACE = re.compile(r"\s+")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")


class Trajectory(Value):
    """A task as it was recorded: what a reflector sees."""

    goal: str
    kind: str
    outcome: TaskOutcome
    steps: tuple[Step, ...]
    """By sequence number, each once."""
    score: float | None = None
    missing: Ranges = ()
    """Sequence numbers that were never recorded."""


class Trimmed(Value):
    """The steps that were kept, each cut to what decides, with token counts before and after."""

    steps: tuple[Step, ...]
    tokens_before: int
    tokens_after: int


class Contrast(Value):
    """A task of the same kind that ended the other way, as a model gets to see it."""

    task_id: str
    trajectory: Trajectory
    shown: tuple[Step, ...]


class Case(Value):
    """A task to reflect on."""

    trajectory: Trajectory
    shown: tuple[Step, ...]
    """What trimming left of its steps: all that a model gets to see."""
    lessons: Namespace
    """Where its lessons go, and whose tokens a model spends."""
    contrast: Contrast | None = None


class _Limits(Value):
    """Characters kept of each text."""

    thought: int
    observation: int
    arguments: int
    result: int
    error: int
    words: int
    """Of actions and feedback."""


_TIGHTER = (
    _Limits(thought=160, observation=400, arguments=400, result=300, error=600, words=600),
    _Limits(thought=60, observation=120, arguments=160, result=80, error=300, words=300),
    _Limits(thought=0, observation=60, arguments=60, result=30, error=120, words=120),
)


def trim(trajectory: Trajectory, most_tokens: int = MAX_KEPT_TOKENS) -> Trimmed:
    """Return what decides; above 4,000 tokens at most 40 % of them are left, and ``most_tokens``. O(size).

    Tokens are those of ``told``, goal included. The goal and the outcome are always kept, so of a goal that fills the
    budget by itself nothing can be saved.
    """
    goal = estimated_tokens(trajectory.goal)
    before = goal + sum(estimated_tokens(told(step)) for step in trajectory.steps)
    budget = min(int(before * KEPT_SHARE), most_tokens) if before > LONG_TOKENS else before
    kept: list[Step] = []
    sizes: list[int] = []
    for limits in _TIGHTER:
        kept = [cut for step in trajectory.steps if (cut := _cut(step, limits)) is not None]
        sizes = [estimated_tokens(told(step)) for step in kept]
        if goal + sum(sizes) <= budget:
            break
    kept, after = _fitting(kept, sizes, budget - goal)
    return Trimmed(tuple(kept), before, goal + after)


def told(step: Step) -> str:
    """Return a step as one line of text, for counting and for a model to read."""
    head = f"#{step.sequence} {step.kind.name.lower()}"
    if step.kind is not StepKind.TOOL_CALL:
        return f"{head}: {step.text}"
    ended = f"error: {step.error}" if step.error else step.result
    took = f" [{step.duration_ms} ms]" if step.duration_ms else ""
    return f"{head} {step.tool}({step.arguments}){took} -> {ended}"


def excerpt(text: str, limit: int) -> str:
    """Return the beginning of a text as one printable line of at most ``limit`` characters."""
    line = _SPACE.sub(" ", _UNPRINTABLE.sub(" ", text[: 4 * limit + 64])).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _cut(step: Step, limits: _Limits) -> Step | None:
    """Return a step with its texts cut short; None where nothing of it is kept."""
    match step.kind:
        case StepKind.THOUGHT:
            return replace(step, text=_ends(step.text, limits.thought)) if limits.thought else None
        case StepKind.OBSERVATION:
            return replace(step, text=_ends(step.text, limits.observation))
        case StepKind.TOOL_CALL:
            return replace(
                step,
                arguments=_ends(step.arguments, limits.arguments),
                result=_ends(step.result, limits.result),
                error=_ends(step.error, limits.error),
            )
        case _:
            return replace(step, text=_ends(step.text, limits.words))


def _ends(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters: its beginning, and its end, where errors often stand."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 1]}…{text[-tail:]}"


def _fitting(steps: Sequence[Step], sizes: Sequence[int], budget: int) -> tuple[list[Step], int]:
    """Return the steps that decide most within a budget, in their order, and their tokens."""
    total = sum(sizes)
    dropped: set[int] = set()
    for place in sorted(range(len(steps)), key=lambda place: (_weight(steps[place]), place)):
        if total <= budget:
            break
        dropped.add(place)
        total -= sizes[place]
    return [step for place, step in enumerate(steps) if place not in dropped], total


def _weight(step: Step) -> int:
    """Return how much a step decides; of equal ones the later decides more."""
    if step.error or step.kind is StepKind.FEEDBACK:
        return 3
    return {StepKind.TOOL_CALL: 2, StepKind.ACTION: 2, StepKind.OBSERVATION: 1}.get(step.kind, 0)
