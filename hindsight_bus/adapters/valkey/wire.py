"""One connection that many callers share: what they issue in one turn of the event loop goes out as one pipeline."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import structlog
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import BusyLoadingError, RedisError, ResponseError

_log = structlog.get_logger(__name__)

FIRST_DELAY_S = 0.01
LAST_DELAY_S = 0.25
WATCH_INTERVAL_S = 0.25


class WireLost(Exception):
    """There is no connection. ``sent`` tells whether the command may have reached the server."""

    def __init__(self, problem: str, *, sent: bool) -> None:
        super().__init__(problem)
        self.sent = sent


def _packed(command: Sequence[bytes | int | str]) -> bytes:
    """Return a command as the protocol sends it; redis-py's own packing takes several times as long."""
    parts = [b"*%d\r\n" % len(command)]
    for argument in command:
        data = argument if isinstance(argument, bytes) else str(argument).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


class Wire:
    """A connection that pipelines concurrent calls and reconnects by itself.

    Replies come in the order of the commands, so a caller that is cancelled only leaves a reply that nobody reads.
    A call made while the server is away waits for the next attempt to connect, at most ``LAST_DELAY_S`` plus the time
    that connecting takes, and fails with it.
    """

    def __init__(self, make_connection: Callable[[], AbstractConnection], reply_timeout_s: float) -> None:
        self._make_connection = make_connection
        self._reply_timeout_s = reply_timeout_s
        self._outbox: list[tuple[tuple[bytes | int | str, ...], asyncio.Future[Any]]] = []
        self._in_flight: deque[asyncio.Future[Any]] = deque()
        self._has_calls = asyncio.Event()
        self._last_progress = 0.0
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run())

    @property
    def load(self) -> int:
        """Calls that wait for their reply."""
        return len(self._outbox) + len(self._in_flight)

    def call(self, *command: bytes | int | str) -> asyncio.Future[Any]:
        """Issue a command; the future holds the reply, ``RedisError`` for an error reply, or ``WireLost``."""
        future: asyncio.Future[Any] = self._loop.create_future()
        if self._task.done():
            future.set_exception(WireLost("the connection is closed", sent=False))
            return future
        self._outbox.append((command, future))
        self._has_calls.set()
        return future

    async def close(self) -> None:
        """Close the connection; calls under way fail with ``WireLost``."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> NoReturn:
        delay_s = 0.0
        try:
            while True:
                await asyncio.sleep(delay_s)
                delay_s = min(max(FIRST_DELAY_S, delay_s * 2), LAST_DELAY_S)
                if await self._serve(is_first_failure=delay_s == FIRST_DELAY_S):
                    delay_s = 0.0
        finally:
            self._fail_all("the connection is closed")

    async def _serve(self, *, is_first_failure: bool) -> bool:
        """Serve calls over one connection until it is lost; tell whether it came about at all."""
        connection = self._make_connection()
        connected = False
        try:
            await connection.connect()  # type: ignore[no-untyped-call]
            connected = True
            await self._exchange(connection)
        except* (RedisError, OSError) as group:
            problem = str(group.exceptions[0])
            if connected or is_first_failure:
                _log.warning("store.connection_lost", problem=problem, connected=connected)
            self._fail_all(problem)
        finally:
            await connection.disconnect(nowait=True)
        return connected

    async def _exchange(self, connection: AbstractConnection) -> None:
        self._last_progress = self._loop.time()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._write(connection))
            group.create_task(self._read(connection))
            group.create_task(self._watch())

    async def _write(self, connection: AbstractConnection) -> NoReturn:
        while True:
            await self._has_calls.wait()
            self._has_calls.clear()
            calls = [call for call in self._outbox if not call[1].done()]
            self._outbox.clear()
            if not self._in_flight:
                self._last_progress = self._loop.time()
            self._in_flight.extend(future for _, future in calls)
            try:
                await connection.send_packed_command(
                    [_packed(command) for command, _ in calls], check_health=False
                )
            except RuntimeError as problem:
                # What uvloop says, instead of an OSError, of a transport that has just been closed.
                raise ConnectionResetError(str(problem)) from problem

    async def _read(self, connection: AbstractConnection) -> NoReturn:
        while True:
            reply, refusal = None, None
            try:
                reply = await connection.read_response(timeout=math.inf, disconnect_on_error=False)
            except (ResponseError, BusyLoadingError) as error:
                refusal = error
            future = self._in_flight.popleft()
            self._last_progress = self._loop.time()
            if future.done():
                continue
            if refusal is None:
                future.set_result(reply)
            else:
                future.set_exception(refusal)

    async def _watch(self) -> NoReturn:
        while True:
            await asyncio.sleep(WATCH_INTERVAL_S)
            if self._in_flight and self._loop.time() - self._last_progress > self._reply_timeout_s:
                raise TimeoutError(f"no reply within {self._reply_timeout_s} s")

    def _fail_all(self, problem: str) -> None:
        unsent = [future for _, future in self._outbox]
        for futures, sent in ((self._in_flight, True), (unsent, False)):
            for future in futures:
                if not future.done():
                    future.set_exception(WireLost(problem, sent=sent))
        self._in_flight.clear()
        self._outbox.clear()
