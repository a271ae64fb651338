"""What a model is asked about a task: instructions, material and the schema of its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hindsight_bus.domain.fencing import FENCE_RULE, fenced
from hindsight_bus.domain.tasks import Step, StepKind
from hindsight_bus.domain.trajectory import Case, Trajectory

VERSION = 1
"""Of all that is below: grows when a model may answer something else for the same task."""
MAX_ITEMS = 5
"""Items of each kind, and lessons."""
MAX_TEXT_CHARS = 400

_LANGUAGES = {"zh": "Chinese", "ja": "Japanese", "ko": "Korean", "en": "English"}

_INSTRUCTIONS = """\
You review how an agent worked on a task, so that the next agent does better. You get the task and its steps, cut to \
what decides.

Say what was effective, what was ineffective, and what to do next time: two to five of each where the steps show so \
many, fewer where they do not. Then state lessons, two at most unless more are clearly there: in which situation, what \
was done, what came of it, what to do. A failed task has at least one lesson.

Every item and every lesson cites in `steps` the numbers of the steps that show it, and holds in `quote` at least \
eight characters copied unchanged from one of them: from its error or result best of all. What no step shows, leave \
out. Invent neither numbers nor quotes: they are checked, and what does not hold is thrown away.

Be concrete: name tools, errors and arguments. Do not repeat personal data that the advice does not need. One sentence \
a text, at most 300 characters, in {language}; quotes stay as they are.

{fence}"""

_DIFFERENCE = """

A second task of the same kind is given that ended the other way. Say in `difference` what decided between the two: \
one to three items, each citing steps of the first task in `steps` and of the second in `other_steps`, with a quote \
from either."""

_IN_ENGLISH = """

Think in English first: write into `thoughts` what happened and why, in English, before anything else. It is thrown \
away; all other texts are in {language}."""

_AGAIN = """

An answer was given before, and too little of it could be kept: {problems}. Cite steps that are there and quote them."""


def instructions(case: Case, language: str, problems: Sequence[str] = (), *, in_english: bool = False) -> str:
    """Return the system prompt; ``problems`` are those of an answer that was not good enough.

    ``in_english``: the model thinks in English, in a field of its own, before it answers in the task's language.
    """
    language = _LANGUAGES.get(language, "the language of the task")
    text = _INSTRUCTIONS.format(language=language, fence=FENCE_RULE)
    if in_english:
        text += _IN_ENGLISH.format(language=language)
    if case.contrast is not None:
        text += _DIFFERENCE
    return text + (_AGAIN.format(problems="; ".join(problems)) if problems else "")


def material(case: Case) -> str:
    """Return the task, and the one to compare it with, fenced."""
    parts = [fenced("task", _entries(case.trajectory, case.shown))]
    if case.contrast is not None:
        parts.append(fenced("second-task", _entries(case.contrast.trajectory, case.contrast.shown)))
    return "\n\n".join(parts)


def schema(case: Case, *, in_english: bool = False) -> Mapping[str, Any]:
    """Return the JSON Schema of an answer. Models write its fields in this order."""
    thoughts: dict[str, Any] = {"thoughts": {"type": "string"}} if in_english else {}
    properties = thoughts | {
        "effective": _listed(_ITEM),
        "ineffective": _listed(_ITEM),
        "next_time": _listed(_ITEM),
        "lessons": _listed(_LESSON),
    }
    if case.contrast is not None:
        properties["difference"] = _listed(_ITEM | {"other_steps": _NUMBERS})
    return _object(properties)


def _entries(trajectory: Trajectory, shown: Sequence[Step]) -> Iterator[dict[str, Any]]:
    head: dict[str, Any] = {"goal": trajectory.goal, "outcome": trajectory.outcome.name.lower()}
    if trajectory.kind:
        head["kind"] = trajectory.kind
    if trajectory.score is not None:
        head["score"] = trajectory.score
    yield head
    yield from map(_entry, shown)


def _entry(step: Step) -> dict[str, Any]:
    entry: dict[str, Any] = {"step": step.sequence, "kind": step.kind.name.lower()}
    if step.kind is not StepKind.TOOL_CALL:
        return entry | {"text": step.text}
    entry |= {"tool": step.tool, "arguments": step.arguments}
    if step.duration_ms:
        entry["ms"] = step.duration_ms
    return entry | ({"error": step.error} if step.error else {"result": step.result})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _listed(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "maxItems": MAX_ITEMS, "items": _object(properties)}


_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARS}
_NUMBERS = {"type": "array", "items": {"type": "integer"}}
_CITED = {"steps": _NUMBERS, "quote": {"type": "string"}}
_ITEM = {"text": _TEXT, **_CITED}
_LESSON = {"situation": _TEXT, "action": _TEXT, "result": _TEXT, "lesson": _TEXT, **_CITED}
