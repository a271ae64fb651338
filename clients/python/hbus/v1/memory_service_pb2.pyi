import datetime

from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from hbus.v1 import common_pb2 as _common_pb2
from hbus.v1 import conflict_pb2 as _conflict_pb2
from hbus.v1 import memory_pb2 as _memory_pb2
from hbus.v1 import namespace_pb2 as _namespace_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Decision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DECISION_UNSPECIFIED: _ClassVar[Decision]
    DECISION_STORED: _ClassVar[Decision]
    DECISION_CORROBORATED: _ClassVar[Decision]
    DECISION_DUPLICATE: _ClassVar[Decision]
    DECISION_ECHO: _ClassVar[Decision]
    DECISION_REJECTED_TRIVIAL: _ClassVar[Decision]
    DECISION_REJECTED_TOO_LONG: _ClassVar[Decision]
    DECISION_QUARANTINED: _ClassVar[Decision]
    DECISION_UPDATED: _ClassVar[Decision]

class SearchChannel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_CHANNEL_UNSPECIFIED: _ClassVar[SearchChannel]
    SEARCH_CHANNEL_DENSE: _ClassVar[SearchChannel]
    SEARCH_CHANNEL_LEXICAL: _ClassVar[SearchChannel]
    SEARCH_CHANNEL_TEMPORAL: _ClassVar[SearchChannel]
    SEARCH_CHANNEL_SUBJECT: _ClassVar[SearchChannel]
    SEARCH_CHANNEL_NEIGHBOURS: _ClassVar[SearchChannel]

class TurnRole(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TURN_ROLE_UNSPECIFIED: _ClassVar[TurnRole]
    TURN_ROLE_USER: _ClassVar[TurnRole]
    TURN_ROLE_ASSISTANT: _ClassVar[TurnRole]
    TURN_ROLE_TOOL: _ClassVar[TurnRole]
DECISION_UNSPECIFIED: Decision
DECISION_STORED: Decision
DECISION_CORROBORATED: Decision
DECISION_DUPLICATE: Decision
DECISION_ECHO: Decision
DECISION_REJECTED_TRIVIAL: Decision
DECISION_REJECTED_TOO_LONG: Decision
DECISION_QUARANTINED: Decision
DECISION_UPDATED: Decision
SEARCH_CHANNEL_UNSPECIFIED: SearchChannel
SEARCH_CHANNEL_DENSE: SearchChannel
SEARCH_CHANNEL_LEXICAL: SearchChannel
SEARCH_CHANNEL_TEMPORAL: SearchChannel
SEARCH_CHANNEL_SUBJECT: SearchChannel
SEARCH_CHANNEL_NEIGHBOURS: SearchChannel
TURN_ROLE_UNSPECIFIED: TurnRole
TURN_ROLE_USER: TurnRole
TURN_ROLE_ASSISTANT: TurnRole
TURN_ROLE_TOOL: TurnRole

class WriteMemoryRequest(_message.Message):
    __slots__ = ("namespace", "memory", "request_id", "channel", "source")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    memory: _memory_pb2.Memory
    request_id: str
    channel: _memory_pb2.Channel
    source: str
    def __init__(self, namespace: _Optional[str] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., request_id: _Optional[str] = ..., channel: _Optional[_Union[_memory_pb2.Channel, str]] = ..., source: _Optional[str] = ...) -> None: ...

class WriteMemoryResponse(_message.Message):
    __slots__ = ("decision", "memory", "conflict", "reason", "token", "durability")
    DECISION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    CONFLICT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    decision: Decision
    memory: _memory_pb2.Memory
    conflict: _conflict_pb2.Conflict
    reason: str
    token: _common_pb2.ConsistencyToken
    durability: _common_pb2.Durability
    def __init__(self, decision: _Optional[_Union[Decision, str]] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., conflict: _Optional[_Union[_conflict_pb2.Conflict, _Mapping]] = ..., reason: _Optional[str] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ..., durability: _Optional[_Union[_common_pb2.Durability, str]] = ...) -> None: ...

class BatchWriteMemoriesRequest(_message.Message):
    __slots__ = ("writes",)
    WRITES_FIELD_NUMBER: _ClassVar[int]
    writes: _containers.RepeatedCompositeFieldContainer[WriteMemoryRequest]
    def __init__(self, writes: _Optional[_Iterable[_Union[WriteMemoryRequest, _Mapping]]] = ...) -> None: ...

class WriteResult(_message.Message):
    __slots__ = ("response", "error")
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    response: WriteMemoryResponse
    error: _common_pb2.ItemError
    def __init__(self, response: _Optional[_Union[WriteMemoryResponse, _Mapping]] = ..., error: _Optional[_Union[_common_pb2.ItemError, _Mapping]] = ...) -> None: ...

class BatchWriteMemoriesResponse(_message.Message):
    __slots__ = ("results", "token")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[WriteResult]
    token: _common_pb2.ConsistencyToken
    def __init__(self, results: _Optional[_Iterable[_Union[WriteResult, _Mapping]]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ...) -> None: ...

class SearchMemoriesRequest(_message.Message):
    __slots__ = ("namespaces", "query", "top_k", "vector", "as_agent", "for_user", "filter", "consistency", "weights", "query_time", "profile", "without", "max_tokens")
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    AS_AGENT_FIELD_NUMBER: _ClassVar[int]
    FOR_USER_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    QUERY_TIME_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    query: str
    top_k: int
    vector: _containers.RepeatedScalarFieldContainer[float]
    as_agent: str
    for_user: str
    filter: _memory_pb2.MemoryFilter
    consistency: _common_pb2.Consistency
    weights: _namespace_pb2.RankingWeights
    query_time: _timestamp_pb2.Timestamp
    profile: _namespace_pb2.RankingProfile
    without: _containers.RepeatedScalarFieldContainer[SearchChannel]
    max_tokens: int
    def __init__(self, namespaces: _Optional[_Iterable[str]] = ..., query: _Optional[str] = ..., top_k: _Optional[int] = ..., vector: _Optional[_Iterable[float]] = ..., as_agent: _Optional[str] = ..., for_user: _Optional[str] = ..., filter: _Optional[_Union[_memory_pb2.MemoryFilter, _Mapping]] = ..., consistency: _Optional[_Union[_common_pb2.Consistency, _Mapping]] = ..., weights: _Optional[_Union[_namespace_pb2.RankingWeights, _Mapping]] = ..., query_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., profile: _Optional[_Union[_namespace_pb2.RankingProfile, str]] = ..., without: _Optional[_Iterable[_Union[SearchChannel, str]]] = ..., max_tokens: _Optional[int] = ...) -> None: ...

class ScoreParts(_message.Message):
    __slots__ = ("relevance", "recency", "importance", "dense", "lexical", "subject", "temporal", "neighbours")
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    RECENCY_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    DENSE_FIELD_NUMBER: _ClassVar[int]
    LEXICAL_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    TEMPORAL_FIELD_NUMBER: _ClassVar[int]
    NEIGHBOURS_FIELD_NUMBER: _ClassVar[int]
    relevance: float
    recency: float
    importance: float
    dense: float
    lexical: float
    subject: float
    temporal: float
    neighbours: float
    def __init__(self, relevance: _Optional[float] = ..., recency: _Optional[float] = ..., importance: _Optional[float] = ..., dense: _Optional[float] = ..., lexical: _Optional[float] = ..., subject: _Optional[float] = ..., temporal: _Optional[float] = ..., neighbours: _Optional[float] = ...) -> None: ...

class SearchHit(_message.Message):
    __slots__ = ("memory", "score", "parts", "rivals")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    RIVALS_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    score: float
    parts: ScoreParts
    rivals: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., score: _Optional[float] = ..., parts: _Optional[_Union[ScoreParts, _Mapping]] = ..., rivals: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ...) -> None: ...

class SearchMemoriesResponse(_message.Message):
    __slots__ = ("hits", "token", "dense_skipped", "pinned")
    HITS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DENSE_SKIPPED_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[SearchHit]
    token: _common_pb2.ConsistencyToken
    dense_skipped: bool
    pinned: _containers.RepeatedCompositeFieldContainer[SearchHit]
    def __init__(self, hits: _Optional[_Iterable[_Union[SearchHit, _Mapping]]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ..., dense_skipped: _Optional[bool] = ..., pinned: _Optional[_Iterable[_Union[SearchHit, _Mapping]]] = ...) -> None: ...

class GetMemoryRequest(_message.Message):
    __slots__ = ("name", "version", "consistency")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    consistency: _common_pb2.Consistency
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ..., consistency: _Optional[_Union[_common_pb2.Consistency, _Mapping]] = ...) -> None: ...

class GetMemoryResponse(_message.Message):
    __slots__ = ("memory", "token")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    token: _common_pb2.ConsistencyToken
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ...) -> None: ...

class ListMemoriesRequest(_message.Message):
    __slots__ = ("namespace", "filter", "page_size", "page_token", "consistency")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    filter: _memory_pb2.MemoryFilter
    page_size: int
    page_token: str
    consistency: _common_pb2.Consistency
    def __init__(self, namespace: _Optional[str] = ..., filter: _Optional[_Union[_memory_pb2.MemoryFilter, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., consistency: _Optional[_Union[_common_pb2.Consistency, _Mapping]] = ...) -> None: ...

class ListMemoriesResponse(_message.Message):
    __slots__ = ("memories", "next_page_token", "token")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_memory_pb2.Memory]
    next_page_token: str
    token: _common_pb2.ConsistencyToken
    def __init__(self, memories: _Optional[_Iterable[_Union[_memory_pb2.Memory, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ...) -> None: ...

class UpdateMemoryRequest(_message.Message):
    __slots__ = ("memory", "update_mask", "request_id", "channel", "source")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    update_mask: _field_mask_pb2.FieldMask
    request_id: str
    channel: _memory_pb2.Channel
    source: str
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., request_id: _Optional[str] = ..., channel: _Optional[_Union[_memory_pb2.Channel, str]] = ..., source: _Optional[str] = ...) -> None: ...

class UpdateMemoryResponse(_message.Message):
    __slots__ = ("decision", "memory", "conflict", "reason", "token", "durability")
    DECISION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    CONFLICT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    decision: Decision
    memory: _memory_pb2.Memory
    conflict: _conflict_pb2.Conflict
    reason: str
    token: _common_pb2.ConsistencyToken
    durability: _common_pb2.Durability
    def __init__(self, decision: _Optional[_Union[Decision, str]] = ..., memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., conflict: _Optional[_Union[_conflict_pb2.Conflict, _Mapping]] = ..., reason: _Optional[str] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ..., durability: _Optional[_Union[_common_pb2.Durability, str]] = ...) -> None: ...

class ForgetMemoryRequest(_message.Message):
    __slots__ = ("name", "etag", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    etag: str
    request_id: str
    def __init__(self, name: _Optional[str] = ..., etag: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class ForgetMemoryResponse(_message.Message):
    __slots__ = ("memory", "token", "durability")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    token: _common_pb2.ConsistencyToken
    durability: _common_pb2.Durability
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ..., durability: _Optional[_Union[_common_pb2.Durability, str]] = ...) -> None: ...

class RestoreMemoryRequest(_message.Message):
    __slots__ = ("name", "version", "etag", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    etag: str
    request_id: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ..., etag: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RestoreMemoryResponse(_message.Message):
    __slots__ = ("memory", "conflict", "token", "durability")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    CONFLICT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    memory: _memory_pb2.Memory
    conflict: _conflict_pb2.Conflict
    token: _common_pb2.ConsistencyToken
    durability: _common_pb2.Durability
    def __init__(self, memory: _Optional[_Union[_memory_pb2.Memory, _Mapping]] = ..., conflict: _Optional[_Union[_conflict_pb2.Conflict, _Mapping]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ..., durability: _Optional[_Union[_common_pb2.Durability, str]] = ...) -> None: ...

class ListMemoryVersionsRequest(_message.Message):
    __slots__ = ("name", "page_size", "page_token")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    name: str
    page_size: int
    page_token: str
    def __init__(self, name: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListMemoryVersionsResponse(_message.Message):
    __slots__ = ("versions", "next_page_token")
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    versions: _containers.RepeatedCompositeFieldContainer[_memory_pb2.MemoryVersion]
    next_page_token: str
    def __init__(self, versions: _Optional[_Iterable[_Union[_memory_pb2.MemoryVersion, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class BuildContextRequest(_message.Message):
    __slots__ = ("search", "max_tokens", "language")
    SEARCH_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    search: SearchMemoriesRequest
    max_tokens: int
    language: str
    def __init__(self, search: _Optional[_Union[SearchMemoriesRequest, _Mapping]] = ..., max_tokens: _Optional[int] = ..., language: _Optional[str] = ...) -> None: ...

class BuildContextResponse(_message.Message):
    __slots__ = ("text", "advice", "memories", "left_out", "tokens", "token", "dense_skipped")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DENSE_SKIPPED_FIELD_NUMBER: _ClassVar[int]
    text: str
    advice: str
    memories: _containers.RepeatedScalarFieldContainer[str]
    left_out: int
    tokens: int
    token: _common_pb2.ConsistencyToken
    dense_skipped: bool
    def __init__(self, text: _Optional[str] = ..., advice: _Optional[str] = ..., memories: _Optional[_Iterable[str]] = ..., left_out: _Optional[int] = ..., tokens: _Optional[int] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ..., dense_skipped: _Optional[bool] = ...) -> None: ...

class RecordUsageRequest(_message.Message):
    __slots__ = ("retrieved", "used", "answer", "query", "request_id")
    RETRIEVED_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    retrieved: _containers.RepeatedScalarFieldContainer[str]
    used: _containers.RepeatedScalarFieldContainer[str]
    answer: str
    query: str
    request_id: str
    def __init__(self, retrieved: _Optional[_Iterable[str]] = ..., used: _Optional[_Iterable[str]] = ..., answer: _Optional[str] = ..., query: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RecordUsageResponse(_message.Message):
    __slots__ = ("used", "utilisation", "token", "durability")
    USED_FIELD_NUMBER: _ClassVar[int]
    UTILISATION_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    DURABILITY_FIELD_NUMBER: _ClassVar[int]
    used: _containers.RepeatedScalarFieldContainer[str]
    utilisation: float
    token: _common_pb2.ConsistencyToken
    durability: _common_pb2.Durability
    def __init__(self, used: _Optional[_Iterable[str]] = ..., utilisation: _Optional[float] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ..., durability: _Optional[_Union[_common_pb2.Durability, str]] = ...) -> None: ...

class ConversationTurn(_message.Message):
    __slots__ = ("role", "text", "time")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    role: TurnRole
    text: str
    time: _timestamp_pb2.Timestamp
    def __init__(self, role: _Optional[_Union[TurnRole, str]] = ..., text: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ExtractMemoriesRequest(_message.Message):
    __slots__ = ("namespace", "turns", "conversation", "source", "dry_run", "rules_only", "request_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    RULES_ONLY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    turns: _containers.RepeatedCompositeFieldContainer[ConversationTurn]
    conversation: str
    source: str
    dry_run: bool
    rules_only: bool
    request_id: str
    def __init__(self, namespace: _Optional[str] = ..., turns: _Optional[_Iterable[_Union[ConversationTurn, _Mapping]]] = ..., conversation: _Optional[str] = ..., source: _Optional[str] = ..., dry_run: _Optional[bool] = ..., rules_only: _Optional[bool] = ..., request_id: _Optional[str] = ...) -> None: ...

class MemoryCandidate(_message.Message):
    __slots__ = ("type", "text", "subject", "value", "cardinality", "aliases", "tags", "confidence", "event_time", "evidence", "channel", "explicit")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    CARDINALITY_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    EXPLICIT_FIELD_NUMBER: _ClassVar[int]
    type: _memory_pb2.MemoryType
    text: str
    subject: str
    value: str
    cardinality: _memory_pb2.Cardinality
    aliases: _containers.RepeatedScalarFieldContainer[str]
    tags: _containers.RepeatedScalarFieldContainer[str]
    confidence: float
    event_time: _timestamp_pb2.Timestamp
    evidence: _containers.RepeatedScalarFieldContainer[int]
    channel: _memory_pb2.Channel
    explicit: bool
    def __init__(self, type: _Optional[_Union[_memory_pb2.MemoryType, str]] = ..., text: _Optional[str] = ..., subject: _Optional[str] = ..., value: _Optional[str] = ..., cardinality: _Optional[_Union[_memory_pb2.Cardinality, str]] = ..., aliases: _Optional[_Iterable[str]] = ..., tags: _Optional[_Iterable[str]] = ..., confidence: _Optional[float] = ..., event_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., evidence: _Optional[_Iterable[int]] = ..., channel: _Optional[_Union[_memory_pb2.Channel, str]] = ..., explicit: _Optional[bool] = ...) -> None: ...

class ExtractedMemory(_message.Message):
    __slots__ = ("candidate", "result")
    CANDIDATE_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    candidate: MemoryCandidate
    result: WriteResult
    def __init__(self, candidate: _Optional[_Union[MemoryCandidate, _Mapping]] = ..., result: _Optional[_Union[WriteResult, _Mapping]] = ...) -> None: ...

class ExtractMemoriesResponse(_message.Message):
    __slots__ = ("memories", "extractor", "recalled", "unsupported", "problems", "token")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    EXTRACTOR_FIELD_NUMBER: _ClassVar[int]
    RECALLED_FIELD_NUMBER: _ClassVar[int]
    UNSUPPORTED_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[ExtractedMemory]
    extractor: str
    recalled: int
    unsupported: int
    problems: _containers.RepeatedScalarFieldContainer[str]
    token: _common_pb2.ConsistencyToken
    def __init__(self, memories: _Optional[_Iterable[_Union[ExtractedMemory, _Mapping]]] = ..., extractor: _Optional[str] = ..., recalled: _Optional[int] = ..., unsupported: _Optional[int] = ..., problems: _Optional[_Iterable[str]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ...) -> None: ...
