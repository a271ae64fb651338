import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from hbus.v1 import conflict_pb2 as _conflict_pb2
from hbus.v1 import memory_pb2 as _memory_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EventKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVENT_KIND_UNSPECIFIED: _ClassVar[EventKind]
    EVENT_KIND_WRITTEN: _ClassVar[EventKind]
    EVENT_KIND_CORROBORATED: _ClassVar[EventKind]
    EVENT_KIND_SUPERSEDED: _ClassVar[EventKind]
    EVENT_KIND_OVERRIDDEN: _ClassVar[EventKind]
    EVENT_KIND_CONTESTED: _ClassVar[EventKind]
    EVENT_KIND_SUSPECTED: _ClassVar[EventKind]
    EVENT_KIND_RESOLVED: _ClassVar[EventKind]
    EVENT_KIND_REINSTATED: _ClassVar[EventKind]
    EVENT_KIND_UPDATED: _ClassVar[EventKind]
    EVENT_KIND_ARCHIVED: _ClassVar[EventKind]
    EVENT_KIND_RESTORED: _ClassVar[EventKind]
    EVENT_KIND_FORGOTTEN: _ClassVar[EventKind]
    EVENT_KIND_EXPIRED: _ClassVar[EventKind]
    EVENT_KIND_QUARANTINED: _ClassVar[EventKind]
    EVENT_KIND_RELEASED: _ClassVar[EventKind]
    EVENT_KIND_INDEXED: _ClassVar[EventKind]
    EVENT_KIND_TASK: _ClassVar[EventKind]
    EVENT_KIND_SKILL: _ClassVar[EventKind]
EVENT_KIND_UNSPECIFIED: EventKind
EVENT_KIND_WRITTEN: EventKind
EVENT_KIND_CORROBORATED: EventKind
EVENT_KIND_SUPERSEDED: EventKind
EVENT_KIND_OVERRIDDEN: EventKind
EVENT_KIND_CONTESTED: EventKind
EVENT_KIND_SUSPECTED: EventKind
EVENT_KIND_RESOLVED: EventKind
EVENT_KIND_REINSTATED: EventKind
EVENT_KIND_UPDATED: EventKind
EVENT_KIND_ARCHIVED: EventKind
EVENT_KIND_RESTORED: EventKind
EVENT_KIND_FORGOTTEN: EventKind
EVENT_KIND_EXPIRED: EventKind
EVENT_KIND_QUARANTINED: EventKind
EVENT_KIND_RELEASED: EventKind
EVENT_KIND_INDEXED: EventKind
EVENT_KIND_TASK: EventKind
EVENT_KIND_SKILL: EventKind

class Event(_message.Message):
    __slots__ = ("kind", "namespace", "memory", "state_before", "state_after", "agent", "time", "partition", "revision", "index", "conflict", "reason", "task", "skill")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    STATE_BEFORE_FIELD_NUMBER: _ClassVar[int]
    STATE_AFTER_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    CONFLICT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    SKILL_FIELD_NUMBER: _ClassVar[int]
    kind: EventKind
    namespace: str
    memory: _memory_pb2.Memory
    state_before: _memory_pb2.MemoryState
    state_after: _memory_pb2.MemoryState
    agent: str
    time: _timestamp_pb2.Timestamp
    partition: int
    revision: int
    index: int
    conflict: _conflict_pb2.Conflict
    reason: str
    task: str
    skill: str
    def __init__(self, kind: _Optional[_Union[EventKind, str]] = ..., namespace: _Optional[str] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., state_before: _Optional[_Union[_memory_pb2.MemoryState, str]] = ..., state_after: _Optional[_Union[_memory_pb2.MemoryState, str]] = ..., agent: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., partition: _Optional[int] = ..., revision: _Optional[int] = ..., index: _Optional[int] = ..., conflict: _Optional[_Union[_conflict_pb2.Conflict, _Mapping]] = ..., reason: _Optional[str] = ..., task: _Optional[str] = ..., skill: _Optional[str] = ...) -> None: ...
