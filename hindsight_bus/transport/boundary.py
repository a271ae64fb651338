"""The boundary that every call passes, in all four shapes.

It tells who calls, keeps the deadline, turns errors into statuses, counts, and writes one log line a call (two a
stream). It is composed once a method when a service is registered, instead of as a chain of interceptors that every
call walks: that costs a fraction, and message sizes come for free. Handlers get ``(caller, request)`` and know no gRPC.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import grpc
import structlog
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message

from hindsight_bus.app.caller import Caller
from hindsight_bus.transport.auth import OpenAccess
from hindsight_bus.transport.call import Call, CallMetrics, Context, Method
from hindsight_bus.transport.coalescer import Coalescer
from hindsight_bus.transport.requests import Requests
from hindsight_bus.transport.streams import OpenStreams

AnswerOnce = Callable[[Caller, Any], Awaitable[Message]]
AnswerMany = Callable[[Caller, Any], AsyncGenerator[Message | bytes, None]]


class Boundary:
    """Makes gRPC handlers out of the plain methods of a servicer."""

    def __init__(
        self,
        access: OpenAccess,
        streams: OpenStreams,
        metrics: CallMetrics,
        log: structlog.typing.FilteringBoundLogger,
        max_call_s: float = 60.0,
    ) -> None:
        self._access = access
        self._streams = streams
        self._metrics = metrics
        self._log = log
        self._max_call_s = max_call_s
        self._coalescer = Coalescer()
        self._open: set[Call] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    def service(self, descriptor: ServiceDescriptor, servicer: object) -> grpc.GenericRpcHandler:
        """Return the handler of a service; ``servicer`` has a method of the same name for each of its methods."""
        handlers = {
            each.name: self._handler(each, getattr(servicer, each.name)) for each in descriptor.methods
        }
        return grpc.method_handlers_generic_handler(descriptor.full_name, handlers)

    async def wait_idle(self) -> None:
        """Return once no call is open."""
        await self._idle.wait()

    def _handler(self, descriptor: MethodDescriptor, answer: Any) -> grpc.RpcMethodHandler[Any, Any]:
        method = Method.of(descriptor)
        match descriptor.client_streaming, descriptor.server_streaming:
            case False, False:
                return grpc.unary_unary_rpc_method_handler(self._unary_unary(method, answer))
            case False, True:
                return grpc.unary_stream_rpc_method_handler(self._unary_stream(method, answer))
            case True, False:
                return grpc.stream_unary_rpc_method_handler(self._stream_unary(method, answer))
            case _:
                return grpc.stream_stream_rpc_method_handler(self._stream_stream(method, answer))

    def _unary_unary(self, method: Method, answer: AnswerOnce) -> Any:
        async def behaviour(data: bytes, context: Context) -> bytes:
            async with self._begin(method, context) as call:
                batch = await self._coalescer.join()
                try:
                    call.caller = self._access.identify(context.invocation_metadata() or ())
                    request = call.decode(data)
                    async with call.limit(self._max_call_s):
                        response = await answer(call.caller, request)
                    return call.encode(response)
                finally:
                    self._coalescer.leave(batch)

        return behaviour

    def _unary_stream(self, method: Method, answer: AnswerMany) -> Any:
        async def behaviour(data: bytes, context: Context) -> None:
            async with self._begin(method, context) as call:
                call.caller = self._access.identify(context.invocation_metadata() or ())
                request = call.decode(data)
                with self._streams.admit(call.caller.agent):
                    call.log_opened()
                    async with self._streams.interruptible():
                        await _send_all(answer(call.caller, request), call, context)

        return behaviour

    def _stream_unary(self, method: Method, answer: AnswerOnce) -> Any:
        async def behaviour(_: object, context: Context) -> bytes:
            async with self._begin(method, context) as call:
                call.caller = self._access.identify(context.invocation_metadata() or ())
                with self._streams.admit(call.caller.agent):
                    call.log_opened()
                    return call.encode(await answer(call.caller, self._requests(call, context)))

        return behaviour

    def _stream_stream(self, method: Method, answer: AnswerMany) -> Any:
        async def behaviour(_: object, context: Context) -> None:
            async with self._begin(method, context) as call:
                call.caller = self._access.identify(context.invocation_metadata() or ())
                with self._streams.admit(call.caller.agent):
                    call.log_opened()
                    await _send_all(answer(call.caller, self._requests(call, context)), call, context)

        return behaviour

    def _requests(self, call: Call, context: Context) -> Requests:
        return Requests(context.read, call.decode, self._streams)

    def _begin(self, method: Method, context: Context) -> Call:
        call = Call(method, context, self._metrics, self._log, self._end)
        self._open.add(call)
        self._idle.clear()
        return call

    def _end(self, call: Call) -> None:
        self._open.discard(call)
        if not self._open:
            self._idle.set()


async def _send_all(responses: AsyncGenerator[Message | bytes, None], call: Call, context: Context) -> None:
    """Write every response, as fast as the client takes them; close their source whatever happens."""
    async with aclosing(responses):
        async for response in responses:
            try:
                await context.write(call.encode(response))
            except grpc.aio.InternalError:
                # The client is gone. gRPC fails the write that waits for it, and may not cancel the handler.
                raise asyncio.CancelledError from None
