"""The views of a node that follows the log and does nothing else: to compare what grew with what is built anew."""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from hindsight_bus.adapters.index.analysis import Analyzer
from hindsight_bus.adapters.index.view import View
from hindsight_bus.app.freshness import Freshness
from hindsight_bus.app.records import RecordReader
from hindsight_bus.app.tail import Tails
from hindsight_bus.app.views import Views
from hindsight_bus.domain.names import Namespace
from hindsight_bus.ports import MemoryLog
from hindsight_bus.wiring import SystemClock

_BUDGET_BYTES = 256 << 20


class Follower:
    """Views that are loaded once and then kept fresh by the log alone."""

    def __init__(self, views: Views) -> None:
        self._views = views

    async def digest(self, namespace: Namespace) -> str:
        """Return the digest of a namespace's view, with all that is in the log by now; empty if there is none."""
        view = await self._views.open(namespace)
        if view is None:
            return ""
        await self._views.wait_until(view, Freshness(fully_consistent=True))
        return await self._views.ask(view, lambda each: each.digest())

    async def pending(self, namespace: Namespace) -> int:
        """Return how many live memories have no vector yet."""
        view = await self._views.open(namespace)
        if view is None:
            return 0
        await self._views.wait_until(view, Freshness(fully_consistent=True))
        return (await self._views.ask(view, lambda each: each.stats())).pending_vectors


@asynccontextmanager
async def following(store: MemoryLog, ring_bytes: int = 64 << 10) -> AsyncIterator[Follower]:
    """Follow a store until the block ends."""
    tails = Tails(store, SystemClock(), ring_bytes)
    analyzer = Analyzer()
    with ThreadPoolExecutor(1) as thread:
        views = Views(RecordReader(store), tails, lambda _: View(analyzer), thread, _BUDGET_BYTES)
        tails.start()
        try:
            yield Follower(views)
        finally:
            await tails.stop()
            await views.close()
