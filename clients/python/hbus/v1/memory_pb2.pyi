import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MemoryType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_TYPE_UNSPECIFIED: _ClassVar[MemoryType]
    MEMORY_TYPE_EPISODIC: _ClassVar[MemoryType]
    MEMORY_TYPE_SEMANTIC: _ClassVar[MemoryType]
    MEMORY_TYPE_PROCEDURAL: _ClassVar[MemoryType]
    MEMORY_TYPE_LESSON: _ClassVar[MemoryType]

class MemoryState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MEMORY_STATE_UNSPECIFIED: _ClassVar[MemoryState]
    MEMORY_STATE_ACTIVE: _ClassVar[MemoryState]
    MEMORY_STATE_CONTESTED: _ClassVar[MemoryState]
    MEMORY_STATE_OVERRIDDEN: _ClassVar[MemoryState]
    MEMORY_STATE_SUPERSEDED: _ClassVar[MemoryState]
    MEMORY_STATE_QUARANTINED: _ClassVar[MemoryState]
    MEMORY_STATE_ARCHIVED: _ClassVar[MemoryState]
    MEMORY_STATE_FORGOTTEN: _ClassVar[MemoryState]
    MEMORY_STATE_EXPIRED: _ClassVar[MemoryState]

class Cardinality(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CARDINALITY_UNSPECIFIED: _ClassVar[Cardinality]
    CARDINALITY_ONE: _ClassVar[Cardinality]
    CARDINALITY_MANY: _ClassVar[Cardinality]

class Channel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHANNEL_UNSPECIFIED: _ClassVar[Channel]
    CHANNEL_USER: _ClassVar[Channel]
    CHANNEL_AGENT: _ClassVar[Channel]
    CHANNEL_TOOL: _ClassVar[Channel]
    CHANNEL_INGEST: _ClassVar[Channel]
    CHANNEL_REFLECTION: _ClassVar[Channel]
MEMORY_TYPE_UNSPECIFIED: MemoryType
MEMORY_TYPE_EPISODIC: MemoryType
MEMORY_TYPE_SEMANTIC: MemoryType
MEMORY_TYPE_PROCEDURAL: MemoryType
MEMORY_TYPE_LESSON: MemoryType
MEMORY_STATE_UNSPECIFIED: MemoryState
MEMORY_STATE_ACTIVE: MemoryState
MEMORY_STATE_CONTESTED: MemoryState
MEMORY_STATE_OVERRIDDEN: MemoryState
MEMORY_STATE_SUPERSEDED: MemoryState
MEMORY_STATE_QUARANTINED: MemoryState
MEMORY_STATE_ARCHIVED: MemoryState
MEMORY_STATE_FORGOTTEN: MemoryState
MEMORY_STATE_EXPIRED: MemoryState
CARDINALITY_UNSPECIFIED: Cardinality
CARDINALITY_ONE: Cardinality
CARDINALITY_MANY: Cardinality
CHANNEL_UNSPECIFIED: Channel
CHANNEL_USER: Channel
CHANNEL_AGENT: Channel
CHANNEL_TOOL: Channel
CHANNEL_INGEST: Channel
CHANNEL_REFLECTION: Channel

class Attachment(_message.Message):
    __slots__ = ("uri", "media_type", "title")
    URI_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    uri: str
    media_type: str
    title: str
    def __init__(self, uri: _Optional[str] = ..., media_type: _Optional[str] = ..., title: _Optional[str] = ...) -> None: ...

class Claim(_message.Message):
    __slots__ = ("speaker", "agent", "channel", "confidence", "event_time", "source", "version", "sequence")
    SPEAKER_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    speaker: str
    agent: str
    channel: Channel
    confidence: float
    event_time: _timestamp_pb2.Timestamp
    source: str
    version: int
    sequence: int
    def __init__(self, speaker: _Optional[str] = ..., agent: _Optional[str] = ..., channel: _Optional[_Union[Channel, str]] = ..., confidence: _Optional[float] = ..., event_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., source: _Optional[str] = ..., version: _Optional[int] = ..., sequence: _Optional[int] = ...) -> None: ...

class Memory(_message.Message):
    __slots__ = ("name", "type", "text", "subject", "value", "cardinality", "aliases", "tags", "attributes", "about", "language", "attachments", "vector", "confidence", "effective_confidence", "importance", "explicit", "pinned", "claims", "event_time", "create_time", "update_time", "expire_time", "state", "version", "supersedes", "superseded_by", "conflict", "etag", "subject_derived", "revision", "vector_pending", "conversation", "task")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    CARDINALITY_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    ABOUT_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    ATTACHMENTS_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    EXPLICIT_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDES_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    CONFLICT_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_DERIVED_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    VECTOR_PENDING_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: MemoryType
    text: str
    subject: str
    value: str
    cardinality: Cardinality
    aliases: _containers.RepeatedScalarFieldContainer[str]
    tags: _containers.RepeatedScalarFieldContainer[str]
    attributes: _struct_pb2.Struct
    about: str
    language: str
    attachments: _containers.RepeatedCompositeFieldContainer[Attachment]
    vector: _containers.RepeatedScalarFieldContainer[float]
    confidence: float
    effective_confidence: float
    importance: float
    explicit: bool
    pinned: bool
    claims: _containers.RepeatedCompositeFieldContainer[Claim]
    event_time: _timestamp_pb2.Timestamp
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    state: MemoryState
    version: int
    supersedes: _containers.RepeatedScalarFieldContainer[str]
    superseded_by: str
    conflict: str
    etag: str
    subject_derived: bool
    revision: int
    vector_pending: bool
    conversation: str
    task: str
    def __init__(self, name: _Optional[str] = ..., type: _Optional[_Union[MemoryType, str]] = ..., text: _Optional[str] = ..., subject: _Optional[str] = ..., value: _Optional[str] = ..., cardinality: _Optional[_Union[Cardinality, str]] = ..., aliases: _Optional[_Iterable[str]] = ..., tags: _Optional[_Iterable[str]] = ..., attributes: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., about: _Optional[str] = ..., language: _Optional[str] = ..., attachments: _Optional[_Iterable[_Union[Attachment, _Mapping]]] = ..., vector: _Optional[_Iterable[float]] = ..., confidence: _Optional[float] = ..., effective_confidence: _Optional[float] = ..., importance: _Optional[float] = ..., explicit: _Optional[bool] = ..., pinned: _Optional[bool] = ..., claims: _Optional[_Iterable[_Union[Claim, _Mapping]]] = ..., event_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., state: _Optional[_Union[MemoryState, str]] = ..., version: _Optional[int] = ..., supersedes: _Optional[_Iterable[str]] = ..., superseded_by: _Optional[str] = ..., conflict: _Optional[str] = ..., etag: _Optional[str] = ..., subject_derived: _Optional[bool] = ..., revision: _Optional[int] = ..., vector_pending: _Optional[bool] = ..., conversation: _Optional[str] = ..., task: _Optional[str] = ...) -> None: ...

class Transition(_message.Message):
    __slots__ = ("kind", "state_before", "state_after", "time", "revision", "agent", "reason")
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATE_BEFORE_FIELD_NUMBER: _ClassVar[int]
    STATE_AFTER_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    kind: str
    state_before: MemoryState
    state_after: MemoryState
    time: _timestamp_pb2.Timestamp
    revision: int
    agent: str
    reason: str
    def __init__(self, kind: _Optional[str] = ..., state_before: _Optional[_Union[MemoryState, str]] = ..., state_after: _Optional[_Union[MemoryState, str]] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revision: _Optional[int] = ..., agent: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class MemoryVersion(_message.Message):
    __slots__ = ("memory", "agent", "create_time", "transitions")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    TRANSITIONS_FIELD_NUMBER: _ClassVar[int]
    memory: Memory
    agent: str
    create_time: _timestamp_pb2.Timestamp
    transitions: _containers.RepeatedCompositeFieldContainer[Transition]
    def __init__(self, memory: _Optional[_Union[Memory, _Mapping]] = ..., agent: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., transitions: _Optional[_Iterable[_Union[Transition, _Mapping]]] = ...) -> None: ...

class MemoryFilter(_message.Message):
    __slots__ = ("types", "states", "tags", "any_tags", "subject", "subject_prefix", "about", "languages", "agents", "min_confidence", "min_importance", "event_after", "event_before", "create_after", "create_before", "pinned")
    TYPES_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    ANY_TAGS_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_PREFIX_FIELD_NUMBER: _ClassVar[int]
    ABOUT_FIELD_NUMBER: _ClassVar[int]
    LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    MIN_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    MIN_IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_AFTER_FIELD_NUMBER: _ClassVar[int]
    EVENT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    CREATE_AFTER_FIELD_NUMBER: _ClassVar[int]
    CREATE_BEFORE_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    types: _containers.RepeatedScalarFieldContainer[MemoryType]
    states: _containers.RepeatedScalarFieldContainer[MemoryState]
    tags: _containers.RepeatedScalarFieldContainer[str]
    any_tags: _containers.RepeatedScalarFieldContainer[str]
    subject: str
    subject_prefix: str
    about: str
    languages: _containers.RepeatedScalarFieldContainer[str]
    agents: _containers.RepeatedScalarFieldContainer[str]
    min_confidence: float
    min_importance: float
    event_after: _timestamp_pb2.Timestamp
    event_before: _timestamp_pb2.Timestamp
    create_after: _timestamp_pb2.Timestamp
    create_before: _timestamp_pb2.Timestamp
    pinned: bool
    def __init__(self, types: _Optional[_Iterable[_Union[MemoryType, str]]] = ..., states: _Optional[_Iterable[_Union[MemoryState, str]]] = ..., tags: _Optional[_Iterable[str]] = ..., any_tags: _Optional[_Iterable[str]] = ..., subject: _Optional[str] = ..., subject_prefix: _Optional[str] = ..., about: _Optional[str] = ..., languages: _Optional[_Iterable[str]] = ..., agents: _Optional[_Iterable[str]] = ..., min_confidence: _Optional[float] = ..., min_importance: _Optional[float] = ..., event_after: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., event_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., create_after: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., create_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., pinned: _Optional[bool] = ...) -> None: ...
