"""Bytes of the definition of a group."""

from __future__ import annotations

from hindsight_bus.adapters.valkey.records import decode, encode
from hindsight_bus.domain.groups import GroupRecord

_ID_CHARS = 32


def encode_group(group: GroupRecord) -> bytes:
    """Return the group's id, by which scripts know it, and its definition."""
    return group.id.encode() + encode(group)


def decode_group(raw: bytes) -> GroupRecord:
    """Parse what ``encode_group`` made; raise ``SchemaTooNew``."""
    return decode(GroupRecord, raw[_ID_CHARS:])
