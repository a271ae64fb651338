import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from hbus.v1 import common_pb2 as _common_pb2
from hbus.v1 import conflict_pb2 as _conflict_pb2
from hbus.v1 import event_pb2 as _event_pb2
from hbus.v1 import group_pb2 as _group_pb2
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

class Meaning(_message.Message):
    __slots__ = ("text", "vector", "threshold")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    text: str
    vector: _containers.RepeatedScalarFieldContainer[float]
    threshold: float
    def __init__(self, text: _Optional[str] = ..., vector: _Optional[_Iterable[float]] = ..., threshold: _Optional[float] = ...) -> None: ...

class EventFilter(_message.Message):
    __slots__ = ("types", "tags", "min_confidence", "kinds", "subject_prefix", "not_my_own", "meaning")
    TYPES_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    MIN_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_PREFIX_FIELD_NUMBER: _ClassVar[int]
    NOT_MY_OWN_FIELD_NUMBER: _ClassVar[int]
    MEANING_FIELD_NUMBER: _ClassVar[int]
    types: _containers.RepeatedScalarFieldContainer[_memory_pb2.MemoryType]
    tags: _containers.RepeatedScalarFieldContainer[str]
    min_confidence: float
    kinds: _containers.RepeatedScalarFieldContainer[_event_pb2.EventKind]
    subject_prefix: str
    not_my_own: bool
    meaning: Meaning
    def __init__(self, types: _Optional[_Iterable[_Union[_memory_pb2.MemoryType, str]]] = ..., tags: _Optional[_Iterable[str]] = ..., min_confidence: _Optional[float] = ..., kinds: _Optional[_Iterable[_Union[_event_pb2.EventKind, str]]] = ..., subject_prefix: _Optional[str] = ..., not_my_own: _Optional[bool] = ..., meaning: _Optional[_Union[Meaning, _Mapping]] = ...) -> None: ...

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

class GroupTerms(_message.Message):
    __slots__ = ("name", "namespaces", "filter", "ordered", "lease", "max_attempts", "lifetime", "start")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    ORDERED_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    LIFETIME_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    name: str
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    filter: EventFilter
    ordered: bool
    lease: _duration_pb2.Duration
    max_attempts: int
    lifetime: _duration_pb2.Duration
    start: Start
    def __init__(self, name: _Optional[str] = ..., namespaces: _Optional[_Iterable[str]] = ..., filter: _Optional[_Union[EventFilter, _Mapping]] = ..., ordered: _Optional[bool] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_attempts: _Optional[int] = ..., lifetime: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., start: _Optional[_Union[Start, _Mapping]] = ...) -> None: ...

class OpenGroup(_message.Message):
    __slots__ = ("group", "member")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    group: GroupTerms
    member: str
    def __init__(self, group: _Optional[_Union[GroupTerms, _Mapping]] = ..., member: _Optional[str] = ...) -> None: ...

class AddCredit(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: int
    def __init__(self, events: _Optional[int] = ...) -> None: ...

class Settle(_message.Message):
    __slots__ = ("settlements",)
    SETTLEMENTS_FIELD_NUMBER: _ClassVar[int]
    settlements: _containers.RepeatedCompositeFieldContainer[_group_pb2.Settlement]
    def __init__(self, settlements: _Optional[_Iterable[_Union[_group_pb2.Settlement, _Mapping]]] = ...) -> None: ...

class ConsumeRequest(_message.Message):
    __slots__ = ("open", "credit", "settle")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    SETTLE_FIELD_NUMBER: _ClassVar[int]
    open: OpenGroup
    credit: AddCredit
    settle: Settle
    def __init__(self, open: _Optional[_Union[OpenGroup, _Mapping]] = ..., credit: _Optional[_Union[AddCredit, _Mapping]] = ..., settle: _Optional[_Union[Settle, _Mapping]] = ...) -> None: ...

class GroupOpened(_message.Message):
    __slots__ = ("group", "max_credit")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MAX_CREDIT_FIELD_NUMBER: _ClassVar[int]
    group: GroupTerms
    max_credit: int
    def __init__(self, group: _Optional[_Union[GroupTerms, _Mapping]] = ..., max_credit: _Optional[int] = ...) -> None: ...

class DeliveryBatch(_message.Message):
    __slots__ = ("deliveries",)
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    deliveries: _containers.RepeatedCompositeFieldContainer[_group_pb2.Delivery]
    def __init__(self, deliveries: _Optional[_Iterable[_Union[_group_pb2.Delivery, _Mapping]]] = ...) -> None: ...

class SettleResult(_message.Message):
    __slots__ = ("sequence", "outcomes")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    outcomes: _containers.RepeatedScalarFieldContainer[_group_pb2.SettleOutcome]
    def __init__(self, sequence: _Optional[int] = ..., outcomes: _Optional[_Iterable[_Union[_group_pb2.SettleOutcome, str]]] = ...) -> None: ...

class DrainAnnounced(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ConsumeIdle(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ConsumeResponse(_message.Message):
    __slots__ = ("opened", "events", "settled", "drain", "idle")
    OPENED_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    SETTLED_FIELD_NUMBER: _ClassVar[int]
    DRAIN_FIELD_NUMBER: _ClassVar[int]
    IDLE_FIELD_NUMBER: _ClassVar[int]
    opened: GroupOpened
    events: DeliveryBatch
    settled: SettleResult
    drain: DrainAnnounced
    idle: ConsumeIdle
    def __init__(self, opened: _Optional[_Union[GroupOpened, _Mapping]] = ..., events: _Optional[_Union[DeliveryBatch, _Mapping]] = ..., settled: _Optional[_Union[SettleResult, _Mapping]] = ..., drain: _Optional[_Union[DrainAnnounced, _Mapping]] = ..., idle: _Optional[_Union[ConsumeIdle, _Mapping]] = ...) -> None: ...

class PullEventsRequest(_message.Message):
    __slots__ = ("group", "member", "max_events", "wait")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    MAX_EVENTS_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    group: GroupTerms
    member: str
    max_events: int
    wait: _duration_pb2.Duration
    def __init__(self, group: _Optional[_Union[GroupTerms, _Mapping]] = ..., member: _Optional[str] = ..., max_events: _Optional[int] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class PullEventsResponse(_message.Message):
    __slots__ = ("deliveries", "group")
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    deliveries: _containers.RepeatedCompositeFieldContainer[_group_pb2.Delivery]
    group: GroupTerms
    def __init__(self, deliveries: _Optional[_Iterable[_Union[_group_pb2.Delivery, _Mapping]]] = ..., group: _Optional[_Union[GroupTerms, _Mapping]] = ...) -> None: ...

class AckEventsRequest(_message.Message):
    __slots__ = ("group", "member", "settlements")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    SETTLEMENTS_FIELD_NUMBER: _ClassVar[int]
    group: str
    member: str
    settlements: _containers.RepeatedCompositeFieldContainer[_group_pb2.Settlement]
    def __init__(self, group: _Optional[str] = ..., member: _Optional[str] = ..., settlements: _Optional[_Iterable[_Union[_group_pb2.Settlement, _Mapping]]] = ...) -> None: ...

class AckEventsResponse(_message.Message):
    __slots__ = ("outcomes",)
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    outcomes: _containers.RepeatedScalarFieldContainer[_group_pb2.SettleOutcome]
    def __init__(self, outcomes: _Optional[_Iterable[_Union[_group_pb2.SettleOutcome, str]]] = ...) -> None: ...

class Group(_message.Message):
    __slots__ = ("terms", "members", "pending", "lag", "oldest_age", "dead_letters", "lost", "agent", "create_time", "dropped_dead_letters")
    TERMS_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    OLDEST_AGE_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTERS_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    DROPPED_DEAD_LETTERS_FIELD_NUMBER: _ClassVar[int]
    terms: GroupTerms
    members: _containers.RepeatedScalarFieldContainer[str]
    pending: int
    lag: int
    oldest_age: _duration_pb2.Duration
    dead_letters: int
    lost: int
    agent: str
    create_time: _timestamp_pb2.Timestamp
    dropped_dead_letters: int
    def __init__(self, terms: _Optional[_Union[GroupTerms, _Mapping]] = ..., members: _Optional[_Iterable[str]] = ..., pending: _Optional[int] = ..., lag: _Optional[int] = ..., oldest_age: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., dead_letters: _Optional[int] = ..., lost: _Optional[int] = ..., agent: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., dropped_dead_letters: _Optional[int] = ...) -> None: ...

class ListGroupsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListGroupsResponse(_message.Message):
    __slots__ = ("groups", "next_page_token")
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[Group]
    next_page_token: str
    def __init__(self, groups: _Optional[_Iterable[_Union[Group, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SeekGroupRequest(_message.Message):
    __slots__ = ("group", "now", "beginning", "tokens", "time")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    BEGINNING_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    group: str
    now: StartNow
    beginning: StartBeginning
    tokens: StartTokens
    time: _timestamp_pb2.Timestamp
    def __init__(self, group: _Optional[str] = ..., now: _Optional[_Union[StartNow, _Mapping]] = ..., beginning: _Optional[_Union[StartBeginning, _Mapping]] = ..., tokens: _Optional[_Union[StartTokens, _Mapping]] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SeekGroupResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DeleteGroupRequest(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: str
    def __init__(self, group: _Optional[str] = ...) -> None: ...

class DeleteGroupResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListDeadLettersRequest(_message.Message):
    __slots__ = ("group", "page_size", "page_token")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    group: str
    page_size: int
    page_token: str
    def __init__(self, group: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListDeadLettersResponse(_message.Message):
    __slots__ = ("dead_letters", "next_page_token")
    DEAD_LETTERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    dead_letters: _containers.RepeatedCompositeFieldContainer[_group_pb2.DeadLetter]
    next_page_token: str
    def __init__(self, dead_letters: _Optional[_Iterable[_Union[_group_pb2.DeadLetter, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class RedriveDeadLettersRequest(_message.Message):
    __slots__ = ("group", "ids", "all")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    group: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    all: bool
    def __init__(self, group: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ..., all: _Optional[bool] = ...) -> None: ...

class RedriveDeadLettersResponse(_message.Message):
    __slots__ = ("redriven",)
    REDRIVEN_FIELD_NUMBER: _ClassVar[int]
    redriven: int
    def __init__(self, redriven: _Optional[int] = ...) -> None: ...

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
