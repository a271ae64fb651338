"""Arguments of tools: loose in form, because models and hosts are, and strict in what they say.

Hosts send arrays as JSON strings or as lists with commas, numbers as strings, null for what they leave out and upper
case for choices; models confuse names. All that is mended here. A name that means nothing is refused.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from services.mcp.identity import MemoryType, Scope

_ALIASES: Mapping[str, tuple[str, ...]] = {
    "text": ("content", "memory_text", "fact", "message", "data"),
    "query": ("q", "question", "search_query", "search", "text"),
    "memory": ("name", "id", "memory_id", "memory_name", "uri"),
    "id": ("memory", "name", "uri"),
    "task": ("task_id", "task_name", "name", "id"),
    "goal": ("task", "description", "text"),
    "steps": ("step", "events"),
    "outcome": ("result", "status"),
    "limit": ("top_k", "k", "count", "max_results", "page_size", "n"),
    "type": ("memory_type", "kind"),
    "types": ("type", "memory_types", "memory_type"),
    "tags": ("tag", "labels"),
    "scope": ("visibility",),
    "event_time": ("time", "date", "when", "timestamp"),
    "token": ("cursor", "since", "resume_token"),
    "wait_seconds": ("wait", "timeout"),
    "replaces": ("supersedes",),
    "said_by": ("channel",),
    "confirm": ("confirmation", "confirm_token"),
}


def mended(given: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return arguments under the names that a tool knows; nulls count as left out, unknown names stay."""
    arguments = {name: value for name, value in given.items() if value is not None}
    for name in known:
        aliases = (alias for alias in _ALIASES.get(name, ()) if alias in arguments and alias not in known)
        if name not in arguments and (alias := next(aliases, "")):
            arguments[name] = arguments.pop(alias)
    return arguments


def _several(value: Any) -> Any:
    """Take a JSON array in a string, or words with commas between them, for a list."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return json.loads(value)
    return [part.strip() for part in value.split(",") if part.strip()]


def lowered(value: Any) -> Any:
    """Return a choice as it is written here."""
    return value.strip().lower() if isinstance(value, str) else value


def _all_lowered(value: Any) -> Any:
    several = _several(value)
    return [lowered(each) for each in several] if isinstance(several, list) else several


def _blank_as_none(value: Any) -> Any:
    return None if value == "" else value


def _with_zone(value: datetime | None) -> datetime | None:
    return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value


_TIME_SCHEMA = {"type": "string", "format": "date-time"}
_SHARE_SCHEMA = {"type": "number", "minimum": 0, "maximum": 1}

Text = Annotated[str, Field(min_length=1, description="One self-contained statement, as it was said.")]
Query = Annotated[str, Field(min_length=1, max_length=2048, description="What to look for, in any words.")]
MemoryName = Annotated[str, Field(min_length=1, description="Name or URI of a memory, from another tool.")]
Subject = Annotated[str, Field(description="What it is about, dotted, e.g. preference.language.")]
Tags = Annotated[list[str], BeforeValidator(_several)]
MemoryNames = Annotated[list[str], BeforeValidator(_several)]
Type = Annotated[MemoryType, BeforeValidator(lowered)]
Types = Annotated[list[MemoryType], BeforeValidator(_all_lowered)]
InScope = Annotated[
    Scope,
    BeforeValidator(lowered),
    Field(description="shared: all agents of the user; private: this agent only."),
]
SaidBy = Annotated[
    Literal["user", "agent", "tool"],
    BeforeValidator(lowered),
    Field(description="user: the user said it; agent: you infer it; tool: a tool returned it."),
]
When = Annotated[
    datetime | None,
    BeforeValidator(_blank_as_none),
    AfterValidator(_with_zone),
    WithJsonSchema(_TIME_SCHEMA | {"description": "When it was true or said, ISO 8601."}),
]
Share = Annotated[
    float | None, BeforeValidator(_blank_as_none), Field(ge=0, le=1), WithJsonSchema(_SHARE_SCHEMA)
]
Limit = Annotated[int, Field(ge=1, le=50)]
Token = Annotated[str, Field(description="Token of a write or poll that the answer must have seen.")]
