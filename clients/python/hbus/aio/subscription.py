"""A subscription for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from types import TracebackType

import grpc

from hbus.aio.cancellation import decode
from hbus.cursor import NOT_CONFIRMED, Cursor
from hbus.errors import DeadlineExpired, HbusError, Unavailable
from hbus.v1.bus_service_pb2 import SubscribeRequest, SubscribeResponse
from hbus.v1.event_pb2 import Event
from hbus.v1.memory_pb2 import Memory

_log = logging.getLogger("hbus")

Stream = grpc.aio.UnaryStreamCall


class Subscription(AsyncIterator[Event]):
    """Events in order, each once. When the connection breaks it reconnects and resumes by token.

    Use it as a context manager: entering returns once the server has confirmed, so whatever is written from then on
    will be heard. One task iterates; ``close`` may come from another and ends the iteration. Waiting for the next event
    may be cancelled (``asyncio.timeout``) and taken up again: no event is lost by it.

    ``token`` is where to resume after a restart of your own process. Save it once the event at hand is dealt with:
    nothing is skipped then, and at most one batch comes again. ``PositionLost`` says that the place to resume from is
    gone; the subscription never starts over by itself.
    """

    def __init__(
        self,
        open_stream: Callable[[SubscribeRequest], Stream[SubscribeRequest, SubscribeResponse]],
        cursor: Cursor,
    ) -> None:
        self._open_stream = open_stream
        self._cursor = cursor
        self._stream: Stream[SubscribeRequest, SubscribeResponse] | None = None
        self._closed = asyncio.Event()

    async def __aenter__(self) -> Subscription:
        try:
            async with asyncio.timeout(self._cursor.opening_s):
                while not (self._cursor.is_confirmed or self._closed.is_set()):
                    await self._receive()
        except TimeoutError:
            await self.close()
            raise DeadlineExpired(NOT_CONFIRMED) from None
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def __anext__(self) -> Event:
        while (event := self._cursor.pop()) is None:
            if self._closed.is_set():
                raise StopAsyncIteration
            await self._receive()
        return event

    @property
    def token(self) -> str:
        """Resume point: it covers the events yielded so far, up to the last whole batch."""
        return self._cursor.token

    @property
    def buffered(self) -> int:
        """Events received that were not yielded yet; at 0 ``token`` covers every event yielded."""
        return self._cursor.buffered

    @property
    def oldest_revision(self) -> int:
        """Oldest revision that the server retained when it confirmed last."""
        return self._cursor.oldest_revision

    async def snapshot(self) -> list[Memory]:
        """Return every memory that matched at the start, waiting until they are complete.

        Empty unless the subscription was made with ``start="snapshot"``. One that is cut short starts over, unseen.
        """
        while self._cursor.snapshot is None and not self._closed.is_set():
            await self._receive()
        return self._cursor.snapshot or []

    async def close(self) -> None:
        """End the subscription; a task that waits in it stops iterating."""
        self._closed.set()
        self._drop()

    async def _receive(self) -> None:
        """Take in one message, or wait out a cut."""
        try:
            if self._stream is None:
                self._stream = self._open_stream(self._cursor.request())
            message = await self._stream.read()
            if not isinstance(message, SubscribeResponse):
                raise Unavailable("the server ended the stream")
            self._cursor.accept(message)
        except HbusError as failure:
            await self._cut(failure)
        except (grpc.RpcError, asyncio.CancelledError) as error:
            self._drop()
            await self._cut(decode(error))

    async def _cut(self, failure: HbusError) -> None:
        self._drop()
        if self._closed.is_set():
            return
        pause = self._cursor.pause_after(failure)
        if pause is None:
            self._closed.set()
            raise failure
        _log.warning("subscription cut (%s), reconnecting in %.2f s", failure, pause)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), pause)

    def _drop(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.cancel()
