import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from hbus.v1 import memory_pb2 as _memory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ConflictState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONFLICT_STATE_UNSPECIFIED: _ClassVar[ConflictState]
    CONFLICT_STATE_OPEN: _ClassVar[ConflictState]
    CONFLICT_STATE_SUSPECTED: _ClassVar[ConflictState]
    CONFLICT_STATE_RESOLVED: _ClassVar[ConflictState]
    CONFLICT_STATE_MOOT: _ClassVar[ConflictState]
    CONFLICT_STATE_SETTLED: _ClassVar[ConflictState]

class ResolutionAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESOLUTION_ACTION_UNSPECIFIED: _ClassVar[ResolutionAction]
    RESOLUTION_ACTION_CHOOSE: _ClassVar[ResolutionAction]
    RESOLUTION_ACTION_MERGE: _ClassVar[ResolutionAction]
    RESOLUTION_ACTION_KEEP_ALL: _ClassVar[ResolutionAction]

class SuspicionVerdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUSPICION_VERDICT_UNSPECIFIED: _ClassVar[SuspicionVerdict]
    SUSPICION_VERDICT_SAME: _ClassVar[SuspicionVerdict]
    SUSPICION_VERDICT_UPDATE: _ClassVar[SuspicionVerdict]
    SUSPICION_VERDICT_CONTRADICTION: _ClassVar[SuspicionVerdict]
    SUSPICION_VERDICT_UNRELATED: _ClassVar[SuspicionVerdict]
CONFLICT_STATE_UNSPECIFIED: ConflictState
CONFLICT_STATE_OPEN: ConflictState
CONFLICT_STATE_SUSPECTED: ConflictState
CONFLICT_STATE_RESOLVED: ConflictState
CONFLICT_STATE_MOOT: ConflictState
CONFLICT_STATE_SETTLED: ConflictState
RESOLUTION_ACTION_UNSPECIFIED: ResolutionAction
RESOLUTION_ACTION_CHOOSE: ResolutionAction
RESOLUTION_ACTION_MERGE: ResolutionAction
RESOLUTION_ACTION_KEEP_ALL: ResolutionAction
SUSPICION_VERDICT_UNSPECIFIED: SuspicionVerdict
SUSPICION_VERDICT_SAME: SuspicionVerdict
SUSPICION_VERDICT_UPDATE: SuspicionVerdict
SUSPICION_VERDICT_CONTRADICTION: SuspicionVerdict
SUSPICION_VERDICT_UNRELATED: SuspicionVerdict

class ConflictSide(_message.Message):
    __slots__ = ("memory", "text", "score", "speakers")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    SPEAKERS_FIELD_NUMBER: _ClassVar[int]
    memory: str
    text: str
    score: float
    speakers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, memory: _Optional[str] = ..., text: _Optional[str] = ..., score: _Optional[float] = ..., speakers: _Optional[_Iterable[str]] = ...) -> None: ...

class Resolution(_message.Message):
    __slots__ = ("action", "memory", "agent", "rationale", "time")
    ACTION_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    RATIONALE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    action: ResolutionAction
    memory: str
    agent: str
    rationale: str
    time: _timestamp_pb2.Timestamp
    def __init__(self, action: _Optional[_Union[ResolutionAction, str]] = ..., memory: _Optional[str] = ..., agent: _Optional[str] = ..., rationale: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Judgement(_message.Message):
    __slots__ = ("verdict", "reason", "model", "time")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    verdict: SuspicionVerdict
    reason: str
    model: str
    time: _timestamp_pb2.Timestamp
    def __init__(self, verdict: _Optional[_Union[SuspicionVerdict, str]] = ..., reason: _Optional[str] = ..., model: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Conflict(_message.Message):
    __slots__ = ("name", "subject", "type", "state", "sides", "reason", "create_time", "update_time", "resolution", "etag", "judgement")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SIDES_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    JUDGEMENT_FIELD_NUMBER: _ClassVar[int]
    name: str
    subject: str
    type: _memory_pb2.MemoryType
    state: ConflictState
    sides: _containers.RepeatedCompositeFieldContainer[ConflictSide]
    reason: str
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    resolution: Resolution
    etag: str
    judgement: Judgement
    def __init__(self, name: _Optional[str] = ..., subject: _Optional[str] = ..., type: _Optional[_Union[_memory_pb2.MemoryType, str]] = ..., state: _Optional[_Union[ConflictState, str]] = ..., sides: _Optional[_Iterable[_Union[ConflictSide, _Mapping]]] = ..., reason: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., resolution: _Optional[_Union[Resolution, _Mapping]] = ..., etag: _Optional[str] = ..., judgement: _Optional[_Union[Judgement, _Mapping]] = ...) -> None: ...
