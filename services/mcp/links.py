"""Connections to the bus: one for the launch's own key, and one for each bearer token that comes over HTTP."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import hbus
from services.mcp.launch import Launch

_MAX_LINKS = 128
_BEARER = "bearer "


class Links:
    """Clients of the bus by key, the least recently used of which is closed when there are too many."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._by_key: OrderedDict[str, hbus.aio.Client] = OrderedDict()

    async def client(self, headers: Mapping[str, str] | None) -> hbus.aio.Client:
        """Return the client for whoever sent these HTTP headers; None stands for a host on stdio."""
        key = _bearer(headers or {}) or self._launch.api_key
        client = self._by_key.get(key) or self._connect(key)
        self._by_key[key] = client
        self._by_key.move_to_end(key)
        if len(self._by_key) > _MAX_LINKS:
            await self._by_key.popitem(last=False)[1].close()
        return client

    async def close(self) -> None:
        """Close every connection."""
        for client in self._by_key.values():
            await client.close()

    def _connect(self, key: str) -> hbus.aio.Client:
        launch = self._launch
        return hbus.aio.connect(
            launch.target, agent=launch.identity.agent, api_key=key, timeout=launch.timeout_s
        )


@asynccontextmanager
async def links(launch: Launch) -> AsyncIterator[Links]:
    """Yield the connections of a shim and close them after it."""
    made = Links(launch)
    try:
        yield made
    finally:
        await made.close()


def _bearer(headers: Mapping[str, str]) -> str:
    given = headers.get("authorization", "")
    return given[len(_BEARER) :].strip() if given[: len(_BEARER)].lower() == _BEARER else ""
