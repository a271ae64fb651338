"""A signal that may be waited for without missing the one that came while nobody looked."""

from __future__ import annotations

import asyncio


class Pulse:
    """Counts signals. Read ``count``, look at the state, then wait for a signal ``after`` that count."""

    def __init__(self) -> None:
        self.count = 0
        self._next = asyncio.Event()

    def fire(self) -> None:
        """Wake everybody who waits."""
        self.count += 1
        due, self._next = self._next, asyncio.Event()
        due.set()

    async def after(self, count: int) -> None:
        """Return once there has been a signal since ``count``."""
        while self.count == count:
            await self._next.wait()
