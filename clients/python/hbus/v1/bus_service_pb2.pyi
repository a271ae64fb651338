from hbus.v1 import common_pb2 as _common_pb2
from hbus.v1 import conflict_pb2 as _conflict_pb2
from hbus.v1 import event_pb2 as _event_pb2
from hbus.v1 import memory_pb2 as _memory_pb2
from hbus.v1 import memory_service_pb2 as _memory_service_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PublishRequest(_message.Message):
    __slots__ = ("write",)
    WRITE_FIELD_NUMBER: _ClassVar[int]
    write: _memory_service_pb2.WriteMemoryRequest
    def __init__(self, write: _Optional[_Union[_memory_service_pb2.WriteMemoryRequest, _Mapping]] = ...) -> None: ...

class PublishResponse(_message.Message):
    __slots__ = ("sequence", "result")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    result: _memory_service_pb2.WriteResult
    def __init__(self, sequence: _Optional[int] = ..., result: _Optional[_Union[_memory_service_pb2.WriteResult, _Mapping]] = ...) -> None: ...

class StartNow(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StartBeginning(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StartTokens(_message.Message):
    __slots__ = ("tokens",)
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    tokens: _containers.RepeatedCompositeFieldContainer[_common_pb2.ConsistencyToken]
    def __init__(self, tokens: _Optional[_Iterable[_Union[_common_pb2.ConsistencyToken, _Mapping]]] = ...) -> None: ...

class StartSnapshot(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Start(_message.Message):
    __slots__ = ("now", "beginning", "tokens", "snapshot")
    NOW_FIELD_NUMBER: _ClassVar[int]
    BEGINNING_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    now: StartNow
    beginning: StartBeginning
    tokens: StartTokens
    snapshot: StartSnapshot
    def __init__(self, now: _Optional[_Union[StartNow, _Mapping]] = ..., beginning: _Optional[_Union[StartBeginning, _Mapping]] = ..., tokens: _Optional[_Union[StartTokens, _Mapping]] = ..., snapshot: _Optional[_Union[StartSnapshot, _Mapping]] = ...) -> None: ...

class EventFilter(_message.Message):
    __slots__ = ("types", "tags", "min_confidence", "kinds", "subject_prefix", "not_my_own")
    TYPES_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    MIN_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_PREFIX_FIELD_NUMBER: _ClassVar[int]
    NOT_MY_OWN_FIELD_NUMBER: _ClassVar[int]
    types: _containers.RepeatedScalarFieldContainer[_memory_pb2.MemoryType]
    tags: _containers.RepeatedScalarFieldContainer[str]
    min_confidence: float
    kinds: _containers.RepeatedScalarFieldContainer[_event_pb2.EventKind]
    subject_prefix: str
    not_my_own: bool
    def __init__(self, types: _Optional[_Iterable[_Union[_memory_pb2.MemoryType, str]]] = ..., tags: _Optional[_Iterable[str]] = ..., min_confidence: _Optional[float] = ..., kinds: _Optional[_Iterable[_Union[_event_pb2.EventKind, str]]] = ..., subject_prefix: _Optional[str] = ..., not_my_own: _Optional[bool] = ...) -> None: ...

class SubscribeRequest(_message.Message):
    __slots__ = ("namespaces", "filter", "start")
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    filter: EventFilter
    start: Start
    def __init__(self, namespaces: _Optional[_Iterable[str]] = ..., filter: _Optional[_Union[EventFilter, _Mapping]] = ..., start: _Optional[_Union[Start, _Mapping]] = ...) -> None: ...

class SubscriptionConfirmed(_message.Message):
    __slots__ = ("token", "oldest_revision")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    OLDEST_REVISION_FIELD_NUMBER: _ClassVar[int]
    token: _common_pb2.ConsistencyToken
    oldest_revision: int
    def __init__(self, token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ..., oldest_revision: _Optional[int] = ...) -> None: ...

class EventBatch(_message.Message):
    __slots__ = ("events", "token")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_event_pb2.Event]
    token: _common_pb2.ConsistencyToken
    def __init__(self, events: _Optional[_Iterable[_Union[_event_pb2.Event, _Mapping]]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ...) -> None: ...

class SnapshotBatch(_message.Message):
    __slots__ = ("memories",)
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    def __init__(self, memories: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ...) -> None: ...

class Checkpoint(_message.Message):
    __slots__ = ("token",)
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: _common_pb2.ConsistencyToken
    def __init__(self, token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ...) -> None: ...

class SubscribeResponse(_message.Message):
    __slots__ = ("confirmed", "events", "snapshot", "checkpoint")
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    confirmed: SubscriptionConfirmed
    events: EventBatch
    snapshot: SnapshotBatch
    checkpoint: Checkpoint
    def __init__(self, confirmed: _Optional[_Union[SubscriptionConfirmed, _Mapping]] = ..., events: _Optional[_Union[EventBatch, _Mapping]] = ..., snapshot: _Optional[_Union[SnapshotBatch, _Mapping]] = ..., checkpoint: _Optional[_Union[Checkpoint, _Mapping]] = ...) -> None: ...

class ListConflictsRequest(_message.Message):
    __slots__ = ("namespace", "states", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    states: _containers.RepeatedScalarFieldContainer[_conflict_pb2.ConflictState]
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., states: _Optional[_Iterable[_Union[_conflict_pb2.ConflictState, str]]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListConflictsResponse(_message.Message):
    __slots__ = ("conflicts", "next_page_token")
    CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    conflicts: _containers.RepeatedCompositeFieldContainer[_conflict_pb2.Conflict]
    next_page_token: str
    def __init__(self, conflicts: _Optional[_Iterable[_Union[_conflict_pb2.Conflict, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetConflictRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class GetConflictResponse(_message.Message):
    __slots__ = ("conflict",)
    CONFLICT_FIELD_NUMBER: _ClassVar[int]
    conflict: _conflict_pb2.Conflict
    def __init__(self, conflict: _Optional[_Union[_conflict_pb2.Conflict, _Mapping]] = ...) -> None: ...

class ResolveConflictRequest(_message.Message):
    __slots__ = ("name", "action", "memory", "rationale", "etag", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    RATIONALE_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    action: _conflict_pb2.ResolutionAction
    memory: str
    rationale: str
    etag: str
    request_id: str
    def __init__(self, name: _Optional[str] = ..., action: _Optional[_Union[_conflict_pb2.ResolutionAction, str]] = ..., memory: _Optional[str] = ..., rationale: _Optional[str] = ..., etag: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class ResolveConflictResponse(_message.Message):
    __slots__ = ("conflict", "memories", "token", "durability")
    CONFLICT_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    conflict: _conflict_pb2.Conflict
    memories: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    token: _common_pb2.ConsistencyToken
    durability: _common_pb2.Durability
    def __init__(self, conflict: _Optional[_Union[_conflict_pb2.Conflict, _Mapping]] = ..., memories: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ..., durability: _Optional[_Union[_common_pb2.Durability, str]] = ...) -> None: ...
