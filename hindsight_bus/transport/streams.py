"""Open streams: how many there may be, and how they end when the server stops."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from hindsight_bus.domain.errors import Draining, TooManyStreams


class OpenStreams:
    """Counts long streams by agent and ends them on ``drain``."""

    def __init__(self, per_agent: int, total: int) -> None:
        self._per_agent = per_agent
        self._total = total
        self._open: Counter[str] = Counter()
        self._count = 0
        self._waits: set[asyncio.Timeout] = set()
        self.is_draining = False

    def __len__(self) -> int:
        return self._count

    @contextmanager
    def admit(self, agent: str) -> Iterator[None]:
        """Hold a place for one stream; raise ``TooManyStreams`` or ``Draining`` when there is none."""
        self._require_running()
        if self._open[agent] >= self._per_agent:
            raise TooManyStreams(self._per_agent)
        if self._count >= self._total:
            raise TooManyStreams(self._total)
        self._open[agent] += 1
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1
            self._open[agent] -= 1
            if not self._open[agent]:
                del self._open[agent]

    @asynccontextmanager
    async def interruptible(self) -> AsyncIterator[None]:
        """Run a body that ``drain`` cuts off: then it raises ``Draining``."""
        self._require_running()
        wait = asyncio.timeout(None)
        try:
            async with wait:
                self._waits.add(wait)
                yield
        except TimeoutError:
            if wait.expired():
                raise Draining from None
            raise
        finally:
            self._waits.discard(wait)

    def drain(self) -> None:
        """Admit no more streams and cut off those that wait."""
        self.is_draining = True
        now = asyncio.get_running_loop().time()
        for wait in self._waits:
            if not wait.expired():
                wait.reschedule(now)

    def _require_running(self) -> None:
        if self.is_draining:
            raise Draining
