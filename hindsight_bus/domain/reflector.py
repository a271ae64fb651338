"""The rule reflector: a reflection, in the language of the task, made of what the steps show by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hindsight_bus.domain.findings import Finding, Rule, findings
from hindsight_bus.domain.language import detect
from hindsight_bus.domain.memory import Channel
from hindsight_bus.domain.phrases import Phrases, phrases_in
from hindsight_bus.domain.tasks import Insights, Item, ItemKind, Lesson, TaskOutcome
from hindsight_bus.domain.trajectory import Trajectory, excerpt
from hindsight_bus.domain.units import units

NAME = "rules"
VERSION = 2
MAX_ITEMS = 5
"""Items of each kind, and lessons."""
_SITUATION_CHARS = 240
_ADVISED = (Rule.FAILED, Rule.COMPLAINT, Rule.REPEATED, Rule.UNEXPLAINED, Rule.RECOVERED, Rule.SLOW)
"""Rules whose findings say what to do next time."""
_EFFECTIVE = (Rule.RECOVERED, Rule.PRAISE, Rule.SUCCEEDED)


def reflect(trajectory: Trajectory) -> Insights:
    """Return what is to be learnt from a task; pure, so the same steps always give the same. O(size).

    Every item and lesson cites steps that exist, at least one unless none was recorded. A failed task yields a lesson.
    A long trajectory that holds several tasks is reflected on task by task, the last one first.
    """
    words = phrases_in(detect(trajectory.goal))
    found = [(unit, each) for unit in reversed(units(trajectory)) for each in findings(unit)]
    advised = [(unit, each) for unit, each in found if each.rule in _ADVISED][:MAX_ITEMS]
    return Insights(
        items=tuple(_items([each for _, each in found], [each for _, each in advised], words)),
        lessons=tuple(_lesson(unit, each, words) for unit, each in advised),
    )


def _items(found: Sequence[Finding], advised: Sequence[Finding], words: Phrases) -> Iterator[Item]:
    good = [each for each in found if each.rule in _EFFECTIVE]
    bad = [each for each in found if each.rule not in _EFFECTIVE]
    for kind, several in ((ItemKind.EFFECTIVE, good), (ItemKind.INEFFECTIVE, bad)):
        for each in several[:MAX_ITEMS]:
            yield Item(kind, words.fact(each), each.steps)
    for each in advised:
        yield Item(ItemKind.NEXT_TIME, words.advice(each), each.steps)


def _lesson(trajectory: Trajectory, finding: Finding, words: Phrases) -> Lesson:
    return Lesson(
        situation=excerpt(trajectory.goal, _SITUATION_CHARS),
        action=words.action(finding),
        result=words.result(finding, has_failed=trajectory.outcome is TaskOutcome.FAILURE),
        lesson=words.advice(finding),
        steps=finding.steps,
        statement=finding.statement,
        confidence=_confidence(trajectory, finding),
    )


def _confidence(trajectory: Trajectory, finding: Finding) -> float:
    """Return the confidence of a conclusion: that of reflection, and never above the weakest step it rests on."""
    cited = set(finding.steps)
    evidence = [step.confidence for step in trajectory.steps if step.sequence in cited]
    return min([Channel.REFLECTION.default_confidence, *evidence])


def advice_in(text: str, language: str) -> str:
    """Return what a lesson's text says to do."""
    return phrases_in(language).advice_in(text)


def text_of(lesson: Lesson, language: str) -> str:
    """Return a lesson as one text: what is remembered, and found again by its situation."""
    return phrases_in(language).whole(lesson.situation, lesson.action, lesson.result, lesson.lesson)
