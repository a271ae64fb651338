"""Skills: what worked, as steps that another task repeats with inputs of its own, and how it has done since."""

from __future__ import annotations

from enum import IntEnum
from itertools import groupby

from hindsight_bus.domain.failures import ErrorClass, class_of
from hindsight_bus.domain.findings import Attempt, attempts_of
from hindsight_bus.domain.names import Namespace
from hindsight_bus.domain.tasks import TaskOutcome
from hindsight_bus.domain.trajectory import Trajectory
from hindsight_bus.domain.values import Storable, Value, replace

MAX_STEPS = 20
"""A longer way is the story of one task, not a skill."""
MAX_KNOWN_FAILURES = 8
KEPT_VERSIONS = 20
DISCOUNT = 0.85
"""What an outcome weighs after the next one, so that a skill whose world has changed is found out: the idea of
discounted Beta posteriors is that of Raj and Kalyani, "Taming non-stationary bandits" (2017)."""
RECOMMENDED_FROM = 0.6
"""Confidence from which StartTask recommends a skill: one success is enough, a failure after it is too much."""
REVIEWED_BELOW = 0.5
"""Confidence below which a skill that has failed twice goes into review."""
_FAILURES_FOR_REVIEW = 2


class SkillState(IntEnum):
    """Where a skill stands. Numbers are those of ``hbus.v1``."""

    ACTIVE = 1
    IN_REVIEW = 2


class Origin(IntEnum):
    """Where the value of a parameter comes from. Numbers are those of ``hbus.v1``."""

    GOAL = 1
    VARIES = 2
    RESULT = 3


class SkillParameter(Value):
    """One value that differs from task to task; ``{{name}}`` stands for it in the steps."""

    name: str
    origin: Origin
    example: str
    """What it was last, as JSON."""
    step: int = 0
    """RESULT: number of the step, from 1, in whose result it was seen."""


class SkillStep(Value):
    """One call."""

    tool: str
    arguments: str
    """As they were, with ``{{name}}`` for what differs."""
    repeats: bool = False
    """It was called several times in a row with different arguments; these are those of the first."""


class SkillVersion(Storable):
    """What a skill consists of in one version; immutable. Key: (skill_id, number)."""

    namespace: Namespace
    skill_id: str
    number: int
    goal: str
    """Goal of the task that it was last learnt from."""
    task: str
    """Name of that task."""
    steps: tuple[SkillStep, ...]
    parameters: tuple[SkillParameter, ...] = ()

    @property
    def path(self) -> tuple[str, ...]:
        """The tools in their order."""
        return tuple(step.tool for step in self.steps)


class KnownFailure(Value):
    """A way in which a tool of the skill has failed."""

    tool: str
    failure: ErrorClass
    times: int = 1


class Skill(Storable):
    """How a skill stands and how it has done; the memory of the same id tells of it. Key: id."""

    namespace: Namespace
    id: str
    kind: str
    """What kind of task it is for; empty where its task had none."""
    agent: str
    """Who learnt it."""
    language: str
    trust: float
    """Confidence of the weakest evidence that it rests on: it is never surer than that."""
    state: SkillState = SkillState.ACTIVE
    version: int = 1
    successes: int = 0
    """Of all versions."""
    failures: int = 0
    won: float = 0.0
    """Successes of the current version, discounted; each weighs as its reporter's ceiling."""
    lost: float = 0.0
    """Its failures, likewise."""
    known_failures: tuple[KnownFailure, ...] = ()
    last_used_ms: int = 0
    problem: str = ""
    """Why it is in review."""
    source: str = ""
    """Name of the skill that it was promoted from."""

    @property
    def confidence(self) -> float:
        """How likely it works the next time: mean of the Beta posterior, at most its trust."""
        return min((1.0 + self.won) / (2.0 + self.won + self.lost), self.trust)

    @property
    def is_recommended(self) -> bool:
        """Tell whether it is sure enough to be put before an agent that did not ask for it."""
        return self.state is SkillState.ACTIVE and self.confidence >= RECOMMENDED_FROM


class Trial(Value):
    """How one use of a skill went, and how far whoever says so is to be believed."""

    is_success: bool
    weight: float
    time_ms: int
    failed: KnownFailure | None = None


def kept_versions(current: int) -> range:
    """Return the numbers of the versions that are kept: the newest 20."""
    return range(max(1, current - KEPT_VERSIONS + 1), current + 1)


def after_trial(skill: Skill, trial: Trial) -> Skill:
    """Return a skill after one more use; one that has started to fail goes into review."""
    won, lost = DISCOUNT * skill.won, DISCOUNT * skill.lost
    if trial.is_success:
        used = replace(skill, successes=skill.successes + 1, won=won + trial.weight, lost=lost)
    else:
        used = replace(skill, failures=skill.failures + 1, won=won, lost=lost + trial.weight)
    used = replace(used, last_used_ms=max(skill.last_used_ms, trial.time_ms))
    if trial.failed is not None:
        used = with_known(used, (trial.failed,))
    is_failing = used.confidence < REVIEWED_BELOW and used.failures >= _FAILURES_FOR_REVIEW
    if is_failing and not trial.is_success and used.state is SkillState.ACTIVE:
        problem = f"it has failed {used.failures} of {used.failures + used.successes} times, lately too often"
        return replace(used, state=SkillState.IN_REVIEW, problem=problem)
    return used


def reinstated(skill: Skill) -> Skill:
    """Return a skill that somebody has found right: recommended again, and judged by what comes from now on."""
    if skill.state is SkillState.ACTIVE:
        return skill
    return replace(skill, state=SkillState.ACTIVE, problem="", won=1.0, lost=0.0)


def with_known(skill: Skill, failures: tuple[KnownFailure, ...]) -> Skill:
    """Return a skill that knows these failures too, the most frequent first."""
    counts = {(each.tool, each.failure): each.times for each in skill.known_failures}
    for each in failures:
        counts[each.tool, each.failure] = counts.get((each.tool, each.failure), 0) + each.times
    ordered = sorted(counts.items(), key=lambda entry: -entry[1])[:MAX_KNOWN_FAILURES]
    return replace(skill, known_failures=tuple(KnownFailure(*key, times) for key, times in ordered))


# --- what a task shows ---------------------------------------------------------------------------------------------


class Way(Value):
    """The calls that led a task to its end: those that worked, repetitions in a row counted once."""

    goal: str
    calls: tuple[Attempt, ...]
    repeated: frozenset[int]
    """Places of calls that were made several times in a row with different arguments."""
    failed: tuple[KnownFailure, ...]
    """What failed on the way."""

    @property
    def path(self) -> tuple[str, ...]:
        """The tools in their order."""
        return tuple(call.name for call in self.calls)

    @property
    def steps(self) -> tuple[int, ...]:
        """Sequence numbers of the steps that show it."""
        return tuple(number for call in self.calls for number in call.steps)


def way_of(trajectory: Trajectory) -> Way:
    """Return the way that a task went; O(steps)."""
    attempts = [attempt for attempt in attempts_of(trajectory.steps) if attempt.is_call]
    worked = [attempt for attempt in attempts if not attempt.failure]
    runs = [list(run) for _, run in groupby(worked, key=lambda call: call.name)]
    repeated = (place for place, run in enumerate(runs) if len({call.arguments for call in run}) > 1)
    failed = {(each.name, class_of(each.failure)): each for each in attempts if each.failure}
    return Way(
        trajectory.goal,
        tuple(run[0] for run in runs),
        frozenset(repeated),
        tuple(KnownFailure(tool, failure) for tool, failure in failed),
    )


def makes_a_skill(way: Way, kind: str) -> bool:
    """Tell whether there is something to repeat; one step without a named kind of task is not."""
    return (1 if kind else 2) <= len(way.calls) <= MAX_STEPS


def trial_of(version: SkillVersion, trajectory: Trajectory) -> tuple[bool, KnownFailure | None] | None:
    """Return how a skill did in a task, and the step that failed; None where the task did not go its way.

    A task that reached its goal went the skill's way where it called its tools in their order, whatever it did between.
    One that failed did so where it came to the end of the way, or where the next tool of it failed.
    """
    if trajectory.outcome not in (TaskOutcome.SUCCESS, TaskOutcome.FAILURE):
        return None
    path, place, stuck = version.path, 0, None
    for attempt in attempts_of(trajectory.steps):
        if place == len(path):
            break
        if not attempt.is_call or attempt.name != path[place]:
            continue
        if attempt.failure:
            stuck = KnownFailure(attempt.name, class_of(attempt.failure))
        else:
            place, stuck = place + 1, None
    went_whole_way = place == len(path)
    if trajectory.outcome is TaskOutcome.SUCCESS:
        return (True, None) if went_whole_way else None
    return (False, stuck) if went_whole_way or stuck is not None else None
