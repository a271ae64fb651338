"""The services over real sockets, in front of an application that only takes notes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from inspect import isawaitable
from typing import Any, cast

import grpc
import structlog
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from hbus.v1 import (
    bus_service_pb2,
    bus_service_pb2_grpc,
    memory_service_pb2,
    memory_service_pb2_grpc,
    namespace_service_pb2,
    namespace_service_pb2_grpc,
)
from hindsight_bus.transport.auth import OpenAccess
from hindsight_bus.transport.boundary import Boundary
from hindsight_bus.transport.bus_service import BusServicer
from hindsight_bus.transport.codec.outcomes import Outcomes
from hindsight_bus.transport.memory_service import MemoryServicer
from hindsight_bus.transport.namespace_service import NamespaceServicer
from hindsight_bus.transport.streams import OpenStreams

AGENT = (("hbus-agent", "support"),)


class NoMetrics:
    """Counts nothing."""

    def opened(self, method: str) -> None:
        pass

    def finished(self, method: str, code: str, reason: str, seconds: float) -> None:
        pass


class NotingApp:
    """Stands for every use case: notes each call with its arguments, and answers what the test has laid out."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.answers: dict[str, Any] = {}
        self.listeners: list[Any] = []

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Arguments, after the caller, of the only call."""
        [(_, positional, named)] = self.calls
        return (*positional[1:], *named.values())

    def partition_of(self, namespace: object) -> int:
        return 3

    async def subscribe(self, *arguments: Any) -> AsyncIterator[Any]:
        self.calls.append(("subscribe", arguments, {}))
        answer = self.answers["subscribe"]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, AsyncIterator):
            async for message in answer:
                yield message
            return
        for message in answer:
            yield message

    def __getattr__(self, name: str) -> Any:
        async def note(*arguments: Any, **named: Any) -> Any:
            self.calls.append((name, arguments, named))
            answer = self.answers[name]
            if isinstance(answer, Exception):
                raise answer
            result = answer(*arguments, **named) if callable(answer) else answer
            return await result if isawaitable(result) else result

        return note


class Services:
    """A server with all three services on it, and stubs."""

    def __init__(self, publish_in_flight: int = 64) -> None:
        self.app = NotingApp()
        app = cast(Any, self.app)  # a servicer takes use cases by their classes
        outcomes = Outcomes(lambda: True)
        self.streams = OpenStreams(100, 100)
        log = structlog.wrap_logger(None, processors=[_drop])
        boundary = Boundary(OpenAccess(), self.streams, NoMetrics(), log)
        self._server = grpc.aio.server(options=[("grpc.max_receive_message_length", 16 << 20)])
        for module, servicer in (
            (memory_service_pb2, MemoryServicer(app, app, app, app, app, app, app, outcomes)),
            (bus_service_pb2, BusServicer(app, app, app, app, app, outcomes, publish_in_flight)),
            (namespace_service_pb2, NamespaceServicer(app)),
        ):
            [descriptor] = module.DESCRIPTOR.services_by_name.values()
            self._server.add_generic_rpc_handlers([boundary.service(descriptor, servicer)])
        port = self._server.add_insecure_port("127.0.0.1:0")
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        self.memory: Any = memory_service_pb2_grpc.MemoryServiceStub(self._channel)
        self.bus: Any = bus_service_pb2_grpc.BusServiceStub(self._channel)
        self.namespace: Any = namespace_service_pb2_grpc.NamespaceServiceStub(self._channel)

    async def __aenter__(self) -> Services:
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()
        await self._server.stop(None)

    async def failure(self, method: str, request: Message) -> tuple[grpc.StatusCode, str]:
        """Make a unary or server-stream call that fails; return its code and the field at fault."""
        stub = next(getattr(s, method) for s in (self.memory, self.bus, self.namespace) if hasattr(s, method))
        call = stub(request, metadata=AGENT)
        try:
            if isinstance(call, grpc.aio.UnaryUnaryCall):
                await call
            else:
                await call.read()
        except grpc.aio.AioRpcError as error:
            return error.code(), field_of(error)
        raise AssertionError(f"{method} accepted {request}")


def field_of(error: grpc.aio.AioRpcError) -> str:
    """Return the first field that BadRequest names."""
    status: Status | None = rpc_status.from_call(error)  # type: ignore[arg-type]
    bad = error_details_pb2.BadRequest()
    for detail in status.details if status is not None else ():
        if detail.Unpack(bad):
            return bad.field_violations[0].field
    return ""


def _drop(*_: object) -> Any:
    raise structlog.DropEvent
