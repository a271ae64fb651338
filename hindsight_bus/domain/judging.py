"""What a model is asked about two memories that look contradictory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hindsight_bus.domain.fencing import FENCE_RULE, fenced
from hindsight_bus.domain.memory import Version
from hindsight_bus.domain.records import SuspicionVerdict
from hindsight_bus.domain.trajectory import excerpt

VERSION = 1
"""Of all that is below."""
_REASON_CHARS = 200

INSTRUCTIONS = f"""\
Two statements from the memory of a group of agents look as if they contradicted each other. Say how they stand to \
each other:
- same: they say the same in other words.
- update: both were true, one after the other; the later one replaces the earlier one.
- contradiction: they cannot both be true, and nothing shows which is.
- unrelated: both can be true at once: they are about different things, times or persons.
In doubt, say contradiction. Give the reason in one short sentence, in the language of the statements.

{FENCE_RULE}"""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "enum": [verdict.name.lower() for verdict in SuspicionVerdict]},
        "reason": {"type": "string"},
    },
    "required": ["verdict", "reason"],
    "additionalProperties": False,
}


def material(sides: Iterable[Version], dates: Iterable[str]) -> str:
    """Return the statements, fenced, each with the day that it is from."""
    entries = [
        {"statement": side.text, "about": side.about or side.subject, "date": date}
        for side, date in zip(sides, dates, strict=True)
    ]
    return fenced("statements", entries)


def verdict_of(answer: Mapping[str, Any]) -> tuple[SuspicionVerdict, str]:
    """Return what an answer that satisfies the schema says, and why."""
    return SuspicionVerdict[answer["verdict"].upper()], excerpt(answer["reason"], _REASON_CHARS)
