"""Plain Python values for the contract's enums, tokens, names and times."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal, TypeAlias

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

from hbus.v1.common_pb2 import ConsistencyToken
from hbus.v1.conflict_pb2 import Conflict
from hbus.v1.memory_pb2 import Memory
from hbus.v1.review_pb2 import ReviewItem
from hbus.v1.skill_pb2 import Skill
from hbus.v1.task_pb2 import Task

TypeName: TypeAlias = Literal["episodic", "semantic", "procedural", "lesson"]
StateName: TypeAlias = Literal[
    "active", "contested", "overridden", "superseded", "quarantined", "archived", "forgotten", "expired"
]
CardinalityName: TypeAlias = Literal["one", "many"]
ChannelName: TypeAlias = Literal["user", "agent", "tool", "ingest", "reflection"]
ConflictStateName: TypeAlias = Literal["open", "suspected", "resolved", "moot", "settled"]
ActionName: TypeAlias = Literal["choose", "merge", "keep_all"]
ReviewStateName: TypeAlias = Literal["pending", "approved", "amended", "rejected"]
DecisionName: TypeAlias = Literal["approved", "amended", "rejected"]
OutcomeName: TypeAlias = Literal["success", "failure", "abandoned", "unknown"]
TurnRoleName: TypeAlias = Literal["user", "assistant", "tool"]
RatingName: TypeAlias = Literal["good", "bad"]
ConflictPolicyName: TypeAlias = Literal["confidence", "latest", "manual"]
AutoReflectionName: TypeAlias = Literal["always", "failures", "never"]
ProfileName: TypeAlias = Literal["support", "knowledge", "assistant"]
SearchChannelName: TypeAlias = Literal["dense", "lexical", "temporal", "subject", "neighbours"]
LanguageName: TypeAlias = Literal["", "zh", "en"]
"""A language that blocks for prompts are worded in; empty: that of the query."""
KindName: TypeAlias = Literal[
    "written",
    "corroborated",
    "superseded",
    "overridden",
    "contested",
    "suspected",
    "resolved",
    "reinstated",
    "updated",
    "archived",
    "restored",
    "forgotten",
    "expired",
    "quarantined",
    "released",
    "indexed",
    "task",
    "skill",
]

Token: TypeAlias = ConsistencyToken | str
"""Any token that a call returned, or its text."""
MemoryRef: TypeAlias = Memory | str
"""A memory, or its resource name."""
ConflictRef: TypeAlias = Conflict | str
"""A conflict, or its resource name."""
TaskRef: TypeAlias = Task | str
"""A task, or its resource name."""
SkillRef: TypeAlias = Skill | str
"""A skill, or its resource name."""


ReviewRef: TypeAlias = ReviewItem | str
"""A review item, or its resource name."""


def label(enum: EnumTypeWrapper, number: int) -> str:
    """Return an enum value's short name: ``label(MemoryState, memory.state) == "active"``.

    A number that this client does not know comes back as its digits.
    """
    if number not in enum.values():
        return str(number)
    return enum.Name(number).removeprefix(_prefix(enum)).lower()


def number(enum: EnumTypeWrapper, name: str | int, field: str) -> Any:
    """Return the number of a short name; numbers pass. Raise ``ValueError`` naming ``field`` and the choices."""
    if isinstance(name, int):
        return name
    prefix = _prefix(enum)
    names = enum.keys()
    full = prefix + name.upper().removeprefix(prefix)
    if full not in names:
        choices = ", ".join(key.removeprefix(prefix).lower() for key in names[1:])
        raise ValueError(f"{field}: {name!r} is none of {choices}")
    return enum.Value(full)


def numbers(enum: EnumTypeWrapper, names: Iterable[str | int], field: str) -> list[Any]:
    """Return the numbers of short names. A single name instead of several is taken as one."""
    return [number(enum, name, field) for name in ([names] if isinstance(names, str) else names)]


def _prefix(enum: EnumTypeWrapper) -> str:
    return enum.Name(0).removesuffix("UNSPECIFIED")


def tokens(given: Token | Iterable[Token]) -> list[ConsistencyToken]:
    """Return one token or several as messages; empty ones are left out."""
    several = [given] if isinstance(given, ConsistencyToken | str) else given
    made = [ConsistencyToken(token=each) if isinstance(each, str) else each for each in several]
    return [token for token in made if token.token]


def name_of(resource: Memory | Conflict | Task | Skill | ReviewItem | str) -> str:
    """Return the resource name of a memory, conflict, task, skill or review item."""
    return resource if isinstance(resource, str) else resource.name


def moment(time: datetime, field: str) -> datetime:
    """Return the time; raise ``ValueError`` naming ``field`` when it has no zone."""
    if time.tzinfo is None:
        raise ValueError(f"{field}: a datetime needs a time zone, for example datetime.now(timezone.utc)")
    return time
