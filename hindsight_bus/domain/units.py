"""Cutting a long recording into the tasks that it holds, where the agent marked none of them.

An agent that opens one task for a whole day leaves one trajectory in which a user asks for one thing after another.
Rules cut it: where the user says so, where the user had closed the last thing with thanks, and where nothing happened
for long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hindsight_bus.domain.failures import is_dissatisfied, is_satisfied
from hindsight_bus.domain.memory import Channel
from hindsight_bus.domain.tasks import Rating, Step, StepKind, TaskOutcome
from hindsight_bus.domain.trajectory import Trajectory
from hindsight_bus.domain.values import replace

MIN_STEPS = 20
"""Shorter trajectories are one task."""
PAUSE_MS = 30 * 60 * 1000
_MIN_ATTEMPTS = 2
"""Calls and actions that a unit has at least; what has fewer belongs to the one before."""
_NEXT = re.compile(
    r"\s*(?:(?:ok|okay|thanks|thank you|great|good|now|and)[,.!; ]+)*"
    r"(?:next|another (?:thing|task|question|one)|new (?:task|topic|question)|something else"
    r"|now (?:please )?(?:do|can|could)|on another (?:note|topic)|separately|moving on|also,? (?:please|can|could))\b"
    r"|\s*(?:(?:好的?|谢谢|嗯|行)[,，。!！ ]*)*"
    r"(?:接下来|下一个|下一件|另外|还有一件事|换个话题|新任务|再帮我|现在帮我|然后帮我)",
    re.IGNORECASE,
)


def units(trajectory: Trajectory) -> list[Trajectory]:
    """Return the tasks that a trajectory holds, in their order; itself where the rules see but one. O(steps).

    Each has the words that began it as its goal, and ended as the user's last words in it say. The last one ended as
    the whole did.
    """
    if len(trajectory.steps) < MIN_STEPS:
        return [trajectory]
    parts = _joined(list(_parts(trajectory.steps)))
    if len(parts) == 1:
        return [trajectory]
    *early, last = parts
    cut = [
        replace(trajectory, goal=_goal(trajectory, part), outcome=_outcome(part), steps=part)
        for part in early
    ]
    return [*cut, replace(trajectory, goal=_goal(trajectory, last), steps=last)]


def _parts(steps: Sequence[Step]) -> Iterator[tuple[Step, ...]]:
    start, is_closed = 0, False
    for place, step in enumerate(steps):
        said = _is_said(step)
        paused = place > 0 and 0 < steps[place - 1].time_ms <= step.time_ms - PAUSE_MS
        if place > start and (paused or (said and (is_closed or _NEXT.match(step.text)))):
            yield tuple(steps[start:place])
            start, is_closed = place, False
        if said:
            is_closed = step.rating is Rating.GOOD or is_satisfied(step.text)
    yield tuple(steps[start:])


def _joined(parts: Sequence[tuple[Step, ...]]) -> list[tuple[Step, ...]]:
    """Return the parts, those in which hardly anything was done joined to the one before them."""
    joined: list[tuple[Step, ...]] = []
    for part in parts:
        if joined and min(_attempts(part), _attempts(joined[-1])) < _MIN_ATTEMPTS:
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def _attempts(part: Sequence[Step]) -> int:
    return sum(step.kind in (StepKind.TOOL_CALL, StepKind.ACTION) for step in part)


def _is_said(step: Step) -> bool:
    """Tell whether the user said it."""
    return step.kind is StepKind.FEEDBACK and step.channel is Channel.USER


def _goal(trajectory: Trajectory, part: Sequence[Step]) -> str:
    if part[0] is trajectory.steps[0]:
        return trajectory.goal
    return next((step.text for step in part if _is_said(step)), trajectory.goal)


def _outcome(part: Sequence[Step]) -> TaskOutcome:
    """Return how a unit ended, as the user's last words in it say."""
    said = [step for step in part[1:] if _is_said(step)]
    if not said:
        return TaskOutcome.UNKNOWN
    if said[-1].rating is Rating.BAD or is_dissatisfied(said[-1].text):
        return TaskOutcome.FAILURE
    if said[-1].rating is Rating.GOOD or is_satisfied(said[-1].text):
        return TaskOutcome.SUCCESS
    return TaskOutcome.UNKNOWN
