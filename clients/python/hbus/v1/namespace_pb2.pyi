import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from hbus.v1 import task_pb2 as _task_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ConflictPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONFLICT_POLICY_UNSPECIFIED: _ClassVar[ConflictPolicy]
    CONFLICT_POLICY_CONFIDENCE: _ClassVar[ConflictPolicy]
    CONFLICT_POLICY_LATEST: _ClassVar[ConflictPolicy]
    CONFLICT_POLICY_MANUAL: _ClassVar[ConflictPolicy]

class RecencyShape(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECENCY_SHAPE_UNSPECIFIED: _ClassVar[RecencyShape]
    RECENCY_SHAPE_EXPONENTIAL: _ClassVar[RecencyShape]
    RECENCY_SHAPE_LINEAR: _ClassVar[RecencyShape]

class AutoReflection(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AUTO_REFLECTION_UNSPECIFIED: _ClassVar[AutoReflection]
    AUTO_REFLECTION_ALWAYS: _ClassVar[AutoReflection]
    AUTO_REFLECTION_FAILURES: _ClassVar[AutoReflection]
    AUTO_REFLECTION_NEVER: _ClassVar[AutoReflection]

class RankingProfile(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RANKING_PROFILE_UNSPECIFIED: _ClassVar[RankingProfile]
    RANKING_PROFILE_SUPPORT: _ClassVar[RankingProfile]
    RANKING_PROFILE_KNOWLEDGE: _ClassVar[RankingProfile]
    RANKING_PROFILE_ASSISTANT: _ClassVar[RankingProfile]
CONFLICT_POLICY_UNSPECIFIED: ConflictPolicy
CONFLICT_POLICY_CONFIDENCE: ConflictPolicy
CONFLICT_POLICY_LATEST: ConflictPolicy
CONFLICT_POLICY_MANUAL: ConflictPolicy
RECENCY_SHAPE_UNSPECIFIED: RecencyShape
RECENCY_SHAPE_EXPONENTIAL: RecencyShape
RECENCY_SHAPE_LINEAR: RecencyShape
AUTO_REFLECTION_UNSPECIFIED: AutoReflection
AUTO_REFLECTION_ALWAYS: AutoReflection
AUTO_REFLECTION_FAILURES: AutoReflection
AUTO_REFLECTION_NEVER: AutoReflection
RANKING_PROFILE_UNSPECIFIED: RankingProfile
RANKING_PROFILE_SUPPORT: RankingProfile
RANKING_PROFILE_KNOWLEDGE: RankingProfile
RANKING_PROFILE_ASSISTANT: RankingProfile

class RankingWeights(_message.Message):
    __slots__ = ("relevance", "recency", "importance")
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    RECENCY_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    relevance: float
    recency: float
    importance: float
    def __init__(self, relevance: _Optional[float] = ..., recency: _Optional[float] = ..., importance: _Optional[float] = ...) -> None: ...

class Policy(_message.Message):
    __slots__ = ("pattern", "embedding_profile", "conflict_policy", "conflict_margin", "belief_half_life_days", "max_text_chars", "daily_quota", "ranking_weights", "recency_half_life_days", "purge_after_days", "revision", "etag", "recency_shape", "auto_reflection", "task_retention_days", "consolidate_from")
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_PROFILE_FIELD_NUMBER: _ClassVar[int]
    CONFLICT_POLICY_FIELD_NUMBER: _ClassVar[int]
    CONFLICT_MARGIN_FIELD_NUMBER: _ClassVar[int]
    BELIEF_HALF_LIFE_DAYS_FIELD_NUMBER: _ClassVar[int]
    MAX_TEXT_CHARS_FIELD_NUMBER: _ClassVar[int]
    DAILY_QUOTA_FIELD_NUMBER: _ClassVar[int]
    RANKING_WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    RECENCY_HALF_LIFE_DAYS_FIELD_NUMBER: _ClassVar[int]
    PURGE_AFTER_DAYS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    RECENCY_SHAPE_FIELD_NUMBER: _ClassVar[int]
    AUTO_REFLECTION_FIELD_NUMBER: _ClassVar[int]
    TASK_RETENTION_DAYS_FIELD_NUMBER: _ClassVar[int]
    CONSOLIDATE_FROM_FIELD_NUMBER: _ClassVar[int]
    pattern: str
    embedding_profile: str
    conflict_policy: ConflictPolicy
    conflict_margin: float
    belief_half_life_days: float
    max_text_chars: int
    daily_quota: int
    ranking_weights: RankingWeights
    recency_half_life_days: float
    purge_after_days: float
    revision: int
    etag: str
    recency_shape: RecencyShape
    auto_reflection: AutoReflection
    task_retention_days: float
    consolidate_from: int
    def __init__(self, pattern: _Optional[str] = ..., embedding_profile: _Optional[str] = ..., conflict_policy: _Optional[_Union[ConflictPolicy, str]] = ..., conflict_margin: _Optional[float] = ..., belief_half_life_days: _Optional[float] = ..., max_text_chars: _Optional[int] = ..., daily_quota: _Optional[int] = ..., ranking_weights: _Optional[_Union[RankingWeights, _Mapping]] = ..., recency_half_life_days: _Optional[float] = ..., purge_after_days: _Optional[float] = ..., revision: _Optional[int] = ..., etag: _Optional[str] = ..., recency_shape: _Optional[_Union[RecencyShape, str]] = ..., auto_reflection: _Optional[_Union[AutoReflection, str]] = ..., task_retention_days: _Optional[float] = ..., consolidate_from: _Optional[int] = ...) -> None: ...

class Namespace(_message.Message):
    __slots__ = ("name", "embedding_profile", "dimension", "create_time", "partition")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_PROFILE_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    name: str
    embedding_profile: str
    dimension: int
    create_time: _timestamp_pb2.Timestamp
    partition: int
    def __init__(self, name: _Optional[str] = ..., embedding_profile: _Optional[str] = ..., dimension: _Optional[int] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., partition: _Optional[int] = ...) -> None: ...

class NamespaceStats(_message.Message):
    __slots__ = ("namespace", "by_state", "by_type", "pending_vectors", "open_conflicts", "estimated_bytes", "revision", "warnings", "model_usage")
    class ByStateEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class ByTypeEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    BY_STATE_FIELD_NUMBER: _ClassVar[int]
    BY_TYPE_FIELD_NUMBER: _ClassVar[int]
    PENDING_VECTORS_FIELD_NUMBER: _ClassVar[int]
    OPEN_CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_BYTES_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    MODEL_USAGE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    by_state: _containers.ScalarMap[str, int]
    by_type: _containers.ScalarMap[str, int]
    pending_vectors: int
    open_conflicts: int
    estimated_bytes: int
    revision: int
    warnings: _containers.RepeatedScalarFieldContainer[str]
    model_usage: _task_pb2.ModelUsage
    def __init__(self, namespace: _Optional[str] = ..., by_state: _Optional[_Mapping[str, int]] = ..., by_type: _Optional[_Mapping[str, int]] = ..., pending_vectors: _Optional[int] = ..., open_conflicts: _Optional[int] = ..., estimated_bytes: _Optional[int] = ..., revision: _Optional[int] = ..., warnings: _Optional[_Iterable[str]] = ..., model_usage: _Optional[_Union[_task_pb2.ModelUsage, _Mapping]] = ...) -> None: ...
