"""Subscriptions in, events out."""

from __future__ import annotations

from hbus.v1 import bus_service_pb2 as pb
from hbus.v1.event_pb2 import Event
from hbus.v1.event_pb2 import EventKind as WireKind
from hindsight_bus.app import watch
from hindsight_bus.app.selection import WatchEvent
from hindsight_bus.domain import vectors
from hindsight_bus.domain.errors import InvalidField
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.meaning import Meaning
from hindsight_bus.domain.memory import MemoryType
from hindsight_bus.domain.names import conflict_name, skill_name, task_name
from hindsight_bus.domain.position import varint
from hindsight_bus.domain.query import EventFilter
from hindsight_bus.transport.codec import fields
from hindsight_bus.transport.codec.memories import encode_memory, fill_memory, fill_time, vector_of
from hindsight_bus.transport.codec.queries import MAX_QUERY_CHARS, decode_tokens, encode_token, filter_lines

_EVENTS_TAG = bytes([pb.SubscribeResponse.EVENTS_FIELD_NUMBER << 3 | 2])


def decode_watch(request: pb.SubscribeRequest, tenant: str) -> watch.WatchRequest:
    """Return a subscription; raise ``InvalidField`` naming the field at fault."""
    return watch.WatchRequest(
        patterns=fields.patterns(request.namespaces, tenant),
        filter=decode_event_filter(request.filter),
        start=decode_start(request.start, tenant),
    )


def decode_event_filter(message: pb.EventFilter) -> EventFilter:
    """Return conditions on events; raise ``InvalidField``."""
    return EventFilter(
        types=fields.members(message.types, MemoryType, "filter.types"),
        tags=filter_lines(message.tags, "filter.tags"),
        min_confidence=fields.share(message.min_confidence, "filter.min_confidence"),
        kinds=frozenset(_kind(number, f"filter.kinds[{i}]") for i, number in enumerate(message.kinds)),
        subject_prefix=fields.line(message.subject_prefix, "filter.subject_prefix", 128),
        not_my_own=message.not_my_own,
        meaning=_decode_meaning(message) if message.HasField("meaning") else None,
    )


def _decode_meaning(filter: pb.EventFilter) -> Meaning:
    if not {EventKind.INDEXED}.issuperset(filter.kinds):
        raise InvalidField("filter.kinds", "can hold INDEXED only beside a meaning")
    message = filter.meaning
    vector = vector_of(message.vector, "filter.meaning.vector")
    text = fields.remark(message.text, "filter.meaning.text", MAX_QUERY_CHARS).strip()
    if not text and vector is None:
        raise InvalidField("filter.meaning.text", "is required unless a vector is given")
    threshold = fields.share(message.threshold, "filter.meaning.threshold")
    if message.HasField("threshold") and not threshold:
        raise InvalidField("filter.meaning.threshold", "must be above 0")
    return Meaning(text, b"" if vector is None else vectors.to_bytes(vector), threshold)


def encode_meaning(meaning: Meaning | None) -> pb.Meaning | None:
    """Return a meaning for the wire."""
    if meaning is None:
        return None
    vector = vectors.from_bytes(meaning.vector).tolist()
    return pb.Meaning(text=meaning.text, vector=vector, threshold=meaning.threshold or None)


def _kind(number: int, field: str) -> EventKind:
    if number not in WireKind.values():
        raise InvalidField(field, f"has the unknown number {number}")
    return fields.member(number, EventKind, field)


def decode_start(
    message: pb.Start, tenant: str
) -> watch.Now | watch.Beginning | watch.AfterTokens | watch.Snapshot:
    """Return where to start; now unless told otherwise."""
    match message.WhichOneof("from"):
        case "beginning":
            return watch.Beginning()
        case "tokens":
            return watch.AfterTokens(decode_tokens(message.tokens.tokens, tenant, "start.tokens.tokens"))
        case "snapshot":
            return watch.Snapshot()
        case _:
            return watch.Now()


def encode_watched(message: watch.Message, tenant: str) -> pb.SubscribeResponse | bytes:
    """Return one message of a subscription, a batch already serialised."""
    match message:
        case watch.Batch():
            return _encode_batch(message, tenant)
        case watch.Confirmed(positions, oldest):
            confirmed = pb.SubscriptionConfirmed(
                token=encode_token(positions, tenant), oldest_revision=oldest
            )
            return pb.SubscribeResponse(confirmed=confirmed)
        case watch.SnapshotPart(memories):
            return pb.SubscribeResponse(snapshot=pb.SnapshotBatch(memories=map(encode_memory, memories)))
        case watch.Progress(positions):
            return pb.SubscribeResponse(checkpoint=pb.Checkpoint(token=encode_token(positions, tenant)))


def _encode_batch(batch: watch.Batch, tenant: str) -> bytes:
    """Return a serialised ``SubscribeResponse``.

    Repeated fields concatenate on the wire, so an event is encoded once and its bytes go to every subscriber.
    """
    parts = [event.wire or event_alone(event) for event in batch.events]
    parts.append(pb.EventBatch(token=encode_token(batch.positions, tenant)).SerializeToString())
    body = b"".join(parts)
    return _EVENTS_TAG + varint(len(body)) + body


def event_alone(event: WatchEvent) -> bytes:
    """Return this event as the serialised field 1 of a message: an ``EventBatch``, or a ``Delivery``."""
    if event.wire is None:
        alone = pb.EventBatch()
        fill_event(alone.events.add(), event)
        event.wire = alone.SerializeToString()
    return event.wire


def fill_event(encoded: Event, watched: WatchEvent) -> None:
    """Write an event, with its memory as it was then, into an empty message."""
    event, entry = watched.event, watched.entry
    encoded.kind = fields.number(event.kind)
    encoded.namespace = str(event.namespace)
    encoded.state_before = fields.number(event.before)
    encoded.state_after = fields.number(event.after)
    encoded.agent = event.agent
    fill_time(encoded.time, entry.time_ms)
    encoded.partition = entry.partition
    encoded.revision = entry.revision
    encoded.index = watched.index
    encoded.reason = event.reason
    match event.kind:
        case EventKind.TASK:
            encoded.task = task_name(event.namespace, event.memory_id)
        case EventKind.SKILL:
            encoded.skill = skill_name(event.namespace, event.memory_id)
        case _:
            fill_memory(encoded.memory, watched.memory)
    if event.conflict_id:
        encoded.conflict.name = conflict_name(event.namespace, event.conflict_id)
