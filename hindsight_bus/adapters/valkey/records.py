"""Bytes of records and log entries.

A record is a string value: a 32-byte header (creation revision and time, revision and time of the last change; big
endian doubles, which Lua can write) and a msgpack array that starts with the schema number. A vector's body is its bare
float16 values. The idea of create and mod revisions beside each value is etcd's.
"""

from __future__ import annotations

import struct
from typing import Any

import msgpack

from hindsight_bus.adapters.valkey.layout import Layout, Part, enum, mapping, optional, shared
from hindsight_bus.domain.errors import SchemaTooNew
from hindsight_bus.domain.events import Entry, Event, EventKind
from hindsight_bus.domain.expense import ModelUsage
from hindsight_bus.domain.failures import ErrorClass
from hindsight_bus.domain.memory import (
    Attachment,
    Cardinality,
    Channel,
    Claim,
    Head,
    MemoryState,
    MemoryType,
    Transition,
    Vector,
    Version,
)
from hindsight_bus.domain.names import Namespace, Pattern
from hindsight_bus.domain.policy import ConflictPolicy, PolicyRecord, RankingWeights, RecencyShape
from hindsight_bus.domain.records import (
    Conflict,
    ConflictSide,
    ConflictState,
    Fingerprint,
    NamespaceRecord,
    Receipt,
    Resolution,
    ResolutionAction,
    Standing,
    SubjectRecord,
    Usage,
)
from hindsight_bus.domain.skills import (
    KnownFailure,
    Origin,
    Skill,
    SkillParameter,
    SkillState,
    SkillStep,
    SkillVersion,
)
from hindsight_bus.domain.tasks import (
    Item,
    ItemKind,
    LearntLesson,
    Lesson,
    Rating,
    Reflection,
    ReflectionState,
    Step,
    StepKind,
    Task,
    TaskOutcome,
    TaskSteps,
)
from hindsight_bus.ports import DueItem, HistoryStep, Lane, Record, Ref, Stored

SCHEMA = 1
_HEADER = struct.Struct(">dddd")
_STEP_HEADER = struct.Struct(">dd")

_NAMESPACE = shared(Layout(Namespace, "tenant scope owner kind").one)
_PATTERN = Layout(Pattern, "tenant scope owner kind")
_CLAIM = Layout(
    Claim,
    "speaker agent channel memory_id statement confidence event_time_ms sequence version source many",
    channel=enum(Channel),
)
_STANDING = Layout(Standing, "state score", state=enum(MemoryState))
_RESOLUTION = Layout(Resolution, "action memory_id agent rationale time_ms", action=enum(ResolutionAction))
_STEP = Layout(
    Step,
    "sequence kind text tool arguments result error duration_ms time_ms rating channel ceiling",
    kind=enum(StepKind),
    rating=enum(Rating),
    channel=enum(Channel),
)
_LESSON = Layout(Lesson, "situation action result lesson steps statement confidence reflector tools")

LAYOUTS: dict[type[Any], Layout[Any]] = {
    Head: Layout(
        Head,
        "namespace memory_id type state version last_version effective_confidence subject_key claims conflict_id"
        " superseded_by purge_time_ms agents suspicions",
        namespace=_NAMESPACE,
        type=enum(MemoryType),
        state=enum(MemoryState),
        claims=_CLAIM.many,
    ),
    Version: Layout(
        Version,
        "namespace memory_id number type text subject subject_derived value cardinality aliases tags attributes about"
        " language attachments confidence importance explicit pinned event_time_ms expire_time_ms supersedes agent"
        " channel source conversation task",
        namespace=_NAMESPACE,
        type=enum(MemoryType),
        cardinality=enum(Cardinality),
        attachments=Layout(Attachment, "uri media_type title").many,
        channel=enum(Channel),
    ),
    SubjectRecord: Layout(
        SubjectRecord,
        "namespace key subject type sequence claims standings chosen keep_all merged conflict_id archived",
        namespace=_NAMESPACE,
        type=enum(MemoryType),
        claims=_CLAIM.many,
        standings=mapping(_STANDING.one),
    ),
    Conflict: Layout(
        Conflict,
        "namespace id subject subject_key type state sides reason resolution",
        namespace=_NAMESPACE,
        type=enum(MemoryType),
        state=enum(ConflictState),
        sides=Layout(ConflictSide, "memory_id text score speakers").many,
        resolution=optional(_RESOLUTION.one),
    ),
    NamespaceRecord: Layout(NamespaceRecord, "namespace profile dimension", namespace=_NAMESPACE),
    Receipt: Layout(
        Receipt,
        "namespace principal request_id payload decision memory_id conflict_id reason",
        namespace=_NAMESPACE,
    ),
    Fingerprint: Layout(Fingerprint, "namespace digest memory_id", namespace=_NAMESPACE),
    Usage: Layout(Usage, "namespace memory_id retrieved used", namespace=_NAMESPACE),
    PolicyRecord: Layout(
        PolicyRecord,
        "pattern embedding_profile conflict_policy conflict_margin belief_half_life_days max_text_chars daily_quota"
        " ranking_weights recency_half_life_days purge_after_days recency_shape",
        pattern=_PATTERN.one,
        conflict_policy=optional(enum(ConflictPolicy)),
        recency_shape=optional(enum(RecencyShape)),
        ranking_weights=optional(Layout(RankingWeights, "relevance recency importance").one),
    ),
    Task: Layout(
        Task,
        "namespace id goal kind user agent payload outcome score judge finish_time_ms recorded batches step_bytes told",
        namespace=_NAMESPACE,
        outcome=enum(TaskOutcome),
    ),
    TaskSteps: Layout(
        TaskSteps, "namespace task_id number agent steps", namespace=_NAMESPACE, steps=_STEP.many
    ),
    Reflection: Layout(
        Reflection,
        "namespace task_id state last_sequence reflector version attempts items lessons tokens_before tokens_after"
        " problem skills model usage dropped contrast remarks is_made",
        namespace=_NAMESPACE,
        state=enum(ReflectionState),
        items=Layout(Item, "kind text steps contrast_steps", kind=enum(ItemKind)).many,
        usage=Layout(ModelUsage, "calls input_tokens output_tokens cost").one,
        lessons=Layout(LearntLesson, "memory_id decision lesson", lesson=_LESSON.one).many,
    ),
    Skill: Layout(
        Skill,
        "namespace id kind agent language trust state version successes failures won lost known_failures"
        " last_used_ms problem source",
        namespace=_NAMESPACE,
        state=enum(SkillState),
        known_failures=Layout(
            KnownFailure, "tool failure times", failure=Part(lambda each: each.value, ErrorClass)
        ).many,
    ),
    SkillVersion: Layout(
        SkillVersion,
        "namespace skill_id number goal task steps parameters",
        namespace=_NAMESPACE,
        steps=Layout(SkillStep, "tool arguments repeats").many,
        parameters=Layout(SkillParameter, "name origin example step", origin=enum(Origin)).many,
    ),
    Event: Layout(
        Event,
        "kind namespace memory_id version type before after confidence_before confidence_after version_before"
        " create_time_ms create_revision agent reason conflict_id superseded_by subject_key agents"
        " retrieved used",
        kind=enum(EventKind),
        namespace=_NAMESPACE,
        type=enum(MemoryType),
        before=enum(MemoryState),
        after=enum(MemoryState),
    ),
    Transition: Layout(
        Transition,
        "memory_id kind before after version agent reason",
        before=enum(MemoryState),
        after=enum(MemoryState),
    ),
    DueItem: Layout(DueItem, "id kind payload due_ms lane", lane=enum(Lane)),
}
"""Layout of everything that is stored as an array of its own."""


def encode_record(record: Record) -> bytes:
    """Return the body of a record; the store puts the header before it."""
    if isinstance(record, Vector):
        return record.values
    return encode(record)


def decode_record(ref: Ref, raw: bytes) -> Stored[Record]:
    """Parse a stored record; raise ``SchemaTooNew``."""
    create_revision, create_time_ms, revision, update_time_ms = map(int, _HEADER.unpack_from(raw))
    body = raw[_HEADER.size :]
    record: Record = _vector(ref, body) if ref.kind is Vector else decode(ref.kind, body)
    return Stored(record, create_revision, create_time_ms, revision, update_time_ms)


def _vector(ref: Ref, values: bytes) -> Vector:
    memory_id, version, profile = ref.key
    return Vector(str(memory_id), int(version), str(profile), values)


def encode(value: Record | Transition | DueItem) -> bytes:
    """Return schema number and fields of one object."""
    packed: bytes = msgpack.packb([SCHEMA, *LAYOUTS[type(value)].encode(value)])
    return packed


def decode(kind: type[Any], body: bytes) -> Any:
    """Parse what ``encode`` made of an object of this kind; raise ``SchemaTooNew``."""
    return LAYOUTS[kind].decode(_unpack(body)[1:])


def encode_events(events: tuple[Event, ...]) -> bytes:
    """Return the events of one log entry."""
    layout = LAYOUTS[Event]
    packed: bytes = msgpack.packb([SCHEMA, *map(layout.encode, events)])
    return packed


def decode_entry(partition: int, entry: tuple[bytes, list[bytes]]) -> Entry:
    """Parse an entry of the stream: its id and the fields stamp, time and events; raise ``SchemaTooNew``."""
    entry_id, fields = entry
    values = dict(zip(fields[::2], fields[1::2], strict=True))
    layout = LAYOUTS[Event]
    events = tuple(layout.decode(event) for event in _unpack(values[b"e"])[1:])
    revision = int(entry_id.partition(b"-")[0])
    return Entry(partition, revision, int(values[b"s"]), int(values[b"t"]), events)


def decode_step(raw: bytes) -> HistoryStep:
    """Parse one step of a memory's history."""
    revision, time_ms = _STEP_HEADER.unpack_from(raw)
    transition: Transition = decode(Transition, raw[_STEP_HEADER.size :])
    return HistoryStep(transition, int(revision), int(time_ms))


def _unpack(body: bytes) -> tuple[Any, ...]:
    values: tuple[Any, ...] = msgpack.unpackb(body, use_list=False, strict_map_key=False)
    if values[0] > SCHEMA:
        raise SchemaTooNew(values[0], SCHEMA)
    return values
