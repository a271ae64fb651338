"""Consuming for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType

import grpc

from hbus.aio.cancellation import decode
from hbus.backoff import Outage
from hbus.consuming import Membership
from hbus.errors import HbusError, Unavailable
from hbus.v1.bus_service_pb2 import ConsumeRequest, ConsumeResponse
from hbus.v1.group_pb2 import Delivery

_log = logging.getLogger("hbus")

Handler = Callable[[Delivery], Awaitable[object]]
Stream = grpc.aio.StreamStreamCall


class Consumption:
    """A member at work: it hands events to a handler, several at a time, and says what became of each.

    Use it as a context manager: entering returns once the group stands, leaving stops gracefully. A handler that
    returns acknowledges; one that raises gives the event back, to come again later and later until its attempts are
    used up; ``hbus.RejectEvent`` makes it a dead letter at once. Leases are extended while the event loop is free to do
    so. When the connection breaks, the member comes back under its name and says again what was not answered. An event
    may come more than once: handlers must bear that.
    """

    def __init__(
        self,
        open_stream: Callable[[], Stream[ConsumeRequest, ConsumeResponse]],
        membership: Membership,
        handler: Handler,
        concurrency: int,
        outage: Outage,
    ) -> None:
        self._open_stream = open_stream
        self._membership = membership
        self._handler = handler
        self._concurrency = concurrency
        self._outage = outage
        self._handling: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._opened = asyncio.Event()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Consumption:
        self._task = task = asyncio.create_task(self._run())
        opened = asyncio.create_task(self._opened.wait())
        await asyncio.wait([task, opened], return_when=asyncio.FIRST_COMPLETED)
        opened.cancel()
        if task.done():
            await self.stop()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def stale(self) -> int:
        """How often an event was settled too late: another member has it."""
        return self._membership.stale

    async def wait(self) -> None:
        """Return once it was stopped; raise the ``HbusError`` that ended it, should one have."""
        assert self._task is not None, "enter it first"
        await asyncio.shield(self._task)

    async def stop(self, grace: float = 10.0) -> None:
        """Begin no more events, finish those begun, say so, and leave; after ``grace`` seconds leave them behind.

        What is left behind goes to another member once its lease runs out.
        """
        task, self._task = self._task, None
        if task is None:
            return
        self._stopping.set()
        self._membership.leave()
        self._news.set()
        _, late = await asyncio.wait([task], timeout=grace)
        for each in (*late, *self._handling):
            each.cancel()
        await asyncio.gather(*self._handling, return_exceptions=True)
        with contextlib.suppress(asyncio.CancelledError):
            await task

    async def _run(self) -> None:
        while not (self._stopping.is_set() and self._membership.is_settled):
            try:
                await self._serve()
                if self._stopping.is_set():
                    return
                failure: HbusError = Unavailable("the server is stopping")
            except HbusError as error:
                failure = error
            except (grpc.RpcError, asyncio.CancelledError) as error:
                failure = decode(error)
            pause = self._outage.pause_after(failure)
            if pause is None:
                raise failure
            _log.warning("consuming cut (%s), coming back in %.2f s", failure, pause)
            await self._pause(pause)

    async def _pause(self, seconds: float) -> None:
        """Wait; to be told to stop cuts the wait short once."""
        if self._stopping.is_set():
            await asyncio.sleep(seconds)
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    async def _serve(self) -> None:
        """Serve one stream, until both sides have said all that they had to."""
        if not self._stopping.is_set():
            self._membership.come_back()
        stream = self._open_stream()
        saying = asyncio.create_task(self._say(stream))
        try:
            while isinstance(message := await stream.read(), ConsumeResponse):
                self._outage.over()
                self._membership.accept(message)
                self._opened.set()
                self._go_on()
            if not saying.done():
                raise Unavailable("the server ended the stream")
        finally:
            saying.cancel()
            await asyncio.gather(saying, return_exceptions=True)
            stream.cancel()

    async def _say(self, stream: Stream[ConsumeRequest, ConsumeResponse]) -> None:
        for request in self._membership.restart():
            await stream.write(request)
        while not (self._membership.is_leaving and self._membership.is_settled):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._membership.due_s):
                    await self._news.wait()
            self._news.clear()
            for request in self._membership.outbox():
                await stream.write(request)
        await stream.done_writing()

    def _go_on(self) -> None:
        """Begin as many events as may run at a time, and have said what there is to say."""
        while len(self._handling) < self._concurrency and (delivery := self._membership.pop()) is not None:
            task = asyncio.create_task(self._handle(delivery))
            self._handling.add(task)
            task.add_done_callback(self._finish)
        self._news.set()

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._handling.discard(task)
        self._go_on()

    async def _handle(self, delivery: Delivery) -> None:
        try:
            await self._handler(delivery)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is said to the server
            _log.info("handler failed on attempt %d of %s: %r", delivery.attempt, delivery.ack_id, error)
            self._membership.failed(delivery, error)
        else:
            self._membership.succeeded(delivery)
