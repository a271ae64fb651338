"""A clock that moves only when told."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count

START_MS = 1_767_225_600_000
"""2026-01-01 00:00 UTC."""


class FakeClock:
    """``Clock`` for tests, and the store time of ``FakeLog``. Sleepers wake when ``advance`` passes their time."""

    def __init__(self, start_ms: int = START_MS) -> None:
        self._start_ms = start_ms
        self._elapsed_s = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    def monotonic(self) -> float:
        """Return the seconds advanced so far."""
        return self._elapsed_s

    def now_ms(self) -> int:
        """Return the wall-clock time in Unix milliseconds."""
        return self._start_ms + round(self._elapsed_s * 1000)

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been advanced by ``seconds``."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed_s + seconds, next(self._order), woken))
        await woken

    def advance(self, seconds: float) -> None:
        """Move time on and wake whoever slept until then."""
        self._elapsed_s += seconds
        while self._sleepers and self._sleepers[0][0] <= self._elapsed_s + 1e-9:
            woken = heapq.heappop(self._sleepers)[2]
            if not woken.done():
                woken.set_result(None)
