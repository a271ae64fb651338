"""What of a model's answer the steps of the task support. The rest is thrown away and counted.

A citation holds if the step is among those that the model was shown and the item quotes it: its tool, its error, or at
least eight characters of it. An item without a citation that holds is dropped. So nothing is kept that cites what is
not there, however the model came to say it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hindsight_bus.domain.failures import failure_of
from hindsight_bus.domain.language import fold
from hindsight_bus.domain.memory import Channel
from hindsight_bus.domain.names import digest
from hindsight_bus.domain.prompting import MAX_TEXT_CHARS
from hindsight_bus.domain.tasks import Item, ItemKind, Lesson, Step, TaskOutcome
from hindsight_bus.domain.trajectory import Case, excerpt
from hindsight_bus.domain.values import Value

MIN_QUOTE_CHARS = 8
ENOUGH = 2
"""Items that must be left of an answer."""
_MIN_ERROR_CHARS = 3
_REPEATED_CHARS = 16
"""A lesson that repeats so much of a step rests on it, whatever it cites."""
_KINDS = {
    "effective": ItemKind.EFFECTIVE,
    "ineffective": ItemKind.INEFFECTIVE,
    "next_time": ItemKind.NEXT_TIME,
    "difference": ItemKind.DIFFERENCE,
}
_PARTS = ("situation", "action", "result", "lesson")
_WORD = re.compile(r"\w")


class Supported(Value):
    """What is left of an answer."""

    items: tuple[Item, ...]
    lessons: tuple[Lesson, ...]
    dropped: int
    """Items, lessons and citations that are not."""
    problems: tuple[str, ...]
    """Why that is not enough; empty if it is. No text of the answer is in them."""


class _Shown:
    """The steps that a model was shown, ready to be looked up."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._steps = {step.sequence: step for step in steps}
        self._texts = {number: fold(" ".join(_texts(step))) for number, step in self._steps.items()}

    def holds(self, number: int, quote: str, said: str) -> bool:
        """Tell whether a citation of a step holds; ``quote`` and ``said`` are folded, the latter is the whole item."""
        step = self._steps.get(number)
        if step is None:
            return False
        if len(quote) >= MIN_QUOTE_CHARS and quote in self._texts[number]:
            return True
        error = fold(failure_of(step))
        if len(error) >= _MIN_ERROR_CHARS and error in said:
            return True
        if quote and any(quote == fold(text) for text in _texts(step)):
            return True
        return bool(step.tool) and _names(said, fold(step.tool))

    def evidence(self, cited: Iterable[int], said: str) -> float:
        """Return the confidence of the weakest step that a lesson cites, or repeats without citing it."""
        pieces = {said[at : at + _REPEATED_CHARS] for at in range(len(said) - _REPEATED_CHARS + 1)}
        repeated = {number for number, text in self._texts.items() if _shares(text, pieces)}
        confidences = [self._steps[number].confidence for number in {*cited} | repeated]
        return min([Channel.REFLECTION.default_confidence, *confidences])

    def tools(self, cited: Iterable[int]) -> tuple[str, ...]:
        """Return the tools of steps, sorted."""
        return tuple(sorted({self._steps[number].tool for number in cited if self._steps[number].tool}))


def check(answer: Mapping[str, Any], case: Case) -> Supported:
    """Return what the steps support of an answer that satisfies the schema; O(size)."""
    shown = _Shown(case.shown)
    other = _Shown(case.contrast.shown if case.contrast is not None else ())
    given = [(kind, item) for name, kind in _KINDS.items() for item in answer.get(name, ())]
    items = [each for kind, item in given if (each := _item(kind, item, shown, other)) is not None]
    lessons = [one for lesson in answer["lessons"] if (one := _lesson(lesson, shown)) is not None]
    said = [item for _, item in given] + list(answer["lessons"])
    kept = sum(len(each.steps) + len(each.contrast_steps) for each in items)
    kept += sum(len(each.steps) for each in lessons)
    cited = sum(len(_numbers(each)) + len(_numbers(each, "other_steps")) for each in said)
    dropped = len(said) - len(items) - len(lessons) + cited - kept
    return Supported(tuple(items), tuple(lessons), dropped, tuple(_problems(items, lessons, case)))


def _item(kind: ItemKind, item: Mapping[str, Any], shown: _Shown, other: _Shown) -> Item | None:
    quote, said = fold(item["quote"]), fold(f"{item['text']} {item['quote']}")
    steps = tuple(number for number in _numbers(item) if shown.holds(number, quote, said))
    if kind is not ItemKind.DIFFERENCE:
        return Item(kind, excerpt(item["text"], MAX_TEXT_CHARS), steps) if steps else None
    others = tuple(number for number in _numbers(item, "other_steps") if other.holds(number, quote, said))
    # The quote is from either task; the other one's step then has to be named by its tool or error.
    return Item(kind, excerpt(item["text"], MAX_TEXT_CHARS), steps, others) if steps and others else None


def _lesson(lesson: Mapping[str, Any], shown: _Shown) -> Lesson | None:
    texts = {part: excerpt(lesson[part], MAX_TEXT_CHARS) for part in _PARTS}
    said = fold(" ".join([*texts.values(), lesson["quote"]]))
    steps = tuple(number for number in _numbers(lesson) if shown.holds(number, fold(lesson["quote"]), said))
    if not steps or not all(texts.values()):
        return None
    tools = shown.tools(steps)
    return Lesson(
        **texts,
        steps=steps,
        statement="/".join(["model", *map(fold, tools), digest(fold(texts["lesson"]), size=8)]),
        confidence=shown.evidence(steps, said),
        reflector="model",
        tools=tools,
    )


def _problems(items: Sequence[Item], lessons: Sequence[Lesson], case: Case) -> Iterable[str]:
    if len(items) < ENOUGH:
        yield f"{len(items)} items were supported by the steps that they cite and quote"
    if not lessons and case.trajectory.outcome is TaskOutcome.FAILURE:
        yield "no lesson was"


def _numbers(said: Mapping[str, Any], name: str = "steps") -> list[int]:
    return sorted({int(number) for number in said.get(name, ())})


def _texts(step: Step) -> tuple[str, ...]:
    return tuple(text for text in (step.text, step.tool, step.arguments, step.result, step.error) if text)


def _names(said: str, tool: str) -> bool:
    """Tell whether a tool is named, and not just part of another word."""
    at = said.find(tool)
    while at >= 0:
        around = said[at - 1 : at] + said[at + len(tool) : at + len(tool) + 1]
        if not tool.isascii() or not _WORD.search(around):
            return True
        at = said.find(tool, at + 1)
    return False


def _shares(text: str, pieces: set[str]) -> bool:
    return any(text[at : at + _REPEATED_CHARS] in pieces for at in range(len(text) - _REPEATED_CHARS + 1))
