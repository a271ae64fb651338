"""Answering the requests of one stream side by side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Hashable
from contextlib import suppress
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Pipeline(Generic[Q, A]):
    """Answers requests concurrently, those with one key in their order; answers may overtake each other.

    At most ``limit`` requests are taken in whose answer the client has not taken out yet. ``answer`` gets the place of
    the request in the stream, from 0, and the request; what it raises ends the stream.
    """

    def __init__(
        self,
        answer: Callable[[int, Q], Awaitable[A]],
        key: Callable[[Q], Hashable | None],
        limit: int,
    ) -> None:
        self._answer = answer
        self._key = key
        self._slots = asyncio.Semaphore(limit)
        self._running: set[asyncio.Task[A]] = set()
        self._last: dict[Hashable, asyncio.Task[A]] = {}
        self._done: asyncio.Queue[asyncio.Task[A] | None] = asyncio.Queue()

    async def run(self, requests: AsyncIterator[Q]) -> AsyncGenerator[A, None]:
        """Yield answers as they come. When ``requests`` fails, what was taken in is answered first."""
        intake = asyncio.create_task(self._take_in(requests))
        try:
            while (task := await self._done.get()) is not None:
                yield task.result()
                self._slots.release()
            await intake
        finally:
            await _cancel(intake, *self._running)

    async def _take_in(self, requests: AsyncIterator[Q]) -> None:
        sequence = 0
        try:
            async for request in requests:
                await self._slots.acquire()
                self._start(sequence, request)
                sequence += 1
        finally:
            if self._running:
                await asyncio.wait(self._running)
            self._done.put_nowait(None)

    def _start(self, sequence: int, request: Q) -> None:
        key = self._key(request)
        before = None if key is None else self._last.get(key)
        task = asyncio.create_task(self._answer_after(before, sequence, request))
        if key is not None:
            self._last[key] = task
        self._running.add(task)
        task.add_done_callback(lambda done: self._finish(key, done))

    async def _answer_after(self, before: asyncio.Task[A] | None, sequence: int, request: Q) -> A:
        if before is not None:
            await asyncio.wait([before])
        return await self._answer(sequence, request)

    def _finish(self, key: Hashable | None, task: asyncio.Task[A]) -> None:
        self._running.discard(task)
        if key is not None and self._last.get(key) is task:
            del self._last[key]
        self._done.put_nowait(task)


async def _cancel(*tasks: asyncio.Task[object]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await task
