"""What the steps of a task show by themselves: what failed and how, what helped, what was in vain, what took long.

Rules on facts, without a model. Every finding names the steps that show it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from hindsight_bus.domain.failures import ErrorClass, class_of, failure_of, is_dissatisfied, is_satisfied
from hindsight_bus.domain.language import fold
from hindsight_bus.domain.names import digest
from hindsight_bus.domain.tasks import Rating, Step, StepKind, TaskOutcome
from hindsight_bus.domain.trajectory import Trajectory, excerpt
from hindsight_bus.domain.values import Value, replace

REPEATS = 3
"""Equal calls with equal answers that count as going in circles."""
SLOW_MS = 10_000
SLOW_SHARE = 0.4
"""A call that took this share of the time of all calls, and ``SLOW_MS``, is where the time went."""
MAX_CITED = 8
"""Steps that one finding names: the first ones and the last."""
SAME_COMMAND_SHARE = 1 / 3
"""Two command lines try the same thing where they have more than this share of their words in common."""
_COMPARED_CHARS = 1_000
_WORD = re.compile(r"[A-Za-z0-9_]+|[\u4e00-\u9fff]")
_NAME_CHARS = 60


class Rule(Enum):
    """Which rule made a finding."""

    FAILED = "failed"
    COMPLAINT = "complaint"
    RECOVERED = "recovered"
    REPEATED = "repeated"
    SLOW = "slow"
    UNEXPLAINED = "unexplained"
    PRAISE = "praise"
    SUCCEEDED = "succeeded"


class Finding(Value):
    """One fact about a task."""

    rule: Rule
    steps: tuple[int, ...]
    """Sequence numbers of the steps that show it, ascending; empty only where no step was recorded."""
    what: str = ""
    """The tool, or the action in its own words."""
    failure: ErrorClass = ErrorClass.OTHER
    report: str = ""
    """What the tool reported, or what the feedback says, as recorded."""
    remedy: tuple[str, ...] = ()
    """RECOVERED: tools that were called before it worked. SUCCEEDED: the tools in their order."""
    changed: str = ""
    """RECOVERED: what was different about the arguments when it worked."""
    times: int = 1
    duration_ms: int = 0

    @property
    def statement(self) -> str:
        """What it says in normal form: findings with equal statements are the same experience."""
        parts = {
            Rule.FAILED: (self.what, self.failure.value),
            Rule.RECOVERED: (self.what, self.failure.value, *self.remedy),
            Rule.COMPLAINT: (digest(fold(self.report), size=8),),
            Rule.PRAISE: (digest(fold(self.report), size=8),),
            Rule.SUCCEEDED: self.remedy,
        }.get(self.rule, (self.what,))
        return "/".join((self.rule.value, *(fold(part) for part in parts)))


@dataclass(slots=True)
class Attempt:
    """One thing that was tried: a tool call, or an action with what was observed after it."""

    name: str
    arguments: str
    answer: str
    failure: str
    duration_ms: int
    is_call: bool
    steps: list[int] = field(default_factory=list)


def findings(trajectory: Trajectory) -> list[Finding]:
    """Return what the steps show, what decided first; O(size).

    A task that failed has at least one finding, whatever was recorded of it.
    """
    attempts = attempts_of(trajectory.steps)
    failed, recovered = _failures(attempts)
    complaints, praise = _feedback(trajectory, attempts)
    repeated, slow = list(_repeated(attempts)), list(_slow(attempts))
    found = [*reversed(failed), *complaints, *repeated]
    if trajectory.outcome is TaskOutcome.FAILURE and not found:
        found.append(_unexplained(trajectory.steps, attempts))
    found += [*recovered, *slow, *praise]
    if trajectory.outcome is TaskOutcome.SUCCESS:
        found += _path(attempts)
    return [replace(each, steps=_cited(each.steps)) for each in found]


def _cited(steps: Sequence[int]) -> tuple[int, ...]:
    ordered = sorted(set(steps))
    return tuple(ordered if len(ordered) <= MAX_CITED else [*ordered[: MAX_CITED - 1], ordered[-1]])


# --- what was tried ------------------------------------------------------------------------------------------------


def attempts_of(steps: Sequence[Step]) -> list[Attempt]:
    """Return what was tried, in order. What is observed after an attempt that has not failed yet belongs to it."""
    attempts: list[Attempt] = []
    for step in steps:
        match step.kind:
            case StepKind.TOOL_CALL:
                attempts.append(_call(step))
            case StepKind.ACTION:
                attempts.append(
                    Attempt(excerpt(step.text, _NAME_CHARS), "", "", "", 0, False, [step.sequence])
                )
            case StepKind.OBSERVATION:
                _observe(attempts, step)
    return attempts


def _call(step: Step) -> Attempt:
    failure = failure_of(step)
    return Attempt(
        step.tool, step.arguments, step.error or step.result, failure, step.duration_ms, True, [step.sequence]
    )


def _observe(attempts: list[Attempt], step: Step) -> None:
    failure = failure_of(step)
    if not failure:
        return
    if not attempts or attempts[-1].failure:
        attempts.append(Attempt("", "", step.text, failure, 0, False, [step.sequence]))
    else:
        attempts[-1].failure, attempts[-1].answer = failure, step.text
        attempts[-1].steps.append(step.sequence)


# --- the rules -----------------------------------------------------------------------------------------------------


def _failures(attempts: Sequence[Attempt]) -> tuple[list[Finding], list[Finding]]:
    """Return what failed for good, in the order of its last failure, and what worked in the end."""
    open_failures: dict[str, list[int]] = {}
    recovered = []
    for place, attempt in enumerate(attempts):
        if attempt.failure:
            open_failures.setdefault(attempt.name, []).append(place)
        elif places := [p for p in open_failures.get(attempt.name, ()) if _is_retry(attempts[p], attempt)]:
            recovered.append(_recovered(attempts, places, place))
            left = [p for p in open_failures[attempt.name] if p not in places]
            open_failures[attempt.name] = left
    for_good = sorted(filter(None, open_failures.values()), key=lambda places: places[-1])
    return [_failed([attempts[place] for place in places]) for places in for_good], recovered


def _is_retry(failed: Attempt, later: Attempt) -> bool:
    """Tell whether a later call of the same tool tries the same thing.

    A command line, or code, of which hardly a word is left is another command: a shell that lists a directory has not
    mended the copy that failed.
    """
    if _object(failed.arguments) is not None or _object(later.arguments) is not None:
        return True
    one, two = (set(_WORD.findall(each.arguments[:_COMPARED_CHARS])) for each in (failed, later))
    return one == two or len(one & two) > SAME_COMMAND_SHARE * len(one | two)


def _failed(tries: Sequence[Attempt]) -> Finding:
    last = tries[-1]
    steps = tuple(step for attempt in tries for step in attempt.steps)
    failure = class_of(last.failure)
    return Finding(Rule.FAILED, steps, last.name, failure, last.failure, times=len(tries))


def _recovered(attempts: Sequence[Attempt], failed: Sequence[int], worked: int) -> Finding:
    """Return what was different about the try that worked: tools called since the last failure, else arguments."""
    last, success = attempts[failed[-1]], attempts[worked]
    between = [each for each in attempts[failed[-1] + 1 : worked] if each.is_call and not each.failure]
    remedy = tuple(dict.fromkeys(each.name for each in between))
    changed = "" if remedy else _difference(last.arguments, success.arguments)
    tries = [*(attempts[place] for place in failed), *between, success]
    return Finding(
        Rule.RECOVERED,
        tuple(step for each in tries for step in each.steps),
        last.name,
        class_of(last.failure),
        last.failure,
        remedy,
        changed,
        len(failed),
    )


def _difference(before: str, after: str) -> str:
    """Return the arguments that were changed or added, with the values that worked; empty where none were."""
    if before == after:
        return ""
    old, new = _object(before), _object(after)
    if old is None or new is None:
        return after
    changed = {key: value for key, value in new.items() if key not in old or old[key] != value}
    return json.dumps(changed or new, ensure_ascii=False)


def _object(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _repeated(attempts: Sequence[Attempt]) -> Iterator[Finding]:
    groups: dict[tuple[str, str, str], list[Attempt]] = {}
    for attempt in attempts:
        if attempt.is_call:
            groups.setdefault((attempt.name, attempt.arguments, attempt.answer), []).append(attempt)
    for (name, _, _), same in groups.items():
        if len(same) >= REPEATS:
            steps = tuple(step for attempt in same for step in attempt.steps)
            yield Finding(Rule.REPEATED, steps, name, times=len(same))


def _slow(attempts: Sequence[Attempt]) -> Iterator[Finding]:
    total = sum(attempt.duration_ms for attempt in attempts)
    for attempt in attempts:
        if attempt.duration_ms >= max(SLOW_MS, SLOW_SHARE * total):
            yield Finding(Rule.SLOW, tuple(attempt.steps), attempt.name, duration_ms=attempt.duration_ms)


def _feedback(trajectory: Trajectory, attempts: Sequence[Attempt]) -> tuple[list[Finding], list[Finding]]:
    """Return complaints, each with what was done last before it, and praise.

    Of a task that failed, feedback on what was done is a complaint unless it says otherwise.
    """
    has_failed = trajectory.outcome is TaskOutcome.FAILURE
    complaints, praise = [], []
    for step in trajectory.steps:
        if step.kind is not StepKind.FEEDBACK:
            continue
        before = _last([attempt for attempt in attempts if attempt.steps[0] < step.sequence])
        cited = (*(number for attempt in before for number in attempt.steps), step.sequence)
        what = before[0].name if before else ""
        blames = bool(has_failed and before and not is_satisfied(step.text)) or is_dissatisfied(step.text)
        if step.rating is Rating.BAD or (step.rating is Rating.NONE and blames):
            complaints.append(Finding(Rule.COMPLAINT, cited, what, report=step.text))
        elif step.rating is Rating.GOOD:
            praise.append(Finding(Rule.PRAISE, cited, what, report=step.text))
    return complaints, praise


def _last(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return what was done last: the last call, and what the agent then did or answered without one."""
    calls = [place for place, attempt in enumerate(attempts) if attempt.is_call]
    return (
        [*attempts[calls[-1] : calls[-1] + 1], *attempts[calls[-1] + 1 :][-1:]] if calls else [*attempts[-1:]]
    )


def _unexplained(steps: Sequence[Step], attempts: Sequence[Attempt]) -> Finding:
    """Return the one finding of a failure that nothing reported: what was done last."""
    if last := _last(attempts):
        return Finding(Rule.UNEXPLAINED, tuple(n for attempt in last for n in attempt.steps), last[0].name)
    return Finding(Rule.UNEXPLAINED, tuple(step.sequence for step in steps[-1:]))


def _path(attempts: Sequence[Attempt]) -> list[Finding]:
    """Return the tools that led to success, each by the first of its calls that worked."""
    worked = {
        attempt.name: attempt for attempt in reversed(attempts) if attempt.is_call and not attempt.failure
    }
    first = sorted(worked.values(), key=lambda attempt: attempt.steps[0])[:MAX_CITED]
    if not first:
        return []
    steps = tuple(attempt.steps[0] for attempt in first)
    return [Finding(Rule.SUCCEEDED, steps, remedy=tuple(attempt.name for attempt in first))]
