"""Bytes of records and log entries.

A record is a string value: a 32-byte header (creation revision and time, revision and time of the last change; big
endian doubles, which Lua can write) and a msgpack array that starts with the schema number; its layout is the order of
the fields (``domain.values``). A vector's body is its bare float16 values; where its text has pieces, theirs follow and
a byte that counts them, which makes its length odd. The idea of create and mod revisions beside each value is etcd's.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, TypeVar

from msgspec import ValidationError
from msgspec.msgpack import Decoder, Encoder

from hindsight_bus.domain.errors import SchemaTooNew
from hindsight_bus.domain.events import Entry, Event
from hindsight_bus.domain.memory import Transition, Vector
from hindsight_bus.domain.values import SCHEMA, Storable
from hindsight_bus.ports import HistoryStep, Record, Ref, Stored

T = TypeVar("T")

_HEADER = struct.Struct(">dddd")
_STEP_HEADER = struct.Struct(">dd")
_Events = list[int | Event]

pack = Encoder().encode
"""Return anything as msgpack."""
unpack = Decoder().decode
"""Return what msgpack holds."""


def encode_record(record: Record) -> bytes:
    """Return the body of a record; the store puts the header before it."""
    return _vector_body(record) if isinstance(record, Vector) else encode(record)


def decode_record(ref: Ref, raw: bytes) -> Stored[Record]:
    """Parse a stored record; raise ``SchemaTooNew``."""
    made, made_ms, changed, changed_ms = _HEADER.unpack_from(raw)
    body = raw[_HEADER.size :]
    record: Record = _vector(ref, body) if ref.kind is Vector else decode(ref.kind, body)
    return Stored(record, int(made), int(made_ms), int(changed), int(changed_ms))


def _vector_body(vector: Vector) -> bytes:
    if not vector.pieces:
        return vector.values
    return b"%b%b%c" % (vector.values, vector.pieces, len(vector.pieces) // len(vector.values))


def _vector(ref: Ref, body: bytes) -> Vector:
    memory_id, version, profile = ref.key
    size = len(body)
    if not size % 2:
        return Vector(str(memory_id), int(version), str(profile), body)
    end = size // (1 + body[-1])
    return Vector(str(memory_id), int(version), str(profile), body[:end], body[end:-1])


def encode(value: Storable) -> bytes:
    """Return schema number and fields of one object."""
    return pack(value)


def decode(kind: type[T], body: bytes) -> T:
    """Parse what ``encode`` made of an object of this kind; raise ``SchemaTooNew``."""
    decoded: T = _decode(kind, body)
    return decoded


def _decode(kind: Any, body: bytes) -> Any:
    try:
        return _decoder(kind).decode(body)
    except ValidationError:
        _refuse_newer(body)
        raise


@lru_cache(None)
def _decoder(kind: Any) -> Decoder[Any]:
    return Decoder(kind)


def _refuse_newer(body: bytes) -> None:
    schema = unpack(body)[0]
    if schema > SCHEMA:
        raise SchemaTooNew(schema, SCHEMA)


def encode_events(events: tuple[Event, ...]) -> bytes:
    """Return the events of one log entry."""
    return pack((SCHEMA, *events))


def decode_entry(partition: int, entry: tuple[bytes, list[bytes]]) -> Entry:
    """Parse an entry of the stream: its id and the fields stamp, time and events; raise ``SchemaTooNew``."""
    entry_id, fields = entry
    values = dict(zip(fields[::2], fields[1::2], strict=True))
    _, *events = _decode(_Events, values[b"e"])
    revision = int(entry_id.partition(b"-")[0])
    return Entry(partition, revision, int(values[b"s"]), int(values[b"t"]), tuple(events))


def decode_step(raw: bytes) -> HistoryStep:
    """Parse one step of a memory's history."""
    revision, time_ms = _STEP_HEADER.unpack_from(raw)
    return HistoryStep(decode(Transition, raw[_STEP_HEADER.size :]), int(revision), int(time_ms))
