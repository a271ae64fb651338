"""Bytes of the definition of a group."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import msgpack

from hindsight_bus.adapters.valkey.layout import Layout, Part, optional
from hindsight_bus.adapters.valkey.records import SCHEMA
from hindsight_bus.domain.errors import SchemaTooNew
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.groups import GroupRecord
from hindsight_bus.domain.meaning import Meaning
from hindsight_bus.domain.memory import MemoryType
from hindsight_bus.domain.names import Pattern
from hindsight_bus.domain.position import Position
from hindsight_bus.domain.query import EventFilter


def _set_of(kind: Callable[[Any], Any]) -> Part:
    return Part(lambda values: sorted(map(_plain, values)), lambda stored: frozenset(map(kind, stored)))


def _plain(value: IntEnum | str) -> int | str:
    return int(value) if isinstance(value, IntEnum) else value


_ID_CHARS = 32
_DEFINITION = Layout(
    GroupRecord,
    "tenant name id patterns filter ordered lease_ms max_attempts lifetime_ms start agent create_time_ms",
    patterns=Layout(Pattern, "tenant scope owner kind").many,
    filter=Layout(
        EventFilter,
        "types tags min_confidence kinds subject_prefix not_my_own meaning",
        types=_set_of(MemoryType),
        tags=_set_of(str),
        kinds=_set_of(EventKind),
        meaning=optional(Layout(Meaning, "text vector threshold").one),
    ).one,
    start=Layout(Position, "partition revision stamp").many,
)


def encode_group(group: GroupRecord) -> bytes:
    """Return the group's id, by which scripts know it, and its definition."""
    packed: bytes = msgpack.packb([SCHEMA, *_DEFINITION.encode(group)])
    return group.id.encode() + packed


def decode_group(raw: bytes) -> GroupRecord:
    """Parse what ``encode_group`` made; raise ``SchemaTooNew``."""
    schema, *values = msgpack.unpackb(raw[_ID_CHARS:], use_list=False)
    if schema > SCHEMA:
        raise SchemaTooNew(schema, SCHEMA)
    return _DEFINITION.decode(values)
