"""The store's time as this node estimates it."""

from __future__ import annotations

import asyncio
import time
from typing import NoReturn

import structlog

from hindsight_bus.adapters.valkey.client import Client
from hindsight_bus.domain.errors import StoreUnavailable

_log = structlog.get_logger(__name__)

REFRESH_INTERVAL_S = 1.0


class StoreClock:
    """Store time = this node's monotonic clock + an offset, so jumps of the node's wall clock change nothing."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._offset_ms = time.time() * 1000 - _monotonic_ms()

    def now_ms(self) -> int:
        """Return the estimate."""
        return int(_monotonic_ms() + self._offset_ms)

    def set(self, now_ms: int) -> None:
        """Adopt a time that the store has just told."""
        self._offset_ms = now_ms - _monotonic_ms()

    async def refresh(self) -> None:
        """Ask the store for its time; raise ``StoreUnavailable``.

        The store told it at some moment between question and answer, which may lie far apart. So the estimate is moved
        only as far as it must be wrong.
        """
        asked_ms = _monotonic_ms()
        seconds, microseconds = await self._client.read(b"TIME")
        told_ms = int(seconds) * 1000 + int(microseconds) / 1000
        self._offset_ms = min(max(self._offset_ms, told_ms - _monotonic_ms()), told_ms - asked_ms)

    async def run(self) -> NoReturn:
        """Refresh each second, for ever; keep the last offset while the store is away."""
        while True:
            await asyncio.sleep(REFRESH_INTERVAL_S)
            try:
                await self.refresh()
            except StoreUnavailable as problem:
                _log.debug("store.time_not_refreshed", problem=str(problem.__cause__))


def _monotonic_ms() -> float:
    return time.monotonic() * 1000
