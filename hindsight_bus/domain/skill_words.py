"""How a skill is told in words, in Chinese and English: the text of its memory, and what to see to before it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from hindsight_bus.domain.phrases import phrases_in
from hindsight_bus.domain.skills import Origin, Skill, SkillStep, SkillVersion
from hindsight_bus.domain.trajectory import excerpt
from hindsight_bus.domain.values import Value

_GOAL_CHARS, _NAME_CHARS, _VALUE_CHARS, _ARGUMENTS_CHARS = 240, 64, 60, 160
_MAX_NEEDED = 12


class _Words(Value):
    title: str
    unnamed: str
    trigger: str
    steps: str
    needs: str
    before: str
    then: str
    and_then: str
    end: str


_WORDS: Mapping[str, _Words] = {
    "en": _Words(
        "Skill: {name}", "{first} to {last}", " When: ", " Steps: ", " Needs: ", " Before: ", " → ", "; ", "."
    ),
    "zh": _Words("技能:{name}", "从 {first} 到 {last}", "适用:", "步骤:", "需要:", "事先:", " → ", ";", "。"),
}


def _words_of(skill: Skill) -> _Words:
    return _WORDS["zh" if skill.language == "zh" else "en"]


def title_of(skill: Skill, version: SkillVersion) -> str:
    """Return what a skill is called: by the kind of task it is for, else by where its way begins and ends."""
    first, last = (excerpt(tool, _NAME_CHARS) for tool in (version.path[0], version.path[-1]))
    return skill.kind or _words_of(skill).unnamed.format(first=first, last=last)


def trigger_of(version: SkillVersion) -> str:
    """Return when to use a skill: for goals like the one it was learnt from, with its inputs taken out."""
    goal = version.goal
    for each in sorted(version.parameters, key=lambda each: -len(each.example)):
        value = str(json.loads(each.example))
        if value and each.origin is not Origin.RESULT:
            bounded = rf"(?<![0-9A-Za-z_]){re.escape(value)}(?![0-9A-Za-z_])"
            goal = re.sub(bounded, lambda _, name=each.name: f"{{{{{name}}}}}", goal)  # type: ignore[misc]
    return excerpt(goal, _GOAL_CHARS)


def preconditions_of(skill: Skill) -> list[str]:
    """Return what to see to before a skill, from the ways in which it is known to fail; most frequent first."""
    remedies = phrases_in(skill.language).remedies
    told = (
        remedies[each.failure].format(what=excerpt(each.tool, _NAME_CHARS)) for each in skill.known_failures
    )
    return list(dict.fromkeys(told))


def text_of(skill: Skill, version: SkillVersion) -> str:
    """Return a skill as one text: what is remembered, and found again by its goal."""
    words = _words_of(skill)
    needed = [each.name for each in version.parameters if each.origin is not Origin.RESULT][:_MAX_NEEDED]
    parts = [
        words.title.format(name=title_of(skill, version)),
        f"{words.trigger}{trigger_of(version)}",
        f"{words.steps}{words.then.join(map(_step, version.steps))}",
    ]
    if needed:
        parts.append(f"{words.needs}{', '.join(needed)}")
    if preconditions := preconditions_of(skill):
        parts.append(f"{words.before}{words.and_then.join(preconditions)}")
    return words.end.join([*parts, ""])


def _step(step: SkillStep) -> str:
    tool = excerpt(step.tool, _NAME_CHARS)
    try:
        arguments = json.loads(step.arguments)
    except (ValueError, RecursionError):
        arguments = step.arguments
    if not isinstance(arguments, dict):
        given = excerpt(step.arguments, _ARGUMENTS_CHARS)
        return f"{tool}({given})" if given else tool
    given = ", ".join(f"{key}={_value(value)}" for key, value in arguments.items())
    return f"{tool}({excerpt(given, _ARGUMENTS_CHARS)})" if given else tool


def _value(value: object) -> str:
    return excerpt(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _VALUE_CHARS)
