"""Consuming for threads: the member lives in a thread of its own, its handlers in a pool."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TypeAlias

from hbus import aio
from hbus.endpoint import Endpoint
from hbus.v1.group_pb2 import Delivery

Handler = Callable[[Delivery], object]
Begin: TypeAlias = "Callable[[aio.Client, Callable[[Delivery], asyncio.Future[object]]], aio.Consumption]"


class Consumption:
    """A member at work, for threads; what it does is what ``aio.Consumption`` does.

    Use it as a context manager; leaving it stops gracefully. ``concurrency`` handlers run at a time, each in a thread.
    """

    def __init__(self, endpoint: Endpoint, begin: Begin, handler: Handler, concurrency: int) -> None:
        self._endpoint = endpoint
        self._begin = begin
        self._handler = handler
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="hbus-handler")
        self._ready: Future[tuple[asyncio.AbstractEventLoop, aio.Consumption]] = Future()
        self._ended: Future[None] = Future()
        self._thread = threading.Thread(target=self._live, name="hbus-consume", daemon=True)

    def __enter__(self) -> Consumption:
        self._thread.start()
        self._ready.result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def stale(self) -> int:
        """How often an event was settled too late: another member has it."""
        return self._ready.result()[1].stale

    def wait(self, timeout: float | None = None) -> None:
        """Return once it was stopped; raise what ended it, or ``TimeoutError``."""
        self._ended.result(timeout)

    def stop(self, grace: float = 10.0) -> None:
        """Begin no more events, finish those begun, say so, and leave; after ``grace`` seconds leave them behind."""
        loop, consumption = self._ready.result()
        if not self._ended.done():
            asyncio.run_coroutine_threadsafe(consumption.stop(grace), loop)
        self._thread.join()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _live(self) -> None:
        try:
            asyncio.run(self._consume())
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            self._ended.set_exception(error)
            if not self._ready.done():
                self._ready.set_exception(error)
        else:
            self._ended.set_result(None)

    async def _consume(self) -> None:
        loop = asyncio.get_running_loop()

        def handle(delivery: Delivery) -> asyncio.Future[object]:
            return loop.run_in_executor(self._pool, self._handler, delivery)

        async with aio.Client(self._endpoint) as bus, self._begin(bus, handle) as consumption:
            self._ready.set_result((loop, consumption))
            await consumption.wait()
