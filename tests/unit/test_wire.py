"""A shared connection outlives every way in which it can break."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from redis.asyncio.connection import AbstractConnection

from hindsight_bus.adapters.valkey.wire import Wire, WireLost


class Scripted:
    """A connection that answers each command with OK, or breaks as it is told."""

    def __init__(self, breaks_with: Exception | None) -> None:
        self._breaks_with = breaks_with
        self._replies: asyncio.Queue[bytes] = asyncio.Queue()

    async def connect(self) -> None:
        """Succeed."""

    async def disconnect(self, nowait: bool = False) -> None:
        """Succeed."""

    def pack_commands(self, commands: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return the commands as they are."""
        return commands

    async def send_packed_command(self, packed: list[tuple[Any, ...]], check_health: bool = True) -> None:
        """Take commands, or break."""
        if self._breaks_with is not None:
            raise self._breaks_with
        for _ in packed:
            self._replies.put_nowait(b"OK")

    async def read_response(self, **_: object) -> bytes:
        """Return the next answer."""
        return await self._replies.get()


@pytest.mark.parametrize(
    "problem",
    [
        ConnectionResetError("reset"),
        RuntimeError("unable to perform operation on <UnixTransport closed=True>; the handler is closed"),
    ],
    ids=["reset", "closed under uvloop"],
)
async def test_a_connection_that_breaks_under_a_write_is_replaced(problem: Exception) -> None:
    """The call on it fails as one that may have been sent; the next call goes over a new connection."""
    connections = iter([Scripted(problem), Scripted(None)])
    wire = Wire(lambda: cast(AbstractConnection, next(connections)), reply_timeout_s=1.0)
    with pytest.raises(WireLost) as lost:
        await wire.call(b"PING")
    assert lost.value.sent
    assert await wire.call(b"PING") == b"OK"
    await wire.close()
