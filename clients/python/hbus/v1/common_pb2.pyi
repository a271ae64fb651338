from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Durability(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DURABILITY_UNSPECIFIED: _ClassVar[Durability]
    DURABILITY_FSYNCED: _ClassVar[Durability]
    DURABILITY_DELAYED: _ClassVar[Durability]
DURABILITY_UNSPECIFIED: Durability
DURABILITY_FSYNCED: Durability
DURABILITY_DELAYED: Durability

class ConsistencyToken(_message.Message):
    __slots__ = ("token",)
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: str
    def __init__(self, token: _Optional[str] = ...) -> None: ...

class AtLeast(_message.Message):
    __slots__ = ("tokens",)
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    tokens: _containers.RepeatedCompositeFieldContainer[ConsistencyToken]
    def __init__(self, tokens: _Optional[_Iterable[_Union[ConsistencyToken, _Mapping]]] = ...) -> None: ...

class Consistency(_message.Message):
    __slots__ = ("minimize_latency", "at_least", "fully_consistent", "require_vectors")
    MINIMIZE_LATENCY_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    FULLY_CONSISTENT_FIELD_NUMBER: _ClassVar[int]
    REQUIRE_VECTORS_FIELD_NUMBER: _ClassVar[int]
    minimize_latency: bool
    at_least: AtLeast
    fully_consistent: bool
    require_vectors: bool
    def __init__(self, minimize_latency: _Optional[bool] = ..., at_least: _Optional[_Union[AtLeast, _Mapping]] = ..., fully_consistent: _Optional[bool] = ..., require_vectors: _Optional[bool] = ...) -> None: ...

class ItemError(_message.Message):
    __slots__ = ("code", "reason", "message", "field")
    CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    code: int
    reason: str
    message: str
    field: str
    def __init__(self, code: _Optional[int] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., field: _Optional[str] = ...) -> None: ...
