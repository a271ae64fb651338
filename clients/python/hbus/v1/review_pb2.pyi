import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReviewState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REVIEW_STATE_UNSPECIFIED: _ClassVar[ReviewState]
    REVIEW_STATE_PENDING: _ClassVar[ReviewState]
    REVIEW_STATE_APPROVED: _ClassVar[ReviewState]
    REVIEW_STATE_AMENDED: _ClassVar[ReviewState]
    REVIEW_STATE_REJECTED: _ClassVar[ReviewState]
REVIEW_STATE_UNSPECIFIED: ReviewState
REVIEW_STATE_PENDING: ReviewState
REVIEW_STATE_APPROVED: ReviewState
REVIEW_STATE_AMENDED: ReviewState
REVIEW_STATE_REJECTED: ReviewState

class ReviewItem(_message.Message):
    __slots__ = ("name", "task", "text", "steps", "memory", "state", "reviewer", "lease_expire_time", "decided_by", "rationale", "decide_time", "create_time", "skill")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REVIEWER_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    RATIONALE_FIELD_NUMBER: _ClassVar[int]
    DECIDE_TIME_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    SKILL_FIELD_NUMBER: _ClassVar[int]
    name: str
    task: str
    text: str
    steps: _containers.RepeatedScalarFieldContainer[int]
    memory: str
    state: ReviewState
    reviewer: str
    lease_expire_time: _timestamp_pb2.Timestamp
    decided_by: str
    rationale: str
    decide_time: _timestamp_pb2.Timestamp
    create_time: _timestamp_pb2.Timestamp
    skill: str
    def __init__(self, name: _Optional[str] = ..., task: _Optional[str] = ..., text: _Optional[str] = ..., steps: _Optional[_Iterable[int]] = ..., memory: _Optional[str] = ..., state: _Optional[_Union[ReviewState, str]] = ..., reviewer: _Optional[str] = ..., lease_expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., decided_by: _Optional[str] = ..., rationale: _Optional[str] = ..., decide_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., skill: _Optional[str] = ...) -> None: ...
