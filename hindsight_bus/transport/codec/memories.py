"""Memories: writes and updates in, memories and outcomes out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from google.protobuf.duration_pb2 import Duration
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from hbus.v1 import memory_pb2 as pb
from hbus.v1 import memory_service_pb2 as service_pb
from hindsight_bus.app.draft import WriteDraft
from hindsight_bus.app.read import PastVersion
from hindsight_bus.domain import vectors
from hindsight_bus.domain.errors import InvalidField, TooLarge
from hindsight_bus.domain.events import EventKind
from hindsight_bus.domain.memory import Attachment, Cardinality, Channel, Claim, Memory, MemoryType, Version
from hindsight_bus.domain.names import Namespace, ResourceName, conflict_name, memory_name
from hindsight_bus.ports import HistoryStep
from hindsight_bus.transport.codec import fields

MAX_TEXT_BYTES = 8 * 1024
_MAX_ATTRIBUTES_BYTES = 16 * 1024
MAX_PLACE_CHARS = 128
_MAX_DIMENSION = 16_384
_MAX_SUPERSEDES = 64
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_MAX_LANGUAGE_CHARS = 35


# --- in ------------------------------------------------------------------------------------------------------------


def decode_write(request: service_pb.WriteMemoryRequest, tenant: str) -> WriteDraft:
    """Return a write, well formed; raise ``InvalidField`` or ``TooLarge`` naming the field at fault."""
    namespace = Namespace.parse(request.namespace, tenant)
    memory = request.memory
    return WriteDraft(
        namespace=namespace,
        type=fields.member(memory.type, MemoryType, "memory.type"),
        text=_text(memory),
        subject=_subject(memory),
        value=_value(memory),
        cardinality=_cardinality(memory),
        aliases=_aliases(memory),
        tags=_tags(memory),
        attributes=_attributes(memory),
        about=_about(memory),
        language=_language(memory),
        attachments=_attachments(memory),
        vector=vector_of(memory.vector, "memory.vector"),
        confidence=_confidence(memory),
        importance=_importance(memory),
        explicit=memory.explicit,
        pinned=memory.pinned,
        event_time_ms=_event_time_ms(memory),
        expire_time_ms=_expire_time_ms(memory),
        supersedes=_supersedes(memory, namespace),
        request_id=fields.request_id(request.request_id),
        channel=channel_of(request.channel),
        source=source_of(request.source),
        payload=fields.payload_of(request) if request.request_id else "",
        conversation=_conversation(memory),
        task=_task(memory),
    )


def _conversation(memory: pb.Memory) -> str:
    return fields.line(memory.conversation, "memory.conversation", MAX_PLACE_CHARS)


def _task(memory: pb.Memory) -> str:
    return fields.line(memory.task, "memory.task", MAX_PLACE_CHARS)


def channel_of(number: int) -> Channel:
    """Return the channel of a mutation; default AGENT."""
    return fields.member(number, Channel, "channel") if number else Channel.AGENT


def source_of(text: str) -> str:
    """Return the source of a mutation."""
    return fields.line(text, "source", 512)


def vector_of(values: Sequence[float], field: str) -> vectors.StoredVector | None:
    """Return a caller's vector, at length 1 and as it is stored; None when there is none."""
    if not values:
        return None
    if len(values) > _MAX_DIMENSION:
        raise InvalidField(field, f"has {len(values)} dimensions, at most {_MAX_DIMENSION}")
    return vectors.rounded(values, field)


def _text(memory: pb.Memory) -> str:
    return fields.prose(memory.text, "memory.text", MAX_TEXT_BYTES)


def _subject(memory: pb.Memory) -> str:
    return fields.line(memory.subject, "memory.subject", 128)


def _value(memory: pb.Memory) -> str:
    return fields.line(memory.value, "memory.value", 256)


def _cardinality(memory: pb.Memory) -> Cardinality:
    if not memory.cardinality:
        return Cardinality.ONE
    return fields.member(memory.cardinality, Cardinality, "memory.cardinality")


def _aliases(memory: pb.Memory) -> tuple[str, ...]:
    return fields.lines(memory.aliases, "memory.aliases", 32, 64)


def _tags(memory: pb.Memory) -> tuple[str, ...]:
    return fields.lines(memory.tags, "memory.tags", 32, 64)


def _attributes(memory: pb.Memory) -> bytes:
    if not memory.HasField("attributes"):
        return b""
    data = memory.attributes.SerializeToString(deterministic=True)
    if len(data) > _MAX_ATTRIBUTES_BYTES:
        raise TooLarge("memory.attributes", len(data), _MAX_ATTRIBUTES_BYTES)
    _check_struct(memory.attributes, "memory.attributes")
    return data


def _check_struct(struct: Struct, field: str) -> None:
    for key, value in struct.fields.items():
        _check_value(value, f"{field}.{fields.line(key, field, 128)}")


def _check_value(value: Value, field: str) -> None:
    match value.WhichOneof("kind"):
        case "number_value":
            fields.finite(value.number_value, field)
        case "struct_value":
            _check_struct(value.struct_value, field)
        case "list_value":
            for i, each in enumerate(value.list_value.values):
                _check_value(each, f"{field}[{i}]")
        case None:
            raise InvalidField(field, "must have a value")


def _about(memory: pb.Memory) -> str:
    return fields.optional_part(memory.about, "memory.about")


def _language(memory: pb.Memory) -> str:
    text = memory.language
    if text and not (len(text) <= _MAX_LANGUAGE_CHARS and _LANGUAGE.fullmatch(text)):
        raise InvalidField("memory.language", "must be a BCP 47 language, for example zh or en-GB")
    return text


def _attachments(memory: pb.Memory) -> tuple[Attachment, ...]:
    fields.at_most(memory.attachments, "memory.attachments", 16)
    return tuple(_attachment(each, f"memory.attachments[{i}]") for i, each in enumerate(memory.attachments))


def _attachment(attachment: pb.Attachment, field: str) -> Attachment:
    return Attachment(
        uri=fields.required_line(attachment.uri, f"{field}.uri", 2048),
        media_type=fields.line(attachment.media_type, f"{field}.media_type", 255),
        title=fields.line(attachment.title, f"{field}.title", 255),
    )


def _confidence(memory: pb.Memory) -> float | None:
    return fields.share(memory.confidence, "memory.confidence") if memory.HasField("confidence") else None


def _importance(memory: pb.Memory) -> float | None:
    return fields.share(memory.importance, "memory.importance") if memory.HasField("importance") else None


def _event_time_ms(memory: pb.Memory) -> int:
    return fields.time_ms(memory.event_time, "memory.event_time") if memory.HasField("event_time") else 0


def _expire_time_ms(memory: pb.Memory) -> int:
    return fields.time_ms(memory.expire_time, "memory.expire_time") if memory.HasField("expire_time") else 0


def _supersedes(memory: pb.Memory, namespace: Namespace) -> tuple[ResourceName, ...]:
    fields.at_most(memory.supersedes, "memory.supersedes", _MAX_SUPERSEDES)
    return tuple(
        dict.fromkeys(
            _superseded(text, namespace, f"memory.supersedes[{i}]")
            for i, text in enumerate(memory.supersedes)
        )
    )


def _superseded(text: str, namespace: Namespace, field: str) -> ResourceName:
    return fields.same_namespace(fields.memory_name(text, namespace.tenant, field), namespace, field)


_UPDATABLE: Mapping[str, tuple[str, Callable[[pb.Memory], object]]] = {
    "text": ("text", _text),
    "subject": ("subject", _subject),
    "value": ("value", _value),
    "cardinality": ("cardinality", _cardinality),
    "aliases": ("aliases", _aliases),
    "tags": ("tags", _tags),
    "attributes": ("attributes", _attributes),
    "about": ("about", _about),
    "language": ("language", _language),
    "attachments": ("attachments", _attachments),
    "vector": ("vector", lambda memory: vector_of(memory.vector, "memory.vector")),
    "confidence": ("confidence", _confidence),
    "importance": ("importance", _importance),
    "explicit": ("explicit", lambda memory: memory.explicit),
    "pinned": ("pinned", lambda memory: memory.pinned),
    "event_time": ("event_time_ms", _event_time_ms),
    "expire_time": ("expire_time_ms", _expire_time_ms),
    "conversation": ("conversation", _conversation),
    "task": ("task", _task),
}


def decode_changes(request: service_pb.UpdateMemoryRequest) -> dict[str, object]:
    """Return the fields that the mask names, under their names in ``WriteDraft``, with their new values."""
    paths = fields.mask_paths(request.update_mask, _UPDATABLE)
    return {name: decode(request.memory) for name, decode in (_UPDATABLE[path] for path in paths)}


# --- out -----------------------------------------------------------------------------------------------------------


def duration(span_ms: int) -> Duration | None:
    """Return a span in milliseconds for the wire; None for 0."""
    seconds, rest_ms = divmod(span_ms, 1000)
    return Duration(seconds=seconds, nanos=rest_ms * 1_000_000) if span_ms else None


def timestamp(ms: int) -> Timestamp | None:
    """Return a time; None, which leaves a field unset, for 0."""
    if not ms:
        return None
    time = Timestamp()
    fill_time(time, ms)
    return time


def fill_time(time: Timestamp, ms: int) -> None:
    """Write Unix milliseconds into a time; 0 leaves it unset."""
    if ms:
        time.seconds, rest_ms = divmod(ms, 1000)
        time.nanos = rest_ms * 1_000_000


def encode_memory(memory: Memory) -> pb.Memory:
    """Return a memory for the wire."""
    encoded = pb.Memory()
    fill_memory(encoded, memory)
    return encoded


def fill_memory(encoded: pb.Memory, memory: Memory) -> None:
    """Write a memory into an empty message: one made apart would be copied into the message that holds it."""
    head, version = memory.head, memory.version
    namespace = str(head.namespace)
    encoded.name = memory_name(namespace, head.memory_id)
    encoded.type = fields.number(version.type)
    encoded.text = version.text
    encoded.cardinality = fields.number(version.cardinality)
    encoded.language = version.language
    encoded.confidence = _stated_confidence(memory)
    encoded.effective_confidence = head.effective_confidence
    encoded.importance = version.importance
    fill_time(encoded.create_time, memory.create_time_ms)
    fill_time(encoded.update_time, memory.update_time_ms)
    encoded.state = fields.number(head.state)
    encoded.version = version.number
    encoded.etag = memory.etag
    encoded.revision = memory.revision
    encoded.vector_pending = memory.vector_pending
    for claim in reversed(head.claims):
        _fill_claim(encoded.claims.add(), claim)
    _fill_optional(encoded, version)
    _fill_rare(encoded, memory, namespace)


def _fill_optional(encoded: pb.Memory, version: Version) -> None:
    """Set what many memories lack: to set a field takes longer than to see that there is nothing for it."""
    if version.subject:
        encoded.subject = version.subject
    if version.subject_derived:
        encoded.subject_derived = True
    if version.value:
        encoded.value = version.value
    if version.about:
        encoded.about = version.about
    if version.explicit:
        encoded.explicit = True
    if version.pinned:
        encoded.pinned = True
    if version.event_time_ms:
        fill_time(encoded.event_time, version.event_time_ms)
    if version.expire_time_ms:
        fill_time(encoded.expire_time, version.expire_time_ms)
    if version.conversation:
        encoded.conversation = version.conversation
    if version.task:
        encoded.task = version.task


def _fill_rare(encoded: pb.Memory, memory: Memory, namespace: str) -> None:
    """Set what most memories lack."""
    head, version = memory.head, memory.version
    if version.tags:
        encoded.tags.extend(version.tags)
    if version.aliases:
        encoded.aliases.extend(version.aliases)
    if version.attributes:
        encoded.attributes.ParseFromString(version.attributes)
    for each in version.attachments:
        encoded.attachments.add(uri=each.uri, media_type=each.media_type, title=each.title)
    if version.supersedes:
        encoded.supersedes.extend(memory_name(namespace, each) for each in version.supersedes)
    if head.superseded_by:
        encoded.superseded_by = memory_name(namespace, head.superseded_by)
    if head.conflict_id:
        encoded.conflict = conflict_name(namespace, head.conflict_id)


def _stated_confidence(memory: Memory) -> float:
    if not memory.head.claims:
        return memory.version.confidence
    return max({claim.speaker: claim.confidence for claim in memory.head.claims}.values())


def _fill_claim(encoded: pb.Claim, claim: Claim) -> None:
    encoded.speaker = claim.speaker
    encoded.agent = claim.agent
    encoded.channel = fields.number(claim.channel)
    encoded.confidence = claim.confidence
    fill_time(encoded.event_time, claim.event_time_ms)
    encoded.source = claim.source
    encoded.version = claim.version
    encoded.sequence = claim.sequence


def encode_version(past: PastVersion) -> pb.MemoryVersion:
    """Return one version of a memory, with what happened while it was current."""
    return pb.MemoryVersion(
        memory=encode_memory(past.memory),
        agent=past.agent,
        create_time=timestamp(past.create_time_ms),
        transitions=map(_encode_step, past.transitions),
    )


def _encode_step(step: HistoryStep) -> pb.Transition:
    transition = step.transition
    return pb.Transition(
        kind=EventKind(transition.kind).name.lower(),
        state_before=fields.number(transition.before),
        state_after=fields.number(transition.after),
        time=timestamp(step.time_ms),
        revision=step.revision,
        agent=transition.agent,
        reason=transition.reason,
    )
