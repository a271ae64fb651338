"""gRPC server reflection, under v1alpha and under v1: old and new clients ask for one of the two only.

grpcio-reflection serves v1alpha alone (grpc issue 38576). The messages of both are the same on the wire, so one
servicer answers under both names, and a renamed copy of the descriptor lets clients describe v1 too.
"""

from __future__ import annotations

from collections.abc import Sequence

import grpc
from google.protobuf import descriptor_pool, text_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.reflection import aio

V1ALPHA = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"].full_name
V1 = V1ALPHA.replace("v1alpha", "v1")


def register(server: grpc.aio.Server, services: Sequence[str]) -> None:
    """Let clients list and describe ``services``."""
    descriptor_pool.Default().AddSerializedFile(_v1_file().SerializeToString())
    servicer = aio.ReflectionServicer([*services, V1, V1ALPHA])
    method = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    server.add_generic_rpc_handlers(
        [
            grpc.method_handlers_generic_handler(name, {"ServerReflectionInfo": method})
            for name in (V1, V1ALPHA)
        ]
    )


def _v1_file() -> FileDescriptorProto:
    original = FileDescriptorProto()
    reflection_pb2.DESCRIPTOR.CopyToProto(original)
    renamed = text_format.MessageToString(original).replace("v1alpha", "v1")
    return text_format.Parse(renamed, FileDescriptorProto())
