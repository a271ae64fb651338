"""The life of one node: what runs in the background, and whether it is fit to serve."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

import structlog

from hindsight_bus.app.background import in_background
from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.retention import Retention
from hindsight_bus.app.served import ServedNotes
from hindsight_bus.app.tail import Tails
from hindsight_bus.app.views import Views
from hindsight_bus.app.work import DueWorker
from hindsight_bus.domain.errors import HbusError
from hindsight_bus.ports import Clock, MemoryLog

log = structlog.get_logger(__name__)

_HEARTBEAT_SECONDS = 1.0
_HEARTBEAT_TIMEOUT_SECONDS = 2.0


class Node:
    """Starts and stops the background of a node."""

    def __init__(
        self,
        store: MemoryLog,
        tails: Tails,
        policies: PolicyBook,
        views: Views,
        served: ServedNotes,
        workers: Sequence[DueWorker],
        retention: Retention,
        clock: Clock,
    ) -> None:
        self._store = store
        self._tails = tails
        self._policies = policies
        self._views = views
        self._served = served
        self._workers = workers
        self._retention = retention
        self._clock = clock
        self._is_reachable = False
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def is_ready(self) -> bool:
        """Tell whether the store answered within the last seconds."""
        return self._is_reachable

    async def start(self) -> None:
        """Read the policies and start the background work."""
        await self._policies.load()
        self._is_reachable = True
        self._tails.start()
        self._run(self._heartbeat())
        self._run(self._policies.run())
        self._run(self._served.run())
        for worker in self._workers:
            self._run(worker.run())
        self._run(self._retention.run())

    async def stop(self) -> None:
        """End the background work; write down what is best-effort."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._tails.stop()
        await self._views.close()
        try:
            await self._served.flush()
        except HbusError as error:
            log.warning("served.not_flushed", reason=error.reason)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(in_background(work))

    async def _heartbeat(self) -> None:
        while True:
            self._is_reachable = await self._store_answers()
            await self._clock.sleep(_HEARTBEAT_SECONDS)

    async def _store_answers(self) -> bool:
        try:
            async with asyncio.timeout(_HEARTBEAT_TIMEOUT_SECONDS):
                await self._store.ends(0)
        except (HbusError, TimeoutError):
            return False
        return True
