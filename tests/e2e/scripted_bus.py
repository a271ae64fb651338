"""A small real gRPC server whose answers a test scripts, and one face for both clients."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from typing import Any

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.any_pb2 import Any as Packed
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

import hbus
from hbus.v1.bus_service_pb2 import (
    Checkpoint,
    EventBatch,
    SubscribeRequest,
    SubscribeResponse,
    SubscriptionConfirmed,
)
from hbus.v1.common_pb2 import ConsistencyToken
from hbus.v1.event_pb2 import Event

Handler = Callable[[Any, grpc.ServicerContext], Any]


class Refuse(Exception):
    """Raised by a handler: the call ends with this status and these details."""

    def __init__(
        self,
        code: grpc.StatusCode,
        reason: str = "",
        *,
        field: str = "",
        metadata: dict[str, str] | None = None,
        retry_after_s: int = 0,
    ) -> None:
        super().__init__(reason or code.name)
        self.code = code
        details: list[Message] = []
        if reason:
            details.append(ErrorInfo(reason=reason, domain="hbus", metadata=metadata or {}))
        if field:
            violation = BadRequest.FieldViolation(field=field, description="is wrong")
            details.append(BadRequest(field_violations=[violation]))
        if retry_after_s:
            details.append(RetryInfo(retry_delay=Duration(seconds=retry_after_s)))
        self._details = details

    def abort(self, context: grpc.ServicerContext) -> None:
        """End the call as the server does."""
        packed = [Packed() for _ in self._details]
        for each, detail in zip(packed, self._details, strict=True):
            each.Pack(detail)
        status = Status(code=self.code.value[0], message=str(self), details=packed)
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(self.code, str(self))


class ScriptedBus(grpc.GenericRpcHandler):
    """Serves any method of ``hbus.v1`` with the handler that the test sets for it, and records what came."""

    def __init__(self) -> None:
        self.handlers: dict[str, Handler] = {}
        self.requests: list[Any] = []
        self.headers: list[dict[str, str | bytes]] = []
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.target = f"127.0.0.1:{probe.getsockname()[1]}"
        self._server: grpc.Server | None = None
        self.start()

    def start(self) -> None:
        """Listen, on the same port each time."""
        server = grpc.server(ThreadPoolExecutor(8), handlers=[self])
        server.add_insecure_port(self.target)
        server.start()
        self._server = server

    def stop(self) -> None:
        """Cut every connection."""
        if self._server is not None:
            self._server.stop(None).wait()
            self._server = None

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Find the handler of a method by its descriptor."""
        service, _, method = handler_call_details.method.strip("/").partition("/")
        found = descriptor_pool.Default().FindServiceByName(service).methods_by_name[method]
        wrap: Any = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }[found.client_streaming, found.server_streaming]
        serve = self._stream if found.server_streaming else self._unary
        made: grpc.RpcMethodHandler[Any, Any] = wrap(
            lambda request, context: serve(method, request, context),
            request_deserializer=GetMessageClass(found.input_type).FromString,
            response_serializer=GetMessageClass(found.output_type).SerializeToString,
        )
        return made

    def _unary(self, method: str, request: Any, context: grpc.ServicerContext) -> Any:
        self._record(request, context)
        try:
            return self.handlers[method](request, context)
        except Refuse as refusal:
            refusal.abort(context)

    def _stream(self, method: str, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        self._record(request, context)
        try:
            yield from self.handlers[method](request, context)
        except Refuse as refusal:
            refusal.abort(context)

    def _record(self, request: Any, context: grpc.ServicerContext) -> None:
        self.requests.append(request)
        self.headers.append(dict(context.invocation_metadata()))


class ScriptedLog:
    """A change log whose tokens are how many commits a reader has seen; ``cut`` may raise before each message."""

    def __init__(self, cut: Callable[[], None] = lambda: None) -> None:
        self._commits: list[list[Event]] = []
        self._news = threading.Condition()
        self.cut = cut
        self.subscribes = 0

    def commit(self, *events: Event) -> None:
        """Append one commit."""
        with self._news:
            self._commits.append(list(events))
            self._news.notify_all()

    def subscribe(
        self, request: SubscribeRequest, context: grpc.ServicerContext
    ) -> Iterator[SubscribeResponse]:
        """Serve Subscribe: confirmed, then batches of up to three whole commits; a checkpoint when there is none."""
        self.subscribes += 1
        context.add_callback(self._wake)
        at = self._start(request)
        yield SubscribeResponse(confirmed=SubscriptionConfirmed(token=_token(at)))
        while context.is_active():
            with self._news:
                if len(self._commits) <= at and context.is_active():
                    self._news.wait(1)
                taken = self._commits[at : at + 3]
            at += len(taken)
            self.cut()
            events = [event for commit in taken for event in commit]
            if events:
                yield SubscribeResponse(events=EventBatch(events=events, token=_token(at)))
            else:
                yield SubscribeResponse(checkpoint=Checkpoint(token=_token(at)))

    def _start(self, request: SubscribeRequest) -> int:
        match request.start.WhichOneof("from"):
            case "tokens":
                return int(request.start.tokens.tokens[0].token)
            case "beginning":
                return 0
        return len(self._commits)

    def _wake(self) -> None:
        with self._news:
            self._news.notify_all()


def _token(at: int) -> ConsistencyToken:
    return ConsistencyToken(token=str(at))


class Threaded:
    """The client for threads behind the asyncio client's face, so that one scenario runs against both."""

    def __init__(self, client: hbus.Client) -> None:
        self._client = client

    async def __aenter__(self) -> Threaded:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._client.close)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name == "subscribe":
            return lambda *args, **kwargs: ThreadedSubscription(method(*args, **kwargs))
        if name in (
            "list",
            "versions",
            "conflicts",
            "namespaces",
            "publish",
            "tasks",
            "steps",
            "review_items",
        ):
            return lambda *args, **kwargs: _threaded(method(*args, **kwargs))
        return lambda *args, **kwargs: asyncio.to_thread(method, *args, **kwargs)


class ThreadedSubscription(AbstractAsyncContextManager["ThreadedSubscription"]):
    """The subscription for threads behind the asyncio one's face."""

    def __init__(self, live: hbus.Subscription) -> None:
        self._live = live

    async def __aenter__(self) -> ThreadedSubscription:
        await asyncio.to_thread(self._live.__enter__)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Event]:
        return _threaded(self._live)

    async def __anext__(self) -> Event:
        return await anext(_threaded(self._live))

    @property
    def token(self) -> str:
        return self._live.token

    async def snapshot(self) -> Any:
        return await asyncio.to_thread(self._live.snapshot)

    async def close(self) -> None:
        await asyncio.to_thread(self._live.close)


async def _threaded(iterator: Iterator[Any]) -> AsyncIterator[Any]:
    end = object()
    while (item := await asyncio.to_thread(next, iterator, end)) is not end:
        yield item
