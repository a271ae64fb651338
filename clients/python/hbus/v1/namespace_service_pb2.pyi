from google.protobuf import field_mask_pb2 as _field_mask_pb2
from hbus.v1 import common_pb2 as _common_pb2
from hbus.v1 import namespace_pb2 as _namespace_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetNamespaceRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    def __init__(self, namespace: _Optional[str] = ...) -> None: ...

class GetNamespaceResponse(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: _namespace_pb2.Namespace
    def __init__(self, namespace: _Optional[_Union[_namespace_pb2.Namespace, _Mapping]] = ...) -> None: ...

class ListNamespacesRequest(_message.Message):
    __slots__ = ("pattern", "page_size", "page_token")
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    pattern: str
    page_size: int
    page_token: str
    def __init__(self, pattern: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListNamespacesResponse(_message.Message):
    __slots__ = ("namespaces", "next_page_token")
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespaces: _containers.RepeatedCompositeFieldContainer[_namespace_pb2.Namespace]
    next_page_token: str
    def __init__(self, namespaces: _Optional[_Iterable[_Union[_namespace_pb2.Namespace, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetPolicyRequest(_message.Message):
    __slots__ = ("pattern",)
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    pattern: str
    def __init__(self, pattern: _Optional[str] = ...) -> None: ...

class GetPolicyResponse(_message.Message):
    __slots__ = ("policy", "sources")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    policy: _namespace_pb2.Policy
    sources: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, policy: _Optional[_Union[_namespace_pb2.Policy, _Mapping]] = ..., sources: _Optional[_Iterable[str]] = ...) -> None: ...

class UpdatePolicyRequest(_message.Message):
    __slots__ = ("policy", "update_mask", "request_id")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    policy: _namespace_pb2.Policy
    update_mask: _field_mask_pb2.FieldMask
    request_id: str
    def __init__(self, policy: _Optional[_Union[_namespace_pb2.Policy, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class UpdatePolicyResponse(_message.Message):
    __slots__ = ("policy", "token")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    policy: _namespace_pb2.Policy
    token: _common_pb2.ConsistencyToken
    def __init__(self, policy: _Optional[_Union[_namespace_pb2.Policy, _Mapping]] = ..., token: _Optional[_Union[_common_pb2.ConsistencyToken, _Mapping]] = ...) -> None: ...

class GetNamespaceStatsRequest(_message.Message):
    __slots__ = ("namespace", "consistency")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    consistency: _common_pb2.Consistency
    def __init__(self, namespace: _Optional[str] = ..., consistency: _Optional[_Union[_common_pb2.Consistency, _Mapping]] = ...) -> None: ...

class GetNamespaceStatsResponse(_message.Message):
    __slots__ = ("stats",)
    STATS_FIELD_NUMBER: _ClassVar[int]
    stats: _namespace_pb2.NamespaceStats
    def __init__(self, stats: _Optional[_Union[_namespace_pb2.NamespaceStats, _Mapping]] = ...) -> None: ...
