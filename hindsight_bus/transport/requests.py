"""The client's messages of one call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from hindsight_bus.domain.errors import Draining
from hindsight_bus.transport.streams import OpenStreams

T = TypeVar("T")


class Requests(AsyncIterator[Any]):
    """Yields messages; raises ``Draining`` when the server stops first, and is of no use after that."""

    def __init__(
        self, read: Callable[[], Awaitable[Any]], decode: Callable[[bytes], Message], streams: OpenStreams
    ) -> None:
        self._read = read
        self._decode = decode
        self._streams = streams

    async def __anext__(self) -> Any:
        async with self._streams.interruptible():
            data = await self._read()
        return self._decoded(data)

    def steady(self, decode: Callable[[Any], T]) -> SteadyRequests[T]:
        """Return an iterator that goes on when the server stops; ``decode`` makes of each message what is wanted."""
        return SteadyRequests(self._read, lambda data: decode(self._decoded(data)), self._streams)

    def _decoded(self, data: Any) -> Any:
        if data is grpc.aio.EOF:
            raise StopAsyncIteration
        return self._decode(data)


class SteadyRequests(AsyncIterator[T]):
    """Yields messages; raises ``Draining`` once, as soon as the server begins to stop, and goes on after it.

    A read that was cancelled would leave its message, and the call, in an unknown state, so it is kept instead.
    """

    def __init__(
        self, read: Callable[[], Awaitable[Any]], decode: Callable[[Any], T], streams: OpenStreams
    ) -> None:
        self._read = read
        self._decode = decode
        self._streams = streams
        self._reading: asyncio.Future[Any] | None = None
        self._was_told = False

    async def __anext__(self) -> T:
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read())
        if not self._was_told:
            try:
                async with self._streams.interruptible():
                    await asyncio.wait([self._reading])
            except Draining:
                self._was_told = True
                raise
        data = await self._reading
        self._reading = None
        return self._decode(data)
