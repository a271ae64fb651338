import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from hbus.v1 import event_pb2 as _event_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SettleOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SETTLE_OUTCOME_UNSPECIFIED: _ClassVar[SettleOutcome]
    SETTLE_OUTCOME_DONE: _ClassVar[SettleOutcome]
    SETTLE_OUTCOME_STALE: _ClassVar[SettleOutcome]
SETTLE_OUTCOME_UNSPECIFIED: SettleOutcome
SETTLE_OUTCOME_DONE: SettleOutcome
SETTLE_OUTCOME_STALE: SettleOutcome

class Delivery(_message.Message):
    __slots__ = ("event", "ack_id", "attempt", "fence")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    ACK_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    FENCE_FIELD_NUMBER: _ClassVar[int]
    event: _event_pb2.Event
    ack_id: str
    attempt: int
    fence: int
    def __init__(self, event: _Optional[_Union[_event_pb2.Event, _Mapping]] = ..., ack_id: _Optional[str] = ..., attempt: _Optional[int] = ..., fence: _Optional[int] = ...) -> None: ...

class Ack(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RetryLater(_message.Message):
    __slots__ = ("delay", "reason")
    DELAY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    delay: _duration_pb2.Duration
    reason: str
    def __init__(self, delay: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class ExtendLease(_message.Message):
    __slots__ = ("lease",)
    LEASE_FIELD_NUMBER: _ClassVar[int]
    lease: _duration_pb2.Duration
    def __init__(self, lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Reject(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class Settlement(_message.Message):
    __slots__ = ("ack_ids", "ack", "retry_later", "extend", "reject")
    ACK_IDS_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    RETRY_LATER_FIELD_NUMBER: _ClassVar[int]
    EXTEND_FIELD_NUMBER: _ClassVar[int]
    REJECT_FIELD_NUMBER: _ClassVar[int]
    ack_ids: _containers.RepeatedScalarFieldContainer[str]
    ack: Ack
    retry_later: RetryLater
    extend: ExtendLease
    reject: Reject
    def __init__(self, ack_ids: _Optional[_Iterable[str]] = ..., ack: _Optional[_Union[Ack, _Mapping]] = ..., retry_later: _Optional[_Union[RetryLater, _Mapping]] = ..., extend: _Optional[_Union[ExtendLease, _Mapping]] = ..., reject: _Optional[_Union[Reject, _Mapping]] = ...) -> None: ...

class DeadLetter(_message.Message):
    __slots__ = ("id", "event", "attempts", "reason", "time")
    ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    id: str
    event: _event_pb2.Event
    attempts: int
    reason: str
    time: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., event: _Optional[_Union[_event_pb2.Event, _Mapping]] = ..., attempts: _Optional[int] = ..., reason: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
