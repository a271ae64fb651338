"""Whether what the store acknowledges is on its disk."""

from __future__ import annotations

import asyncio
from typing import NoReturn

import structlog

from hindsight_bus.adapters.valkey.client import Client
from hindsight_bus.domain.errors import StoreUnavailable

_log = structlog.get_logger(__name__)

REFRESH_INTERVAL_S = 1.0
_WANTED = {b"appendonly": b"yes", b"appendfsync": b"always"}


class StoreDurability:
    """What the store's settings promise, asked anew each second.

    An operator may change them under way, and what answers after a failover may be set otherwise. What cannot be
    known is not promised.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._problem = ""
        self.is_fsynced = False
        """A change is on disk before its reply."""

    async def refresh(self) -> None:
        """Ask the store for its settings."""
        try:
            found = await self._client.read(b"CONFIG", b"GET", *_WANTED)
        except StoreUnavailable as unavailable:
            problem = str(unavailable.__cause__)
        else:
            settings = dict(zip(found[::2], found[1::2], strict=True))
            problem = "" if settings == _WANTED else "set appendonly yes and appendfsync always"
        if problem and problem != self._problem:
            _log.warning("store.not_fsynced", problem=problem)
        self._problem, self.is_fsynced = problem, not problem

    async def run(self) -> NoReturn:
        """Refresh for ever."""
        while True:
            await asyncio.sleep(REFRESH_INTERVAL_S)
            await self.refresh()
